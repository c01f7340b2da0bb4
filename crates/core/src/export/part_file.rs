//! The file with the unfinished data, which becomes the output.

use super::files::{create_new, is_same};
use super::paths::failed;
use crate::error::{Error, ErrorKind, Result};
use std::fs::{self, File};
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// `PATH.part` or `PATH.part.ids`.
pub(super) struct PartFile {
    pub(super) file: File,
    pub(super) path: PathBuf,
}

impl PartFile {
    /// # Errors
    /// `Io`, also when the name is taken.
    pub(super) fn create(path: PathBuf) -> Result<Self> {
        let file = create_new(&path).map_err(|error| failed("create", &path, &error))?;
        Ok(PartFile { file, path })
    }

    /// Drops what is behind `end`, and goes on writing there.
    pub(super) fn truncate(&mut self, end: u64) -> Result<()> {
        let cut = self.file.set_len(end);
        cut.and_then(|()| self.file.seek(SeekFrom::Start(end)))
            .map(drop)
            .map_err(|error| failed("write", &self.path, &error))
    }

    /// Gives the file its final name.
    ///
    /// # Errors
    /// `Io`, also when another file has taken the place of this one.
    pub(super) fn rename(&self, to: &Path) -> Result<()> {
        let is_there = is_same(&self.path, &self.file);
        if !is_there.map_err(|error| failed("open", &self.path, &error))? {
            let path = self.path.display();
            let message = format!("{path} was removed or replaced while the export was running");
            return Err(Error::new(ErrorKind::Io, message));
        }
        fs::rename(&self.path, to).map_err(|error| failed("create", to, &error))
    }
}
