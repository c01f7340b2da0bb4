//! Checks the whole of a mirror: the structure of the file, and the digests of everything that is kept in it.

use crate::commit::missing;
use crate::digest::{Hash, add};
use crate::file::{Fault, TABLES, damaged, open};
use crate::mirror::Mirror;
use crate::receipt::{CHANGES, SyncRow};
use crate::views;
use rusqlite::Connection;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use talentdata_core::types::Resource;
use talentdata_core::{Error, ErrorKind, Result};

/// What a check of a mirror has found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// Whether all that is kept is what the syncs have written.
    pub matches: bool,
    /// What is wrong, in words; nothing where all matches.
    pub differences: Vec<String>,
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
        let error = Fault::from(damaged(self.differences.join("; "))).at(path);
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
        found.matches = found.differences.is_empty();
        Ok(found)
    }
}

fn check(connection: &Connection, found: &mut Verification) -> std::result::Result<(), Fault> {
    connection.execute_batch("BEGIN")?;
    let mut statement = connection.prepare("PRAGMA integrity_check")?;
    let wrong = statement.query_map([], |row| row.get::<_, String>(0))?;
    found.differences = wrong.collect::<rusqlite::Result<_>>()?;
    found.differences.retain(|row| row != "ok");
    let mut definitions = TABLES.map(str::to_owned).to_vec();
    for list in Resource::ALL.map(Resource::name) {
        let syncs = SyncRow::all(connection, list)?;
        let Some(last) = syncs.last() else { continue };
        definitions.extend(views::of(list, &last.columns));
        let mut differ = |what: String| found.differences.push(format!("{list}: {what}"));
        // A version is there from the first sync that saw it until after the last one.
        let steps = "SELECT sync, digest(position, key, text) FROM \
             (SELECT first AS sync, * FROM record UNION ALL SELECT last + 1, * FROM record WHERE last IS NOT NULL) \
             WHERE list = ?1 GROUP BY sync";
        let (steps, mut digest) = (digests(connection, list, steps)?, Hash::default());
        let mut steps = steps.into_iter().peekable();
        let [digest_of, from] = CHANGES;
        let reported = format!("SELECT sync, digest{digest_of} {from} GROUP BY sync");
        let reported = digests(connection, list, &reported)?;
        for sync in &syncs {
            let number = sync.number();
            while let Some((_, step)) = steps.next_if(|(step, _)| *step <= number) {
                add(&mut digest, step);
            }
            if digest != sync.digest {
                differ(format!("the records that sync {number} saw were changed"));
            }
            let changes = reported.get(&number).copied().unwrap_or_default();
            // Those of the first sync that is kept are gone, unless it is the first of all.
            let is_kept = number == 1 || number > syncs[0].number();
            if is_kept && sync.changes != changes {
                differ(format!("the changes of sync {number} were changed"));
            }
        }
        if missing(connection, list)?.1 != last.missing {
            differ("the missing records were changed".into());
        }
    }
    for sql in definitions {
        let mut defined = connection.prepare("SELECT 1 FROM sqlite_schema WHERE sql = ?1")?;
        if !defined.exists([&sql])? {
            (found.differences).push(format!("it lacks what was defined by {sql:?}"));
        }
    }
    Ok(())
}

/// Digests by sync.
fn digests(
    connection: &Connection,
    list: &str,
    sql: &str,
) -> rusqlite::Result<BTreeMap<i64, Hash>> {
    let mut statement = connection.prepare(sql)?;
    let digests = statement.query_map([list], |row| Ok((row.get(0)?, row.get(1)?)))?;
    digests.collect()
}
