//! Reads records and changes from a mirror, one after the other, from one state of the file.
//!
//! Each iterator has its own connection and transaction, so that it sees one sync, whatever others commit meanwhile. It
//! compares what it has read with the digests that the syncs have written down, and after an error there is nothing more:
//! what was cut short never looks like an end.

use crate::CHANGE_COLUMNS;
use crate::digest::Hash;
use crate::file::Fault;
use crate::receipt::{SyncReceipt, SyncRow};
use rusqlite::{Connection, params};
use serde_json::json;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use talentdata_columns::arrow::{
    Column, Columns, Empty, Kind, RecordBatches, Source, TableOptions, TableSchema, Timestamp, Unit,
};
use talentdata_columns::export::{Format, Target, write_records};
use talentdata_core::scan::Receipt;
use talentdata_core::types::Resource;
use talentdata_core::{RawRecord, Result};

/// Rows read at once.
const PAGE: usize = 256;
/// And bytes, beyond which a page ends.
const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// The list of sync ?2, and the records that are missing where ?3 says so, behind the row (?4, ?5): where a row stands,
/// its part of the digest, its text and key. What the sync did not see is not in its digest.
const RECORDS: &str = "SELECT position, id, iif(seen, seal(position, key, text), NULL), text, key \
     FROM (SELECT *, first <= ?2 AND (last IS NULL OR last >= ?2) AS seen FROM record) \
     WHERE list = ?1 AND position >= ?4 AND (position, id) > (?4, ?5) AND (seen OR ?3 AND id IN \
     (SELECT record FROM missing WHERE list = ?1)) ORDER BY position, id LIMIT ?6";

/// The changes of sync ?2, likewise.
const CHANGES: &str = "SELECT seq, 0, seal(seq, op, change.key, last_seen, seen, record, text), text, change.key, \
     op, last_seen, seen FROM change LEFT JOIN record ON record.id = change.record \
     WHERE change.list = ?1 AND sync = ?2 AND ?3 IS NOT NULL AND (seq, 0) > (?4, ?5) ORDER BY seq LIMIT ?6";

/// A connection that stays at one state of the file.
pub(crate) struct Snapshot {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
    pub(crate) resource: Resource,
}

/// A change that a sync has found.
#[derive(Clone, Debug)]
pub struct Change {
    /// The sync.
    pub generation: u64,
    /// `insert`, `update`, `delete`, `missing` or `reappeared`.
    pub op: String,
    /// The record's `id` as text; without one, a digest of the record.
    pub key: String,
    /// When the scan began that last delivered the record before; none for a record that is new.
    pub last_seen: Option<String>,
    /// When the change was found.
    pub seen: String,
    /// The record: for `delete` and `missing` the last that is known.
    pub record: RawRecord,
}

/// What is to be read of a sync: its number, and the digest of the rows.
type Expected = (i64, Option<Hash>);

/// Rows that are read sync by sync, and within it in their order.
struct Reader {
    snapshot: Snapshot,
    sql: &'static str,
    with_missing: bool,
    /// Those that are still to be read to their end.
    syncs: VecDeque<Expected>,
    behind: (i64, i64),
    sum: u128,
    page: VecDeque<Change>,
}

impl Reader {
    fn new(snapshot: Snapshot, sql: &'static str, syncs: VecDeque<Expected>) -> Self {
        Reader {
            snapshot,
            sql,
            with_missing: false,
            syncs,
            behind: (i64::MIN, 0),
            sum: 0,
            page: VecDeque::new(),
        }
    }

    fn next(&mut self) -> Option<Result<Change>> {
        while self.page.is_empty() && !self.syncs.is_empty() {
            if let Err(fault) = self.fill() {
                self.syncs.clear();
                self.page.clear();
                return Some(Err(fault.at(&self.snapshot.path)));
            }
        }
        self.page.pop_front().map(Ok)
    }

    /// Reads a page, or the end of a sync.
    fn fill(&mut self) -> std::result::Result<(), Fault> {
        let Some((number, digest)) = self.syncs.front().copied() else {
            return Ok(());
        };
        let list = self.snapshot.resource.name();
        let mut statement = self.snapshot.connection.prepare_cached(self.sql)?;
        let (first, second) = self.behind;
        let values = params![list, number, self.with_missing, first, second, PAGE as i64];
        let mut rows = statement.query(values)?;
        let (mut bytes, mut texts, mut found) = (0, Vec::new(), Vec::new());
        while bytes < PAGE_BYTES
            && let Some(row) = rows.next()?
        {
            self.behind = (row.get(0)?, row.get(1)?);
            let seal: Option<Hash> = row.get(2)?;
            let seal = seal.map_or(0, u128::from_le_bytes);
            self.sum = self.sum.wrapping_add(seal);
            let text: String = row.get(3)?;
            bytes += text.len();
            texts.push(text);
            found.push(match self.sql == CHANGES {
                true => (row.get(4)?, row.get(5)?, row.get(6)?, row.get(7)?),
                false => (row.get(4)?, String::new(), None, String::new()),
            });
        }
        let changes = RawRecord::parse_all(&texts)?.into_iter().zip(found);
        self.page = changes
            .map(|(record, (key, op, last_seen, seen))| Change {
                generation: number.unsigned_abs(),
                op,
                key,
                last_seen,
                seen,
                record,
            })
            .collect();
        if self.page.is_empty() {
            if digest != Some(self.sum.to_le_bytes()) {
                let what =
                    format!("the rows of {list} are not those that sync {number} has written");
                return Err(Fault::Damaged(what));
            }
            (self.behind, self.sum) = ((i64::MIN, 0), 0);
            self.syncs.pop_front();
        }
        Ok(())
    }
}

/// The records of a list, in the order and with the bytes in which a sync has read them.
pub struct Records {
    reader: Reader,
    columns: Arc<TableSchema>,
    receipt: SyncReceipt,
}

impl Records {
    pub(crate) fn new(snapshot: Snapshot, sync: SyncRow, with_missing: bool) -> Self {
        let expected = (sync.number(), Some(sync.digest));
        Records {
            columns: Arc::new(sync.columns),
            receipt: sync.receipt,
            reader: Reader {
                with_missing,
                ..Reader::new(snapshot, RECORDS, [expected].into())
            },
        }
    }

    /// The records in Arrow record batches of `rows` rows, with the columns of the mirror unless others are asked for.
    ///
    /// # Errors
    /// `Io`, when the first records cannot be read; `InvalidArgument` for a schema of another list.
    pub fn into_batches(self, rows: usize, table: &TableOptions) -> Result<RecordBatches> {
        let (resource, table) = (self.reader.snapshot.resource, self.table(table.clone()));
        RecordBatches::new(resource, &table, rows, self)
    }

    /// Writes the records as an export of the list writes them; returns its receipt, by which the file can be verified.
    ///
    /// # Errors
    /// `Io`, naming the file.
    pub fn write(self, format: Format, target: &Target, table: TableOptions) -> Result<Receipt> {
        let snapshot = &self.reader.snapshot;
        let receipt = self.receipt.clone();
        let (resource, table) = (snapshot.resource, self.table(table));
        let written = write_records(resource, format, target, table, self)?;
        Ok(Receipt {
            records: written.records,
            written: Some(written),
            ..receipt.scan
        })
    }

    fn table(&self, mut table: TableOptions) -> TableOptions {
        if table.columns == Columns::Typed && table.schema.is_none() {
            table.schema = Some(Arc::clone(&self.columns));
        }
        table
    }
}

impl Iterator for Records {
    type Item = Result<RawRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.reader.next()?.map(|change| change.record))
    }
}

/// Changes, from the oldest to the newest.
pub struct Changes {
    reader: Reader,
    columns: TableSchema,
}

impl Changes {
    pub(crate) fn new(
        snapshot: Snapshot,
        columns: TableSchema,
        syncs: impl Iterator<Item = Expected>,
    ) -> Self {
        Changes {
            reader: Reader::new(snapshot, CHANGES, syncs.collect()),
            columns,
        }
    }

    /// The changes in Arrow record batches of `rows` rows: the columns of a change, then those of the record.
    ///
    /// # Errors
    /// As those of [`Records`].
    pub fn into_batches(self, rows: usize) -> Result<RecordBatches> {
        let (resource, table) = (self.reader.snapshot.resource, self.table());
        let records = self.map(|change| change?.row());
        RecordBatches::new(resource, &table, rows, records)
    }

    /// Writes the changes: in JSON Lines each with its record as it is, in other formats with its columns. Returns how many
    /// there are.
    ///
    /// # Errors
    /// `Io`, naming the file.
    pub fn write(self, format: Format, target: &Target) -> Result<u64> {
        let resource = self.reader.snapshot.resource;
        let (row, table): (fn(&Change) -> _, _) = match format {
            Format::Jsonl => (Change::line, TableOptions::default()),
            _ => (Change::row, self.table()),
        };
        let rows = self.map(|change| row(&change?));
        Ok(write_records(resource, format, target, table, rows)?.records)
    }

    fn table(&self) -> TableOptions {
        let instant = Kind::Timestamp(Timestamp {
            unit: Unit::Micros,
            fraction: 6,
            offset: "Z".into(),
        });
        let text = || Kind::Text;
        let kinds = [Kind::Integer, text(), text(), instant.clone(), instant];
        let own = CHANGE_COLUMNS.into_iter().zip(kinds);
        let own = own.map(|(name, kind)| Column {
            name: name.to_owned(),
            kind,
            nullable: true,
            empty: Empty::Absent,
            source: Source::Given,
        });
        let mut schema = self.columns.clone();
        // A field of the same name stays in the last column.
        let is_own = |column: &Column| CHANGE_COLUMNS.contains(&column.name.as_str());
        schema.fields.retain(|column| !is_own(column));
        schema.fields.splice(0..0, own);
        TableOptions {
            schema: Some(Arc::new(schema)),
            ..TableOptions::default()
        }
    }
}

impl Iterator for Changes {
    type Item = Result<Change>;

    fn next(&mut self) -> Option<Self::Item> {
        self.reader.next()
    }
}

impl Change {
    /// The change as a line of JSON, its record as it is.
    fn line(&self) -> Result<RawRecord> {
        let own = self.own(CHANGE_COLUMNS.map(|name| &name[1..]));
        RawRecord::parse(&format!("{{{own},\"record\":{}}}", self.record.as_str()))
    }

    /// The record with the fields of its change behind its own.
    fn row(&self) -> Result<RawRecord> {
        let text = self.record.as_str();
        let fields = text[..text.rfind('}').unwrap_or_default()].trim_end();
        let comma = if fields.ends_with('{') { "" } else { "," };
        RawRecord::parse(&format!("{fields}{comma}{}}}", self.own(CHANGE_COLUMNS)))
    }

    /// What there is beside the record, as members of an object.
    fn own(&self, names: [&str; 5]) -> String {
        let values = [
            json!(self.generation),
            json!(self.op),
            json!(self.key),
            json!(self.last_seen),
            json!(self.seen),
        ];
        let members = names.iter().zip(values);
        let members = members.map(|(name, value)| format!("\"{name}\":{value}"));
        members.collect::<Vec<_>>().join(",")
    }
}
