//! Commits a sync: files first, then the manifest that names them, which is the one commit point.
//!
//! Before new files get their names, a journal says which these are; what a sync that is killed then leaves at
//! those names is told from other files by its digest. `current.parquet` is replaced behind the commit
//! point, and by the next sync if this one is killed in between.

use super::claim::Claim;
use super::files::{Finished, failed, place, sync_directory};
use super::manifest::{FileEntry, ListEntry};
use super::manifest_file::{next_path, write_manifest};
use crate::error::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

const NAME: &str = "commit.json";

/// The files that a sync is about to put in their places.
#[derive(Serialize, Deserialize)]
pub(super) struct Journal {
    pub(super) files: Vec<FileEntry>,
}

impl Journal {
    pub(super) fn is_name(name: &str) -> bool {
        name == NAME
    }

    /// The journal of a sync that was killed; none where it had not written one, or not to its end.
    pub(super) fn read(work: &Path) -> Result<Option<Self>> {
        let path = work.join(NAME);
        match fs::read(&path) {
            Ok(text) => Ok(serde_json::from_slice(&text).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("read", &path, &error)),
        }
    }

    fn write(&self, work: &Path) -> Result<()> {
        let path = work.join(NAME);
        let write = || {
            let file = File::create_new(&path)?;
            serde_json::to_writer(&file, self)?;
            file.sync_all()
        };
        write().map_err(|error: io::Error| failed("write", &path, &error))?;
        sync_directory(work)?;
        // Else the files that it lists could outlast it.
        work.parent().map_or(Ok(()), sync_directory)
    }
}

impl Claim {
    /// Puts `files` in their places, and replaces what the manifest says of the list; `current` is the next
    /// `current.parquet`, if there is one.
    ///
    /// # Errors
    /// `Io`: then the mirror is as it was, unless the message says otherwise.
    pub(super) fn commit(
        &mut self,
        name: &str,
        list: ListEntry,
        mut files: Vec<Finished>,
        current: Option<Finished>,
    ) -> Result<()> {
        let generation = list.last().map_or(0, |last| last.generation);
        let next = next_path(name, generation);
        if let Some(mut current) = current {
            current.entry.path.clone_from(&next);
            files.push(current);
        }
        let journal = Journal {
            files: files.iter().map(|file| file.entry.clone()).collect(),
        };
        journal.write(&self.work)?;
        self.install(files)?;
        let mut manifest = self.manifest.clone();
        manifest.lists.insert(name.to_owned(), list);
        write_manifest(&self.root, &manifest)?;
        self.manifest = manifest;
        self.repair().map_err(|error| {
            let message = format!(
                "sync {generation} of {name} is committed, but cleaning up failed: {}; the next sync finishes it",
                error.message()
            );
            error.with_message(message)
        })
    }

    /// Gives files their final names, which are free.
    fn install(&self, files: Vec<Finished>) -> Result<()> {
        let mut directories: BTreeSet<PathBuf> = BTreeSet::new();
        directories.insert(self.root.clone());
        for file in files {
            let path = place(&self.root, &file.entry.path);
            for directory in path.ancestors().skip(1) {
                if !directories.insert(directory.to_owned()) {
                    break;
                }
            }
            if let Some(directory) = path.parent() {
                let made = fs::create_dir_all(directory);
                made.map_err(|error| failed("create", directory, &error))?;
            }
            if fs::symlink_metadata(&path).is_ok() {
                let message = format!(
                    "{} already exists and is not a file of this mirror, so it is left alone; move it away",
                    path.display()
                );
                return Err(Error::new(ErrorKind::Io, message));
            }
            fs::rename(&file.path, &path).map_err(|error| failed("create", &path, &error))?;
        }
        directories
            .iter()
            .rev()
            .try_for_each(|directory| sync_directory(directory))
    }
}
