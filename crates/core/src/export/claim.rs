//! The right to write to an output path: whoever holds the lock on the checkpoint at `PATH.checkpoint` has it.
//!
//! There is a locked checkpoint from the first moment of an export to its last, longer than any other of
//! its files. Each checkpoint is locked before it gets its name, so that no other export finds it unlocked.

use super::checkpoint::Checkpoint;
use super::files::{NewFile, create_new, is_same, remove_if_same};
use super::foreign_files::{refuse_foreign_files, remove_temporaries};
use super::paths::{OutputPaths, failed};
use crate::error::{Error, ErrorKind, Result};
use std::fs::{self, File, TryLockError};
use std::io;
use tempfile::TempPath;

/// Holds the lock until it is dropped.
pub(super) struct Claim {
    paths: OutputPaths,
    file: File,
}

impl Claim {
    /// Takes the path, and changes nothing about the files of an earlier export, whose checkpoint is
    /// returned; where there is none, `fresh` is stored.
    ///
    /// # Errors
    /// `Io` when another export is writing, and when files at the names of work files are not ours.
    pub(super) fn acquire(
        paths: &OutputPaths,
        new: &NewFile,
        fresh: &Checkpoint,
    ) -> Result<(Self, Option<Checkpoint>)> {
        let path = paths.checkpoint();
        let claim = |file| Claim {
            paths: paths.clone(),
            file,
        };
        loop {
            if let Some(file) = new.open_own(&path)? {
                lock(&file, paths)?;
                let claim = claim(file);
                // Whoever held the lock may have replaced or removed it.
                if !claim.is_held()? {
                    continue;
                }
                let found = Checkpoint::read(&claim.file, paths)?;
                refuse_foreign_files(paths, new, Some(&found))?;
                remove_temporaries(paths, new)?;
                return Ok((claim, Some(found)));
            }
            refuse_foreign_files(paths, new, None)?;
            remove_temporaries(paths, new)?;
            let file = write_temporary(paths, fresh)?;
            match install_new(paths, fresh) {
                Ok(true) => {
                    let claim = claim(file);
                    if let Err(error) = paths.sync_directory() {
                        let _ = claim.remove();
                        return Err(error);
                    }
                    return Ok((claim, None));
                }
                // Another export was faster.
                Ok(false) => {}
                Err(error) => return Err(failed("create", &path, &error)),
            }
        }
    }

    /// Replaces the checkpoint; whatever happens, there is a complete one afterwards, this or the one before.
    ///
    /// # Errors
    /// `Io`, also when somebody has removed or replaced the checkpoint: another export may be writing.
    pub(super) fn store(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        self.check()?;
        let path = self.paths.checkpoint();
        let next = write_temporary(&self.paths, checkpoint)?;
        let temporary = self.paths.temporary(&checkpoint.id);
        if let Err(error) = fs::rename(&temporary, &path) {
            let _ = fs::remove_file(&temporary);
            return Err(failed("write", &path, &error));
        }
        unlock(&self.file);
        self.file = next;
        self.paths.sync_directory()
    }

    /// Removes the checkpoint, unless another export has put its own there.
    pub(super) fn remove(&self) -> Result<()> {
        let path = self.paths.checkpoint();
        remove_if_same(&path, &self.file).map_err(|error| failed("remove", &path, &error))
    }

    /// # Errors
    /// `Io` when the checkpoint is no longer the one that was stored last.
    pub(super) fn check(&self) -> Result<()> {
        if self.is_held()? {
            return Ok(());
        }
        let message = format!(
            "{} was removed or replaced while the export was running",
            self.paths.checkpoint().display()
        );
        Err(Error::new(ErrorKind::Io, message))
    }

    fn is_held(&self) -> Result<bool> {
        let path = self.paths.checkpoint();
        is_same(&path, &self.file).map_err(|error| failed("open", &path, &error))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        unlock(&self.file);
    }
}

/// Writes a checkpoint under its temporary name, locked and synced.
fn write_temporary(paths: &OutputPaths, checkpoint: &Checkpoint) -> Result<File> {
    let path = paths.temporary(&checkpoint.id);
    let write = || {
        // Left by an export with this id that was killed here.
        let _ = fs::remove_file(&path);
        let file = create_new(&path)?;
        lock_new(&file)?;
        checkpoint.write(&file)?;
        file.sync_all()?;
        Ok(file)
    };
    write().map_err(|error: io::Error| {
        // It may be what fills the disk.
        let _ = fs::remove_file(&path);
        failed("write", &paths.checkpoint(), &error)
    })
}

/// Gives the temporary checkpoint its name; false if that is taken.
fn install_new(paths: &OutputPaths, checkpoint: &Checkpoint) -> io::Result<bool> {
    let path = paths.checkpoint();
    let temporary = TempPath::try_from_path(paths.temporary(&checkpoint.id))?;
    let refused = match temporary.persist_noclobber(&path) {
        Ok(()) => return Ok(true),
        Err(refused) => refused,
    };
    match refused.error.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound => Ok(false),
        // Some file systems know neither hard links nor a rename that replaces nothing.
        _ if fs::symlink_metadata(&path).is_err() => {
            refused.path.persist(&path)?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// The lock ends with the process, however that ends.
fn lock(file: &File, paths: &OutputPaths) -> Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            let path = paths.path.display();
            let message = format!("another export is writing to {path}; wait for it or stop it");
            Err(Error::new(ErrorKind::Io, message))
        }
        Err(TryLockError::Error(error)) if has_no_locks(&error) => {
            tracing::warn!(
                "the file system has no locks; a second export to the same path would not be noticed"
            );
            Ok(())
        }
        Err(TryLockError::Error(error)) => Err(failed("lock", &paths.checkpoint(), &error)),
    }
}

fn lock_new(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::Error(error)) if has_no_locks(&error) => Ok(()),
        locked => locked.map_err(io::Error::from),
    }
}

/// How file systems say that they have no locks.
fn has_no_locks(error: &io::Error) -> bool {
    #[cfg(unix)]
    let none_left = error.raw_os_error() == Some(rustix::io::Errno::NOLCK.raw_os_error());
    #[cfg(not(unix))]
    let none_left = false;
    let kinds = [io::ErrorKind::Unsupported, io::ErrorKind::InvalidInput];
    none_left || kinds.contains(&error.kind())
}

/// Closing is not enough while a process that is being forked off has a copy of the file.
fn unlock(file: &File) {
    let _ = file.unlock();
}
