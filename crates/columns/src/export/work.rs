//! The work directory of an export, `PATH.part`: made by us, locked while an export uses it, and removed at the end.
//!
//! `mkdir` succeeds only for the process that makes the directory, and nobody else may enter it: what is in it
//! is ours. A directory that exists already is used only if it has our owner and mode, and holds either
//! nothing yet or a checkpoint with the files that belong to it. Any other is refused and stays as it is.

use super::checkpoint::{Checkpoint, Kept, MARK, MAX_BYTES};
use super::paths::{directory_of, failed, part_of, sync_directory};
use crate::digest::{FileDigest, in_chunks};
use same_file::Handle;
use std::fs::{self, DirBuilder, File, Metadata, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use talentdata_core::{Error, ErrorKind, Result};

/// The output, until it is complete and gets its final name.
pub(super) const DATA: &str = "data";
/// The identities of the records that were delivered.
pub(super) const IDS: &str = "ids";
/// The row groups, joined at the end.
pub(super) const JOINED: &str = "joined";
const CHECKPOINT: &str = "checkpoint";
/// The next checkpoint, while it is being written.
const NEXT: &str = "checkpoint.next";
const LOCK: &str = "lock";

/// Holds the lock until it is dropped.
pub(super) struct WorkDirectory {
    pub(super) path: PathBuf,
    lock: File,
}

impl WorkDirectory {
    /// Takes the work directory of an export to `output`, and changes nothing about what an earlier export
    /// has left there, whose checkpoint is returned.
    ///
    /// # Errors
    /// `Io` when another export is writing, and when what is at `PATH.part` is not ours.
    pub(super) fn claim(output: &Path) -> Result<(Self, Option<Checkpoint>)> {
        let path = part_of(output);
        loop {
            let mut builder = DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            match builder.create(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => check_owner(&path)?,
                Err(error) => return Err(failed("create", &path, &error)),
            }
            let locked = open_lock(&path).inspect_err(|_| {
                // Does nothing where something is in it.
                let _ = fs::remove_dir(&path);
            });
            // None where the export before this one has just ended.
            let Some(lock) = locked? else {
                continue;
            };
            take_lock(&lock, output)?;
            let path = path.clone();
            let work = WorkDirectory { path, lock };
            if !work.is_held()? {
                continue;
            }
            let found = look_into(&work.path)?;
            if found.is_none() {
                let synced = sync_directory(directory_of(&work.path));
                synced.inspect_err(|_| drop(work.remove()))?;
            }
            return Ok((work, found));
        }
    }

    /// The checkpoint in the work directory of an export to `output`, if that is ours; nothing is changed.
    pub(super) fn peek(output: &Path) -> Option<Checkpoint> {
        let path = part_of(output);
        check_owner(&path).and_then(|()| look_into(&path)).ok()?
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Creates a file in which nothing was before.
    pub(super) fn create(&self, name: &str) -> Result<File> {
        let path = self.file(name);
        let mut options = File::options();
        let created = options.read(true).write(true).create_new(true).open(&path);
        created.map_err(|error| failed("create", &path, &error))
    }

    /// Replaces the checkpoint; whatever happens, there is a complete one afterwards, this or the one before.
    ///
    /// # Errors
    /// `Io`, also when the directory was removed or replaced: another export may be writing.
    pub(super) fn store(&self, checkpoint: &Checkpoint) -> Result<()> {
        self.check()?;
        let (path, next) = (self.file(CHECKPOINT), self.file(NEXT));
        let write = || {
            // Left by an export that was killed here.
            remove_if_there(&next)?;
            let mut file = File::options().write(true).create_new(true).open(&next)?;
            file.write_all(&checkpoint.to_bytes()?)?;
            file.sync_all()?;
            fs::rename(&next, &path)
        };
        write().map_err(|error: io::Error| {
            // It may be what fills the disk.
            let _ = fs::remove_file(&next);
            failed("write", &path, &error)
        })?;
        sync_directory(&self.path)
    }

    /// Gives a file in it its final name, which survives a power failure once the directory is synced.
    ///
    /// # Errors
    /// `Io`, also when another file has taken its place.
    pub(super) fn publish(&self, name: &str, file: &File, output: &Path) -> Result<()> {
        self.check()?;
        let path = self.file(name);
        if !is_same(&path, file).map_err(|error| failed("open", &path, &error))? {
            return Err(replaced(&path));
        }
        fs::rename(&path, output).map_err(|error| failed("create", output, &error))
    }

    pub(super) fn remove_file(&self, name: &str) -> Result<()> {
        let path = self.file(name);
        remove_if_there(&path).map_err(|error| failed("remove", &path, &error))
    }

    /// Removes the data of an unfinished export, without which the rest counts for nothing; its checkpoint and the lock
    /// stay.
    pub(super) fn clear(&self) -> Result<()> {
        let names = [DATA, JOINED, IDS, NEXT];
        names
            .into_iter()
            .try_for_each(|name| self.remove_file(name))
    }

    /// Removes everything. The checkpoint goes after what it vouches for, and the lock last: it keeps
    /// other exports away.
    pub(super) fn remove(&self) -> Result<()> {
        self.check()?;
        self.clear()?;
        self.remove_file(CHECKPOINT)?;
        self.remove_file(LOCK)?;
        match fs::remove_dir(&self.path) {
            // The next export is in it already, or somebody has put a file there.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(|error| failed("remove", &self.path, &error)),
        }
    }

    /// # Errors
    /// `Io` when the directory is no longer the one that was claimed.
    pub(super) fn check(&self) -> Result<()> {
        match self.is_held()? {
            true => Ok(()),
            false => Err(replaced(&self.path)),
        }
    }

    fn is_held(&self) -> Result<bool> {
        let name = self.file(LOCK);
        is_same(&name, &self.lock).map_err(|error| failed("open", &name, &error))
    }
}

impl Drop for WorkDirectory {
    fn drop(&mut self) {
        // Closing is not enough while a process that is being forked off has a copy of the file.
        let _ = self.lock.unlock();
    }
}

/// A file that is written to its end and cut back to what was synced.
pub(super) struct Growing {
    pub(super) file: File,
    pub(super) digest: FileDigest,
    pub(super) path: PathBuf,
    /// How much of it the checkpoint knows of.
    pub(super) kept: u64,
}

impl Growing {
    pub(super) fn create(work: &WorkDirectory, name: &str) -> Result<Self> {
        Ok(Growing {
            file: work.create(name)?,
            digest: FileDigest::new(),
            path: work.file(name),
            kept: 0,
        })
    }

    /// Opens a file and digests what was kept of it; it stays as it is.
    ///
    /// # Errors
    /// `Io` when it no longer begins with what was kept.
    pub(super) fn open(work: &WorkDirectory, name: &str, expected: &Kept) -> Result<Self> {
        let (path, digest, kept) = (work.file(name), FileDigest::new(), expected.bytes);
        let read = || {
            let file = File::options().read(true).write(true).open(&path)?;
            let length = file.metadata()?.len();
            in_chunks((&file).take(kept), |chunk| digest.update(chunk))?;
            Ok((file, length))
        };
        let (file, length) = read().map_err(|error| failed("read", &path, &error))?;
        let why = match length < kept {
            true => format!("has {length} bytes, but its checkpoint expects at least {kept}"),
            false if digest.to_hex() != expected.blake3 => {
                "was changed after its checkpoint was written".to_owned()
            }
            false => {
                return Ok(Growing {
                    file,
                    digest,
                    path,
                    kept,
                });
            }
        };
        let message = format!("{} {why}", path.display());
        Err(Error::new(ErrorKind::Io, message))
    }

    /// Drops what is behind the part that was kept, and goes on writing there.
    pub(super) fn cut_back(&mut self) -> Result<()> {
        let cut = self.file.set_len(self.kept);
        cut.and_then(|()| self.file.seek(SeekFrom::Start(self.kept)))
            .map(drop)
            .map_err(|error| failed("write", &self.path, &error))
    }

    /// Appends `bytes`, and syncs all that was written, to be known to the next checkpoint.
    pub(super) fn sync(&mut self, bytes: &[u8]) -> Result<Kept> {
        let written = self.digest.through(&self.file).write_all(bytes);
        let synced = written.and_then(|()| self.file.sync_all());
        synced.map_err(|error| failed("write", &self.path, &error))?;
        self.kept = self.digest.bytes();
        Ok(Kept {
            bytes: self.kept,
            blake3: self.digest.to_hex(),
        })
    }
}

/// Whether an export gives a file in its work directory this name.
fn is_ours(name: &str) -> bool {
    [DATA, IDS, JOINED, CHECKPOINT, NEXT, LOCK].contains(&name)
}

/// Refuses anything but a directory that we have made, which nobody else may enter.
fn check_owner(path: &Path) -> Result<()> {
    let found = match fs::symlink_metadata(path) {
        // It is going to be made again.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found.map_err(|error| failed("open", path, &error))?,
    };
    if !found.is_dir() {
        let what = match found.is_symlink() {
            true => "is a symbolic link",
            false => "is not a directory",
        };
        return Err(foreign(path, what));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let facts = |found: &Metadata| (found.uid(), found.mode() & 0o777);
        if facts(&found) == (rustix::process::geteuid().as_raw(), 0o700) {
            return Ok(());
        }
        // Some file systems map owners and modes: what does a directory of ours look like here?
        let made = tempfile::Builder::new()
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(directory_of(path))
            .and_then(|made| made.path().metadata());
        let made = made.map_err(|error| failed("create", path, &error))?;
        let ((uid, mode), made) = (facts(&found), facts(&made));
        if uid != made.0 {
            return Err(foreign(
                path,
                &format!("belongs to another user (uid {uid})"),
            ));
        }
        if mode != made.1 {
            let why = format!("has the mode {mode:03o}, which no export gives it");
            return Err(foreign(path, &why));
        }
    }
    Ok(())
}

/// Looks at what is in the directory, and reads the checkpoint.
///
/// # Errors
/// `Io` when anything is in it that no export has put there, or no checkpoint vouches for.
fn look_into(directory: &Path) -> Result<Option<Checkpoint>> {
    let mut begun = false;
    for name in names(directory)? {
        let path = directory.join(&name);
        let found = match fs::symlink_metadata(&path) {
            // An export that is ending has removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            found => found.map_err(|error| failed("open", &path, &error))?,
        };
        let why = match found {
            _ if !is_ours(&name) => "is not a file of an export",
            found if found.is_symlink() => "is a symbolic link",
            found if !found.is_file() => "is not a regular file",
            found if links(&found) > 1 => "has another hard link to it",
            found if name == LOCK && found.len() > 0 => "is not empty",
            _ if name == NEXT && !may_be_checkpoint(&path) => "is not a checkpoint",
            _ => {
                begun |= name != LOCK && name != NEXT;
                continue;
            }
        };
        return Err(foreign(&path, why));
    }
    let path = directory.join(CHECKPOINT);
    let mut bytes = Vec::new();
    let read = File::open(&path).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes));
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match begun {
            true => Err(foreign(directory, "holds files without a checkpoint")),
            false => Ok(None),
        },
        Err(error) => Err(failed("read", &path, &error)),
        Ok(_) => match Checkpoint::of_bytes(&bytes) {
            Ok(checkpoint) => Ok(Some(checkpoint)),
            Err(why) => Err(foreign(&path, &why)),
        },
    }
}

/// Whether these are the first bytes of a checkpoint, however few were written.
fn may_be_checkpoint(path: &Path) -> bool {
    let mut begin = Vec::new();
    let read =
        File::open(path).and_then(|file| file.take(MARK.len() as u64).read_to_end(&mut begin));
    read.is_ok() && MARK.as_bytes().starts_with(&begin)
}

/// The file to lock in a directory of ours. None where it is gone, or made by another export meanwhile.
///
/// # Errors
/// `Io` where it is not such a file, and where there are other files without it.
fn open_lock(directory: &Path) -> Result<Option<File>> {
    let path = directory.join(LOCK);
    let mut options = File::options();
    options.read(true).append(true);
    match fs::symlink_metadata(&path) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err(foreign(&path, "is not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let others = names(directory)?;
            if others.iter().any(|name| name != LOCK) {
                return Err(foreign(
                    directory,
                    "holds files that no export has put there",
                ));
            }
            options.create_new(true);
        }
        Err(error) => return Err(failed("open", &path, &error)),
    }
    match options.open(&path) {
        Ok(file) => Ok(Some(file)),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists => Ok(None),
            _ => Err(failed("open", &path, &error)),
        },
    }
}

/// The lock ends with the process, however that ends.
fn take_lock(file: &File, output: &Path) -> Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            let path = output.display();
            let message = format!("another export is writing to {path}; wait for it or stop it");
            Err(Error::new(ErrorKind::Io, message))
        }
        Err(TryLockError::Error(error)) if has_no_locks(&error) => {
            tracing::warn!(
                "the file system has no locks; a second export to the same path would not be noticed"
            );
            Ok(())
        }
        Err(TryLockError::Error(error)) => Err(failed("lock", &part_of(output).join(LOCK), &error)),
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

/// The names in a directory; none where there is no directory.
fn names(directory: &Path) -> Result<Vec<String>> {
    let name =
        |entry: io::Result<fs::DirEntry>| Ok(entry?.file_name().to_string_lossy().into_owned());
    match directory
        .read_dir()
        .and_then(|entries| entries.map(name).collect())
    {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        names => names.map_err(|error| failed("read", directory, &error)),
    }
}

/// Refuses what no export has made, naming the way out.
fn foreign(path: &Path, why: &str) -> Error {
    let message = format!(
        "{} {why}, so it is left alone; move it away, or choose another output path",
        path.display()
    );
    Error::new(ErrorKind::Io, message)
}

fn replaced(path: &Path) -> Error {
    let shown = path.display();
    let message = format!("{shown} was removed or replaced while the export was running");
    Error::new(ErrorKind::Io, message)
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Whether `path` is a name of the open file, and not a link to it.
fn is_same(path: &Path, file: &File) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        // Nothing else is opened, because a pipe would wait for its other end.
        Ok(found) if found.is_file() => {
            Ok(Handle::from_path(path)? == Handle::from_file(file.try_clone()?)?)
        }
        Ok(_) => Ok(false),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(false),
            _ => Err(error),
        },
    }
}

fn links(metadata: &Metadata) -> u64 {
    #[cfg(unix)]
    return std::os::unix::fs::MetadataExt::nlink(metadata);
    #[cfg(not(unix))]
    return 1;
}
