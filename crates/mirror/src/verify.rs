//! Checks the whole of a mirror: the structure of the file, and the digests of everything that is kept in it.

use crate::commit::missing;
use crate::digest::Hash;
use crate::file::{MirrorResult, at, damaged, open};
use crate::mirror::Mirror;
use crate::receipt::{CHANGES, SyncRow};
use crate::tables::{LIST_SEAL, TABLES, VERSION, version};
use crate::views;
use rusqlite::Connection;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use talentdata_core::types::ListName;
use talentdata_core::{Error, ErrorKind, Result};

/// What a check of a mirror has found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MirrorVerification {
    /// Whether all that is kept is what the syncs have written.
    pub matches: bool,
    /// What is wrong, in words; nothing where all matches.
    pub differences: Vec<String>,
}

impl MirrorVerification {
    /// Nothing where the mirror is intact.
    ///
    /// # Errors
    /// `Mismatch`, which names the file and what is wrong.
    pub fn to_result(&self, path: &Path) -> Result<()> {
        if self.matches {
            return Ok(());
        }
        let error = at(path)(damaged(self.differences.join("; ")).into());
        Err(Error::new(ErrorKind::Mismatch, error.message()))
    }
}

impl Mirror {
    /// Reads everything, and compares it with what the syncs have written down.
    ///
    /// # Errors
    /// `Io`, when the file cannot be opened or is no mirror; what is wrong with it is no error.
    pub fn verify(&self) -> Result<MirrorVerification> {
        let (connection, mut differences) = (open(self.path())?, Vec::new());
        if let Err(fault) = check(&connection, &mut differences) {
            differences.push(at(self.path())(fault).message().to_owned());
        }
        let matches = differences.is_empty();
        Ok(MirrorVerification {
            matches,
            differences,
        })
    }
}

fn check(connection: &Connection, found: &mut Vec<String>) -> MirrorResult<()> {
    let texts = |sql: &str| -> rusqlite::Result<Vec<String>> {
        let mut statement = connection.prepare(sql)?;
        statement.query_map([], |row| row.get(0))?.collect()
    };
    found.extend(texts("PRAGMA integrity_check")?);
    found.retain(|row| row != "ok");
    // One of a list that is not there is none of any list.
    found.extend(texts(&format!(
        "SELECT 'the row of a sync was changed' FROM sync WHERE seal <> seal(list, number, id, about)
        UNION ALL SELECT 'the row of list ' || name || ' was changed' FROM list WHERE seal <> {LIST_SEAL}
        UNION ALL SELECT 'the row of the mirror was changed'
            WHERE (SELECT group_concat(seal = seal(id, about)) FROM mirror) IS NOT '1'
        UNION ALL SELECT 'list ' || list || ' has no row' FROM (SELECT list FROM sync UNION SELECT list FROM kept_out)
            WHERE list NOT IN (SELECT name FROM list)
        UNION ALL SELECT 'list ' || name || ' lacks its last sync' FROM list WHERE last < (
            SELECT max(number) FROM sync WHERE list = name)"
    ))?);
    // The next sync defines the tables and views of an earlier version again.
    let is_current = version(connection)? == VERSION;
    let mut definitions = Vec::new();
    if is_current {
        definitions.extend(TABLES.map(str::to_owned));
        let shown = "SELECT 'a record is something else in views' FROM record WHERE plain IS NOT plain(text)";
        found.extend(texts(shown)?);
    }
    for list in ListName::ALL.map(ListName::name) {
        let syncs = SyncRow::all(connection, list)?;
        let Some(last) = syncs.last() else { continue };
        if is_current {
            definitions.extend(views::of(list, &last.columns));
        }
        let kept = SyncRow::before_changes(&syncs);
        // A version is there from the first sync that saw it until after the last one.
        let mut steps = connection.prepare(&format!(
            "SELECT max(sync, {kept}) AS at, digest(position, key, text) FROM \
             (SELECT first AS sync, * FROM record UNION ALL SELECT last + 1, * FROM record WHERE last IS NOT NULL) \
             WHERE list = ?1 GROUP BY at"
        ))?;
        let steps = steps.query_map([list], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let steps: BTreeMap<i64, Hash> = steps.collect::<rusqlite::Result<_>>()?;
        let [of, from] = CHANGES;
        let changes = format!("SELECT digest{of} {from} AND sync > {kept}");
        let mut changes: Hash = connection.query_row(&changes, [list], |row| row.get(0))?;
        let mut digest = 0;
        for sync in &syncs {
            let number = sync.number();
            digest ^= steps.get(&number).copied().unwrap_or_default();
            if digest != sync.digest {
                found.push(format!(
                    "{list}: the records that sync {number} saw were changed"
                ));
            }
            changes ^= if number > kept { sync.changes } else { 0 };
        }
        if changes != 0 {
            found.push(format!("{list}: what was reported was changed"));
        }
        if missing(connection, list)?.1 != last.missing {
            found.push(format!("{list}: the missing records were changed"));
        }
    }
    let defined = texts("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")?;
    definitions.retain(|sql| !defined.contains(sql));
    let lacks = |sql| format!("it lacks what was defined by {sql:?}");
    found.extend(definitions.into_iter().map(lacks));
    Ok(())
}
