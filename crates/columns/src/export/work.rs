//! The work directory of an export, `PATH.part`: made by us, locked while an export uses it, and removed at the end.
//!
//! `mkdir` succeeds only for the process that makes the directory, and nobody else may enter it: what is in it
//! is ours. A directory that exists already is used only if it has our owner and mode, and holds either
//! nothing yet or a checkpoint with the files that belong to it. Any other is refused and stays as it is.

use super::checkpoint::{Checkpoint, MARK, MAX_BYTES, Resumable, SyncedPrefix};
use crate::paths::{IoContext, begin_of, directory_of, part_of, sync_directory};
use blake3::Hasher;
use std::fs::{self, DirBuilder, File, Metadata, TryLockError};
use std::io::ErrorKind::{
    AlreadyExists, DirectoryNotEmpty, InvalidInput, NotADirectory, NotFound, Unsupported,
};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use talentdata_core::internal::files::{LockFile, identity};
use talentdata_core::{Error, ErrorKind, Result};

pub(super) const CHECKPOINT: &str = "checkpoint";
/// The next checkpoint, while it is being written.
const NEXT: &str = "checkpoint.next";
const LOCK: &str = "lock";
/// The file of the records, one behind the other; of JSON Lines it is the output.
pub(super) const DATA: &str = "data";
/// The file of the identities of the records.
pub(super) const IDS: &str = "ids";
/// The output in any other format.
pub(super) const OUTPUT: &str = "output";
/// The names of all other files, for which a checkpoint vouches.
const OTHERS: [&str; 3] = [DATA, IDS, OUTPUT];

/// Bytes that are written at once.
const BUFFER: usize = 64 * 1024;

/// The content of a work directory that an earlier export has left.
pub(super) enum Found {
    /// No records.
    Nothing,
    /// Work that only an export which begins again can replace: the checkpoint is damaged, or of another version.
    Unreadable,
    /// A checkpoint, which has no progress where no records were kept.
    Checkpoint(Box<Checkpoint>),
}

/// The work directory of one export, locked until it is dropped.
pub(super) struct WorkDirectory {
    pub(super) path: PathBuf,
    lock: LockFile,
}

impl WorkDirectory {
    /// Takes the work directory of an export to `output`, and changes nothing about what an earlier export
    /// has left there, which is returned.
    ///
    /// # Errors
    /// `Busy` when another export is writing; `Path` when what is at `PATH.part` is not ours.
    pub(super) fn claim(output: &Path) -> Result<(Self, Found)> {
        let path = part_of(output);
        loop {
            let mut builder = DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            match builder.create(&path) {
                Err(error) if error.kind() == AlreadyExists => check_owner(&path)?,
                created => created.at("create", &path)?,
            }
            let name = path.join(LOCK);
            if !fs::symlink_metadata(&name).is_ok_and(|found| found.is_file()) {
                // Nothing is created in a directory that is not ours.
                look_into(&path)?;
            }
            let lock = match File::options().append(true).create(true).open(&name) {
                // The export before this one has just ended.
                Err(error) if error.kind() == NotFound => continue,
                // Does nothing where something is in it.
                lock => lock
                    .inspect_err(|_| drop(fs::remove_dir(&path)))
                    .at("open", &name)?,
            };
            take_lock(&lock, output)?;
            let path = path.clone();
            let lock = LockFile::new(lock);
            let work = WorkDirectory { path, lock };
            if !work.is_current()? {
                continue;
            }
            let found = look_into(&work.path)?;
            if matches!(found, Found::Nothing) {
                let synced = sync_directory(directory_of(&work.path));
                synced.inspect_err(|_| drop(work.remove()))?;
            }
            return Ok((work, found));
        }
    }

    /// Looks at what is in the work directory of an export to `output`, and changes nothing.
    ///
    /// # Errors
    /// `Path` when it is not ours.
    pub(super) fn peek(output: &Path) -> Result<Found> {
        let path = part_of(output);
        check_owner(&path).and_then(|()| look_into(&path))
    }

    /// Returns whether another export has the work directory of an export to `output` now.
    pub(super) fn is_claimed(output: &Path) -> bool {
        let lock = File::open(part_of(output).join(LOCK));
        lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Replaces the checkpoint; whatever happens, there is a complete one afterwards, this or the one before.
    ///
    /// # Errors
    /// `Io`, also when the directory was removed or replaced: another export may be writing.
    pub(super) fn store(&self, checkpoint: &Checkpoint) -> Result<()> {
        self.check()?;
        // Left by an export that was killed here.
        self.remove_file(NEXT)?;
        let (path, next) = (self.file(CHECKPOINT), self.file(NEXT));
        let write = || {
            let mut file = File::create_new(&next)?;
            file.write_all(&checkpoint.to_bytes()?)?;
            file.sync_all()?;
            fs::rename(&next, &path)
        };
        // It may be what fills the disk.
        write()
            .inspect_err(|_| drop(fs::remove_file(&next)))
            .at("write", &path)?;
        sync_directory(&self.path)
    }

    /// Gives a file in it its final name, which survives a power failure once the directory is synced.
    ///
    /// # Errors
    /// `Io`, also when another file has taken its place.
    pub(super) fn publish(&self, name: &str, file: &File, output: &Path) -> Result<()> {
        let path = self.file(name);
        if !is_name_of(&path, file)? {
            return Err(replaced(&path));
        }
        fs::rename(&path, output).at("create", output)
    }

    pub(super) fn remove_file(&self, name: &str) -> Result<()> {
        let path = self.file(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() == NotFound => Ok(()),
            removed => removed.at("remove", &path),
        }
    }

    /// Removes the data of an unfinished export, without which the rest counts for nothing; its checkpoint and the lock
    /// stay.
    pub(super) fn clear(&self) -> Result<()> {
        let mut names = OTHERS.into_iter();
        names.try_for_each(|name| self.remove_file(name))
    }

    /// Removes everything. The checkpoint goes after what it vouches for, and the lock last: it keeps
    /// other exports away.
    pub(super) fn remove(&self) -> Result<()> {
        self.check()?;
        self.clear()?;
        for name in [NEXT, CHECKPOINT, LOCK] {
            self.remove_file(name)?;
        }
        match fs::remove_dir(&self.path) {
            // The next export is in it already, or somebody has put a file there.
            Err(error) if [DirectoryNotEmpty, NotFound].contains(&error.kind()) => Ok(()),
            removed => removed.at("remove", &self.path),
        }
    }

    /// # Errors
    /// `Io` when the directory is no longer the one that was claimed.
    pub(super) fn check(&self) -> Result<()> {
        if self.is_current()? {
            Ok(())
        } else {
            Err(replaced(&self.file(LOCK)))
        }
    }

    fn is_current(&self) -> Result<bool> {
        is_name_of(&self.file(LOCK), &self.lock)
    }
}

/// A file that is written to its end and cut back to what was synced.
pub(super) struct AppendFile {
    file: File,
    pub(super) path: PathBuf,
    pub(super) hasher: Hasher,
    /// Bytes that are not written yet.
    pub(super) pending: Vec<u8>,
    /// The number of bytes that the checkpoint covers.
    kept: u64,
}

impl AppendFile {
    /// Opens a file and digests what was kept of it; it stays as it is. Creates one where nothing was kept.
    ///
    /// # Errors
    /// `Mismatch` when it no longer begins with what was kept; `Io` when the system refuses.
    pub(super) fn open(path: PathBuf, kept: Option<&SyncedPrefix>) -> Result<Self> {
        let mut options = File::options();
        options.write(true).create_new(kept.is_none());
        let file = match options.open(&path) {
            Err(error) if error.kind() == NotFound && kept.is_some() => {
                return Err(damaged(format!("{} is missing", path.display())));
            }
            file => file.at("open", &path)?,
        };
        let mut growing = AppendFile {
            file,
            path,
            hasher: Hasher::new(),
            pending: Vec::new(),
            kept: kept.map_or(0, |kept| kept.bytes),
        };
        let read = growing.kept();
        let read = read.and_then(|kept| growing.hasher.update_reader(kept).map(drop));
        read.at("read", &growing.path)?;
        let blake3 = growing.hasher.finalize().to_string();
        if kept.is_some_and(|kept| kept.blake3 != blake3) {
            let path = growing.path.display();
            let message = format!("{path} was changed after its checkpoint was written");
            return Err(damaged(message));
        }
        Ok(growing)
    }

    /// Reads what was kept.
    pub(super) fn kept(&self) -> io::Result<BufReader<io::Take<File>>> {
        Ok(BufReader::new(File::open(&self.path)?.take(self.kept)))
    }

    /// Another handle of the file.
    pub(super) fn handle(&self) -> Result<File> {
        self.file.try_clone().at("open", &self.path)
    }

    /// Drops what is behind the part that was kept, and goes on writing there.
    pub(super) fn truncate_to_checkpoint(&mut self) -> Result<()> {
        self.pending.clear();
        let cut = self.file.set_len(self.kept);
        let cut = cut.and_then(|()| self.file.seek(SeekFrom::Start(self.kept)));
        cut.map(drop).at("write", &self.path)
    }

    /// Adds a record and what ends it.
    pub(super) fn append(&mut self, record: &[u8], end: u8) -> Result<()> {
        self.pending.extend_from_slice(record);
        self.pending.push(end);
        if self.pending.len() < BUFFER {
            Ok(())
        } else {
            self.write_pending()
        }
    }

    pub(super) fn write_pending(&mut self) -> Result<()> {
        let written = self.file.write_all(&self.pending);
        if written.is_err() {
            // Part of it may be in the file; another attempt begins at the same place.
            self.file.seek(SeekFrom::Start(self.hasher.count())).ok();
        }
        written.at("write", &self.path)?;
        self.hasher.update(&self.pending);
        self.pending.clear();
        Ok(())
    }

    /// Syncs all that was written, to be known to the next checkpoint.
    pub(super) fn sync(&mut self) -> Result<SyncedPrefix> {
        self.write_pending()?;
        self.file.sync_all().at("write", &self.path)?;
        self.kept = self.hasher.count();
        Ok(SyncedPrefix {
            bytes: self.kept,
            blake3: self.hasher.finalize().to_string(),
        })
    }
}

/// Refuses anything but a directory that we have made, which nobody else may enter.
fn check_owner(path: &Path) -> Result<()> {
    let found = match fs::symlink_metadata(path) {
        // It is going to be made again.
        Err(error) if error.kind() == NotFound => return Ok(()),
        found => found.at("open", path)?,
    };
    if !found.is_dir() {
        return Err(foreign(path, "is not a directory"));
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
        if facts(&found) != facts(&made.at("create", path)?) {
            let why = "belongs to another user, or has a mode that no export gives it";
            return Err(foreign(path, why));
        }
    }
    Ok(())
}

/// Looks at what is in the directory, and reads the checkpoint.
///
/// # Errors
/// `Path` when anything is in it that no export has put there, or no checkpoint vouches for.
fn look_into(directory: &Path) -> Result<Found> {
    let entries = match directory.read_dir() {
        Err(error) if error.kind() == NotFound => return Ok(Found::Nothing),
        entries => entries.at("read", directory)?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.at("read", directory)?;
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        let found = entry.metadata().at("open", &path)?;
        let is_checkpoint = |bytes: Vec<u8>| MARK.as_bytes().starts_with(&bytes);
        let why = match &*name {
            _ if !found.is_file() => "is not a regular file",
            #[cfg(unix)]
            _ if std::os::unix::fs::MetadataExt::nlink(&found) > 1 => "has another hard link to it",
            LOCK if found.len() > 0 => "is not empty",
            NEXT if !begin_of(&path, MARK.len() as u64).is_ok_and(is_checkpoint) => {
                "is not a checkpoint"
            }
            known if [LOCK, NEXT, CHECKPOINT].contains(&known) || OTHERS.contains(&known) => {
                names.push(known.to_owned());
                continue;
            }
            _ => "is not a file of an export",
        };
        return Err(foreign(&path, why));
    }
    let path = directory.join(CHECKPOINT);
    let bytes = match begin_of(&path, MAX_BYTES) {
        Err(error) if error.kind() == NotFound => None,
        bytes => Some(bytes.at("read", &path)?),
    };
    let exists = |name: &str| names.iter().any(|found| found == name);
    // Without its data, an export was killed before its first page or after its last rename.
    let has_data = exists(DATA);
    if let Some(mut found) = bytes.as_deref().and_then(Checkpoint::of_bytes) {
        let has_records = |progress: &Resumable| has_data && progress.records() > 0;
        found.progress = found.progress.filter(has_records);
        return Ok(Found::Checkpoint(Box::new(found)));
    }
    let is_marked = bytes
        .as_ref()
        .is_some_and(|bytes| bytes.starts_with(MARK.as_bytes()));
    // Nobody else can have put all of these here.
    let is_ours = is_marked || [LOCK, DATA, IDS].into_iter().all(exists);
    match bytes {
        _ if is_ours && has_data => Ok(Found::Unreadable),
        _ if is_ours => Ok(Found::Nothing),
        Some(_) => Err(foreign(&path, "is not a checkpoint")),
        None if OTHERS.into_iter().any(exists) => {
            Err(foreign(directory, "holds files without a checkpoint"))
        }
        None => Ok(Found::Nothing),
    }
}

/// The error for kept work that is no longer as its checkpoint says.
pub(super) fn damaged(message: String) -> Error {
    Error::new(ErrorKind::Mismatch, message)
}

/// The lock ends with the process, however that ends.
fn take_lock(file: &File, output: &Path) -> Result<()> {
    let error = match file.try_lock() {
        Ok(()) => return Ok(()),
        Err(TryLockError::WouldBlock) => {
            let path = output.display();
            let message = format!("another export is writing to {path}; wait for it or stop it");
            return Err(Error::new(ErrorKind::Busy, message));
        }
        Err(TryLockError::Error(error)) => error,
    };
    #[cfg(unix)]
    let none_left = error.raw_os_error() == Some(rustix::io::Errno::NOLCK.raw_os_error());
    #[cfg(not(unix))]
    let none_left = false;
    // How file systems say that they have no locks.
    if none_left || [Unsupported, InvalidInput].contains(&error.kind()) {
        tracing::warn!("no locks here: a second export to the same path would not be noticed");
        return Ok(());
    }
    Err(error).at("lock", &part_of(output).join(LOCK))
}

/// Refuses what no export has made, naming the way out.
fn foreign(path: &Path, why: &str) -> Error {
    let message = format!(
        "{} {why}, so it is left alone; move it away, or choose another output path",
        path.display()
    );
    Error::new(ErrorKind::Path, message)
}

/// Returns whether `path` is a name of the open file, and not a link to it.
///
/// # Errors
/// `Io` if the system does not tell.
fn is_name_of(path: &Path, file: &File) -> Result<bool> {
    let here = match fs::symlink_metadata(path) {
        Err(error) if [NotFound, NotADirectory].contains(&error.kind()) => return Ok(false),
        here => here.at("open", path)?,
    };
    Ok(identity(&here) == identity(&file.metadata().at("open", path)?))
}

/// The error for a file of the work directory that is no longer ours.
fn replaced(path: &Path) -> Error {
    let shown = path.display();
    let message = format!("{shown} was removed or replaced while the export was running");
    Error::new(ErrorKind::Io, message)
}
