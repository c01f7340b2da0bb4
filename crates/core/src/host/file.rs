//! A file that the processes of this host share: opened anew for each use, never through a link, and only if it is this
//! user's alone.

use super::directory;
use rustix::fs::OFlags;
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::Result;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Device and inode.
pub(crate) type Identity = (u64, u64);

/// How often the lock of a replacement is tried, with a pause in between: whoever holds it for longer than a quarter of a
/// second has been stopped.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(5);

/// Where the file is; it need not be there.
pub(crate) struct SharedFile {
    path: PathBuf,
}

impl SharedFile {
    /// The file at this path.
    pub(crate) fn new(path: PathBuf) -> Self {
        SharedFile { path }
    }

    /// Opens the file, which is made where there is none. None where the path leads to what cannot be the file: a link, a
    /// file with other names, or one of somebody else.
    pub(crate) fn open(&self) -> Result<Option<(File, Identity)>> {
        directory::prepare(self.directory())?;
        let file = match options().create(true).open(&self.path) {
            Err(error) if is_link(&error) => return Ok(None),
            opened => opened?,
        };
        let facts = file.metadata()?;
        Ok(is_ours(&facts).then(|| (file, identity(&facts))))
    }

    /// Opens the file if it is there. None where the path leads to what cannot be the file.
    pub(crate) fn open_ours(&self) -> Result<Option<File>> {
        directory::check(self.directory())?;
        let file = match self.open_existing() {
            Err(error) if is_link(&error) => return Ok(None),
            opened => opened?,
        };
        let facts = file.metadata()?;
        Ok(is_ours(&facts).then_some(file))
    }

    /// Opens whatever file is there.
    pub(crate) fn open_existing(&self) -> Result<File> {
        options().open(&self.path)
    }

    /// Whether the path still leads to this file.
    pub(crate) fn leads_to(&self, file: Identity) -> bool {
        let facts = std::fs::symlink_metadata(&self.path);
        facts.is_ok_and(|facts| identity(&facts) == file)
    }

    /// Puts another file, with what `fill` writes, in the place of whatever is there, which stays as it is.
    pub(crate) fn replace(
        &self,
        fill: impl FnOnce(&File) -> Result<()>,
    ) -> Result<(File, Identity)> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let mut builder = tempfile::Builder::new();
        let new = builder
            .prefix(&format!("{name}.new-"))
            .tempfile_in(self.directory())?;
        fill(new.as_file())?;
        let file = new.persist(&self.path).map_err(|error| error.error)?;
        let identity = identity(&file.metadata()?);
        Ok((file, identity))
    }

    /// Does the same if what is there is still `stale`; else it does nothing, and returns none. Of several processes that find
    /// the same file stale, one replaces it.
    pub(crate) fn replace_if(
        &self,
        stale: impl FnOnce() -> Result<bool>,
        fill: impl FnOnce(&File) -> Result<()>,
    ) -> Result<Option<(File, Identity)>> {
        let directory = File::open(self.directory())?;
        let locked = lock_in_time(&directory);
        let replaced = match stale() {
            Ok(true) => self.replace(fill).map(Some),
            Ok(false) => Ok(None),
            Err(error) => Err(error),
        };
        if locked {
            // Closing is not enough while a process that is being forked off has a copy of the file.
            let _ = directory.unlock();
        }
        replaced
    }

    /// Does the same if what is there cannot be the file.
    pub(crate) fn replace_foreign(&self) -> Result<Option<(File, Identity)>> {
        self.replace_if(|| Ok(self.open()?.is_none()), |_| Ok(()))
    }

    /// Removes what is there.
    pub(crate) fn remove(&self) -> Result<()> {
        std::fs::remove_file(&self.path)
    }

    /// The directory in which it is.
    pub(crate) fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }
}

/// Takes the lock; false where it cannot be had. Whoever was stopped while it replaced a file must not hold up the others:
/// they go on without the lock.
fn lock_in_time(directory: &File) -> bool {
    for _ in 0..TRIES {
        match directory.try_lock() {
            Ok(()) => return true,
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            Err(TryLockError::Error(_)) => return false,
        }
    }
    false
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    // A pipe in its place must not hold us up.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    options.read(true).write(true).mode(0o600);
    options.custom_flags(flags.bits() as i32);
    options
}

fn is_link(error: &std::io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

fn is_ours(facts: &Metadata) -> bool {
    is_of(facts, rustix::process::geteuid().as_raw())
}

fn is_of(facts: &Metadata, user: u32) -> bool {
    facts.is_file() && facts.nlink() <= 1 && facts.uid() == user
}

fn identity(facts: &Metadata) -> Identity {
    (facts.dev(), facts.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_another_user_is_not_ours() {
        let file = tempfile::tempfile().unwrap();
        let facts = file.metadata().unwrap();
        assert!(is_of(&facts, facts.uid()));
        assert!(!is_of(&facts, facts.uid() + 1));
    }

    #[test]
    fn who_is_stopped_while_it_replaces_a_file_holds_up_nobody() {
        let directory = tempfile::tempdir().unwrap();
        let file = SharedFile::new(directory.path().join("file"));
        let (_, first) = file.replace(|_| Ok(())).unwrap();
        let stopped = File::open(directory.path()).unwrap();
        stopped.lock().unwrap();
        let replace = || {
            file.replace_if(|| Ok(file.leads_to(first)), |_| Ok(()))
                .unwrap()
        };
        let (_, second) = replace().unwrap();
        assert!(second != first && file.leads_to(second));
        assert!(replace().is_none(), "it is replaced by now");
    }
}
