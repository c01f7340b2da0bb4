//! Where an export goes: the names of its files, and what is done to them as files.

use super::mode::restrict;
use crate::error::{Error, ErrorKind, Result};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// As many symbolic links in a row are followed, as on Linux.
const MOST_LINKS: usize = 40;

/// The final name of an export, which is free of symbolic links, and what belongs to it.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) path: PathBuf,
}

/// What a name stands for.
pub(super) enum Destination {
    /// A file, or nothing yet.
    File(Place),
    /// A pipe or a device.
    Stream,
}

impl Place {
    /// Looks at what is at `path`.
    pub(super) fn look(path: &Path) -> Result<Destination> {
        if path.file_name().is_none() {
            let message = format!("target: {path:?} names no file");
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => {
                let message = format!("{} is a folder; name a file in it", path.display());
                return Err(Error::new(ErrorKind::Io, message));
            }
            Ok(found) if !found.is_file() => return Ok(Destination::Stream),
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed("open", path, &error));
            }
            _ => {}
        }
        Ok(Destination::File(Place::at(path)))
    }

    /// Where a name leads, be there a file or nothing.
    pub(super) fn at(path: &Path) -> Self {
        let mut path = path.to_owned();
        for _ in 0..MOST_LINKS {
            let Ok(target) = fs::read_link(&path) else {
                break;
            };
            path = folder_of(&path).join(target);
        }
        Place { path }
    }

    /// The unfinished data.
    pub(super) fn part(&self) -> PathBuf {
        self.with(".part")
    }

    /// How far the unfinished data go.
    pub(super) fn checkpoint(&self) -> PathBuf {
        self.with(".checkpoint")
    }

    /// The next checkpoint, until it is whole.
    pub(super) fn next_checkpoint(&self) -> PathBuf {
        self.with(".checkpoint.new")
    }

    /// The unfinished data of a format that is written in groups, from 1.
    pub(super) fn group(&self, number: usize) -> PathBuf {
        self.with(&format!(".part.{number}"))
    }

    /// Whether this, in the same folder, is the final name or that of a work file.
    pub(super) fn takes(&self, name: &OsStr) -> bool {
        let own = [self.part(), self.checkpoint(), self.next_checkpoint()];
        let mut own = own.iter().chain([&self.path]);
        own.any(|path| path.file_name() == Some(name)) || self.group_number(name).is_some()
    }

    /// Which group a name in the folder is that of.
    pub(super) fn group_number(&self, name: &OsStr) -> Option<usize> {
        let stem = self.path.file_name()?.as_encoded_bytes();
        let ending = name.as_encoded_bytes().strip_prefix(stem)?;
        let number = ending.strip_prefix(b".part.")?;
        let number: usize = std::str::from_utf8(number).ok()?.parse().ok()?;
        // A number can be written in several ways, of which one is ours.
        (self.group(number).file_name()? == name).then_some(number)
    }

    /// Makes one of these, to write to and to read what was written. What is at its name is left
    /// alone, above all a link, which may lead to somebody else's file.
    pub(super) fn create(&self, path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        restrict(&mut options, &self.path);
        options.open(path)
    }

    /// How to be rid of an unfinished export that cannot be resumed.
    pub(super) fn way_out(&self) -> String {
        format!(
            "export without resume, which begins afresh, or delete {} and {}",
            self.part().display(),
            self.checkpoint().display()
        )
    }

    /// Makes renamed and removed names last.
    pub(super) fn sync_folder(&self) -> Result<()> {
        // Elsewhere a folder cannot be opened, and names last without it.
        if !cfg!(unix) {
            return Ok(());
        }
        let folder = self.folder();
        match File::open(folder).and_then(|folder| folder.sync_all()) {
            // Some file systems know no such thing for folders.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            Err(error) => Err(failed("sync", folder, &error)),
            Ok(()) => Ok(()),
        }
    }

    /// The folder of all these.
    pub(super) fn folder(&self) -> &Path {
        folder_of(&self.path)
    }

    fn with(&self, ending: &str) -> PathBuf {
        let mut name = OsString::from(&self.path);
        name.push(ending);
        name.into()
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Opens a work file to read it; a link is none, because it may lead anywhere.
pub(super) fn open(path: &Path) -> io::Result<File> {
    match fs::symlink_metadata(path)?.is_file() {
        true => File::open(path),
        false => Err(io::Error::other("it is no file")),
    }
}

/// Removes a file, or a link itself; that it is gone already is as good.
pub(super) fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(failed("remove", path, &error))
        }
        _ => Ok(()),
    }
}

/// The system's words on what could not be done to a file.
pub(super) fn failed(verb: &str, path: &Path, error: &io::Error) -> Error {
    let message = format!("cannot {verb} {}: {error}", path.display());
    Error::new(ErrorKind::Io, message)
}
