//! The files of a mirror: new ones, which nobody reads before they are complete and synced, and those of the manifest.

use super::manifest::FileEntry;
use crate::error::{Error, ErrorKind, Result};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

/// Written at once.
const BUFFER: usize = 64 * 1024;

/// A file that is being written, under a name of its own.
pub(super) struct NewFile {
    file: BufWriter<File>,
    path: PathBuf,
    /// Its path below the mirror, once it is committed.
    target: String,
    bytes: u64,
    hasher: Xxh3,
}

/// A file that is complete and synced, and does not have its final name yet.
pub(super) struct Finished {
    pub(super) path: PathBuf,
    pub(super) entry: FileEntry,
}

impl NewFile {
    /// # Errors
    /// `Io`, also when the name is taken.
    pub(super) fn create(path: PathBuf, target: String) -> Result<Self> {
        let created = OpenOptions::new().write(true).create_new(true).open(&path);
        let file = created.map_err(|error| failed("create", &path, &error))?;
        Ok(NewFile {
            file: BufWriter::with_capacity(BUFFER, file),
            path,
            target,
            bytes: 0,
            hasher: Xxh3::new(),
        })
    }

    /// Makes what was written survive a power failure.
    pub(super) fn finish(mut self) -> Result<Finished> {
        let synced = self.file.flush();
        let synced = synced.and_then(|()| self.file.get_ref().sync_all());
        synced.map_err(|error| failed("write", &self.path, &error))?;
        Ok(Finished {
            path: self.path,
            entry: FileEntry {
                path: self.target,
                bytes: self.bytes,
                digest: digest(&self.hasher),
            },
        })
    }

    /// Its path below the mirror, once it is committed.
    pub(super) fn target(&self) -> &str {
        &self.target
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn digest(hasher: &Xxh3) -> String {
    format!("xxh3-128:{:032x}", hasher.digest128())
}

/// Where a file of the manifest is.
pub(super) fn place(root: &Path, path: &str) -> PathBuf {
    let names = path.split('/');
    names.fold(root.to_owned(), |path, name| path.join(name))
}

/// Opens a file of the manifest.
///
/// # Errors
/// `Io`, also when its length is not what the manifest says.
pub(super) fn open(root: &Path, entry: &FileEntry) -> Result<File> {
    let path = place(root, &entry.path);
    let opened = File::open(&path).and_then(|file| Ok((file.metadata()?.len(), file)));
    let (length, file) = opened.map_err(|error| failed("open", &path, &error))?;
    if length != entry.bytes {
        let (path, expected) = (path.display(), entry.bytes);
        let message = format!(
            "{path} has {length} bytes, but the manifest says {expected}: it was changed, or the mirror was copied while a sync was writing to it"
        );
        return Err(Error::new(ErrorKind::Io, message));
    }
    Ok(file)
}

/// Opens a file of the manifest whose bytes are just those that were written.
///
/// # Errors
/// `Io`, also when they are not.
pub(super) fn open_intact(root: &Path, entry: &FileEntry) -> Result<File> {
    let file = open(root, entry)?;
    let path = place(root, &entry.path);
    let intact = is_intact(&path, entry);
    match intact.map_err(|error| failed("read", &path, &error))? {
        true => Ok(file),
        false => {
            let message = format!(
                "{} was changed since it was written; restore it, or begin another mirror",
                path.display()
            );
            Err(Error::new(ErrorKind::Io, message))
        }
    }
}

/// Whether a file has just these bytes.
pub(super) fn is_intact(path: &Path, entry: &FileEntry) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() != entry.bytes {
        return Ok(false);
    }
    let (mut hasher, mut buffer) = (Xxh3::new(), vec![0; BUFFER]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(digest(&hasher) == entry.digest),
            read => hasher.update(&buffer[..read]),
        }
    }
}

/// Makes created, renamed and removed names survive a power failure.
pub(super) fn sync_directory(directory: &Path) -> Result<()> {
    // Elsewhere a directory cannot be opened, and names survive without it.
    if !cfg!(unix) {
        return Ok(());
    }
    match File::open(directory).and_then(|directory| directory.sync_all()) {
        // Some file systems cannot sync directories.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced.map_err(|error| failed("sync", directory, &error)),
    }
}

/// What could not be done to a file, and why.
pub(super) fn failed(verb: &str, path: &Path, error: &io::Error) -> Error {
    let message = format!("cannot {verb} {}: {error}", path.display());
    Error::new(ErrorKind::Io, message)
}
