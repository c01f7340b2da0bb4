//! Checks a whole mirror: the structure of the file, and the digests of all its contents.

use crate::commit::{changes_digest, missing};
use crate::digest::Hash;
use crate::file::{MirrorResult, at, damaged, open};
use crate::mirror::Mirror;
use crate::receipt::SyncRow;
use crate::sql::sql;
use crate::tables::{self, TABLES_VERSION, version};
use crate::views;
use rusqlite::{Connection, ErrorCode, ffi, named_params};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use talentdata_core::types::ListName;
use talentdata_core::{Error, ErrorKind, Result};

/// The result of a check of a mirror.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MirrorVerification {
    /// True if the file contains exactly what the syncs wrote.
    pub matches: bool,
    /// The differences, in words; empty if there are none.
    pub differences: Vec<String>,
}

impl MirrorVerification {
    /// Returns an error unless the mirror is intact.
    ///
    /// # Errors
    /// `Mismatch`, which names the file and the differences.
    pub fn to_result(&self, path: &Path) -> Result<()> {
        if self.matches {
            return Ok(());
        }
        let error = at(path)(damaged(self.differences.join("; ")).into());
        Err(Error::new(ErrorKind::Mismatch, error.message()))
    }
}

impl Mirror {
    /// Reads the whole file, and compares it with the digests that the syncs wrote.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let records = [("contacts".to_owned(), 250)].into();
    /// # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
    /// # let mut settings = talentdata_core::Client::builder();
    /// # settings.base_url(sandbox.base_url()).client_id(sandbox.client_id()).client_secret(sandbox.client_secret());
    /// # settings.budget("process");
    /// # let client = talentdata_core::blocking::Client::new(&settings)?;
    /// # let directory = tempfile::tempdir()?;
    /// use talentdata_core::ListName;
    /// use talentdata_mirror::{Mirror, Sync};
    ///
    /// let path = directory.path().join("talent.db");
    /// Sync::new(ListName::Contacts, &path).job(&client)?.run()?;
    ///
    /// assert!(Mirror::open(&path)?.verify()?.matches);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Path` if the file cannot be opened or is not a mirror; `Io` if it cannot be read. Damage is a difference, not
    /// an error.
    pub fn verify(&self) -> Result<MirrorVerification> {
        let (connection, mut differences) = (open(self.path())?, Vec::new());
        if let Err(fault) = check(&connection, &mut differences) {
            let is_unreadable = fault.sqlite_code() == Some(ErrorCode::SystemIoFailure);
            let error = at(self.path())(fault);
            if is_unreadable {
                return Err(error);
            }
            differences.push(error.message().to_owned());
        }
        let matches = differences.is_empty();
        Ok(MirrorVerification {
            matches,
            differences,
        })
    }
}

/// Returns whether a line of `PRAGMA integrity_check` reports a page that cannot be read.
fn is_unreadable(line: &str) -> bool {
    let code = line.rsplit_once("unable to get the page. error code=");
    let code = code.and_then(|(_, code)| code.parse::<i32>().ok());
    // The higher bits are the reason.
    code.is_some_and(|code| code & 0xff == ffi::SQLITE_IOERR)
}

fn check(connection: &Connection, found: &mut Vec<String>) -> MirrorResult<()> {
    let texts = |sql: &str| -> rusqlite::Result<Vec<String>> {
        let mut statement = connection.prepare(sql)?;
        statement.query_map([], |row| row.get(0))?.collect()
    };
    found.extend(texts("PRAGMA integrity_check")?);
    found.retain(|row| row != "ok");
    if found.iter().flat_map(|row| row.lines()).any(is_unreadable) {
        let why = Some("a page cannot be read".to_owned());
        return Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_IOERR), why).into());
    }
    found.extend(texts(sql!("verify"))?);
    // The next sync defines the tables and views of an earlier version again.
    let is_current = version(connection)? == TABLES_VERSION;
    let mut definitions = Vec::new();
    if is_current {
        definitions = tables::definitions();
        let shown = "SELECT 'a record has a wrong text for views' FROM record WHERE plain IS NOT plain(text)";
        found.extend(texts(shown)?);
    }
    for list in ListName::ALL.map(ListName::name) {
        let syncs = SyncRow::all(connection, list)?;
        let Some(last) = syncs.last() else { continue };
        if is_current {
            definitions.extend(views::definitions(list, &last.columns));
        }
        let kept = SyncRow::before_changes(&syncs);
        let mut steps = connection.prepare(sql!("record_digests"))?;
        let values = named_params! {":list": list, ":kept": kept};
        let steps = steps.query_map(values, |row| Ok((row.get(0)?, row.get(1)?)))?;
        let steps: BTreeMap<i64, Hash> = steps.collect::<rusqlite::Result<_>>()?;
        let mut changes = changes_digest(connection, list, kept)?;
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
            found.push(format!("{list}: the reported changes were changed"));
        }
        if missing(connection, list)?.1 != last.missing {
            found.push(format!("{list}: the missing records were changed"));
        }
    }
    let defined = texts("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")?;
    definitions.retain(|sql| !defined.contains(sql));
    let lacks = |sql| format!("this definition is missing: {sql:?}");
    found.extend(definitions.into_iter().map(lacks));
    Ok(())
}
