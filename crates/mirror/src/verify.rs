//! Checks the whole of a mirror: the structure of the file, and the digest of everything that is kept in it.

use crate::canonical::{Hash, canonical, hex};
use crate::file::{Fault, TABLES, open};
use crate::mirror::Mirror;
use crate::seal::{Digest, SyncRow, of_missing, of_record};
use crate::views;
use rusqlite::Connection;
use serde::Serialize;
use std::collections::BTreeMap;
use talentdata_columns::arrow::TableSchema;
use talentdata_core::types::Resource;
use talentdata_core::{Error, ErrorKind, Result};

/// How many findings are named.
const MAX_FINDINGS: usize = 20;

/// What a check of a mirror has found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// Whether all that is kept is what the syncs have written.
    pub holds: bool,
    /// What is wrong, in words; nothing where it holds.
    pub differences: Vec<String>,
    /// The syncs that are kept, by list.
    pub syncs: BTreeMap<String, u64>,
}

impl Verification {
    /// Nothing where the mirror is intact.
    ///
    /// # Errors
    /// `Mismatch`, which names the file and what is wrong.
    pub fn to_result(&self, path: &std::path::Path) -> Result<()> {
        match self.holds {
            true => Ok(()),
            false => Err(Error::new(
                ErrorKind::Mismatch,
                format!(
                    "{}: the mirror is damaged: {}; restore a copy of the file, or sync into a new one",
                    path.display(),
                    self.differences.join("; ")
                ),
            )),
        }
    }
}

impl Mirror {
    /// Reads everything, and compares it with what the syncs have written down of it.
    ///
    /// # Errors
    /// `Io`, when the file cannot be opened or is no mirror; what is wrong with it is no error.
    pub fn verify(&self) -> Result<Verification> {
        let connection = open(self.path())?;
        let mut found = Verification::default();
        let checked = check(&connection, &mut found);
        match checked {
            Ok(()) => {}
            Err(fault) => {
                let message = fault.at(self.path()).message().to_owned();
                found.differences.push(message);
            }
        }
        drop(connection);
        if found.differences.is_empty()
            && let Err(error) = check_changes(self, &mut found)
        {
            found.differences.push(error.message().to_owned());
        }
        found.differences.truncate(MAX_FINDINGS);
        found.holds = found.differences.is_empty();
        Ok(found)
    }
}

fn check(connection: &Connection, found: &mut Verification) -> std::result::Result<(), Fault> {
    connection.execute_batch("BEGIN")?;
    let mut statement = connection.prepare(&format!("PRAGMA integrity_check({MAX_FINDINGS})"))?;
    let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
    for row in rows {
        found
            .differences
            .extend(Some(row?).filter(|row| row != "ok"));
    }
    for (name, sql) in TABLES {
        if views::definition(connection, name)?.as_deref() != Some(sql) {
            found
                .differences
                .push(format!("{name} is not defined as it was"));
        }
    }
    for resource in Resource::ALL {
        let list = resource.name();
        let syncs = SyncRow::all(connection, list)?;
        let Some(last) = syncs.last() else { continue };
        found.syncs.insert(list.to_owned(), syncs.len() as u64);
        let mut differ = |what: String| found.differences.push(format!("{list}: {what}"));
        for (name, sql) in views::of(list, &TableSchema::from_json(&last.columns)?) {
            if views::definition(connection, &name)?.as_ref() != Some(&sql) {
                differ(format!("the view {name} is not defined as it was"));
            }
        }
        if of_missing(connection, list)?.bytes() != last.missing {
            differ("what is kept of missing records was changed".into());
        }
        // What each sync saw is what the one before saw, without what was closed and with what was opened.
        let mut steps: BTreeMap<i64, (Digest, i64)> = BTreeMap::new();
        let sql = "SELECT id, key, first, last, position, hash, text FROM record WHERE list = ?1";
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([list])?;
        while let Some(row) = rows.next()? {
            let key: String = row.get(1)?;
            let text = row.get_ref(6)?.as_str().map_err(rusqlite::Error::from)?;
            if row.get::<_, Hash>(5)? != canonical(text, |_| {}) {
                differ(format!("the record {key:?} was changed"));
            }
            let hash = of_record(
                row.get_ref(4)?.as_blob().map_err(rusqlite::Error::from)?,
                &key,
                text,
            );
            let opened = steps.entry(row.get(2)?).or_default();
            opened.0.add(hash);
            opened.1 += 1;
            if let Some(last) = row.get::<_, Option<i64>>(3)? {
                let closed = steps.entry(last.saturating_add(1)).or_default();
                closed.0.remove(hash);
                closed.1 -= 1;
            }
        }
        for sync in &syncs {
            let mut sum = (Digest::default(), 0);
            for (digest, records) in steps.range(..=sync.number).map(|(_, step)| step) {
                sum.0.add(digest.bytes());
                sum.1 += records;
            }
            if (sum.0.bytes(), sum.1) != (sync.digest, sync.records) {
                differ(format!(
                    "sync {} saw {} records with the digest {}, and {} records are kept of it with the digest {}",
                    sync.number,
                    sync.records,
                    hex(sync.digest),
                    sum.1,
                    hex(sum.0.bytes())
                ));
            }
        }
    }
    Ok(())
}

/// The changes of every list, read to their end.
fn check_changes(mirror: &Mirror, found: &mut Verification) -> Result<()> {
    for resource in mirror.resources()? {
        let syncs = mirror.syncs(resource)?;
        let first = syncs.first().map_or(0, |sync| sync.generation);
        // The first one's changes may no longer be kept.
        let changes = mirror
            .changes(resource, &crate::At::Sync(first.saturating_sub(1)))
            .or_else(|_| mirror.changes(resource, &crate::At::Sync(first)));
        for change in changes? {
            if let Err(error) = change {
                found.differences.push(error.message().to_owned());
                break;
            }
        }
    }
    Ok(())
}
