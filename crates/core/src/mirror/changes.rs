//! What has changed, read from the files of generations one after the other.

use super::change::{Change, Operation};
use super::files::place;
use super::manifest::{FileEntry, Generation};
use super::records::RecordBatches;
use super::texts::Table;
use super::{CHANGE_COLUMNS, RECORD, page};
use crate::arrow::{Column, Empty, Kind, Source, TableOptions, TableSchema, Timestamp, Unit};
use crate::error::{Error, ErrorKind, Result};
use crate::export::{Format, Target, write_records};
use crate::record::RawRecord;
use crate::scan::utc;
use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{Array, RecordBatch};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};
use talentdata_types::Resource;

/// Changes, from the oldest to the newest. After an error there are no more.
pub struct Changes {
    root: PathBuf,
    resource: Resource,
    schema: TableSchema,
    /// Generations and their files that are still to be read.
    files: VecDeque<(u64, FileEntry)>,
    /// The file that is being read, and its next row group.
    table: Option<(u64, Table, usize)>,
    /// The row group that is being read, and its next row.
    group: Option<(RecordBatch, usize)>,
    ready: VecDeque<Change>,
    failed: bool,
}

impl Changes {
    pub(super) fn new<'a>(
        root: &Path,
        resource: Resource,
        schema: &TableSchema,
        generations: impl Iterator<Item = &'a Generation>,
    ) -> Self {
        let files = generations.filter_map(|one| {
            let file = one.changes_file.as_ref()?;
            Some((one.generation, file.clone()))
        });
        Changes {
            root: root.to_owned(),
            resource,
            schema: schema.clone(),
            files: files.collect(),
            table: None,
            group: None,
            ready: VecDeque::new(),
            failed: false,
        }
    }

    /// The changes in Arrow record batches of `rows` rows: the columns of a change, then those of the record.
    pub fn into_batches(self, rows: usize) -> RecordBatches {
        let schema = self.table_schema();
        let records = self.map(|change| change.and_then(|change| change.row()));
        RecordBatches::with_schema(Box::new(records), &schema, rows)
    }

    /// Writes the changes; as JSON Lines each with its record as it is, in other formats with its columns. Returns
    /// how many there are.
    ///
    /// # Errors
    /// `Io`, naming the file.
    pub fn write(self, format: Format, target: &Target) -> Result<u64> {
        let resource = self.resource;
        if format == Format::Jsonl {
            let lines = self.map(|change| change.and_then(|change| change.line()));
            return write_records(resource, format, target, TableOptions::default(), lines);
        }
        let table = TableOptions {
            schema: Some(Arc::new(self.table_schema())),
            ..TableOptions::default()
        };
        let rows = self.map(|change| change.and_then(|change| change.row()));
        write_records(resource, format, target, table, rows)
    }

    fn table_schema(&self) -> TableSchema {
        let mut schema = self.schema.clone();
        let [generation, operation, key, last_seen, seen] = CHANGE_COLUMNS;
        let instant = || {
            Kind::Timestamp(Timestamp {
                unit: Unit::Micros,
                fraction: 6,
                offset: "Z".into(),
            })
        };
        let own = [
            (generation, Kind::Integer),
            (operation, Kind::Text),
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
        schema.fields.splice(0..0, own);
        schema
    }

    fn fill(&mut self) -> Result<()> {
        while self.ready.is_empty() {
            if let Some((batch, row)) = self.group.take() {
                if row < batch.num_rows() {
                    self.read(batch, row)?;
                }
                continue;
            }
            if let Some((_, table, next)) = &mut self.table {
                if *next < table.groups() {
                    let [_, operation, key, last_seen, seen] = CHANGE_COLUMNS;
                    let columns = [operation, key, last_seen, seen, RECORD];
                    self.group = Some((table.group(*next, &columns)?, 0));
                    *next += 1;
                    continue;
                }
                self.table = None;
            }
            let Some((generation, entry)) = self.files.pop_front() else {
                return Ok(());
            };
            super::files::open_intact(&self.root, &entry)?;
            let table = Table::open(place(&self.root, &entry.path))?;
            self.table = Some((generation, table, 0));
        }
        Ok(())
    }

    /// Reads rows of a row group, as many as make a page.
    fn read(&mut self, batch: RecordBatch, first: usize) -> Result<()> {
        let Some((generation, table, _)) = &self.table else {
            return Ok(());
        };
        let [_, operation, key, last_seen, seen] = CHANGE_COLUMNS;
        let (operations, keys) = (table.texts(&batch, operation)?, table.texts(&batch, key)?);
        let texts = table.texts(&batch, RECORD)?;
        let instants = |name: &str| {
            let found = batch.column_by_name(name);
            let found =
                found.and_then(|array| array.as_primitive_opt::<TimestampMicrosecondType>());
            found.cloned().ok_or_else(|| table.lacks(name))
        };
        let (last_seen, seen) = (instants(last_seen)?, instants(seen)?);
        let (mut end, mut bytes) = (first, 0);
        while end < batch.num_rows() && end - first < page::RECORDS && bytes < page::BYTES {
            bytes += texts.value(end).len();
            end += 1;
        }
        let records = page::records((first..end).map(|row| texts.value(row)))?;
        for (record, row) in records.into_iter().zip(first..) {
            let name = operations.value(row);
            let operation = Operation::named(name).ok_or_else(|| {
                let message = format!("a change has the unknown operation {name:?}");
                Error::new(ErrorKind::Io, message)
            })?;
            self.ready.push_back(Change {
                generation: *generation,
                operation,
                key: keys.value(row).to_owned(),
                last_seen: last_seen.is_valid(row).then(|| last_seen.value(row)),
                seen: seen.value(row),
                record,
            });
        }
        self.group = Some((batch, end));
        Ok(())
    }
}

impl Iterator for Changes {
    type Item = Result<Change>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ready.is_empty()
            && !self.failed
            && let Err(error) = self.fill()
        {
            self.failed = true;
            return Some(Err(error));
        }
        self.ready.pop_front().map(Ok)
    }
}

impl Change {
    /// The change as a line of JSON, its record as it is.
    fn line(&self) -> Result<RawRecord> {
        let last_seen = self
            .last_seen
            .map(|micros| format!("\"{}\"", time_text(micros)));
        RawRecord::parse(&format!(
            "{{\"generation\":{},\"op\":\"{}\",\"key\":{},\"last_seen\":{},\"seen\":\"{}\",\"record\":{}}}",
            self.generation,
            self.operation,
            quoted(&self.key),
            last_seen.as_deref().unwrap_or("null"),
            time_text(self.seen),
            self.record.as_str(),
        ))
    }

    /// The record with the fields of its change behind its own.
    fn row(&self) -> Result<RawRecord> {
        let text = self.record.as_str().trim_end();
        let members = text.strip_suffix('}').unwrap_or(text).trim_end();
        let comma = if members.ends_with('{') { "" } else { "," };
        let [generation, operation, key, last_seen, seen] = CHANGE_COLUMNS;
        let last = self.last_seen.map_or(String::new(), |micros| {
            format!(",\"{last_seen}\":\"{}\"", time_text(micros))
        });
        RawRecord::parse(&format!(
            "{members}{comma}\"{generation}\":{},\"{operation}\":\"{}\",\"{key}\":{}{last},\"{seen}\":\"{}\"}}",
            self.generation,
            self.operation,
            quoted(&self.key),
            time_text(self.seen),
        ))
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The time in UTC, as RFC 3339 prescribes.
pub(super) fn time_text(micros: i64) -> String {
    let since = Duration::from_micros(u64::try_from(micros).unwrap_or(0));
    utc(UNIX_EPOCH + since)
}
