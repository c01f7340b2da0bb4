//! Checks the whole of a mirror: the structure of the file, and the digests of everything that is kept in it.

use crate::digest::Hash;
use crate::file::{Fault, TABLES, open};
use crate::mirror::Mirror;
use crate::receipt::{CHANGES_OF, SyncRow};
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
        let digests = "digest(position, key, text) FROM record WHERE list = ?1";
        let began = sums(connection, list, &format!("first, {digests}"))?;
        let ended = sums(
            connection,
            list,
            &format!("last + 1, {digests} AND last IS NOT NULL"),
        )?;
        let reported = sums(connection, list, &format!("sync, digest{CHANGES_OF}"))?;
        for sync in &syncs {
            let number = sync.number();
            let until = |steps: &BTreeMap<i64, u128>| {
                let steps = steps.range(..=number).map(|(_, step)| *step);
                steps.fold(0, u128::wrapping_add)
            };
            if until(&began).wrapping_sub(until(&ended)).to_le_bytes() != sync.digest {
                differ(format!("the records that sync {number} saw were changed"));
            }
            let changes = reported.get(&number).copied().unwrap_or_default();
            if sync
                .changes
                .is_some_and(|then| then != changes.to_le_bytes())
            {
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

/// Digests, by sync.
fn sums(
    connection: &Connection,
    list: &str,
    what: &str,
) -> std::result::Result<BTreeMap<i64, u128>, Fault> {
    let mut statement = connection.prepare(&format!("SELECT {what} GROUP BY 1"))?;
    let sums = statement.query_map([list], |row| {
        Ok((row.get(0)?, u128::from_le_bytes(row.get::<_, Hash>(1)?)))
    })?;
    Ok(sums.collect::<rusqlite::Result<_>>()?)
}
