//! A small file that the processes of this host share: opened anew for each use, never through a link, and only if it is
//! this user's alone. It is changed under an exclusive lock, and a process that is stopped while it has the lock is passed
//! over: another file takes the place of the one that it has, and what it still writes goes nowhere.

use super::directory;
use rustix::fs::OFlags;
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{Error, Result};
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

/// Where the file is; it need not be there.
#[derive(Clone)]
pub(crate) struct SharedFile {
    path: PathBuf,
}

/// A process that waits for the lock.
pub(crate) struct Waiter<'a> {
    file: &'a SharedFile,
    /// A process that keeps the lock for so many tries is passed over. No time counts, since the process that waits may
    /// have been stopped itself.
    max_tries: u32,
    holder: Option<Identity>,
    tries: u32,
}

/// A file that this process has the lock of, until this is dropped.
pub(crate) struct Locked {
    pub(crate) file: File,
    pub(crate) identity: Identity,
    path: PathBuf,
}

impl Locked {
    /// Whether the path still leads to it: else another process has passed this one over.
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

    /// Waits for the lock.
    pub(crate) fn waiter(&self, max_tries: u32) -> Waiter<'_> {
        Waiter {
            file: self,
            max_tries,
            holder: None,
            tries: 0,
        }
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

    /// Puts another file, with what `fill` writes, in the place of one that is still `stale` once the lock of the directory
    /// was taken: of several processes that find the same file stale, one replaces it. The old file stays as it is.
    fn replace_if(
        &self,
        is_stale: impl FnOnce() -> Result<bool>,
        fill: impl FnOnce(&File) -> Result<()>,
    ) -> Result<()> {
        let directory = File::open(self.directory())?;
        // A process that was stopped meanwhile does not hold up the others: they go on without the lock.
        let is_locked = (0..TRIES).any(|_| {
            let is_locked = directory.try_lock().is_ok();
            if !is_locked {
                std::thread::sleep(PAUSE);
            }
            is_locked
        });
        let replaced = is_stale().and_then(|is_stale| match is_stale {
            true => self.replace(fill),
            false => Ok(()),
        });
        if is_locked {
            let _ = directory.unlock();
        }
        replaced
    }

    fn replace(&self, fill: impl FnOnce(&File) -> Result<()>) -> Result<()> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let prefix = format!("{name}.new-");
        let mut builder = tempfile::Builder::new();
        let new = builder.prefix(&prefix).tempfile_in(self.directory())?;
        fill(new.as_file())?;
        new.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}

impl Waiter<'_> {
    /// Opens the file, which is made where there is none, and takes the lock; none where it is to be tried again. What is not
    /// ours is replaced by an empty file. The file of a process that is passed over is replaced by what `fill` writes, which is
    /// given the old file and the new one.
    pub(crate) fn try_lock(
        &mut self,
        mut fill: impl FnMut(&File, &File) -> Result<()>,
    ) -> Result<Option<Locked>> {
        let shared = self.file;
        directory::prepare(shared.directory())?;
        for _ in 0..MOVES {
            let Some(file) = shared.open(true)? else {
                shared.replace_if(|| Ok(shared.open(true)?.is_none()), |_| Ok(()))?;
                continue;
            };
            let identity = identity(&file.metadata()?);
            match file.try_lock() {
                Ok(()) => {
                    let path = shared.path.clone();
                    let locked = Locked {
                        file,
                        identity,
                        path,
                    };
                    if locked.is_current() {
                        return Ok(Some(locked));
                    }
                }
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) => {
                    let is_same = self.holder.replace(identity) == Some(identity);
                    self.tries = if is_same { self.tries + 1 } else { 1 };
                    if self.tries < self.max_tries {
                        return Ok(None);
                    }
                    let is_stale = || Ok(leads_to(&shared.path, identity));
                    shared.replace_if(is_stale, |new| fill(&file, new))?;
                }
            }
        }
        Err(Error::other("the file is replaced again and again"))
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
        file.replace(|_| Ok(())).unwrap();
        let first = identity(&std::fs::metadata(&file.path).unwrap());
        let stopped = File::open(directory.path()).unwrap();
        stopped.lock().unwrap();
        let is_first = || leads_to(&file.path, first);
        for is_replaced in [true, false] {
            let mut filled = false;
            let fill = |_: &File| {
                filled = true;
                Ok(())
            };
            file.replace_if(|| Ok(is_first()), fill).unwrap();
            assert_eq!(filled, is_replaced);
            assert!(!is_first());
        }
    }
}
