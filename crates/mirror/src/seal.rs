//! Digests by which a changed byte of the file is noticed. They are functions of SQL, on our own connections only.
//!
//! `seal(...)` hashes the values of a row and `digest(...)` adds up the seals of many, so that the order of rows does not
//! matter. `canonical(text)` is the hash of a record's canonical form.

use crate::canonical::{Hash, canonical, hash};
use crate::file::Fault;
use crate::sync::SyncReceipt;
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};
use talentdata_columns::arrow::TableSchema;

/// What is known of a sync; its row in the file has it as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SyncRow {
    pub(crate) receipt: SyncReceipt,
    /// The records that it saw, and their digest.
    pub(crate) records: i64,
    pub(crate) digest: Hash,
    /// The digest of its changes; none once they are no longer kept.
    pub(crate) changes: Option<Hash>,
    /// The digest of the records that were missing then.
    pub(crate) missing: Hash,
    pub(crate) parameters: String,
    pub(crate) columns: TableSchema,
}

impl SyncRow {
    /// The number of the sync.
    pub(crate) fn number(&self) -> i64 {
        self.receipt.generation.cast_signed()
    }

    /// The syncs of a list that are kept, the oldest first.
    pub(crate) fn all(connection: &Connection, list: &str) -> Result<Vec<Self>, Fault> {
        let sql = "SELECT number, about, seal IS seal(list, number, about) FROM sync WHERE list = ?1 ORDER BY number";
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([list])?;
        let mut all: Vec<Self> = Vec::new();
        while let Some(row) = rows.next()? {
            let number: i64 = row.get(0)?;
            let about = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
            let read = serde_json::from_str(about)
                .ok()
                .filter(|_| row.get(2) == Ok(true));
            let follows = all.last().is_none_or(|last| last.number() + 1 == number);
            match read.filter(|_| follows) {
                Some(read) => all.push(read),
                None => {
                    let what = format!(
                        "the row of sync {number} of {list}, or one before it, was changed"
                    );
                    return Err(Fault::Damaged(what));
                }
            }
        }
        Ok(all)
    }

    /// Writes it, or writes it again.
    pub(crate) fn write(&self, connection: &Connection, list: &str) -> Result<(), Fault> {
        let about =
            serde_json::to_string(self).map_err(|error| Fault::Damaged(error.to_string()))?;
        let insert = "INSERT OR REPLACE INTO sync VALUES (?1, ?2, ?3, seal(?1, ?2, ?3))";
        connection.execute(insert, params![list, self.number(), about])?;
        Ok(())
    }
}

/// The digest of the records of a list that are missing.
pub(crate) fn of_missing(connection: &Connection, list: &str) -> Result<Hash, Fault> {
    let sql = "SELECT digest(key, since, record, last_seen, proven) FROM missing WHERE list = ?1";
    Ok(connection.query_row(sql, [list], |row| row.get(0))?)
}

/// Adds a seal to a digest.
pub(crate) fn add(sum: &mut u128, seal: Hash) {
    *sum = sum.wrapping_add(u128::from_le_bytes(seal));
}

/// Makes the functions known to a connection.
pub(crate) fn register(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("canonical", 1, flags, |context| {
        Ok(canonical(context.get_raw(0).as_str()?))
    })?;
    connection.create_scalar_function("seal", -1, flags, |context| {
        Ok(seal(context, &mut Vec::new()))
    })?;
    connection.create_aggregate_function("digest", -1, flags, Sum)
}

/// Sums up seals; what one takes in memory is used for the next.
struct Sum;

impl Aggregate<(u128, Vec<u8>), Hash> for Sum {
    fn init(&self, _: &mut Context<'_>) -> rusqlite::Result<(u128, Vec<u8>)> {
        Ok((0, Vec::new()))
    }

    fn step(&self, row: &mut Context<'_>, sum: &mut (u128, Vec<u8>)) -> rusqlite::Result<()> {
        let seal = seal(row, &mut sum.1);
        add(&mut sum.0, seal);
        Ok(())
    }

    fn finalize(
        &self,
        _: &mut Context<'_>,
        sum: Option<(u128, Vec<u8>)>,
    ) -> rusqlite::Result<Hash> {
        Ok(sum.unwrap_or_default().0.to_le_bytes())
    }
}

/// The hash of all values, each with its type and length, so that no two rows run together.
fn seal(row: &Context<'_>, form: &mut Vec<u8>) -> Hash {
    form.clear();
    for index in 0..row.len() {
        let mut piece = |kind: u8, bytes: &[u8]| {
            form.push(kind);
            form.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            form.extend_from_slice(bytes);
        };
        match row.get_raw(index) {
            ValueRef::Null => piece(0, b""),
            ValueRef::Integer(number) => piece(1, &number.to_le_bytes()),
            ValueRef::Real(number) => piece(2, &number.to_le_bytes()),
            ValueRef::Text(text) => piece(3, text),
            ValueRef::Blob(bytes) => piece(4, bytes),
        }
    }
    hash(form)
}
