//! Small values that the processes of a user share on this host, each in a file of a directory that only this user may
//! write to.
//!
//! Each use opens the file again. It never follows a link, and it accepts only a file that belongs to this user alone.
//! Changes happen under an exclusive lock. If a process is stopped while it holds the lock, another process replaces
//! the file by a copy, so later writes of the stopped process have no effect. The file holds the value in two copies,
//! each with a number and a checksum, which are written in turn. If a process is killed while it writes one copy, the
//! other one remains.

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
/// The age after which an unchanged file is removed as useless.
const STALE: Duration = Duration::from_secs(86_400);
/// The number of tries for the lock of the directory.
const TRIES: u32 = 50;
/// The pause between two tries for the lock.
const PAUSE: Duration = Duration::from_millis(5);
/// The number of times that an operation is restarted because the file was replaced.
pub(crate) const MAX_LOCK_RESTARTS: u32 = 8;
/// The size of each copy, in bytes.
const COPY_SIZE: u64 = 256 * 1024;
/// The size of the number, the checksum and the length at the beginning of each copy.
const HEADER_SIZE: u64 = 24;

/// Returns the ID of the current boot of this host, or an empty text if it is unknown. Hosts may share a home
/// directory, which also survives a restart.
pub(crate) fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// Returns the path of a file with this name. It is in the user's runtime directory, which the environment names or
/// systemd creates. Otherwise it is in the user's state directory, or in the directory for temporary files.
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

/// A file whose lock this process holds, until the value is dropped.
pub(crate) struct Locked {
    file: LockFile,
    path: PathBuf,
    /// The newest intact value when the lock was taken, and its number.
    newest: Option<(u64, Vec<u8>)>,
}

impl Locked {
    /// Returns whether the path still leads to this file. If not, another process replaced it.
    pub(crate) fn is_current(&self) -> bool {
        leads_to(&self.path, &self.file)
    }

    /// Returns the value, if there is an intact one.
    pub(crate) fn value(&self) -> Option<&[u8]> {
        self.newest.as_ref().map(|(_, value)| &value[..])
    }

    /// Returns whether the file is still empty.
    pub(crate) fn is_new(&self) -> bool {
        self.file.metadata().is_ok_and(|facts| facts.len() == 0)
    }

    /// Discards all values. The next write replaces them.
    pub(crate) fn discard(&mut self) {
        self.newest = None;
    }

    /// Writes a value over the older copy.
    pub(crate) fn write(&self, value: &[u8]) -> Result<()> {
        let last = self.newest.as_ref().map(|(number, _)| *number);
        let length = value.len() as u64;
        if length > COPY_SIZE {
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

/// Returns the offset of the copy with this number.
fn place(number: u64) -> u64 {
    number % 2 * (HEADER_SIZE + COPY_SIZE)
}

/// Returns the newest intact value, and its number.
fn newest(file: &File) -> Option<(u64, Vec<u8>)> {
    let copy = |number| {
        let (at, mut head) = (place(number), [[0; 8]; 3]);
        file.read_exact_at(head.as_flattened_mut(), at).ok()?;
        let [number, checksum, length] = head.map(u64::from_le_bytes);
        let mut value = vec![0; length.min(COPY_SIZE) as usize];
        file.read_exact_at(&mut value, at + HEADER_SIZE).ok()?;
        (xxh3_64_with_seed(&value, number) == checksum).then_some((number, value))
    };
    [copy(0), copy(1)].into_iter().flatten().max()
}

impl SharedFile {
    /// Describes the file at this path, with the number of tries for its lock and the pause between them.
    pub(crate) fn new(path: PathBuf, max_tries: u32, pause: Duration) -> Self {
        SharedFile {
            path,
            max_tries,
            pause,
        }
    }

    /// Returns the newest value, read without the lock; `None` if there is none, or if the file is not ours.
    pub(crate) fn look(&self) -> Result<Option<Vec<u8>>> {
        match self.open(false) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            file => Ok(file?.and_then(|file| newest(&file)).map(|(_, value)| value)),
        }
    }

    /// Removes the value if `is_such` accepts it. If it cannot be removed, the next write replaces it.
    pub(crate) fn remove(&self, is_such: impl Fn(&[u8]) -> bool) {
        if let Ok(Some(file)) = self.open(false)
            && newest(&file).is_some_and(|(_, value)| is_such(&value))
        {
            let _ = file.set_len(0);
        }
    }

    /// Opens the file, or creates it, and waits for its lock. If the file stays locked for `max_tries` tries, a copy
    /// replaces it. If it is not ours, an empty file replaces it. The limit is a number of tries and not a time,
    /// because the waiting process may be stopped itself for a while.
    pub(crate) fn lock(&self) -> Result<Locked> {
        let mut directory = DirBuilder::new();
        let made = directory.recursive(true).mode(0o700);
        made.create(self.directory())?;
        let (mut tries, mut holder) = (0, None);
        for _ in 0..2 * self.max_tries + MAX_LOCK_RESTARTS {
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
        Err(Error::other("other processes keep replacing the file"))
    }

    /// Removes files from the directory that were not written for a long time. Each service, such as one with its own
    /// port in a test, leaves a file.
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

    /// Opens the file; `None` if the path leads to something that is not ours. The directory must be ours.
    fn open(&self, create: bool) -> Result<Option<File>> {
        check(self.directory())?;
        // Opening a pipe at this path must not block.
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

    /// Replaces a file that a stopped process holds locked, or something at the path that is not ours. It first locks
    /// the directory and checks that the file is still the same: if several processes find the same stale file, one of
    /// them replaces it.
    fn replace(&self, locked: Option<&File>) -> Result<()> {
        let directory = File::open(self.directory())?;
        // If a process was stopped while it held this lock, the others continue without the lock.
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
                std::io::copy(&mut file.take(2 * (HEADER_SIZE + COPY_SIZE)), &mut new)?;
            }
            new.persist(&self.path).map_err(|error| error.error)?;
        }
        let _ = directory.unlock();
        Ok(())
    }
}

/// Checks that only this user may write to a directory.
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
