//! What a mirror is read as: records and changes, one after the other, from one state of the file.
//!
//! Each iterator has its own connection and transaction, so that it sees one sync, whatever others commit meanwhile. After
//! an error there is nothing more: what was cut short never looks like an end.

use crate::CHANGE_COLUMNS;
use crate::canonical::{Hash, canonical};
use crate::commit::of_change;
use crate::file::Fault;
use crate::seal::{Digest, SyncRow, of_record};
use rusqlite::{Connection, params};
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

/// A connection that stays at one state of the file.
pub(crate) struct Snapshot {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
    pub(crate) resource: Resource,
}

/// The records of a list, in the order and with the bytes in which a sync has read them.
pub struct Records {
    snapshot: Snapshot,
    sync: SyncRow,
    columns: Arc<TableSchema>,
    /// Whether records that are missing are among them.
    with_missing: bool,
    behind: (Vec<u8>, i64),
    digest: Digest,
    seen: i64,
    page: VecDeque<RawRecord>,
    over: bool,
}

impl Records {
    pub(crate) fn new(snapshot: Snapshot, sync: SyncRow, with_missing: bool) -> Result<Self> {
        Ok(Records {
            columns: Arc::new(TableSchema::from_json(&sync.columns)?),
            snapshot,
            sync,
            with_missing,
            behind: (Vec::new(), 0),
            digest: Digest::default(),
            seen: 0,
            page: VecDeque::new(),
            over: false,
        })
    }

    /// The records in Arrow record batches of `rows` rows, with the columns of the mirror unless others are asked for.
    ///
    /// # Errors
    /// `Io`, when the first records cannot be read; `InvalidArgument` for a schema of another list.
    pub fn into_batches(self, rows: usize, table: &TableOptions) -> Result<RecordBatches> {
        let (resource, table) = (self.snapshot.resource, self.table(table.clone()));
        RecordBatches::new(resource, &table, rows, self)
    }

    /// Writes the records as an export of the list writes them; returns its receipt, by which the file can be verified.
    ///
    /// # Errors
    /// `Io`, naming the file.
    pub fn write(self, format: Format, target: &Target, table: TableOptions) -> Result<Receipt> {
        let resource = self.snapshot.resource;
        let receipt: crate::SyncReceipt = serde_json::from_str(&self.sync.receipt)
            .map_err(|error| self.snapshot.fault(Fault::Damaged(error.to_string())))?;
        let table = self.table(table);
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

    fn fill(&mut self) -> std::result::Result<(), Fault> {
        let mut statement = self.snapshot.connection.prepare_cached(
            "SELECT id, position, key, hash, text, first <= ?2 AND (last IS NULL OR last >= ?2) AS seen FROM record \
             WHERE list = ?1 AND position >= ?4 AND (position, id) > (?4, ?5) AND (seen OR ?3 AND id IN \
             (SELECT record FROM missing WHERE list = ?1)) ORDER BY position, id LIMIT ?6",
        )?;
        let list = self.snapshot.resource.name();
        let (position, id) = &self.behind;
        let values = params![
            list,
            self.sync.number,
            self.with_missing,
            position,
            id,
            PAGE as i64
        ];
        let mut rows = statement.query(values)?;
        let (mut bytes, mut last) = (0, None);
        while bytes < PAGE_BYTES
            && let Some(row) = rows.next()?
        {
            let position: Vec<u8> = row.get(1)?;
            let text = row.get_ref(4)?.as_str().map_err(rusqlite::Error::from)?;
            let key = row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?;
            if row.get(5)? {
                self.digest.add(of_record(&position, key, text));
                self.seen += 1;
            } else if row.get::<_, Hash>(3)? != canonical(text, |_| {}) {
                return Err(changed(key));
            }
            bytes += text.len();
            self.page.push_back(RawRecord::parse(text)?);
            last = Some((position, row.get(0)?));
        }
        match last {
            Some(last) => self.behind = last,
            None => {
                self.over = true;
                if (self.seen, self.digest.bytes()) != (self.sync.records, self.sync.digest) {
                    let number = self.sync.number;
                    let what =
                        format!("the records of {list} are not those that sync {number} saw");
                    return Err(Fault::Damaged(what));
                }
            }
        }
        Ok(())
    }
}

impl Snapshot {
    pub(crate) fn fault(&self, fault: Fault) -> talentdata_core::Error {
        fault.at(&self.path)
    }
}

impl Iterator for Records {
    type Item = Result<RawRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.page.is_empty() && !self.over {
            if let Err(fault) = self.fill() {
                self.over = true;
                self.page.clear();
                return Some(Err(self.snapshot.fault(fault)));
            }
        }
        self.page.pop_front().map(Ok)
    }
}

fn changed(key: &str) -> Fault {
    Fault::Damaged(format!("the record {key:?} was changed"))
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

/// Changes, from the oldest to the newest.
pub struct Changes {
    snapshot: Snapshot,
    columns: TableSchema,
    /// The syncs whose changes are still to be read to their end.
    syncs: VecDeque<SyncRow>,
    seq: i64,
    digest: Digest,
    page: VecDeque<Change>,
    failed: bool,
}

impl Changes {
    pub(crate) fn new(snapshot: Snapshot, columns: &str, syncs: VecDeque<SyncRow>) -> Result<Self> {
        Ok(Changes {
            columns: TableSchema::from_json(columns)?,
            snapshot,
            syncs,
            seq: 0,
            digest: Digest::default(),
            page: VecDeque::new(),
            failed: false,
        })
    }

    /// The changes in Arrow record batches of `rows` rows: the columns of a change, then those of the record.
    ///
    /// # Errors
    /// None but what a mirror of another list would give.
    pub fn into_batches(self, rows: usize) -> Result<RecordBatches> {
        let resource = self.snapshot.resource;
        let table = TableOptions {
            schema: Some(Arc::new(self.table_schema())),
            ..TableOptions::default()
        };
        let records = self.map(|change| change.and_then(|change| change.row()));
        RecordBatches::new(resource, &table, rows, records)
    }

    /// Writes the changes: in JSON Lines each with its record as it is, in other formats with its columns. Returns how many
    /// there are.
    ///
    /// # Errors
    /// `Io`, naming the file.
    pub fn write(self, format: Format, target: &Target) -> Result<u64> {
        let resource = self.snapshot.resource;
        let mut table = TableOptions::default();
        let written = if format == Format::Jsonl {
            let lines = self.map(|change| change.and_then(|change| change.line()));
            write_records(resource, format, target, table, lines)?
        } else {
            table.schema = Some(Arc::new(self.table_schema()));
            let rows = self.map(|change| change.and_then(|change| change.row()));
            write_records(resource, format, target, table, rows)?
        };
        Ok(written.records)
    }

    fn table_schema(&self) -> TableSchema {
        let mut schema = self.columns.clone();
        let [generation, op, key, last_seen, seen] = CHANGE_COLUMNS;
        let instant = || {
            Kind::Timestamp(Timestamp {
                unit: Unit::Micros,
                fraction: 6,
                offset: "Z".into(),
            })
        };
        let own = [
            (generation, Kind::Integer),
            (op, Kind::Text),
            (key, Kind::Text),
            (last_seen, instant()),
            (seen, instant()),
        ];
        let own = own.map(|(name, kind)| Column {
            name: name.to_owned(),
            kind,
            nullable: true,
            empty: Empty::Absent,
            source: Source::Given,
        });
        // A field of the same name stays in the last column.
        schema
            .fields
            .retain(|column| !CHANGE_COLUMNS.contains(&column.name.as_str()));
        schema.fields.splice(0..0, own);
        schema
    }

    fn fill(&mut self) -> std::result::Result<(), Fault> {
        let list = self.snapshot.resource.name();
        while let Some(sync) = self.syncs.front()
            && self.page.is_empty()
        {
            let mut statement = self.snapshot.connection.prepare_cached(
                "SELECT seq, op, change.key, last_seen, seen, record, hash, text FROM change \
                 LEFT JOIN record ON record.id = change.record \
                 WHERE change.list = ?1 AND sync = ?2 AND seq > ?3 ORDER BY seq LIMIT ?4",
            )?;
            let mut rows = statement.query(params![list, sync.number, self.seq, PAGE as i64])?;
            let mut bytes = 0;
            while bytes < PAGE_BYTES
                && let Some(row) = rows.next()?
            {
                self.seq = row.get(0)?;
                let (op, key): (String, String) = (row.get(1)?, row.get(2)?);
                let (last_seen, seen): (Option<String>, String) = (row.get(3)?, row.get(4)?);
                let hash = of_change(
                    self.seq,
                    &op,
                    &key,
                    last_seen.as_deref(),
                    &seen,
                    row.get(5)?,
                );
                self.digest.add(hash);
                let text = row.get_ref(7)?.as_str().map_err(rusqlite::Error::from)?;
                if row.get::<_, Hash>(6)? != canonical(text, |_| {}) {
                    return Err(changed(&key));
                }
                bytes += text.len();
                let record = RawRecord::parse(text)?;
                let generation = sync.number.unsigned_abs();
                self.page.push_back(Change {
                    generation,
                    op,
                    key,
                    last_seen,
                    seen,
                    record,
                });
            }
            if self.page.is_empty() {
                if Some(self.digest.bytes()) != sync.changes {
                    let what =
                        format!("the changes of sync {} of {list} were changed", sync.number);
                    return Err(Fault::Damaged(what));
                }
                (self.seq, self.digest) = (0, Digest::default());
                self.syncs.pop_front();
            }
        }
        Ok(())
    }
}

impl Iterator for Changes {
    type Item = Result<Change>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.page.is_empty()
            && !self.failed
            && let Err(fault) = self.fill()
        {
            self.failed = true;
            self.page.clear();
            return Some(Err(self.snapshot.fault(fault)));
        }
        self.page.pop_front().map(Ok)
    }
}

impl Change {
    /// The change as a line of JSON, its record as it is.
    fn line(&self) -> Result<RawRecord> {
        let last_seen = self.last_seen.as_deref().map_or("null".into(), quoted);
        RawRecord::parse(&format!(
            "{{\"generation\":{},\"op\":{},\"key\":{},\"last_seen\":{last_seen},\"seen\":{},\"record\":{}}}",
            self.generation,
            quoted(&self.op),
            quoted(&self.key),
            quoted(&self.seen),
            self.record.as_str(),
        ))
    }

    /// The record with the fields of its change behind its own.
    fn row(&self) -> Result<RawRecord> {
        let text = self.record.as_str().trim_end();
        let members = text.strip_suffix('}').unwrap_or(text).trim_end();
        let comma = if members.ends_with('{') { "" } else { "," };
        let [generation, op, key, last_seen, seen] = CHANGE_COLUMNS;
        let last = self.last_seen.as_deref();
        let last = last.map_or(String::new(), |last| {
            format!(",\"{last_seen}\":{}", quoted(last))
        });
        RawRecord::parse(&format!(
            "{members}{comma}\"{generation}\":{},\"{op}\":{},\"{key}\":{}{last},\"{seen}\":{}}}",
            self.generation,
            quoted(&self.op),
            quoted(&self.key),
            quoted(&self.seen),
        ))
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
