//! Encodes the records of one export, as soon as their columns are decided.

use super::Export;
use crate::arrow::{Checker, Counts, Page, Sample, TableSchema};
use crate::digest::RecordsDigest;
use crate::format::{Format, Held, Sink, line};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::sync::Arc;
use talentdata_core::scan::{Batch, SchemaDifferences};
use talentdata_core::{Error, RawRecord, Result};

/// Records of a scan, or some that are at hand.
pub(super) enum Part {
    Scanned(Box<Batch>),
    AtHand(Vec<RawRecord>),
}

impl Page for Part {
    fn records(&self) -> &[RawRecord] {
        match self {
            Part::Scanned(batch) => &batch.records,
            Part::AtHand(records) => records,
        }
    }
}

/// What a resumed export needs to know of the columns.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Table {
    /// None in formats without columns, and until they are decided.
    schema: Option<TableSchema>,
    /// How the records differed so far from the schema that was given.
    counts: Option<Counts>,
}

pub(super) struct Encoder {
    format: Format,
    sample: Sample<Part>,
    /// Compares the records with the schema that was given.
    checker: Option<Checker>,
    pub(super) sink: Option<Box<dyn Sink>>,
    /// Of the records that all runs have written.
    pub(super) records: RecordsDigest,
    line: Vec<u8>,
}

impl Encoder {
    /// # Errors
    /// `InvalidArgument`, when the schema is of another list.
    pub(super) fn new(export: &Export) -> Result<Self> {
        Ok(Encoder {
            format: export.format,
            sample: Sample::new(export.resource, &export.table)?,
            checker: Checker::new(&export.table),
            sink: None,
            records: RecordsDigest::default(),
            line: Vec::new(),
        })
    }

    pub(super) fn add(&mut self, part: Part) {
        self.sample.add(part);
    }

    /// The next part to write; none while the columns are not decided, unless this is the end.
    pub(super) fn next(&mut self, at_end: bool) -> Option<Part> {
        let is_ready = at_end || self.format == Format::Jsonl || self.sample.schema().is_some();
        is_ready.then(|| self.decide())?;
        self.sample.next()
    }

    fn decide(&mut self) {
        if self.format != Format::Jsonl {
            self.sample.decide();
        }
    }

    /// Writes to `writer` from here on; `continued` as in [`Format::sink`].
    pub(super) fn open(
        &mut self,
        writer: impl Write + Send + 'static,
        continued: Option<Held>,
    ) -> Result<()> {
        let schema = || self.sample.decide();
        self.sink = Some(self.format.sink(writer, schema, continued)?);
        Ok(())
    }

    /// Where the records go.
    pub(super) fn sink(&mut self) -> Result<&mut Box<dyn Sink>> {
        self.sink.as_mut().ok_or_else(lost)
    }

    /// Writes the first of these records: all of them, or up to the end of a group where `by_group`. Returns how many.
    pub(super) fn write(&mut self, records: &[RawRecord], by_group: bool) -> Result<usize> {
        let mut taken = 0;
        while taken == 0 || taken < records.len() && !by_group {
            taken += self.sink()?.write(&records[taken..])?;
            if records.is_empty() {
                break;
            }
        }
        Ok(taken)
    }

    /// Counts, compares and digests records that were written.
    ///
    /// # Errors
    /// `Schema`, for a new field where that is to fail.
    pub(super) fn note(&mut self, records: &[RawRecord]) -> Result<()> {
        for record in records {
            if let Some(checker) = &mut self.checker {
                checker.check(record)?;
            }
            self.records.add(line(record, &mut self.line));
        }
        Ok(())
    }

    /// How the records differed so far from the schema that was given.
    pub(super) fn differences(&self) -> Option<SchemaDifferences> {
        self.checker.as_ref().map(Checker::differences)
    }

    /// What a resumed export needs to know.
    pub(super) fn table(&mut self) -> Table {
        let schema = self
            .sample
            .schema()
            .filter(|_| self.format != Format::Jsonl);
        Table {
            schema: schema.map(Arc::unwrap_or_clone),
            counts: self
                .checker
                .as_ref()
                .map(|checker| checker.counts().clone()),
        }
    }

    /// Goes on with the columns of an earlier run, and behind its records.
    pub(super) fn go_on(&mut self, table: Table, records: RecordsDigest) {
        self.records = records;
        if let Some(schema) = table.schema {
            self.sample.go_on(Arc::new(schema));
        }
        if let (Some(checker), Some(counts)) = (&mut self.checker, table.counts) {
            checker.go_on(counts);
        }
    }
}

pub(super) fn lost() -> Error {
    Error::defect("an export has lost its output")
}
