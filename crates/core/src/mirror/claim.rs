//! The right to write to a mirror: one sync at a time has it, by a lock on a file that stays there.
//!
//! Unfinished files are in a directory whose name bears the random id of the mirror, so that nobody else's
//! is ever taken for it. What a sync that was killed has left there is removed by the next one.

use super::commit::Journal;
use super::files::{NewFile, failed, place, sync_directory};
use super::manifest::{self, FileEntry, Manifest};
use super::manifest_file::{UNFINISHED, next_path, read_manifest, write_manifest};
use crate::error::{Error, ErrorKind, Result};
use std::collections::{BTreeSet, HashSet};
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The lock file, and what it says.
const LOCK: &str = ".talentdata-lock";
const LOCK_TEXT: &[u8] = b"A sync of talentdata locks this file while it writes to the mirror.\n";

/// Holds the lock until it is dropped.
pub(super) struct Claim {
    pub(super) root: PathBuf,
    pub(super) manifest: Manifest,
    lock: File,
    /// Where unfinished files are.
    pub(super) work: PathBuf,
    files: u32,
}

impl Claim {
    /// Takes a mirror, or begins one in a directory that is empty or not there, and repairs what a sync that
    /// was killed has left.
    ///
    /// # Errors
    /// `Io` when another sync is writing, and for a directory with anything else in it; `InvalidArgument` for a
    /// mirror of another service or client.
    pub(super) fn acquire(root: &Path, base_url: &str, client_id: Option<&str>) -> Result<Self> {
        if root.is_file() {
            let message = format!(
                "{} is a file; choose a directory that is empty or does not exist",
                root.display()
            );
            return Err(Error::new(ErrorKind::Io, message));
        }
        fs::create_dir_all(root).map_err(|error| failed("create", root, &error))?;
        // Before anything is created there.
        if read_manifest(root)?.is_none() {
            refuse_foreign(root)?;
        }
        let lock = lock(root)?;
        let manifest = match read_manifest(root)? {
            Some(manifest) => manifest,
            None => {
                refuse_foreign(root)?;
                remove_unfinished_manifests(root)?;
                let manifest = Manifest::new(base_url.into(), client_id.map(str::to_owned));
                write_manifest(root, &manifest)?;
                manifest
            }
        };
        if let Some(difference) = manifest.difference(base_url, client_id) {
            return Err(Error::new(ErrorKind::InvalidArgument, difference));
        }
        let mut claim = Claim {
            work: root.join(format!(".sync-{}", manifest.id)),
            root: root.to_owned(),
            manifest,
            lock,
            files: 0,
        };
        claim.abandon()?;
        Ok(claim)
    }

    /// Gives up what is not committed. Whether something is, the manifest on the disk says: the last error may
    /// have been that it could not be synced.
    ///
    /// # Errors
    /// As [`repair`](Self::repair).
    pub(super) fn abandon(&mut self) -> Result<()> {
        sync_directory(&self.root)?;
        if let Some(manifest) = read_manifest(&self.root)? {
            self.manifest = manifest;
        }
        self.repair()
    }

    /// A new file; `target` is its path below the mirror once it is committed.
    pub(super) fn file(&mut self, target: String) -> Result<NewFile> {
        if self.files == 0 {
            let mut builder = DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            let made = builder.create(&self.work);
            made.map_err(|error| failed("create", &self.work, &error))?;
        }
        self.files += 1;
        let path = self.work.join(self.files.to_string());
        NewFile::create(path, target)
    }

    /// Finishes what a committed sync has left to do, and removes what is of no use.
    ///
    /// # Errors
    /// `Io`, also for foreign files at the places of ours, which stay.
    pub(super) fn repair(&mut self) -> Result<()> {
        self.files = 0;
        let journal = Journal::read(&self.work)?;
        let known: HashSet<&str> = self.files().map(|entry| entry.path.as_str()).collect();
        let mut removed = BTreeSet::new();
        for entry in journal.iter().flat_map(|journal| &journal.files) {
            if !known.contains(entry.path.as_str()) && !self.is_next(&entry.path) {
                removed.extend(self.remove_own(entry)?);
            }
        }
        for (name, list) in &self.manifest.lists {
            let last = list.last().map_or(0, |last| last.generation);
            let next = place(&self.root, &next_path(name, last));
            if next.is_file() {
                let current = place(&self.root, &list.current.path);
                fs::rename(&next, &current).map_err(|error| failed("replace", &current, &error))?;
                sync_directory(&self.root.join(name))?;
            }
            for entry in list
                .obsolete
                .iter()
                .filter(|it| !known.contains(it.path.as_str()))
            {
                removed.extend(self.remove_own(entry)?);
            }
        }
        // Before the journal goes, or a power failure could bring them back for good.
        (removed.iter()).try_for_each(|directory| sync_directory(directory))?;
        self.remove_work()
    }

    /// Every file that the manifest names.
    fn files(&self) -> impl Iterator<Item = &FileEntry> {
        let lists = self.manifest.lists.values();
        lists.flat_map(|list| list.files())
    }

    /// Whether it is the next `current.parquet` of a generation that is committed.
    fn is_next(&self, path: &str) -> bool {
        let mut lists = self.manifest.lists.iter();
        lists.any(|(name, list)| {
            let last = list.last().map_or(0, |last| last.generation);
            path == next_path(name, last)
        })
    }

    /// Removes a file if it is still as it was written; returns the directory that it was removed from.
    fn remove_own(&self, entry: &FileEntry) -> Result<Option<PathBuf>> {
        let path = place(&self.root, &entry.path);
        match super::files::is_intact(&path, entry) {
            Ok(true) => {
                fs::remove_file(&path).map_err(|error| failed("remove", &path, &error))?;
                Ok(path.parent().map(Path::to_owned))
            }
            Ok(false) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("read", &path, &error)),
        }
    }

    /// Removes the unfinished files and their directory.
    fn remove_work(&self) -> Result<()> {
        let names = match fs::read_dir(&self.work) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            names => names.map_err(|error| failed("read", &self.work, &error))?,
        };
        for entry in names {
            let path = entry
                .map_err(|error| failed("read", &self.work, &error))?
                .path();
            let name = path.file_name().and_then(|name| name.to_str());
            let number = |name: &str| name.bytes().all(|digit| digit.is_ascii_digit());
            if name.is_some_and(|name| number(name) || Journal::is_name(name)) {
                fs::remove_file(&path).map_err(|error| failed("remove", &path, &error))?;
            }
        }
        fs::remove_dir(&self.work).map_err(|error| failed("remove", &self.work, &error))?;
        sync_directory(&self.root)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // Closing is not enough while a process that is being forked off has a copy of the file.
        let _ = self.lock.unlock();
    }
}

/// Refuses a directory without a manifest that has anything but our lock in it.
fn refuse_foreign(root: &Path) -> Result<()> {
    let names = names(root)?;
    let is_ours = names.iter().any(|name| name == LOCK);
    let foreign = names
        .iter()
        .find(|name| *name != LOCK && !(is_ours && is_unfinished_manifest(name)));
    match foreign {
        None => Ok(()),
        Some(name) => {
            let message = format!(
                "{} is not a mirror: it has no {}, and is not empty ({name} is in it); choose a directory that is empty or does not exist",
                root.display(),
                manifest::NAME
            );
            Err(Error::new(ErrorKind::Io, message))
        }
    }
}

fn remove_unfinished_manifests(root: &Path) -> Result<()> {
    let names = names(root)?;
    for name in names.iter().filter(|name| is_unfinished_manifest(name)) {
        let path = root.join(name);
        fs::remove_file(&path).map_err(|error| failed("remove", &path, &error))?;
    }
    Ok(())
}

fn is_unfinished_manifest(name: &str) -> bool {
    let hex = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    let id = name.strip_prefix(UNFINISHED);
    id.is_some_and(|id| id.len() == 16 && id.bytes().all(hex))
}

fn names(root: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(root).and_then(|entries| {
        let name =
            |entry: io::Result<fs::DirEntry>| Ok(entry?.file_name().to_string_lossy().into_owned());
        entries.map(name).collect()
    });
    entries.map_err(|error| failed("read", root, &error))
}

/// The lock ends with the process, however that ends.
fn lock(root: &Path) -> Result<File> {
    let path = root.join(LOCK);
    let open = || {
        if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_file()) {
            return Err(io::Error::other("it is not a regular file"));
        }
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(&path)?;
        if file.metadata()?.len() == 0 {
            file.write_all(LOCK_TEXT)?;
            file.sync_all()?;
        }
        Ok(file)
    };
    let file = open().map_err(|error| failed("open", &path, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let root = root.display();
            let message = format!("another sync is writing to {root}; wait for it or stop it");
            Err(Error::new(ErrorKind::Io, message))
        }
        Err(TryLockError::Error(error)) if crate::export::has_no_locks(&error) => {
            tracing::warn!(
                "the file system has no locks; a second sync into the same mirror would not be noticed"
            );
            Ok(file)
        }
        Err(TryLockError::Error(error)) => Err(failed("lock", &path, &error)),
    }
}
