//! Small values that the processes of a user share on this host, each in a file of a directory that only this user may
//! write to.
//!
//! A file is opened anew for each use, never through a link, and only if it is this user's alone. It is changed under an
//! exclusive lock. A process that is stopped while it has the lock is passed over: a copy takes the place of the file that
//! it has, and what it still writes goes nowhere. The value lies in the file in two copies, each with a number and a
//! checksum, which are written in turn: a process that is killed while it writes leaves the copy before.

use crate::files::{LockFile, identity, leads_to};
use rustix::fs::OFlags;
use std::fs::{DirBuilder, File, Metadata, OpenOptions, TryLockError};
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The prefixes of our files' names.
const OURS: [&str; 2] = ["budget-", "token-"];
/// A file that was not written for this long is of no use to anybody.
const STALE: Duration = Duration::from_secs(86_400);
/// The lock of the directory is tried so often, with such pauses.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(5);
/// The number of times that an operation begins again because the file was replaced.
pub(crate) const MOVES: u32 = 8;
/// The room of each copy, and of the number, the checksum and the length before it.
const ROOM: u64 = 256 * 1024;
const HEAD: u64 = 24;

/// The id of this run of the host, if known: several hosts may share a home directory, and it outlives a restart.
pub(crate) fn run_of_host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// The path of a file of this name: in the runtime directory of the user, which the environment names or systemd makes;
/// otherwise in the one for state, or for temporary files.
pub(crate) fn path(name: &str) -> PathBuf {
    let named = |name| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let user = rustix::process::geteuid().as_raw();
    let usual = PathBuf::from(format!("/run/user/{user}"));
    let parent = named("XDG_RUNTIME_DIR")
        .or_else(|| usual.is_dir().then_some(usual))
        .or_else(|| named("XDG_STATE_HOME"))
        .or_else(|| named("HOME").map(|home| home.join(".local/state")));
    let directory = match parent {
        Some(parent) => parent.join("talentdata"),
        None => std::env::temp_dir().join(format!("talentdata-{user}")),
    };
    directory.join(name)
}

/// The path of a file, which need not exist, with the number of tries for its lock and the pause between them.
#[derive(Clone)]
pub(crate) struct SharedFile {
    pub(crate) path: PathBuf,
    pub(crate) max_tries: u32,
    pub(crate) pause: Duration,
}

/// A file that this process has the lock of, until this is dropped.
pub(crate) struct Locked {
    file: LockFile,
    path: PathBuf,
    /// The newest value that was whole then, and its number.
    newest: Option<(u64, Vec<u8>)>,
}

impl Locked {
    /// Returns whether the path still leads to it: otherwise another process has passed this one over.
    pub(crate) fn is_current(&self) -> bool {
        leads_to(&self.path, &self.file)
    }

    /// The value, if there is one that is whole.
    pub(crate) fn value(&self) -> Option<&[u8]> {
        self.newest.as_ref().map(|(_, value)| &value[..])
    }

    /// Returns whether nobody has written anything yet.
    pub(crate) fn is_new(&self) -> bool {
        self.file.metadata().is_ok_and(|facts| facts.len() == 0)
    }

    /// The next value is written in the place of all others.
    pub(crate) fn discard(&mut self) {
        self.newest = None;
    }

    /// Writes a value over the copy before the last.
    pub(crate) fn write(&self, value: &[u8]) -> Result<()> {
        let last = self.newest.as_ref().map(|(number, _)| *number);
        let length = value.len() as u64;
        if length > ROOM {
            return Err(Error::other("the shared value is too large"));
        }
        if last.is_none() {
            self.file.set_len(0)?;
        }
        let number = last.unwrap_or(0).wrapping_add(1);
        let head = [number, xxh3_64_with_seed(value, number), length].map(u64::to_le_bytes);
        let bytes = [head.as_flattened(), value].concat();
        self.file.write_all_at(&bytes, place(number))
    }
}

/// The offset of the copy with this number.
fn place(number: u64) -> u64 {
    number % 2 * (HEAD + ROOM)
}

/// The newest value that is whole, and its number.
fn newest(file: &File) -> Option<(u64, Vec<u8>)> {
    let copy = |number| {
        let (at, mut head) = (place(number), [[0; 8]; 3]);
        file.read_exact_at(head.as_flattened_mut(), at).ok()?;
        let [number, checksum, length] = head.map(u64::from_le_bytes);
        let mut value = vec![0; length.min(ROOM) as usize];
        file.read_exact_at(&mut value, at + HEAD).ok()?;
        (xxh3_64_with_seed(&value, number) == checksum).then_some((number, value))
    };
    [copy(0), copy(1)].into_iter().flatten().max()
}

impl SharedFile {
    /// The file at this path, whose lock is tried so often, with such pauses.
    pub(crate) fn new(path: PathBuf, max_tries: u32, pause: Duration) -> Self {
        SharedFile {
            path,
            max_tries,
            pause,
        }
    }

    /// The newest value, read without the lock; none where there is none, or the file is not ours.
    pub(crate) fn look(&self) -> Result<Option<Vec<u8>>> {
        match self.open(false) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            file => Ok(file?.and_then(|file| newest(&file)).map(|(_, value)| value)),
        }
    }

    /// Removes the value if it is such a one. Where it cannot be removed, the next one is written over it.
    pub(crate) fn remove(&self, is_such: impl Fn(&[u8]) -> bool) {
        if let Ok(Some(file)) = self.open(false)
            && newest(&file).is_some_and(|(_, value)| is_such(&value))
        {
            let _ = file.set_len(0);
        }
    }

    /// Opens the file, which is made where there is none, and waits for its lock. A file that is locked for so many tries is
    /// replaced by a copy, and one that is not ours by an empty one. No time counts, since the process that waits may have
    /// been stopped itself.
    pub(crate) fn lock(&self) -> Result<Locked> {
        let mut directory = DirBuilder::new();
        let made = directory.recursive(true).mode(0o700);
        made.create(self.directory())?;
        let (mut tries, mut holder) = (0, None);
        for _ in 0..2 * self.max_tries + MOVES {
            let Some(file) = self.open(true)? else {
                self.replace(None)?;
                continue;
            };
            match file.try_lock() {
                Ok(()) => {
                    if leads_to(&self.path, &file) {
                        return Ok(Locked {
                            newest: newest(&file),
                            path: self.path.clone(),
                            file: LockFile::new(file),
                        });
                    }
                }
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) => {
                    let identity = identity(&file.metadata()?);
                    let is_same = holder.replace(identity) == Some(identity);
                    tries = if is_same { tries + 1 } else { 1 };
                    if tries < self.max_tries {
                        std::thread::sleep(self.pause)
                    } else {
                        self.replace(Some(&file))?
                    }
                }
            }
        }
        Err(Error::other("the file is replaced again and again"))
    }

    /// Removes what ended long ago from the directory: each service on a port of its own leaves a file.
    pub(crate) fn sweep(&self) {
        let entries = std::fs::read_dir(self.directory());
        for entry in entries.into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let ours = OURS.iter().any(|prefix| name.starts_with(prefix));
            let written = entry.metadata().and_then(|facts| facts.modified());
            let age = written.map(|at| at.elapsed().unwrap_or_default());
            if ours && age.is_ok_and(|age| age > STALE) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    /// None where the path leads to something that is not ours. The directory has to be.
    fn open(&self, create: bool) -> Result<Option<File>> {
        check(self.directory())?;
        // A pipe in its place must not hold us up.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(create).mode(0o600);
        options.custom_flags(flags.bits() as i32);
        let link = rustix::io::Errno::LOOP.raw_os_error();
        let file = match options.open(&self.path) {
            Err(error) if error.raw_os_error() == Some(link) => return Ok(None),
            opened => opened?,
        };
        let user = rustix::process::geteuid().as_raw();
        Ok(is_of(&file.metadata()?, user).then_some(file))
    }

    /// Replaces a file that a stopped process has locked, or something that is not ours, if it is still there once the
    /// directory is locked: of several processes that find the same file stale, one replaces it.
    fn replace(&self, locked: Option<&File>) -> Result<()> {
        let directory = File::open(self.directory())?;
        // A process that was stopped meanwhile does not hold up the others: they go on without the lock.
        let _ = (0..TRIES).any(|_| {
            let is_locked = directory.try_lock().is_ok();
            if !is_locked {
                std::thread::sleep(PAUSE);
            }
            is_locked
        });
        let is_stale = match locked {
            Some(file) => leads_to(&self.path, file),
            None => self.open(true)?.is_none(),
        };
        if is_stale {
            let mut new = tempfile::Builder::new();
            let name = self.path.file_name().unwrap_or_default();
            let mut new = new.prefix(name).tempfile_in(self.directory())?;
            if let Some(file) = locked {
                std::io::copy(&mut file.take(2 * (HEAD + ROOM)), &mut new)?;
            }
            new.persist(&self.path).map_err(|error| error.error)?;
        }
        let _ = directory.unlock();
        Ok(())
    }
}

/// Refuses a directory that others may write to.
fn check(directory: &Path) -> Result<()> {
    let facts = std::fs::symlink_metadata(directory)?;
    let shown = directory.display();
    let refused = if !facts.is_dir() {
        format!("{shown} is not a directory")
    } else if facts.uid() != rustix::process::geteuid().as_raw() {
        format!("{shown} belongs to another user")
    } else if facts.mode() & 0o022 != 0 {
        format!("other users may write to {shown}; make its mode 0700")
    } else {
        return Ok(());
    };
    Err(Error::other(refused))
}

/// Returns whether a file is a regular one of this user, has no other name, and can be read by nobody else.
fn is_of(facts: &Metadata, user: u32) -> bool {
    facts.is_file() && facts.nlink() <= 1 && facts.uid() == user && facts.mode() & 0o077 == 0
}

#[cfg(test)]
pub(crate) mod tests;
