//! Digests by which a changed byte of the file is noticed: of records, of changes, and of what is known of a sync.
//!
//! The digest of many rows is the sum of their hashes, so that it follows from the one before by what was added and removed.

use crate::canonical::{Hash, hash, piece};
use crate::file::Fault;
use rusqlite::{Connection, Row};

/// A sum of hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Digest(u128);

impl Digest {
    pub(crate) fn add(&mut self, hash: Hash) {
        self.0 = self.0.wrapping_add(u128::from_le_bytes(hash));
    }

    pub(crate) fn remove(&mut self, hash: Hash) {
        self.0 = self.0.wrapping_sub(u128::from_le_bytes(hash));
    }

    pub(crate) fn bytes(self) -> Hash {
        self.0.to_le_bytes()
    }

    pub(crate) fn from_bytes(bytes: Hash) -> Self {
        Digest(u128::from_le_bytes(bytes))
    }
}

/// The hash of a record at its position.
pub(crate) fn of_record(position: &[u8], key: &str, text: &str) -> Hash {
    of(&[position, key.as_bytes(), text.as_bytes()])
}

/// The hash of some pieces.
pub(crate) fn of(pieces: &[&[u8]]) -> Hash {
    let mut form = Vec::with_capacity(pieces.iter().map(|piece| piece.len() + 9).sum());
    pieces.iter().for_each(|one| piece(b'.', one, &mut form));
    hash(&form)
}

/// What is known of a sync, as the file has it.
#[derive(Clone, Debug)]
pub(crate) struct SyncRow {
    pub(crate) number: i64,
    pub(crate) started: String,
    pub(crate) ended: String,
    /// The records that it saw, and their digest.
    pub(crate) records: i64,
    pub(crate) digest: Hash,
    /// The digest of its changes; none once they are no longer kept.
    pub(crate) changes: Option<Hash>,
    /// The digest of the records that were missing then.
    pub(crate) missing: Hash,
    pub(crate) parameters: String,
    pub(crate) columns: String,
    pub(crate) receipt: String,
}

impl SyncRow {
    const SELECT: &str = "SELECT number, started, ended, records, digest, changes, missing, parameters, columns, receipt, seal FROM sync";

    /// The syncs of a list that are kept, the oldest first.
    pub(crate) fn all(connection: &Connection, list: &str) -> Result<Vec<Self>, Fault> {
        let select = format!("{} WHERE list = ?1 ORDER BY number", Self::SELECT);
        let mut statement = connection.prepare(&select)?;
        let mut rows = statement.query([list])?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            all.push(Self::read(list, row)?);
        }
        Ok(all)
    }

    /// The last sync of a list.
    pub(crate) fn last(connection: &Connection, list: &str) -> Result<Option<Self>, Fault> {
        let select = format!(
            "{} WHERE list = ?1 ORDER BY number DESC LIMIT 1",
            Self::SELECT
        );
        let mut statement = connection.prepare(&select)?;
        let mut rows = statement.query([list])?;
        rows.next()?.map(|row| Self::read(list, row)).transpose()
    }

    fn read(list: &str, row: &Row<'_>) -> Result<Self, Fault> {
        let read = SyncRow {
            number: row.get(0)?,
            started: row.get(1)?,
            ended: row.get(2)?,
            records: row.get(3)?,
            digest: row.get(4)?,
            changes: row.get(5)?,
            missing: row.get(6)?,
            parameters: row.get(7)?,
            columns: row.get(8)?,
            receipt: row.get(9)?,
        };
        match row.get::<_, Hash>(10)? == read.seal(list) {
            true => Ok(read),
            false => Err(Fault::Damaged(format!(
                "what it has of sync {} of {list} was changed",
                read.number
            ))),
        }
    }

    /// Writes it, or writes it again.
    pub(crate) fn write(&self, connection: &Connection, list: &str) -> Result<(), Fault> {
        let sql = "INSERT OR REPLACE INTO sync VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
        let values = rusqlite::params![
            list,
            self.number,
            self.started,
            self.ended,
            self.records,
            self.digest,
            self.changes,
            self.missing,
            self.parameters,
            self.columns,
            self.receipt,
            self.seal(list)
        ];
        connection.execute(sql, values)?;
        Ok(())
    }

    fn seal(&self, list: &str) -> Hash {
        of(&[
            list.as_bytes(),
            &self.number.to_le_bytes(),
            self.started.as_bytes(),
            self.ended.as_bytes(),
            &self.records.to_le_bytes(),
            &self.digest,
            self.changes.as_ref().map_or(b"", |changes| changes),
            &self.missing,
            self.parameters.as_bytes(),
            self.columns.as_bytes(),
            self.receipt.as_bytes(),
        ])
    }
}

/// The digest of the records of a list that are missing.
pub(crate) fn of_missing(connection: &Connection, list: &str) -> Result<Digest, Fault> {
    let mut digest = Digest::default();
    let sql = "SELECT key, since, record, last_seen, proven FROM missing WHERE list = ?1";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([list])?;
    while let Some(row) = rows.next()? {
        let (key, seen): (String, String) = (row.get(0)?, row.get(3)?);
        let numbers: [i64; 3] = [row.get(1)?, row.get(2)?, row.get(4)?];
        let [since, record, proven] = numbers.map(i64::to_le_bytes);
        digest.add(of(&[
            key.as_bytes(),
            &since,
            &record,
            seen.as_bytes(),
            &proven,
        ]));
    }
    Ok(digest)
}
