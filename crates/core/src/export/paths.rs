//! Where an export goes: the names of its files.

use crate::error::{Error, ErrorKind, Result};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// How many symbolic links in a row are followed; the same as on Linux.
const MAX_LINKS: usize = 40;

/// Hexadecimal digits of the id that a temporary file ends with.
const ID_DIGITS: usize = 16;

/// The final path of an export, with symbolic links resolved, and the paths of its work files beside it.
#[derive(Clone, Debug)]
pub(super) struct OutputPaths {
    pub(super) path: PathBuf,
}

/// A file with unfinished data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum WorkName {
    /// `PATH.part`.
    Part,
    /// `PATH.part.ids`.
    Ids,
    /// `PATH.part.N`, from 1.
    RowGroup(usize),
}

/// What a path stands for.
pub(super) enum Destination {
    /// A file, or nothing yet.
    File(OutputPaths),
    /// A pipe or a device.
    Stream,
}

impl OutputPaths {
    /// Looks at what is at `path`.
    pub(super) fn look(path: &Path) -> Result<Destination> {
        if path.file_name().is_none() {
            let message = format!("target: {path:?} has no file name");
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => {
                let message = format!("{} is a directory; give the path of a file", path.display());
                return Err(Error::new(ErrorKind::Io, message));
            }
            Ok(found) if !found.is_file() => return Ok(Destination::Stream),
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed("open", path, &error));
            }
            _ => {}
        }
        Ok(Destination::File(OutputPaths::at(path)))
    }

    /// Resolves symbolic links, whether or not there is a file at their end.
    pub(super) fn at(path: &Path) -> Self {
        let mut path = path.to_owned();
        for _ in 0..MAX_LINKS {
            let Ok(target) = fs::read_link(&path) else {
                break;
            };
            path = directory_of(&path).join(target);
        }
        OutputPaths { path }
    }

    /// The final name, without its directory.
    pub(super) fn name(&self) -> Option<String> {
        let name = self.path.file_name();
        name.map(|name| name.to_string_lossy().into_owned())
    }

    /// The unfinished data.
    pub(super) fn part(&self) -> PathBuf {
        self.work(WorkName::Part)
    }

    pub(super) fn work(&self, name: WorkName) -> PathBuf {
        match name {
            WorkName::Part => self.with(".part"),
            WorkName::Ids => self.with(".part.ids"),
            WorkName::RowGroup(number) => self.with(&format!(".part.{number}")),
        }
    }

    /// How far the unfinished data go, and which files belong to the export.
    pub(super) fn checkpoint(&self) -> PathBuf {
        self.with(".checkpoint")
    }

    /// A checkpoint that is being written by the export with this id.
    pub(super) fn temporary(&self, id: &str) -> PathBuf {
        self.with(&format!(".checkpoint.{id}"))
    }

    /// Whether `name`, in the same directory, is the final name or one that a work file can have.
    pub(super) fn uses(&self, name: &OsStr) -> bool {
        let own = [&self.path, &self.checkpoint()];
        own.iter().any(|path| path.file_name() == Some(name))
            || self.work_name(name).is_some()
            || self.temporary_id(name).is_some()
    }

    /// The files with unfinished data that exist, whatever they are. They are looked for in the
    /// directory because their numbers need not follow each other.
    pub(super) fn existing(&self) -> Result<Vec<WorkName>> {
        let names = self.names()?;
        let mut found: Vec<_> = names
            .iter()
            .filter_map(|name| self.work_name(name))
            .collect();
        found.sort();
        Ok(found)
    }

    fn work_name(&self, name: &OsStr) -> Option<WorkName> {
        let work = match self.ending(name, ".part")? {
            "" => WorkName::Part,
            ".ids" => WorkName::Ids,
            number => WorkName::RowGroup(number.strip_prefix('.')?.parse().ok()?),
        };
        // A number can be written in several ways; only one is ours.
        (self.work(work).file_name()? == name).then_some(work)
    }

    /// The id of the export whose temporary checkpoint is called `name`.
    pub(super) fn temporary_id<'a>(&self, name: &'a OsStr) -> Option<&'a str> {
        let id = self.ending(name, ".checkpoint.")?;
        is_id(id).then_some(id)
    }

    /// The names in the directory of all these files; none where there is no directory.
    pub(super) fn names(&self) -> Result<Vec<OsString>> {
        let directory = self.directory();
        let names = directory
            .read_dir()
            .and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect());
        match names {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            names => names.map_err(|error| failed("read", directory, &error)),
        }
    }

    /// Makes created, renamed and removed names survive a power failure.
    pub(super) fn sync_directory(&self) -> Result<()> {
        // Elsewhere a directory cannot be opened, and names survive without it.
        if !cfg!(unix) {
            return Ok(());
        }
        let directory = self.directory();
        match File::open(directory).and_then(|directory| directory.sync_all()) {
            // Some file systems cannot sync directories.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            Err(error) => Err(failed("sync", directory, &error)),
            Ok(()) => Ok(()),
        }
    }

    /// The directory of all these files.
    pub(super) fn directory(&self) -> &Path {
        directory_of(&self.path)
    }

    fn ending<'a>(&self, name: &'a OsStr, prefix: &str) -> Option<&'a str> {
        let stem = self.path.file_name()?.as_encoded_bytes();
        let ending = name.as_encoded_bytes().strip_prefix(stem)?;
        std::str::from_utf8(ending).ok()?.strip_prefix(prefix)
    }

    fn with(&self, ending: &str) -> PathBuf {
        let mut name = OsString::from(&self.path);
        name.push(ending);
        name.into()
    }
}

/// The id of a new export, which nobody can guess.
pub(super) fn new_id() -> String {
    format!("{:016x}", fastrand::u64(..))
}

pub(super) fn is_id(text: &str) -> bool {
    let digit = |letter: u8| matches!(letter, b'0'..=b'9' | b'a'..=b'f');
    text.len() == ID_DIGITS && text.bytes().all(digit)
}

fn directory_of(path: &Path) -> &Path {
    path.parent()
        .filter(|directory| !directory.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// What could not be done to a file, and why.
pub(super) fn failed(verb: &str, path: &Path, error: &io::Error) -> Error {
    let message = format!("cannot {verb} {}: {error}", path.display());
    Error::new(ErrorKind::Io, message)
}
