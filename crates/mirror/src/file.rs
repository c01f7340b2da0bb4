//! The file of a mirror: begun, recognised or refused, and locked for one sync at a time.

use crate::digest::register;
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use talentdata_core::{Error, ErrorKind, Result};

/// Tells mirrors from other SQLite files.
const APPLICATION: i32 = 0x5444_6d72;
/// The version of the tables below.
const VERSION: i32 = 4;
/// How long a sync waits for another program to let go of the file, and a reader where it has to wait.
const PATIENCE: Duration = Duration::from_secs(10);
/// File systems on other machines: NFS, SMB, CIFS, SMB2, AFS, Coda, Ceph, 9P, and FUSE, which may be any of them.
#[cfg(target_os = "linux")]
const REMOTE: &[u32] = &[
    0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x5346414f, 0x73757245, 0xc36400, 0x1021997, 0x65735546,
];

/// The tables and their indexes. `record` has a row for each version of a record: the first sync that saw it, and the
/// last one that did, which is null as long as it is the current one. `missing` is not null as long as a record is missing:
/// whether the last scan that lacked it was proven; `last_seen` is when the scan began that delivered it last.
pub(crate) const TABLES: [&str; 7] = [
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE TABLE sync (list TEXT NOT NULL, number INTEGER NOT NULL, about TEXT NOT NULL, seal BLOB NOT NULL, \
     PRIMARY KEY (list, number)) STRICT, WITHOUT ROWID",
    "CREATE TABLE record (id INTEGER PRIMARY KEY, list TEXT NOT NULL, key TEXT NOT NULL, first INTEGER NOT NULL, \
     last INTEGER, missing INTEGER, last_seen TEXT, position INTEGER NOT NULL, text TEXT NOT NULL) STRICT",
    "CREATE UNIQUE INDEX record_key ON record (list, key) WHERE last IS NULL OR missing IS NOT NULL",
    "CREATE INDEX record_order ON record (list, position)",
    "CREATE INDEX record_missing ON record (list) WHERE missing IS NOT NULL",
    "CREATE TABLE change (list TEXT NOT NULL, sync INTEGER NOT NULL, seq INTEGER NOT NULL, op TEXT NOT NULL, \
     key TEXT NOT NULL, last_seen TEXT, seen TEXT NOT NULL, record INTEGER NOT NULL, \
     PRIMARY KEY (list, sync, seq)) STRICT, WITHOUT ROWID",
];

/// Why something could not be done with a file whose path is added later.
#[derive(Debug)]
pub(crate) enum Fault {
    Sqlite(rusqlite::Error),
    Other(Error),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Fault::Sqlite(error)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Fault::Other(error)
    }
}

impl Fault {
    /// The error, which names the file and the way out.
    pub(crate) fn at(self, path: &Path) -> Error {
        use ErrorCode::*;
        let error = match self {
            Fault::Other(error) => return error,
            Fault::Sqlite(error) => error,
        };
        let what = match error.sqlite_error_code() {
            None | Some(DatabaseCorrupt | NotADatabase) => {
                "the mirror is damaged; restore a copy of the file, or sync into a new one"
            }
            Some(DatabaseBusy | DatabaseLocked) => {
                "another program holds the file; close it, and try again"
            }
            Some(DiskFull) => {
                "the disk is full, or that of temporary files (SQLITE_TMPDIR or TMPDIR, else /var/tmp); free some space, \
                 and try again"
            }
            Some(ReadOnly | CannotOpen | PermissionDenied) => {
                "the file cannot be opened or written; check the permissions of the file and of its directory, and \
                 whether the file system has shared memory"
            }
            Some(SystemIoFailure) => {
                "the file system failed; check the disk, its free space and its limits, and try \
                 again"
            }
            Some(_) => "SQLite failed; try again",
        };
        io_error(format!("{}: {what} ({error})", path.display()))
    }
}

/// That the contents of the file contradict each other; in words.
pub(crate) fn damaged(what: String) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CORRUPT), Some(what))
}

pub(crate) fn io_error(message: String) -> Error {
    Error::new(ErrorKind::Io, message)
}

/// Whether there is a mirror at this path; false where there is nothing, or an empty file.
///
/// # Errors
/// `Io` for anything else, which is not touched.
fn is_mirror(path: &Path) -> Result<bool> {
    let why = match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => format!("cannot be read: {error}"),
        Ok(found) if found.is_dir() => {
            "is a directory; a mirror is one file: give the path of a file in it, such as mirror.db"
                .into()
        }
        Ok(found) if !found.is_file() => "is not a regular file; give another path".into(),
        Ok(found) if found.len() == 0 => return Ok(false),
        Ok(_) => {
            let read = immutable(path).and_then(|head| {
                let number = |name| head.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
                Ok((number("application_id")?, number("user_version")?))
            });
            match read {
                Ok((APPLICATION, VERSION)) => return Ok(true),
                Ok((APPLICATION, other)) => format!(
                    "is a mirror of version {other}, and this program reads version {VERSION}; sync into a new file, or \
                     use the program that wrote it"
                ),
                Err(error) if error.sqlite_error_code() != Some(ErrorCode::NotADatabase) => {
                    return Err(Fault::from(error).at(path));
                }
                _ => "is something else, and is left as it is; give the path of a mirror, or of a new file"
                    .into(),
            }
        }
    };
    Err(io_error(format!("{} {why}", path.display())))
}

/// Opens a file only to look at it: without locks, and without files beside it. Reading it otherwise would, when it is
/// closed, take away the locks that this process has on it.
fn immutable(path: &Path) -> rusqlite::Result<Connection> {
    let bytes = path.as_os_str().as_encoded_bytes().iter();
    let escaped: String = bytes.map(|byte| format!("%{byte:02x}")).collect();
    let uri = format!("file:{escaped}?immutable=1").replace("%2f", "/");
    connect(
        uri,
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI,
    )
}

fn connect(path: impl AsRef<Path>, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(PATIENCE)?;
    register(&connection)?;
    Ok(connection)
}

/// Opens a mirror to read it.
///
/// # Errors
/// `Io`, naming the path, where there is none or it cannot be read.
pub(crate) fn open(path: &Path) -> Result<Connection> {
    if !is_mirror(path)? {
        let path = path.display();
        return Err(io_error(format!(
            "{path} is not a mirror: there is no such file, or it is empty; `talentdata sync` makes one"
        )));
    }
    let opened = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY).and_then(|connection| {
        connection.query_row("SELECT 1 FROM sqlite_schema LIMIT 1", [], |_| Ok(()))?;
        Ok(connection)
    });
    let has_log = || std::fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() > 0);
    let opened = opened.or_else(|error| match error.sqlite_error_code() {
        // In a directory that cannot be written there is no room for shared memory, which nobody needs there.
        Some(ErrorCode::CannotOpen) if !has_log() => immutable(path),
        _ => Err(error),
    });
    opened.map_err(|error| Fault::from(error).at(path))
}

/// The right to write to a mirror, until it is dropped.
pub(crate) struct Claim {
    pub(crate) path: PathBuf,
    lock: File,
    /// Whether there was no mirror before.
    new: bool,
}

impl Claim {
    /// Takes a mirror, or begins one where there is nothing.
    ///
    /// # Errors
    /// `Io` while another sync has it, and where there is anything else.
    pub(crate) fn acquire(path: &Path) -> Result<Self> {
        is_mirror(path)?;
        let lock = lock(path)?;
        let new = !is_mirror(path)?;
        if new {
            begin(path)?;
        }
        Ok(Claim {
            path: path.to_owned(),
            lock,
            new,
        })
    }

    /// Opens the mirror to write to it.
    pub(crate) fn open(&self) -> std::result::Result<Connection, Fault> {
        let connection = connect(&self.path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        // Processes on different machines share no memory, which WAL needs.
        #[cfg(target_os = "linux")]
        let remote = rustix::fs::statfs(&self.path)
            .is_ok_and(|found| REMOTE.contains(&(found.f_type as u32)));
        #[cfg(not(target_os = "linux"))]
        let remote = false;
        let mode = if remote { "DELETE" } else { "WAL" };
        connection.query_row(&format!("PRAGMA journal_mode = {mode}"), [], |_| Ok(()))?;
        connection.execute_batch(
            "PRAGMA synchronous = FULL; PRAGMA cache_size = -8192; PRAGMA temp.cache_size = -8192;",
        )?;
        Ok(connection)
    }

    /// Removes a mirror that was begun by this sync, which has failed: before it, there was none.
    pub(crate) fn abandon(self) {
        for suffix in ["-wal", "-shm", ""].iter().filter(|_| self.new) {
            let _ = std::fs::remove_file(beside(&self.path, suffix));
        }
    }
}

/// Closing is not enough while a process that is being forked off has a copy of the file.
impl Drop for Claim {
    fn drop(&mut self) {
        let _ = self.lock.unlock();
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Locks a file beside the mirror. Locks on the mirror itself are SQLite's own.
fn lock(path: &Path) -> Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(false);
    // Neither a link nor a pipe that somebody has put there is followed or waited for.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits() as i32,
    );
    let lock = beside(path, ".lock");
    let locked = options.open(&lock).map_err(TryLockError::Error);
    let locked = locked.and_then(|file| file.try_lock().map(|()| file));
    locked.map_err(|error| match error {
        TryLockError::WouldBlock => io_error(format!(
            "{}: another sync is writing to this mirror; wait for its end",
            path.display()
        )),
        TryLockError::Error(error) => io_error(format!(
            "{}: cannot be created or locked: {error}; check the permissions of the directory",
            lock.display()
        )),
    })
}

/// Makes a mirror without lists; it has its name only once it is whole. SQLite makes the name durable with the first sync.
fn begin(path: &Path) -> Result<()> {
    let failed = |error| io_error(format!("{}: cannot be created: {error}", path.display()));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".talentdata-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    let file = builder.tempfile_in(parent.unwrap_or(Path::new(".")));
    let file = file.map_err(failed)?;
    let made = Connection::open(file.path()).and_then(|connection| {
        connection.execute_batch(&format!(
            "PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; PRAGMA synchronous = FULL; BEGIN; {}; COMMIT",
            TABLES.join(";")
        ))
    });
    made.map_err(|error| Fault::from(error).at(path))?;
    // An empty file is taken for none.
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}
