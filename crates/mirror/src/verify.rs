//! Checks the whole of a mirror: the structure of the file, and the digests of everything that is kept in it.

use crate::canonical::{Hash, hex};
use crate::file::{Fault, TABLES, open};
use crate::mirror::Mirror;
use crate::seal::{SyncRow, of_missing};
use crate::views;
use rusqlite::Connection;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use talentdata_core::types::Resource;
use talentdata_core::{Error, ErrorKind, Result};

/// How many findings are named.
const MAX_FINDINGS: usize = 20;

/// What a check of a mirror has found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// Whether all that is kept is what the syncs have written.
    pub matches: bool,
    /// What is wrong, in words; nothing where all matches.
    pub differences: Vec<String>,
    /// The syncs that are kept, by list.
    pub syncs: BTreeMap<String, u64>,
}

impl Verification {
    /// Nothing where the mirror is intact.
    ///
    /// # Errors
    /// `Mismatch`, which names the file and what is wrong.
    pub fn to_result(&self, path: &Path) -> Result<()> {
        if self.matches {
            return Ok(());
        }
        let error = Fault::Damaged(self.differences.join("; ")).at(path);
        Err(Error::new(ErrorKind::Mismatch, error.message()))
    }
}

impl Mirror {
    /// Reads everything, and compares it with what the syncs have written down.
    ///
    /// # Errors
    /// `Io`, when the file cannot be opened or is no mirror; what is wrong with it is no error.
    pub fn verify(&self) -> Result<Verification> {
        let connection = open(self.path())?;
        let mut found = Verification::default();
        if let Err(fault) = check(&connection, &mut found) {
            let message = fault.at(self.path()).message().to_owned();
            found.differences.push(message);
        }
        found.differences.truncate(MAX_FINDINGS);
        found.matches = found.differences.is_empty();
        Ok(found)
    }
}

fn check(connection: &Connection, found: &mut Verification) -> std::result::Result<(), Fault> {
    connection.execute_batch("BEGIN")?;
    let mut statement = connection.prepare(&format!("PRAGMA integrity_check({MAX_FINDINGS})"))?;
    for row in statement.query_map([], |row| row.get::<_, String>(0))? {
        found
            .differences
            .extend(Some(row?).filter(|row| row != "ok"));
    }
    let mut definitions = TABLES.map(str::to_owned).to_vec();
    for list in Resource::ALL.map(Resource::name) {
        let syncs = SyncRow::all(connection, list)?;
        let Some(last) = syncs.last() else { continue };
        let views = views::of(list, &last.columns);
        definitions.extend(views.map(|(_, sql)| sql));
        found.syncs.insert(list.to_owned(), syncs.len() as u64);
        let mut differ = |what: String| found.differences.push(format!("{list}: {what}"));
        if of_missing(connection, list)? != last.missing {
            differ("the missing records were changed".into());
        }
        let sql = "SELECT key FROM record WHERE list = ?1 AND hash <> canonical(text) LIMIT 20";
        let mut statement = connection.prepare(sql)?;
        for key in statement.query_map([list], |row| row.get::<_, String>(0))? {
            differ(format!("the record {:?} was changed", key?));
        }
        let seals = "digest(position, key, text) FROM record";
        let opened = sums(connection, list, &format!("first, count(*), {seals}"))?;
        let closed = sums(connection, list, &format!("last + 1, count(*), {seals}"))?;
        let reported = "sync, sum(record IN (SELECT id FROM record)), digest(seq, op, key, last_seen, seen, record) FROM change";
        let reported = sums(connection, list, reported)?;
        for sync in &syncs {
            let until = |steps: &Sums| {
                let steps = steps.range(..=sync.number()).map(|(_, step)| step);
                steps.fold((0, 0_u128), |(count, sum), (more, hash)| {
                    (count + more, sum.wrapping_add(*hash))
                })
            };
            let (opened, closed) = (until(&opened), until(&closed));
            let digest = opened.1.wrapping_sub(closed.1).to_le_bytes();
            let records = opened.0 - closed.0;
            let (number, saw) = (sync.number(), sync.records);
            if (records, digest) != (saw, sync.digest) {
                let (then, now) = (hex(sync.digest), hex(digest));
                differ(format!(
                    "sync {number} saw {saw} records with the digest {then}, and {records} records are kept of it with the digest {now}"
                ));
            }
            let (changes, digest) = reported.get(&number).copied().unwrap_or_default();
            let expected = sync.receipt.changes.total();
            let is_kept = |then| (changes, digest.to_le_bytes()) == (expected, then);
            if !sync.changes.is_none_or(is_kept) {
                differ(format!("the changes of sync {number} were changed"));
            }
        }
    }
    for sql in definitions {
        if !views::is_defined(connection, &sql)? {
            found
                .differences
                .push(format!("it lacks what was defined by {sql:?}"));
        }
    }
    Ok(())
}

/// Counts and digests, by sync.
type Sums = BTreeMap<i64, (i64, u128)>;

fn sums(connection: &Connection, list: &str, what: &str) -> std::result::Result<Sums, Fault> {
    let mut statement = connection.prepare(&format!("SELECT {what} WHERE list = ?1 GROUP BY 1"))?;
    let sums = statement.query_map([list], |row| {
        let number: Option<i64> = row.get(0)?;
        let sum = (row.get(1)?, u128::from_le_bytes(row.get::<_, Hash>(2)?));
        Ok((number.unwrap_or(i64::MAX), sum))
    })?;
    Ok(sums.collect::<rusqlite::Result<_>>()?)
}
