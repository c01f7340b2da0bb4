//! Reads a mirror, without a service; and takes lists out of it.

use crate::digest::{Hash, add};
use crate::file::{Claim, Fault, open};
use crate::receipt::{SyncReceipt, SyncRow};
use crate::rows::Rows;
use crate::views;
use chrono::DateTime;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use talentdata_columns::arrow::TableSchema;
use talentdata_core::types::Resource;
use talentdata_core::{Error, ErrorKind, Result};

/// A mirror. It is opened anew for whatever is read, and what is being read stays as it is while a sync commits.
#[derive(Clone, Debug)]
pub struct Mirror {
    path: PathBuf,
}

/// A sync of a list: by its number, or the last one that had ended by a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// Its number.
    Sync(u64),
    /// A time in UTC to the microsecond, such as `2026-11-20T06:00:00.000000Z`, read from any text of RFC 3339.
    Time(String),
}

impl FromStr for At {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if let Ok(number) = text.parse() {
            return Ok(At::Sync(number));
        }
        match DateTime::parse_from_rfc3339(text) {
            Ok(time) => Ok(At::Time(
                time.to_utc().format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string(),
            )),
            Err(_) => Err(invalid(format!(
                "{text:?} is neither the number of a sync nor a time such as 2026-11-20T06:00:00Z"
            ))),
        }
    }
}

impl Mirror {
    /// Opens a mirror.
    ///
    /// # Errors
    /// `Io` when there is none, or it cannot be read.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        open(&path)?;
        Ok(Mirror { path })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The lists that it has.
    ///
    /// # Errors
    /// `Io`, when it cannot be read.
    pub fn resources(&self) -> Result<Vec<Resource>> {
        let connection = open(&self.path)?;
        let mut kept = Vec::new();
        for list in Resource::ALL {
            let syncs = SyncRow::all(&connection, list.name());
            if !syncs.map_err(|fault| fault.at(&self.path))?.is_empty() {
                kept.push(list);
            }
        }
        Ok(kept)
    }

    /// What the syncs of a list have done that are kept, the oldest first.
    ///
    /// # Errors
    /// `InvalidArgument` for a list that it does not have; `Io`.
    pub fn syncs(&self, resource: Resource) -> Result<Vec<SyncReceipt>> {
        let (_, syncs, _) = self.snapshot(resource)?;
        Ok(syncs.into_iter().map(|row| row.receipt).collect())
    }

    /// The columns of a list: those of its records so far.
    ///
    /// # Errors
    /// As [`syncs`](Self::syncs).
    pub fn schema(&self, resource: Resource) -> Result<TableSchema> {
        Ok(self.snapshot(resource)?.2.columns)
    }

    /// The list as a sync has read it; or as of the last sync, with records that are missing without a proof that they are
    /// gone.
    ///
    /// # Errors
    /// As [`syncs`](Self::syncs); `InvalidArgument` where there was no such sync, or it is no longer kept.
    pub fn records(&self, resource: Resource, at: Option<&At>) -> Result<Rows> {
        let (snapshot, mut syncs, last) = self.snapshot(resource)?;
        let Some(at) = at else {
            return Ok(Rows::records(snapshot, last, true));
        };
        let number = number(at, &syncs);
        let wanted = syncs.iter().position(|row| Some(row.number()) == number);
        if let Some(wanted) = wanted {
            return Ok(Rows::records(snapshot, syncs.swap_remove(wanted), false));
        }
        let at = match at {
            At::Sync(number) => &number.to_string(),
            At::Time(time) => time,
        };
        let [first, last] =
            [&syncs[0], &last].map(|row| format!("{} ({})", row.number(), row.receipt.ended));
        Err(invalid(format!(
            "as_of: {at}: the mirror has {resource} as of sync {first} to {last}, and not as of this one"
        )))
    }

    /// What has changed after a sync, from the oldest change to the newest; after sync 0, everything.
    ///
    /// # Errors
    /// As [`syncs`](Self::syncs); `InvalidArgument` where there is no such sync yet, or changes after it are no longer kept.
    pub fn changes(&self, resource: Resource, since: &At) -> Result<Rows> {
        let (snapshot, syncs, last) = self.snapshot(resource)?;
        let since = number(since, &syncs).unwrap_or(0);
        let known = syncs.iter().find(|row| row.changes.is_some());
        let first = known.map_or(last.number(), |row| row.number() - 1);
        if since > last.number() {
            let last = last.number();
            return Err(invalid(format!(
                "since: there is no sync {since} of {resource} yet; {last} is the last one"
            )));
        }
        if since < first {
            return Err(invalid(format!(
                "since: the changes of {resource} after sync {since} are no longer kept; they are from sync {first} on: \
                 load the list as of that sync, and then the changes after it"
            )));
        }
        let mut digest = Hash::default();
        let wanted = syncs.iter().filter(|row| row.number() > since);
        wanted
            .filter_map(|row| row.changes)
            .for_each(|changes| add(&mut digest, changes));
        Ok(Rows::changes(snapshot, since, digest, last))
    }

    /// One state of the file, the syncs of a list in it, and the last of them.
    fn snapshot(&self, resource: Resource) -> Result<(Snapshot, Vec<SyncRow>, SyncRow)> {
        let connection = open(&self.path)?;
        let read = connection.execute_batch("BEGIN").map_err(Fault::from);
        let read = read.and_then(|()| SyncRow::all(&connection, resource.name()));
        let syncs = read.map_err(|fault| fault.at(&self.path))?;
        let Some(last) = syncs.last().cloned() else {
            let path = self.path.display();
            return Err(invalid(format!(
                "{path} does not have {resource}; `talentdata sync` reads a list into a mirror"
            )));
        };
        let snapshot = Snapshot {
            connection,
            path: self.path.clone(),
            resource,
        };
        Ok((snapshot, syncs, last))
    }
}

/// A connection that stays at one state of the file.
pub(crate) struct Snapshot {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
    pub(crate) resource: Resource,
}

/// The number of a sync; none where none had ended by the time.
fn number(at: &At, syncs: &[SyncRow]) -> Option<i64> {
    match at {
        At::Sync(number) => Some(i64::try_from(*number).unwrap_or(i64::MAX)),
        At::Time(time) => {
            // Both are written alike.
            let by = |row: &&SyncRow| row.receipt.ended.as_str() <= time.as_str();
            syncs.iter().rev().find(by).map(SyncRow::number)
        }
    }
}

/// Removes a list from a mirror, with all that is kept of it.
///
/// # Errors
/// `InvalidArgument` for a list that it does not have; `Io`, also while a sync is writing to it.
pub fn forget(path: &Path, resource: Resource) -> Result<()> {
    let mirror = Mirror::open(path)?;
    mirror.snapshot(resource)?;
    let claim = Claim::acquire(path)?;
    let list = resource.name();
    let remove = |connection: &Connection| -> std::result::Result<(), Fault> {
        // What is forgotten is not to be found in the file.
        connection.execute_batch("PRAGMA secure_delete = ON; BEGIN IMMEDIATE")?;
        for table in ["change", "record", "sync"] {
            connection.execute(&format!("DELETE FROM {table} WHERE list = ?1"), [list])?;
        }
        let columns = TableSchema::infer(resource, &[], Default::default());
        for (name, _) in views::of(list, &columns) {
            connection.execute_batch(&format!("DROP VIEW IF EXISTS \"{name}\""))?;
        }
        connection.execute_batch("COMMIT; VACUUM")?;
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(())
    };
    let removed = claim.open().and_then(|connection| remove(&connection));
    removed.map_err(|fault| fault.at(path))
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}
