//! The records of a generation, in the order and with the bytes in which its sync has read them.

use super::gather::{self, Gathered};
use super::manifest::Generation;
use super::order::Order;
use super::page;
use super::texts::Texts;
use crate::arrow::{BatchBuilder, Columns, RecordBatch, SchemaRef, TableOptions, TableSchema};
use crate::error::Result;
use crate::export::{Format, Target, write_records};
use crate::record::RawRecord;
use std::collections::VecDeque;
use std::sync::Arc;
use talentdata_types::Resource;

/// The records of a list, one after the other. After an error there are no more.
pub struct Records {
    resource: Resource,
    generation: Generation,
    order: Order,
    /// How many of its runs are wanted.
    runs: usize,
    texts: Texts,
    reading: Reading,
    /// The columns, unless others are asked for or they are inferred.
    schema: Option<Arc<TableSchema>>,
    ready: VecDeque<RawRecord>,
    failed: bool,
}

/// Where records are taken from.
enum Reading {
    Unbegun,
    /// From their files: in which run, and how many rows of it are done.
    At(usize, u64),
    Gathered(Gathered),
}

impl Records {
    pub(super) fn new(
        texts: Texts,
        resource: Resource,
        generation: Generation,
        order: Order,
        missing: bool,
    ) -> Self {
        Records {
            resource,
            generation,
            runs: if missing {
                order.len()
            } else {
                order.listed_runs
            },
            order,
            texts,
            reading: Reading::Unbegun,
            schema: None,
            ready: VecDeque::new(),
            failed: false,
        }
    }

    /// With these columns, unless others are asked for.
    pub(super) fn with_columns(mut self, schema: TableSchema) -> Self {
        self.schema = Some(Arc::new(schema));
        self
    }

    fn table(&self, mut table: TableOptions) -> TableOptions {
        if table.columns == Columns::Typed {
            table.schema = table.schema.or_else(|| self.schema.clone());
        }
        table
    }

    /// The generation that they are of.
    pub fn generation(&self) -> &Generation {
        &self.generation
    }

    /// The records in Arrow record batches of `rows` rows, with the columns that an export has.
    ///
    /// # Errors
    /// `Io`, when the first records cannot be read.
    pub fn into_batches(self, rows: usize, table: &TableOptions) -> Result<RecordBatches> {
        let (resource, table) = (self.resource, self.table(table.clone()));
        RecordBatches::new(resource, Box::new(self), &table, rows)
    }

    /// Writes the records as an export of the list writes them; returns how many there are.
    ///
    /// # Errors
    /// `Io`, naming the file.
    pub fn write(self, format: Format, target: &Target, table: TableOptions) -> Result<u64> {
        let table = self.table(table);
        write_records(self.resource, format, target, table, self)
    }

    fn fill(&mut self) -> Result<()> {
        let (mut texts, mut bytes) = (Vec::new(), 0);
        while texts.len() < page::RECORDS
            && bytes < page::BYTES
            && let Some(text) = self.text()?
        {
            bytes += text.len();
            texts.push(text);
        }
        if !texts.is_empty() {
            self.ready = page::records(texts.iter().map(String::as_str))?.into();
        }
        Ok(())
    }

    /// The text of the next record.
    fn text(&mut self) -> Result<Option<String>> {
        loop {
            match &mut self.reading {
                Reading::Unbegun if gather::is_needed(&self.order, self.runs) => {
                    let gathered = Gathered::new(&self.order, self.runs, &mut self.texts)?;
                    self.reading = Reading::Gathered(gathered);
                }
                Reading::Unbegun => self.reading = Reading::At(0, 0),
                Reading::Gathered(gathered) => return gathered.next(),
                Reading::At(index, done) => {
                    let run = self.order.run(*index).filter(|_| *index < self.runs);
                    let Some(run) = run else {
                        return Ok(None);
                    };
                    if *done < run.rows {
                        let text = self.texts.get(self.order.path(run), run.first + *done)?;
                        *done += 1;
                        return Ok(Some(text.to_owned()));
                    }
                    (*index, *done) = (*index + 1, 0);
                }
            }
        }
    }
}

impl Iterator for Records {
    type Item = Result<RawRecord>;

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

type Source = Box<dyn Iterator<Item = Result<RawRecord>> + Send>;

/// Records as Arrow record batches. After an error there are no more.
pub struct RecordBatches {
    records: Source,
    builder: BatchBuilder,
    failed: bool,
}

impl RecordBatches {
    pub(super) fn new(
        resource: Resource,
        mut records: Source,
        table: &TableOptions,
        rows: usize,
    ) -> Result<Self> {
        let mut sample = Vec::new();
        let mut seen = crate::arrow::Seen::default();
        while table.schema.is_none()
            && !seen.is_enough()
            && let Some(record) = records.next()
        {
            let record = record?;
            seen.add(&record);
            sample.push(record);
        }
        let schema = table.schema_of(resource, &sample)?;
        Ok(Self::with_schema(
            Box::new(sample.into_iter().map(Ok).chain(records)),
            &schema,
            rows,
        ))
    }

    pub(super) fn with_schema(records: Source, schema: &TableSchema, rows: usize) -> Self {
        RecordBatches {
            records,
            builder: BatchBuilder::new(schema, rows.max(1)),
            failed: false,
        }
    }

    /// The schema of all batches.
    pub fn schema(&self) -> SchemaRef {
        self.builder.schema()
    }
}

impl Iterator for RecordBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.failed {
            match self.records.next() {
                Some(Ok(record)) => {
                    self.builder.append(&record);
                    if self.builder.is_full() {
                        return Some(self.builder.finish());
                    }
                }
                Some(Err(error)) => {
                    self.failed = true;
                    return Some(Err(error));
                }
                None if self.builder.is_empty() => return None,
                None => return Some(self.builder.finish()),
            }
        }
        None
    }
}
