//! Locked files, and a check that a path still leads to an open file.

use std::fs::{File, Metadata};
use std::ops::Deref;
use std::path::Path;

/// A file that releases its lock when it is dropped.
///
/// Closing the file is not enough, because a child process that is being forked may have a copy of the descriptor.
#[derive(Debug)]
pub struct LockFile(File);

impl LockFile {
    /// Wraps a file that is already locked, or will be.
    pub fn new(file: File) -> Self {
        LockFile(file)
    }
}

impl Deref for LockFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// Returns the device and the inode of a file, which identify it.
#[cfg(unix)]
pub fn identity(facts: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (facts.dev(), facts.ino())
}

/// Returns the size and the time of the last change, which are the best identification on other systems.
#[cfg(not(unix))]
pub fn identity(facts: &Metadata) -> (u64, Option<std::time::SystemTime>) {
    (facts.len(), facts.modified().ok())
}

/// Returns whether the path is a name of the open file, and not a link to it.
pub fn leads_to(path: &Path, file: &File) -> bool {
    let here = file.metadata().map(|facts| identity(&facts)).ok();
    std::fs::symlink_metadata(path).is_ok_and(|there| Some(identity(&there)) == here)
}
