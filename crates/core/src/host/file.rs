//! A small file that the processes of this host share: opened anew for each use, never through a link, and only if it is
//! this user's alone. It is changed under an exclusive lock, and a process that is stopped while it has the lock is passed
//! over: a copy takes the place of the file that it has, and what it still writes goes nowhere.

use super::directory;
use rustix::fs::OFlags;
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{Error, Read, Result};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Device and inode.
pub(crate) type Identity = (u64, u64);

/// The lock of the directory is tried so often, with such pauses.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(5);
/// How often opening begins again because the file was replaced meanwhile.
const MOVES: u32 = 8;
/// No file is longer.
const MAX_LENGTH: u64 = 1 << 20;

/// Where the file is; it need not be there.
#[derive(Clone)]
pub(crate) struct SharedFile {
    path: PathBuf,
}

/// A file that this process has the lock of, until this is dropped.
pub(crate) struct Locked {
    pub(crate) file: File,
    pub(crate) identity: Identity,
    path: PathBuf,
}

impl Locked {
    /// Whether the path still leads to it: otherwise another process has passed this one over.
    pub(crate) fn is_current(&self) -> bool {
        leads_to(&self.path, self.identity)
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // Closing is not enough while a process that is being forked off has a copy of the file.
        let _ = self.file.unlock();
    }
}

impl SharedFile {
    /// The file at this path.
    pub(crate) fn new(path: PathBuf) -> Self {
        SharedFile { path }
    }

    /// Opens the file if it is there, without its lock. None where the path leads to something that is not ours.
    pub(crate) fn look(&self) -> Result<Option<File>> {
        directory::check(self.directory())?;
        self.open(false)
    }

    /// The directory in which it is.
    pub(crate) fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    fn open(&self, create: bool) -> Result<Option<File>> {
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

    /// Opens the file, which is made where there is none, and waits for its lock. A file that is locked for so many tries,
    /// with such pauses, is replaced by a copy, and one that is not ours by an empty one. No time counts, since the process that
    /// waits may have been stopped itself.
    pub(crate) fn lock(&self, max_tries: u32, pause: Duration) -> Result<Locked> {
        directory::prepare(self.directory())?;
        let (mut tries, mut holder) = (0, None);
        for _ in 0..2 * max_tries + MOVES {
            let Some(file) = self.open(true)? else {
                self.replace(None)?;
                continue;
            };
            let identity = identity(&file.metadata()?);
            match file.try_lock() {
                Ok(()) => {
                    let path = self.path.clone();
                    let locked = Locked {
                        file,
                        identity,
                        path,
                    };
                    if locked.is_current() {
                        return Ok(locked);
                    }
                }
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) => {
                    let is_same = holder.replace(identity) == Some(identity);
                    tries = if is_same { tries + 1 } else { 1 };
                    match tries < max_tries {
                        true => std::thread::sleep(pause),
                        false => self.replace(Some(&file))?,
                    }
                }
            }
        }
        Err(Error::other("the file is replaced again and again"))
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
            Some(file) => leads_to(&self.path, identity(&file.metadata()?)),
            None => self.open(true)?.is_none(),
        };
        if is_stale {
            let mut new = tempfile::Builder::new();
            let name = self.path.file_name().unwrap_or_default();
            let mut new = new.prefix(name).tempfile_in(self.directory())?;
            if let Some(file) = locked {
                std::io::copy(&mut file.take(MAX_LENGTH), &mut new)?;
            }
            new.persist(&self.path).map_err(|error| error.error)?;
        }
        let _ = directory.unlock();
        Ok(())
    }
}

/// Whether a file is a regular one of this user, has no other name, and can be read by nobody else.
fn is_of(facts: &Metadata, user: u32) -> bool {
    facts.is_file() && facts.nlink() <= 1 && facts.uid() == user && facts.mode() & 0o077 == 0
}

fn identity(facts: &Metadata) -> Identity {
    (facts.dev(), facts.ino())
}

fn leads_to(path: &Path, file: Identity) -> bool {
    let facts = std::fs::symlink_metadata(path);
    facts.is_ok_and(|facts| identity(&facts) == file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_another_user_is_not_ours() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let facts = file.as_file().metadata().unwrap();
        assert!(is_of(&facts, facts.uid()));
        assert!(!is_of(&facts, facts.uid() + 1));
    }

    #[test]
    fn a_process_that_is_stopped_while_it_replaces_a_file_holds_up_nobody() {
        let directory = tempfile::tempdir().unwrap();
        let file = SharedFile::new(directory.path().join("file"));
        let first = file.open(true).unwrap().unwrap();
        let stopped = File::open(directory.path()).unwrap();
        stopped.lock().unwrap();
        file.replace(Some(&first)).unwrap();
        let second = std::fs::metadata(&file.path).unwrap();
        assert_ne!(identity(&first.metadata().unwrap()), identity(&second));
        file.replace(Some(&first)).unwrap();
        assert!(leads_to(&file.path, identity(&second)), "it was not stale");
    }
}
