//! Reads records and changes from a mirror, one after the other, from one state of the file.
//!
//! Each reader has its own connection and transaction, so that it sees one sync, whatever others commit meanwhile. It
//! compares what it has read with the digests that the syncs have written down, and after an error there is nothing more:
//! what was cut short never looks like an end.

use crate::CHANGE_COLUMNS;
use crate::digest::{Hash, add};
use crate::file::{Fault, damaged};
use crate::mirror::Snapshot;
use crate::receipt::{CHANGES_OF, SyncRow};
use rusqlite::params;
use std::sync::Arc;
use std::vec::IntoIter;
use talentdata_columns::arrow::{
    Column, Columns, Empty, Kind, RecordBatches, Source, TableOptions, TableSchema, Timestamp, Unit,
};
use talentdata_columns::export::{Format, Target, write_records};
use talentdata_core::scan::Receipt;
use talentdata_core::{RawRecord, Result};

/// Rows read at once: as many as the service gives at once.
const PAGE: usize = 100;

/// A change as a record of its own.
const LINE: &str = r#"printf('{"generation":%d,"op":%s,"key":%s,"last_seen":%s,"seen":%s,"record":%s}',
    sync, json_quote(op), json_quote(change.key), json_quote(change.last_seen), json_quote(seen), text)"#;
/// A change as a row of a table: the fields of the change stand behind those of the record, because of a name that occurs
/// twice the last counts.
const ROW: &str = r#"rtrim(substr(text, 1, length(text) - 1), char(9, 10, 13, 32)) || iif(instr(text, '"'), ',', '')
    || printf('"_generation":%d,"_op":%s,"_key":%s,"_last_seen":%s,"_seen":%s}',
    sync, json_quote(op), json_quote(change.key), json_quote(change.last_seen), json_quote(seen))"#;

/// The records of a list, in its order and byte for byte as a sync has read them; or changes, from the oldest to the newest,
/// each as `{"generation":17,"op":"update","key":"c-1","last_seen":...,"seen":...,"record":{...}}`.
pub struct Rows {
    snapshot: Snapshot,
    /// Give the place of a row, its digest, and its text: on its own, and as a row of a table.
    sql: [String; 2],
    form: usize,
    behind: (i64, i64),
    /// The digest of the rows that are still to come.
    rest: Hash,
    page: IntoIter<RawRecord>,
    is_done: bool,
    columns: Arc<TableSchema>,
    receipt: Receipt,
}

impl Rows {
    /// The records that a sync has read, and those that were missing then if these are wanted, too.
    pub(crate) fn records(snapshot: Snapshot, sync: SyncRow, with_missing: bool) -> Self {
        let (number, mut rest) = (sync.number(), sync.digest);
        if with_missing {
            add(&mut rest, sync.missing);
        }
        let sql = format!(
            "SELECT position, id, iif(seen, seal(position, key, text), seal(position, key, text, last, missing, last_seen)), text
             FROM (SELECT *, first <= {number} AND ifnull(last >= {number}, 1) AS seen FROM record INDEXED BY record_order
             WHERE list = ?1) WHERE position >= ?2 AND (position, id) > (?2, ?3)
             AND (seen OR {with_missing} AND missing IS NOT NULL) ORDER BY position, id LIMIT {PAGE}"
        );
        Rows {
            sql: [sql.clone(), sql],
            rest,
            ..Rows::new(snapshot, sync)
        }
    }

    /// The changes of these syncs, of which there is at least one before `last`.
    pub(crate) fn changes(snapshot: Snapshot, since: i64, rest: Hash, mut last: SyncRow) -> Self {
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
        // A field of the same name stays in the last column.
        let fields = &mut last.columns.fields;
        fields.retain(|column| !CHANGE_COLUMNS.contains(&column.name.as_str()));
        fields.splice(0..0, own);
        Rows {
            sql: [LINE, ROW].map(|text| {
                format!(
                    "SELECT sync, seq, seal{}, {text} {} AND (sync, seq) > (?2, ?3) ORDER BY sync, seq LIMIT {PAGE}",
                    CHANGES_OF.0, CHANGES_OF.1
                )
            }),
            behind: (since, i64::MAX),
            rest,
            ..Rows::new(snapshot, last)
        }
    }

    fn new(snapshot: Snapshot, sync: SyncRow) -> Self {
        Rows {
            snapshot,
            sql: Default::default(),
            form: 0,
            behind: (i64::MIN, 0),
            rest: Hash::default(),
            page: IntoIter::default(),
            is_done: false,
            columns: Arc::new(sync.columns),
            receipt: sync.receipt.scan,
        }
    }

    /// The rows in Arrow record batches of so many, with the columns of the mirror unless others are asked for; those of a
    /// change stand before those of its record.
    ///
    /// # Errors
    /// `Io`, when the first rows cannot be read; `InvalidArgument` for a schema of another list.
    pub fn into_batches(mut self, rows: usize, table: TableOptions) -> Result<RecordBatches> {
        let (resource, table) = (self.snapshot.resource, self.table(table));
        RecordBatches::new(resource, &table, rows, self)
    }

    /// Writes the rows as an export of the list writes them; returns the receipt of the sync with what was written, by which
    /// the file can be verified.
    ///
    /// # Errors
    /// `Io`, naming the file.
    pub fn write(
        mut self,
        format: Format,
        target: &Target,
        table: TableOptions,
    ) -> Result<Receipt> {
        let (resource, receipt) = (self.snapshot.resource, self.receipt.clone());
        let table = match format {
            Format::Jsonl => table,
            _ => self.table(table),
        };
        let written = write_records(resource, format, target, table, self)?;
        Ok(Receipt {
            records: written.records,
            written: Some(written),
            ..receipt
        })
    }

    fn table(&mut self, mut table: TableOptions) -> TableOptions {
        self.form = 1;
        if table.columns == Columns::Typed && table.schema.is_none() {
            table.schema = Some(Arc::clone(&self.columns));
        }
        table
    }

    /// Reads a page, or finds the end.
    fn fill(&mut self) -> std::result::Result<(), Fault> {
        let (list, (first, second)) = (self.snapshot.resource.name(), self.behind);
        let connection = &self.snapshot.connection;
        let mut statement = connection.prepare_cached(&self.sql[self.form])?;
        let mut rows = statement.query(params![list, first, second])?;
        let mut texts: Vec<String> = Vec::new();
        while let Some(row) = rows.next()? {
            self.behind = (row.get(0)?, row.get(1)?);
            add(&mut self.rest, row.get(2)?);
            texts.push(row.get(3)?);
        }
        self.is_done = texts.is_empty();
        if self.is_done && self.rest != Hash::default() {
            let what = format!("the rows of {list} are not those that its syncs have written");
            return Err(damaged(what).into());
        }
        self.page = RawRecord::parse_all(&texts)?.into_iter();
        Ok(())
    }
}

impl Iterator for Rows {
    type Item = Result<RawRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(record) = self.page.next() {
                return Some(Ok(record));
            }
            if self.is_done {
                return None;
            }
            if let Err(fault) = self.fill() {
                self.is_done = true;
                return Some(Err(fault.at(&self.snapshot.path)));
            }
        }
    }
}
