//! The file of a mirror: begun, recognised or refused, and locked for one sync at a time.

use crate::seal::register;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use talentdata_core::{Error, ErrorKind, Result};

/// Tells mirrors from other SQLite files.
const APPLICATION: i32 = 0x5444_6d72;
/// The version of the tables below.
const VERSION: i32 = 1;
/// How long a sync waits for another program to let go of the file, and a reader where it has to wait.
const PATIENCE: Duration = Duration::from_secs(10);

/// The tables, each by its name. `record` has a row for each version of a record: the first sync that saw it, and the
/// last one that did, which is null as long as it is the current one.
pub(crate) const TABLES: [(&str, &str); 7] = [
    (
        "meta",
        "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID",
    ),
    (
        "sync",
        "CREATE TABLE sync (list TEXT NOT NULL, number INTEGER NOT NULL, started TEXT NOT NULL, ended TEXT NOT NULL, \
         records INTEGER NOT NULL, digest BLOB NOT NULL, changes BLOB, missing BLOB NOT NULL, parameters TEXT NOT NULL, \
         columns TEXT NOT NULL, receipt TEXT NOT NULL, seal BLOB NOT NULL, PRIMARY KEY (list, number)) STRICT, WITHOUT ROWID",
    ),
    (
        "record",
        "CREATE TABLE record (id INTEGER PRIMARY KEY, list TEXT NOT NULL, key TEXT NOT NULL, first INTEGER NOT NULL, \
         last INTEGER, position INTEGER NOT NULL, hash BLOB NOT NULL, text TEXT NOT NULL) STRICT",
    ),
    (
        "record_key",
        "CREATE UNIQUE INDEX record_key ON record (list, key) WHERE last IS NULL",
    ),
    (
        "record_order",
        "CREATE INDEX record_order ON record (list, position)",
    ),
    (
        "missing",
        "CREATE TABLE missing (list TEXT NOT NULL, key TEXT NOT NULL, since INTEGER NOT NULL, record INTEGER NOT NULL, \
         last_seen TEXT NOT NULL, proven INTEGER NOT NULL, PRIMARY KEY (list, key)) STRICT, WITHOUT ROWID",
    ),
    (
        "change",
        "CREATE TABLE change (list TEXT NOT NULL, sync INTEGER NOT NULL, seq INTEGER NOT NULL, op TEXT NOT NULL, \
         key TEXT NOT NULL, last_seen TEXT, seen TEXT NOT NULL, record INTEGER NOT NULL, \
         PRIMARY KEY (list, sync, seq)) STRICT, WITHOUT ROWID",
    ),
];

/// Why something could not be done with a file whose path is added later.
#[derive(Debug)]
pub(crate) enum Fault {
    Sqlite(rusqlite::Error),
    Other(Error),
    /// Its contents contradict each other; in words.
    Damaged(String),
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
        let path = path.display();
        let error = match self {
            Fault::Other(error) => return error,
            Fault::Damaged(what) => {
                return io_error(format!(
                    "{path}: the mirror is damaged: {what}; restore a copy of the file, or sync into a new one"
                ));
            }
            Fault::Sqlite(error) => error,
        };
        let message = match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                format!("{path}: another program holds the file; close it, and try again")
            }
            Some(ErrorCode::DiskFull) => format!(
                "{path}: the disk is full, or that of temporary files (SQLITE_TMPDIR or TMPDIR, else /var/tmp); free some space, and try again"
            ),
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                format!(
                    "{path}: the file cannot be opened or written ({error}); check the permissions of the file and of its directory"
                )
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                return Fault::Damaged(error.to_string()).at(Path::new(&path.to_string()));
            }
            Some(ErrorCode::OperationInterrupted) => {
                return Error::new(
                    ErrorKind::Cancelled,
                    "the sync was stopped; the mirror is as it was",
                );
            }
            _ => format!("{path}: {error}"),
        };
        io_error(message)
    }
}

pub(crate) fn io_error(message: String) -> Error {
    Error::new(ErrorKind::Io, message)
}

/// Whether there is a mirror at this path; false where there is nothing, or an empty file.
///
/// # Errors
/// `Io` for anything else, which is not touched.
fn is_mirror(path: &Path) -> Result<bool> {
    let shown = path.display();
    let failed = |error: io::Error| io_error(format!("{shown}: cannot be read: {error}"));
    let metadata = match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        found => found.map_err(failed)?,
    };
    if metadata.is_dir() {
        return Err(io_error(format!(
            "{shown} is a directory; a mirror is one file: give the path of a file, such as {}",
            path.join("mirror.db").display()
        )));
    }
    if !metadata.is_file() {
        return Err(io_error(format!(
            "{shown} is no regular file; give another path"
        )));
    }
    if metadata.len() == 0 {
        return Ok(false);
    }
    let number =
        |head: &Connection, name: &str| head.pragma_query_value(None, name, |row| row.get(0));
    let read = immutable(path).and_then(|head| {
        let application: i32 = number(&head, "application_id")?;
        Ok((application, number(&head, "user_version")?))
    });
    let version = match read {
        Ok((APPLICATION, version)) => version,
        Err(error) if error.sqlite_error_code() != Some(ErrorCode::NotADatabase) => {
            return Err(Fault::from(error).at(path));
        }
        _ => {
            return Err(io_error(format!(
                "{shown} is a file of something else, and is left as it is; give the path of a mirror, or of a new file"
            )));
        }
    };
    match version {
        VERSION => Ok(true),
        other => Err(io_error(format!(
            "{shown} is a mirror of version {other}, and this program reads version {VERSION}; sync into a new file, or use the program that wrote it"
        ))),
    }
}

/// Opens a file only to look at it: without locks, and without files beside it. Reading it otherwise would, when it is
/// closed, take away the locks that this process has on it.
fn immutable(path: &Path) -> rusqlite::Result<Connection> {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                uri.push(char::from(*byte))
            }
            byte => uri += &format!("%{byte:02x}"),
        }
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(uri + "?immutable=1", flags)
}

/// Opens a mirror to read it.
///
/// # Errors
/// `Io`, naming the path, where there is none or it cannot be read.
pub(crate) fn open(path: &Path) -> Result<Connection> {
    if !is_mirror(path)? {
        return Err(io_error(format!(
            "{} is not a mirror: there is no such file, or it is empty; `talentdata sync` makes one",
            path.display()
        )));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(path, flags).and_then(|connection| {
        connection.busy_timeout(PATIENCE)?;
        Ok(connection)
    });
    let usable = opened.and_then(|connection| {
        connection.query_row("SELECT 1 FROM sqlite_schema LIMIT 1", [], |_| Ok(()))?;
        Ok(connection)
    });
    let journal = std::fs::metadata(beside(path, "-wal"));
    match usable {
        // In a directory that cannot be written there is no room for shared memory, which nobody needs there.
        Err(error)
            if error.sqlite_error_code() == Some(ErrorCode::CannotOpen)
                && !journal.is_ok_and(|found| found.len() > 0) =>
        {
            immutable(path)
        }
        usable => usable,
    }
    .and_then(|connection| register(&connection).map(|()| connection))
    .map_err(|error| Fault::from(error).at(path))
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
        let before = is_mirror(path)?;
        let lock_path = beside(path, ".lock");
        let lock = lock(path, &lock_path)?;
        let new = !before && !is_mirror(path)?;
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
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.busy_timeout(PATIENCE)?;
        register(&connection)?;
        // Where there is no shared memory, SQLite stays with its rollback journal by itself.
        let mode = if is_remote(&self.path) {
            "DELETE"
        } else {
            "WAL"
        };
        connection.query_row(&format!("PRAGMA journal_mode = {mode}"), [], |_| Ok(()))?;
        connection.execute_batch(
            "PRAGMA synchronous = FULL; PRAGMA cache_size = -16384; PRAGMA temp.cache_size = -16384;",
        )?;
        Ok(connection)
    }

    /// Removes a mirror that was begun by this sync, which has failed: before it, there was none.
    pub(crate) fn abandon(self) {
        if self.new {
            for suffix in ["-wal", "-shm", ""] {
                let _ = std::fs::remove_file(beside(&self.path, suffix));
            }
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
fn lock(path: &Path, lock_path: &Path) -> Result<File> {
    let failed = |error: io::Error| {
        let shown = lock_path.display();
        io_error(format!(
            "{shown}: cannot be created or locked: {error}; check the permissions of the directory"
        ))
    };
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.custom_flags(
            i32::try_from(flags.bits()).map_err(|error| failed(io::Error::other(error)))?,
        );
    }
    let file = options.open(lock_path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(io_error(format!(
            "{}: another sync is writing to this mirror; wait for its end",
            path.display()
        ))),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// Makes a mirror without lists; it has its name only once it is whole.
fn begin(path: &Path) -> Result<()> {
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    let failed =
        |error: io::Error| io_error(format!("{}: cannot be created: {error}", path.display()));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".talentdata-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = builder.tempfile_in(directory).map_err(failed)?;
    let made = Connection::open(file.path()).and_then(|connection| {
        let tables: Vec<&str> = TABLES.iter().map(|(_, sql)| *sql).collect();
        connection.execute_batch(&format!(
            "PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; PRAGMA synchronous = FULL; BEGIN; {}; COMMIT",
            tables.join(";")
        ))
    });
    made.map_err(|error| Fault::from(error).at(path))?;
    // An empty file is taken for none.
    file.persist(path).map_err(|error| failed(error.error))?;
    #[cfg(unix)]
    File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(failed)?;
    Ok(())
}

/// Whether the file is on another machine, where processes share no memory.
#[cfg(target_os = "linux")]
fn is_remote(path: &Path) -> bool {
    // NFS, SMB, CIFS, SMB2, AFS, Coda, Ceph, 9P, and FUSE, which may be any of them.
    const REMOTE: [u32; 9] = [
        0x6969,
        0x517b,
        0xff53_4d42,
        0xfe53_4d42,
        0x5346_414f,
        0x7375_7245,
        0x00c3_6400,
        0x0102_1997,
        0x6573_5546,
    ];
    rustix::fs::statfs(path).is_ok_and(|found| REMOTE.contains(&(found.f_type as u32)))
}

#[cfg(not(target_os = "linux"))]
fn is_remote(_: &Path) -> bool {
    false
}
