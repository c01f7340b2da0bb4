//! Creates, recognises and opens the file of a mirror, and locks it for one sync at a time.

use crate::digest::register;
use crate::tables::{BEFORE, TABLES_VERSION, definitions, new_id, read_as_current, version};
use rusqlite::{Connection, DEFAULT_NAME, ErrorCode, FileControl, OpenFlags, ffi, named_params};
#[cfg(unix)]
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io;
#[cfg(unix)]
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use talentdata_columns::export::FileMode;
use talentdata_core::internal::system_text;
use talentdata_core::{Error, ErrorKind, Result};

/// The application id that distinguishes a mirror from other SQLite files.
const APPLICATION: i32 = 0x5444_6d72;
/// The maximum time for which a sync or a reader waits for another program that has locked the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// The types of network file systems: NFS, SMB, CIFS, SMB2, AFS, Coda, Ceph, 9P, and FUSE, which may be a network file
/// system.
#[cfg(target_os = "linux")]
const REMOTE: &[u32] = &[
    0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x5346414f, 0x73757245, 0xc36400, 0x1021997, 0x65735546,
];

/// A failure of an operation on a mirror: an error of SQLite, to which [`at`] adds the path, or a complete error.
#[derive(Debug)]
pub(crate) struct MirrorFault {
    what: Box<dyn std::error::Error + Send + Sync>,
    /// The error of the system, which SQLite does not pass on. It is read at once, because later calls may overwrite
    /// it.
    reason: Option<io::Error>,
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for MirrorFault {
    fn from(what: E) -> Self {
        MirrorFault {
            what: Box::new(what),
            reason: system_reason(),
        }
    }
}

impl MirrorFault {
    pub(crate) fn sqlite_code(&self) -> Option<ErrorCode> {
        let sqlite = self.what.downcast_ref::<rusqlite::Error>();
        sqlite.and_then(rusqlite::Error::sqlite_error_code)
    }
}

pub(crate) type MirrorResult<T> = std::result::Result<T, MirrorFault>;

/// Turns a fault into an error that names the file and the solution.
pub(crate) fn at(path: &Path) -> impl Fn(MirrorFault) -> Error {
    use ErrorCode::*;
    move |fault| {
        let code = fault.sqlite_code();
        let MirrorFault { what, reason } = fault;
        let fault = match what.downcast::<Error>() {
            Ok(error) => return *error,
            Err(fault) => fault,
        };
        let (kind, what) = match code {
            // SQLite also reports this code if locking itself fails.
            Some(DatabaseBusy) if reason.is_some() => (ErrorKind::Io, FAILING),
            // Our statements fail with `Unknown` only on data that no sync wrote.
            None | Some(DatabaseCorrupt | NotADatabase | Unknown) => (
                ErrorKind::Io,
                "the mirror is damaged; restore a copy of the file, or sync into a new one",
            ),
            Some(DatabaseBusy | DatabaseLocked) => (
                ErrorKind::Busy,
                "another program has locked the file; close it",
            ),
            Some(DiskFull) => (ErrorKind::StorageFull, FAILING),
            Some(SystemIoFailure) => (ErrorKind::Io, FAILING),
            Some(ReadOnly | CannotOpen | PermissionDenied) => (
                ErrorKind::Path,
                "the file cannot be opened or written; check the permissions of the file and of its directory, and \
                 whether the file system has shared memory",
            ),
            Some(_) => (ErrorKind::Io, "SQLite failed; try again"),
        };
        let fault = fault.to_string().replace(char::is_control, "?");
        let reason = reason.map_or(String::new(), |reason| {
            format!(": {}", system_text(&reason))
        });
        let message = format!("{}: {what} ({fault}{reason})", path.display());
        Error::new(kind, message)
    }
}

const FAILING: &str = "the disk, or the disk of temporary files (SQLITE_TMPDIR or TMPDIR, else /var/tmp), is full or fails; \
    check the disk, its free space and its limits, and try again";

/// Returns the error of the last failed system call of this thread, which SQLite does not pass on, if it can be the
/// reason why a statement failed. For SQLite, a file that does not exist or a taken lock is not a failure.
#[cfg(unix)]
#[rustfmt::skip]
fn system_reason() -> Option<io::Error> {
    use rustix::io::Errno as E;
    const REASONS: [E; 17] = [
        E::ACCESS, E::PERM, E::MFILE, E::NFILE, E::NOSPC, E::DQUOT, E::FBIG, E::IO, E::ROFS, E::STALE, E::NOLCK, E::NOMEM,
        E::INTR, E::BUSY, E::LOOP, E::NAMETOOLONG, E::NOTDIR,
    ];
    let reason = io::Error::last_os_error();
    E::from_io_error(&reason).filter(|one| REASONS.contains(one)).map(io::Error::from)
}

#[cfg(not(unix))]
fn system_reason() -> Option<io::Error> {
    None
}

/// Returns the error for a file with contradictory contents.
pub(crate) fn damaged(what: impl Into<String>) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CORRUPT), Some(what.into()))
}

/// Returns the error for a path that does not lead to a mirror.
fn wrong_path(path: &Path, what: &str) -> Error {
    Error::new(ErrorKind::Path, format!("{}{what}", path.display()))
}

/// Returns whether there is a mirror at this path; false if there is no file, or an empty one.
///
/// # Errors
/// `Path` for anything else, which is not modified; `Io` if the file cannot be read.
fn is_mirror(path: &Path) -> Result<bool> {
    let why = match std::fs::metadata(path) {
        Err(_) if path.as_os_str().is_empty() => {
            "an empty path names no file; give the path of a mirror, such as mirror.db".into()
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => format!(": the file cannot be opened: {}", system_text(&error)),
        Ok(found) if !found.is_file() => {
            " is a directory or a device; a mirror is one file: give a path such as mirror.db"
                .into()
        }
        Ok(found) if found.len() == 0 => return Ok(false),
        _ => {
            let head = immutable(path).and_then(|file| {
                // The file may be too short, if a process ended while it moved the log into the file.
                file.execute_batch("PRAGMA writable_schema = ON")?;
                let number = |name| file.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
                Ok((number("application_id")?, number("user_version")?))
            });
            match head {
                Ok((APPLICATION, BEFORE | TABLES_VERSION)) => return Ok(true),
                Ok((APPLICATION, other)) => format!(
                    " is a mirror of version {other}, and this program reads version {TABLES_VERSION}; sync into a new file, or \
                     use the program that wrote it"
                ),
                Err(fault) if fault.sqlite_code() != Some(ErrorCode::NotADatabase) => {
                    return Err(at(path)(fault));
                }
                _ => " is not a mirror, and was not modified; give the path of a mirror, or of a new file"
                    .into(),
            }
        }
    };
    Err(wrong_path(path, &why))
}

/// Opens a file read-only, without locks and without files next to it. With locks, closing the file would release the
/// other locks that this process has on it.
fn immutable(path: &Path) -> MirrorResult<Connection> {
    let path = named(path);
    let bytes = path.as_os_str().as_encoded_bytes().iter();
    let escape = |byte: &u8| match byte {
        b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
            char::from(*byte).to_string()
        }
        _ => format!("%{byte:02x}"),
    };
    let escaped: String = bytes.map(escape).collect();
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    connect(format!("file:{escaped}?immutable=1"), flags)
}

/// Returns a path without a special meaning for SQLite, which treats names like `:memory:` and `file:x?mode=memory`
/// differently.
fn named(path: &Path) -> PathBuf {
    Path::new(".").join(path)
}

fn connect(path: impl AsRef<Path>, flags: OpenFlags) -> MirrorResult<Connection> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    register(&connection)?;
    Ok(connection)
}

/// Opens a mirror for reading, and begins a transaction.
///
/// # Errors
/// `Path` if the file does not exist or is not a mirror; `Io` if it cannot be read.
pub(crate) fn open(path: &Path) -> Result<Connection> {
    if !is_mirror(path)? {
        let why = " is not a mirror: the file does not exist or is empty; a sync creates one";
        return Err(wrong_path(path, why));
    }
    let has_log = || match std::fs::metadata(beside(path, "-wal")) {
        Ok(log) => log.len() > 0,
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    };
    let opened = connect(named(path), OpenFlags::SQLITE_OPEN_READ_ONLY).and_then(|connection| {
        connection.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema")?;
        Ok(connection)
    });
    let opened = opened.or_else(|fault: MirrorFault| match fault.sqlite_code() {
        // SQLite cannot create shared memory in a read-only directory, and no reader needs it there. It reports another
        // code if the file is read-only as well.
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly) if !has_log() => {
            let connection = immutable(path)?;
            connection.execute_batch("BEGIN")?;
            Ok(connection)
        }
        _ => Err(fault),
    });
    let opened = opened.and_then(|connection| {
        read_as_current(&connection)?;
        Ok(connection)
    });
    opened.map_err(at(path))
}

/// The exclusive right to write to a mirror, until it is dropped.
pub(crate) struct Claim {
    pub(crate) path: PathBuf,
    /// The lock file next to the mirror. Only SQLite locks the mirror itself.
    pub(crate) lock: Arc<File>,
    /// True if the mirror did not exist before.
    is_new: bool,
    /// The permissions of a new file.
    mode: FileMode,
}

impl Claim {
    /// Claims a mirror, or the path of one that does not exist yet.
    ///
    /// # Errors
    /// `Busy` while another sync writes to the mirror; `Path` if the file is not a mirror.
    pub(crate) fn acquire(path: &Path) -> Result<Self> {
        is_mirror(path)?;
        let mut options = File::options();
        #[cfg(unix)]
        options.mode(0o600);
        let lock = open_lock(path, options.write(true).create(true).truncate(false));
        let lock = lock.and_then(|lock| Ok(lock.try_lock().map(|()| lock)?));
        let lock = lock.map_err(|error| {
            let (kind, why) = if error.kind() == io::ErrorKind::WouldBlock {
                (ErrorKind::Busy, "another sync is writing to this mirror; wait for its end")
            } else {
                let why = "no lock file can be created or locked next to it; check the permissions of the directory";
                (ErrorKind::of_io(&error), why)
            };
            Error::new(kind, format!("{}: {why} ({})", path.display(), system_text(&error)))
        })?;
        let (path, is_new) = (path.to_owned(), !is_mirror(path)?);
        let lock = Arc::new(lock);
        let mode = FileMode::default();
        Ok(Claim {
            path,
            lock,
            is_new,
            mode,
        })
    }

    /// Sets the permissions that the file has if it is new.
    pub(crate) fn with_mode(mut self, mode: FileMode) -> Self {
        self.mode = mode;
        self
    }

    /// Opens the mirror to write to it; creates one without lists if it does not exist.
    pub(crate) fn open(&self) -> MirrorResult<Connection> {
        self.create()?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let connection = connect(named(&self.path), flags)?;
        // The empty files of the log stay, for users who may read the mirror but not create files next to it.
        connection.file_control(DEFAULT_NAME, FileControl::PersistWal(&mut 1))?;
        if version(&connection)? == 0 {
            connection.execute_batch("BEGIN")?;
            connection.pragma_update(None, "application_id", APPLICATION)?;
            connection.pragma_update(None, "user_version", TABLES_VERSION)?;
            connection.execute_batch(&definitions().join(";"))?;
            let insert = "INSERT INTO mirror VALUES (:id, '{}', row_digest(:id, '{}'))";
            connection.execute(insert, named_params! {":id": new_id(&connection)?})?;
            connection.execute_batch("COMMIT")?;
        }
        read_as_current(&connection)?;
        // WAL needs shared memory, which processes on different machines do not have.
        #[cfg(target_os = "linux")]
        let remote = rustix::fs::statfs(&self.path)
            .is_ok_and(|found| REMOTE.contains(&(found.f_type as u32)));
        #[cfg(not(target_os = "linux"))]
        let remote = false;
        let mode = if remote { "DELETE" } else { "WAL" };
        connection.pragma_update(None, "journal_mode", mode)?;
        connection.execute_batch(
            "PRAGMA journal_size_limit = 0; PRAGMA synchronous = FULL; PRAGMA cache_size = -8192; \
             PRAGMA temp.cache_size = -8192",
        )?;
        self.share();
        Ok(connection)
    }

    /// Creates an empty file if there is none. A file that SQLite creates may be read by others.
    fn create(&self) -> Result<()> {
        #[cfg(unix)]
        if matches!(std::fs::metadata(&self.path), Err(error) if error.kind() == io::ErrorKind::NotFound)
        {
            let options = &mut File::options();
            let options = options.write(true).create(true).truncate(false).mode(0o600);
            let created = options.open(&self.path).and_then(|file| {
                let wanted = self.mode.bits();
                if file.metadata()?.permissions().mode() & 0o777 != wanted {
                    file.set_permissions(PermissionsExt::from_mode(wanted))?;
                }
                Ok(())
            });
            created.map_err(|error| {
                let path = self.path.display();
                let why = "the mirror cannot be created with its permissions; check mode, and the directory and its disk";
                Error::of_io(&error, format!("{path}: {why} ({error})"))
            })?;
        }
        Ok(())
    }

    /// Gives the lock and the files of the log the permissions of the mirror, unless another user owns them.
    fn share(&self) {
        let permissions = |path: &Path| std::fs::metadata(path).map(|file| file.permissions());
        let Ok(wanted) = permissions(&self.path) else {
            return;
        };
        for path in ["-wal", "-shm"].map(|suffix| beside(&self.path, suffix)) {
            if permissions(&path).is_ok_and(|found| found != wanted) {
                let _ = std::fs::set_permissions(&path, wanted.clone());
            }
        }
        // The owner of a mirror that is closed for a while must still be able to lock it afterwards.
        #[cfg(unix)]
        let _ = (self.lock).set_permissions(PermissionsExt::from_mode(wanted.mode() | 0o600));
    }

    /// Removes a mirror that was created for a failed sync.
    pub(crate) fn abandon(self) {
        for suffix in ["-wal", "-shm", ""].iter().filter(|_| self.is_new) {
            let _ = std::fs::remove_file(beside(&self.path, suffix));
        }
    }
}

/// Unlocks explicitly, because a process that is being forked may have a copy of the open file.
impl Drop for Claim {
    fn drop(&mut self) {
        let _ = self.lock.unlock();
    }
}

/// Opens the lock file of a mirror.
///
/// # Errors
/// An error of the system, or of kind `InvalidInput` for a lock that is not a regular file.
pub(crate) fn open_lock(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    // A planted link is not followed, and a planted pipe does not block.
    #[cfg(unix)]
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
    let lock = options.read(true).open(beside(path, ".lock"))?;
    if !lock.metadata()?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file",
        ));
    }
    Ok(lock)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
