//! The file of an unfinished export: locked, cut back and synced.

use super::place::{Place, failed};
use crate::error::{Error, ErrorKind, Result};
use same_file::Handle;
use std::fs::{self, File, TryLockError};
use std::io::{self, Seek, SeekFrom};
use std::path::PathBuf;

/// `PATH.part`, which nobody else writes to.
pub(super) struct Part {
    pub(super) file: File,
    pub(super) path: PathBuf,
    /// Whether it was there before.
    pub(super) found: bool,
}

impl Part {
    /// Opens or makes it, without a change to what it holds.
    ///
    /// # Errors
    /// `Io` when another export is writing to it, or the system refuses.
    pub(super) fn open(place: &Place) -> Result<Self> {
        let path = place.part();
        loop {
            // A name that leads elsewhere may have been put there by somebody else.
            let found = match fs::symlink_metadata(&path) {
                Ok(found) if !found.is_file() => {
                    let message = format!("{} is there and is no file", path.display());
                    return Err(Error::new(ErrorKind::Io, message));
                }
                found => found.is_ok(),
            };
            let opened = match found {
                true => File::options().read(true).write(true).open(&path),
                false => place.create(&path),
            };
            let file = match opened {
                // It went or came in between.
                Err(error) if error.kind() == io::ErrorKind::NotFound && found => continue,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                opened => opened.map_err(|error| failed("create", &path, &error))?,
            };
            lock(&file, place)?;
            // Whoever held the lock may have given the file its final name.
            let is_there = file
                .try_clone()
                .and_then(Handle::from_file)
                .and_then(|mine| Ok(mine == Handle::from_path(&path)?));
            match is_there {
                Ok(true) => return Ok(Part { file, path, found }),
                Ok(false) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed("open", &path, &error)),
            }
        }
    }

    /// Drops what is behind `end`, and goes on writing there.
    pub(super) fn cut(&mut self, end: u64) -> Result<()> {
        let cut = self.file.set_len(end);
        cut.and_then(|()| self.file.seek(SeekFrom::Start(end)))
            .map(drop)
            .map_err(|error| failed("write", &self.path, &error))
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // Closing is not enough while a process that is being forked off has a copy of the file.
        let _ = self.file.unlock();
    }
}

/// The lock ends with the process, however that ends.
fn lock(file: &File, place: &Place) -> Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            let path = place.path.display();
            let message = format!("another export is writing to {path}; wait for it or stop it");
            Err(Error::new(ErrorKind::Io, message))
        }
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
            tracing::warn!("the file system has no locks; nothing keeps a second export away");
            Ok(())
        }
        Err(TryLockError::Error(error)) => Err(failed("lock", &place.part(), &error)),
    }
}
