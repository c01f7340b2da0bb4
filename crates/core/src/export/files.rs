//! Work files: created for their owner alone, opened only if they are the owner's own, removed only if unchanged.

use super::paths::{OutputPaths, failed, new_id};
use crate::error::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

#[cfg(unix)]
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

/// What a new file gets in the directory of an export. It is found out by creating one, because file
/// systems may map owners, and because a process cannot look up its umask without changing it.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewFile {
    #[cfg(unix)]
    owner: u32,
    #[cfg(unix)]
    pub(super) mode: u32,
}

impl NewFile {
    pub(super) fn probe(paths: &OutputPaths) -> Result<Self> {
        let path = paths.temporary(&new_id());
        let created = File::options().write(true).create_new(true).open(&path);
        let metadata = created.and_then(|file| {
            let metadata = file.metadata();
            remove_if_same(&path, &file)?;
            metadata
        });
        // Nobody knows the random name.
        let metadata = metadata.map_err(|error| failed("create", &paths.checkpoint(), &error))?;
        #[cfg(not(unix))]
        let _ = metadata;
        Ok(NewFile {
            #[cfg(unix)]
            owner: metadata.uid(),
            #[cfg(unix)]
            mode: super::mode::bits(&metadata),
        })
    }

    /// Opens a work file that exists, to read and write it.
    ///
    /// # Errors
    /// `Io` when the path leads to anything but a regular file of the same owner with a single name.
    pub(super) fn open_own(&self, path: &Path) -> Result<Option<File>> {
        match self.open_if_own(path) {
            Ok(Ok(file)) => Ok(Some(file)),
            Ok(Err(why)) => Err(foreign(path, &why)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("open", path, &error)),
        }
    }

    /// The file, or why it is not ours. What counts is the open file: its name may lead elsewhere a
    /// moment later.
    fn open_if_own(&self, path: &Path) -> io::Result<std::result::Result<File, String>> {
        // Opening a device can have effects of its own.
        let found = fs::symlink_metadata(path)?;
        if found.is_symlink() {
            return Ok(Err("is a symbolic link".into()));
        }
        if !found.is_file() {
            return Ok(Err("is not a regular file".into()));
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        #[cfg(unix)]
        {
            use rustix::fs::OFlags;
            let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
            options.custom_flags(i32::try_from(flags.bits()).map_err(io::Error::other)?);
        }
        let file = options.open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Ok(Err("is not a regular file".into()));
        }
        #[cfg(unix)]
        match metadata.nlink() {
            0 => return Err(io::ErrorKind::NotFound.into()),
            1 => {}
            links => {
                return Ok(Err(format!(
                    "is one of {links} hard links to the same file"
                )));
            }
        }
        #[cfg(unix)]
        if metadata.uid() != self.owner {
            let owner = metadata.uid();
            return Ok(Err(format!("belongs to another user (uid {owner})")));
        }
        Ok(Ok(file))
    }
}

/// Refuses a file that was not created by an export, naming the way out.
pub(super) fn foreign(path: &Path, why: &str) -> Error {
    let message = format!(
        "{} {why}, so it is left alone; move it away, or choose another output path",
        path.display()
    );
    Error::new(ErrorKind::Io, message)
}

/// Creates a work file that only its owner can open. If the name is taken, by a link too, that is an error.
pub(super) fn create_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    options.mode(0o600);
    options.open(path)
}

/// Whether `path` is a name of the open file, and not a link to it.
#[cfg(unix)]
pub(super) fn is_same(path: &Path, file: &File) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(found) => {
            let open = file.metadata()?;
            Ok((found.dev(), found.ino()) == (open.dev(), open.ino()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether `path` is a name of the open file.
#[cfg(not(unix))]
pub(super) fn is_same(path: &Path, file: &File) -> io::Result<bool> {
    use same_file::Handle;
    match Handle::from_path(path) {
        Ok(found) => Ok(found == Handle::from_file(file.try_clone()?)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes a file unless its name has been taken by another one.
pub(super) fn remove_if_same(path: &Path, file: &File) -> io::Result<()> {
    if is_same(path, file)? {
        match fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => removed?,
        }
    }
    Ok(())
}

/// By what a file is recognised after a restart. The number of its device is left out, since it may
/// change whenever the file system is mounted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileIdentity {
    /// The inode number; 0 on systems without one.
    inode: u64,
    /// In nanoseconds since 1970, where the file system records it. It tells files apart that had
    /// the same inode number one after the other.
    created: Option<u64>,
}

impl FileIdentity {
    pub(super) fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(FileIdentity {
            inode: inode(&metadata),
            created: created(&metadata),
        })
    }

    pub(super) fn matches(&self, other: &FileIdentity) -> bool {
        let created = self.created.zip(other.created);
        self.inode == other.inode && created.is_none_or(|(before, now)| before == now)
    }
}

#[cfg(unix)]
fn inode(metadata: &Metadata) -> u64 {
    metadata.ino()
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> u64 {
    0
}

fn created(metadata: &Metadata) -> Option<u64> {
    let since = metadata.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    since.as_nanos().try_into().ok()
}
