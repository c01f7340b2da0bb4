//! The work directory of an export, `PATH.part`. The export creates it, locks it while it runs, and removes it at the
//! end.
//!
//! `mkdir` succeeds only for the process that creates the directory, and only our user may enter it, so its files are
//! ours. An existing directory is used only if it has our owner and mode, and if it is empty or holds a checkpoint with
//! the files that belong to it. Any other directory is refused and not modified.

use super::checkpoint::{Checkpoint, MARK, MAX_CHECKPOINT_BYTES, Resumable, SyncedPrefix};
use super::mode::open_private;
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
/// The file of the next checkpoint, which is renamed when it is complete.
const NEXT: &str = "checkpoint.next";
const LOCK: &str = "lock";
/// The file of the records, one after the other. For JSON Lines it is the output.
pub(super) const DATA: &str = "data";
/// The file of the identities of the records.
pub(super) const IDS: &str = "ids";
/// The file of the output in any other format.
pub(super) const OUTPUT: &str = "output";
/// The files that belong to a checkpoint. Without a checkpoint, nothing proves that they are ours.
const OTHERS: [&str; 3] = [DATA, IDS, OUTPUT];

/// The number of bytes that are collected before they are written.
const BUFFER: usize = 64 * 1024;

/// The work of an earlier export in a work directory.
pub(super) enum Found {
    /// No records.
    Nothing,
    /// A checkpoint that is damaged or of another version. Only an export that starts over can replace it.
    Unreadable,
    /// A checkpoint. It has no progress if no records were kept.
    Checkpoint(Box<Checkpoint>),
}

/// The work directory of one export, locked until it is dropped.
pub(super) struct WorkDirectory {
    pub(super) path: PathBuf,
    lock: LockFile,
}

impl WorkDirectory {
    /// Locks the work directory of an export to `output`, and creates it if it does not exist. Returns the work of an
    /// earlier export, which is not modified.
    ///
    /// # Errors
    /// `Busy` if another export is writing; `Path` if the existing file or directory `PATH.part` is not ours.
    pub(super) fn claim(output: &Path) -> Result<(Self, Found)> {
        let path = part_of(output);
        loop {
            match create_directory(&path) {
                Err(error) if error.kind() == AlreadyExists => check_owner(&path)?,
                created => created.at("create", &path)?,
            }
            let name = path.join(LOCK);
            if !fs::symlink_metadata(&name).is_ok_and(|found| found.is_file()) {
                // If the directory is not ours, no file is created in it.
                look_into(&path)?;
            }
            let file = match open_private(File::options().append(true).create(true), &name) {
                // The previous export has just removed the directory.
                Err(error) if error.kind() == NotFound => continue,
                // This removes the directory only if it is empty.
                file => file
                    .inspect_err(|_| drop(fs::remove_dir(&path)))
                    .at("open", &name)?,
            };
            take_lock(&file, output)?;
            let work = WorkDirectory {
                path: path.clone(),
                lock: LockFile::new(file),
            };
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

    /// Returns the work of an earlier export to `output`, without a lock and without modifying anything.
    ///
    /// # Errors
    /// `Path` if the work directory is not ours.
    pub(super) fn peek(output: &Path) -> Result<Found> {
        let path = part_of(output);
        check_owner(&path).and_then(|()| look_into(&path))
    }

    /// Returns whether another export to `output` is running.
    pub(super) fn is_claimed(output: &Path) -> bool {
        let lock = File::open(part_of(output).join(LOCK));
        lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Replaces the checkpoint. If that fails, the previous checkpoint is still complete.
    ///
    /// # Errors
    /// `Io`; also if the directory was removed or replaced, because another export may be writing.
    pub(super) fn store(&self, checkpoint: &Checkpoint) -> Result<()> {
        self.check()?;
        // An export that was killed while it wrote a checkpoint leaves this file.
        self.remove_file(NEXT)?;
        let (path, next) = (self.file(CHECKPOINT), self.file(NEXT));
        let write = || {
            let mut file = open_private(File::options().write(true).create_new(true), &next)?;
            file.write_all(&checkpoint.to_bytes()?)?;
            file.sync_all()?;
            fs::rename(&next, &path)
        };
        // An incomplete file is removed, because it may fill the disk.
        write()
            .inspect_err(|_| drop(fs::remove_file(&next)))
            .at("write", &path)?;
        sync_directory(&self.path)
    }

    /// Moves a file of the work directory to `output`. The new name survives a power failure after the directory is
    /// synced.
    ///
    /// # Errors
    /// `Io`; also if another file replaced it.
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

    /// Removes the data of an unfinished export. The checkpoint and the lock remain, but without data the checkpoint is
    /// worthless.
    pub(super) fn clear(&self) -> Result<()> {
        let mut names = OTHERS.into_iter();
        names.try_for_each(|name| self.remove_file(name))
    }

    /// Removes the work directory with all its files: first the data, then the checkpoint, which proves that the data
    /// is ours, and then the lock, which excludes other exports.
    pub(super) fn remove(&self) -> Result<()> {
        self.check()?;
        self.clear()?;
        for name in [NEXT, CHECKPOINT, LOCK] {
            self.remove_file(name)?;
        }
        match fs::remove_dir(&self.path) {
            // The next export uses the directory already, or another program created a file in it.
            Err(error) if [DirectoryNotEmpty, NotFound].contains(&error.kind()) => Ok(()),
            removed => removed.at("remove", &self.path),
        }
    }

    /// Checks that the directory is still the one that was claimed.
    ///
    /// # Errors
    /// `Io` if it was removed or replaced.
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

/// A file to which records are appended, and which can be truncated to its last synced length.
pub(super) struct AppendFile {
    file: File,
    pub(super) path: PathBuf,
    pub(super) hasher: Hasher,
    /// The bytes that are not written yet.
    pub(super) pending: Vec<u8>,
    /// The number of bytes that the checkpoint covers.
    kept: u64,
}

impl AppendFile {
    /// Opens a file of kept records and compares it with its digest, without modifying it. Creates the file if `kept`
    /// is `None`.
    ///
    /// # Errors
    /// `Mismatch` if the file is missing or was changed; `Io` if the system refuses.
    pub(super) fn open(path: PathBuf, kept: Option<&SyncedPrefix>) -> Result<Self> {
        let mut options = File::options();
        options.write(true).create_new(kept.is_none());
        let file = match open_private(&mut options, &path) {
            Err(error) if error.kind() == NotFound && kept.is_some() => {
                return Err(damaged(format!("{} is missing", path.display())));
            }
            file => file.at("open", &path)?,
        };
        let mut appended = AppendFile {
            file,
            path,
            hasher: Hasher::new(),
            pending: Vec::new(),
            kept: kept.map_or(0, |kept| kept.bytes),
        };
        appended
            .kept()
            .and_then(|kept| appended.hasher.update_reader(kept).map(drop))
            .at("read", &appended.path)?;
        let blake3 = appended.hasher.finalize().to_string();
        if kept.is_some_and(|kept| kept.blake3 != blake3) {
            let path = appended.path.display();
            let message = format!("{path} was changed after its checkpoint was written");
            return Err(damaged(message));
        }
        Ok(appended)
    }

    /// Returns a reader of the bytes that the checkpoint covers.
    pub(super) fn kept(&self) -> io::Result<BufReader<io::Take<File>>> {
        Ok(BufReader::new(File::open(&self.path)?.take(self.kept)))
    }

    /// Returns another handle of the file.
    pub(super) fn handle(&self) -> Result<File> {
        self.file.try_clone().at("open", &self.path)
    }

    /// Drops the bytes after the last checkpoint, and continues to write there.
    pub(super) fn truncate_to_checkpoint(&mut self) -> Result<()> {
        self.pending.clear();
        self.file
            .set_len(self.kept)
            .and_then(|()| self.file.seek(SeekFrom::Start(self.kept)))
            .map(drop)
            .at("write", &self.path)
    }

    /// Appends a record and the byte that ends it.
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
            // A part of the bytes may be in the file, so the next attempt begins at the same place.
            self.file.seek(SeekFrom::Start(self.hasher.count())).ok();
        }
        written.at("write", &self.path)?;
        self.hasher.update(&self.pending);
        self.pending.clear();
        Ok(())
    }

    /// Writes and syncs all bytes, and returns their length and digest for the next checkpoint.
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

/// Creates a directory that only our user may enter, regardless of the umask.
fn create_directory(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let found = fs::symlink_metadata(path)?;
        if found.is_dir() && found.permissions().mode() & 0o700 != 0o700 {
            fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
        }
    }
    Ok(())
}

/// Checks that an existing file is a directory that we created and that only our user may enter.
///
/// # Errors
/// `Path` if it is not.
fn check_owner(path: &Path) -> Result<()> {
    let found = match fs::symlink_metadata(path) {
        // The caller creates the directory again.
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
        // Some file systems map owners and modes, so a new directory shows how ours look there.
        let sample = tempfile::Builder::new()
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(directory_of(path))
            .and_then(|sample| sample.path().metadata());
        if facts(&found) != facts(&sample.at("create", path)?) {
            let why = "belongs to another user, or has a mode that no export gives it";
            return Err(foreign(path, why));
        }
    }
    Ok(())
}

/// Checks the files in the directory, and reads the checkpoint.
///
/// # Errors
/// `Path` if a file was not created by an export, or if the data has no checkpoint.
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
        let metadata = entry.metadata().at("open", &path)?;
        let is_checkpoint = |bytes: Vec<u8>| MARK.as_bytes().starts_with(&bytes);
        let why = match &*name {
            _ if !metadata.is_file() => "is not a regular file",
            #[cfg(unix)]
            _ if std::os::unix::fs::MetadataExt::nlink(&metadata) > 1 => {
                "has another hard link to it"
            }
            LOCK if metadata.len() > 0 => "is not empty",
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
    let bytes = match begin_of(&path, MAX_CHECKPOINT_BYTES) {
        Err(error) if error.kind() == NotFound => None,
        bytes => Some(bytes.at("read", &path)?),
    };
    let exists = |name: &str| names.iter().any(|found| found == name);
    // If the data is missing, an export was killed before its first page or after its last rename.
    let has_data = exists(DATA);
    if let Some(mut found) = bytes.as_deref().and_then(Checkpoint::of_bytes) {
        let has_records = |progress: &Resumable| has_data && progress.records() > 0;
        found.progress = found.progress.filter(has_records);
        return Ok(Found::Checkpoint(Box::new(found)));
    }
    let is_marked = bytes
        .as_ref()
        .is_some_and(|bytes| bytes.starts_with(MARK.as_bytes()));
    // No other program creates all of these files.
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

/// Returns the error for kept work that does not match its checkpoint.
pub(super) fn damaged(message: String) -> Error {
    Error::new(ErrorKind::Mismatch, message)
}

/// Locks the work directory. The system releases the lock when the process ends, even if it is killed.
///
/// # Errors
/// `Busy` if another export has the lock.
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
    let has_no_locks = error.raw_os_error() == Some(rustix::io::Errno::NOLCK.raw_os_error());
    #[cfg(not(unix))]
    let has_no_locks = false;
    // Some file systems without locks report one of these kinds instead.
    if has_no_locks || [Unsupported, InvalidInput].contains(&error.kind()) {
        let path = output.display();
        tracing::warn!(%path, "no locks here: a second export to the same path would not be noticed");
        return Ok(());
    }
    Err(error).at("lock", &part_of(output).join(LOCK))
}

/// Returns the error for a file or directory that no export created. Its message says how to continue.
fn foreign(path: &Path, why: &str) -> Error {
    let message = format!(
        "{} {why}, so it is left alone; move it away, or choose another output path",
        path.display()
    );
    Error::new(ErrorKind::Path, message)
}

/// Returns whether `path` is a name of the open file and not a symbolic link to it.
///
/// # Errors
/// `Io` if the system refuses.
fn is_name_of(path: &Path, file: &File) -> Result<bool> {
    let at_path = match fs::symlink_metadata(path) {
        Err(error) if [NotFound, NotADirectory].contains(&error.kind()) => return Ok(false),
        found => found.at("open", path)?,
    };
    Ok(identity(&at_path) == identity(&file.metadata().at("open", path)?))
}

/// Returns the error for a file of the work directory that is no longer ours.
fn replaced(path: &Path) -> Error {
    let shown = path.display();
    let message = format!("{shown} was removed or replaced while the export was running");
    Error::new(ErrorKind::Io, message)
}
