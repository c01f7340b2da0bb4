//! Encodes records in a format, with columns that are inferred from the first records.

use super::{Export, Format};
use crate::arrow::{Checker, Counts, Seen, TableOptions, TableSchema};
use crate::digest::RecordsDigest;
use crate::format::{Sink, line};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::sync::Arc;
use talentdata_core::RawRecord;
use talentdata_core::scan::SchemaDifferences;
use talentdata_core::types::Resource;
use talentdata_core::{Error, ErrorKind, Result};

/// What a resumed export needs to know of the columns.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Table {
    /// None in formats without columns, and until they are decided.
    schema: Option<TableSchema>,
    /// How the records differed so far from the schema that was given.
    counts: Option<Counts>,
}

/// Encodes the records of one export.
pub(super) struct Encoder {
    format: Format,
    resource: Resource,
    options: TableOptions,
    /// None in formats without columns, and until they are decided.
    schema: Option<Arc<TableSchema>>,
    /// The records that wait for the columns to be decided.
    seen: Seen,
    /// Compares the records with the schema that was given.
    checker: Option<Checker>,
    sink: Option<Box<dyn Sink>>,
    /// Of the records that all runs have written.
    pub(super) records: RecordsDigest,
    line: Vec<u8>,
}

impl Encoder {
    /// # Errors
    /// `InvalidArgument`, when the schema is of another list.
    pub(super) fn new(export: &Export) -> Result<Self> {
        let format = export.format;
        let options = export.table.clone();
        if let Some(schema) = &options.schema {
            schema.check_resource(export.resource)?;
        }
        Ok(Encoder {
            format,
            resource: export.resource,
            checker: Checker::new(&options),
            schema: options.schema.clone().filter(|_| format != Format::Jsonl),
            options,
            seen: Seen::default(),
            sink: None,
            records: RecordsDigest::default(),
            line: Vec::new(),
        })
    }

    /// Whether the columns are to be decided.
    pub(super) fn is_undecided(&self) -> bool {
        self.format != Format::Jsonl && self.schema.is_none()
    }

    /// Whether these records are not enough to decide the columns, together with those that were looked at before.
    pub(super) fn needs_more_than(&mut self, records: &[RawRecord]) -> bool {
        if self.is_undecided() {
            records.iter().for_each(|record| self.seen.add(record));
            return !self.seen.is_enough();
        }
        false
    }

    /// Decides the columns.
    pub(super) fn decide(&mut self, sample: &[RawRecord]) -> Result<()> {
        if self.schema.is_none() {
            self.schema = Some(self.options.schema_of(self.resource, sample)?);
        }
        Ok(())
    }

    /// Compares records that were written with the schema that was given.
    ///
    /// # Errors
    /// `Schema`, for a new field where that is to fail.
    pub(super) fn check(&mut self, records: &[RawRecord]) -> Result<()> {
        match &mut self.checker {
            Some(checker) => records.iter().try_for_each(|record| checker.check(record)),
            None => Ok(()),
        }
    }

    /// Counts and digests records that were written.
    pub(super) fn digest(&mut self, records: &[RawRecord]) {
        for record in records {
            self.records.add(line(record, &mut self.line));
        }
    }

    /// How the records differed so far from the schema that was given.
    pub(super) fn differences(&self) -> Option<SchemaDifferences> {
        self.checker.as_ref().map(Checker::differences)
    }

    /// What a resumed export needs to know.
    pub(super) fn table(&self) -> Table {
        let checker = self.checker.as_ref();
        Table {
            schema: self.schema.as_deref().cloned(),
            counts: checker.map(|checker| checker.counts().clone()),
        }
    }

    /// Goes on with the columns of an earlier run, and behind its records.
    pub(super) fn go_on(&mut self, table: Table, records: RecordsDigest) {
        self.records = records;
        self.schema = table.schema.map(Arc::new);
        if let (Some(checker), Some(counts)) = (&mut self.checker, table.counts) {
            checker.go_on(counts);
        }
    }

    /// Whether there is somewhere to write to.
    pub(super) fn is_open(&self) -> bool {
        self.sink.is_some()
    }

    /// Writes to `writer` from here on, which holds `bytes` bytes of this format already.
    pub(super) fn open(&mut self, writer: impl Write + Send + 'static, bytes: u64) -> Result<()> {
        let sink = self.format.sink(writer, bytes, self.schema.as_deref())?;
        self.sink = Some(sink);
        Ok(())
    }

    /// Where the records go.
    pub(super) fn sink(&mut self) -> Result<&mut Box<dyn Sink>> {
        self.sink.as_mut().ok_or_else(out_of_order)
    }

    /// Writes the end of the format, and nothing more.
    pub(super) fn finish(&mut self) -> Result<()> {
        let finished = self.sink()?.finish();
        self.close();
        finished
    }

    /// Writes nothing more; buffered data may still reach the writer.
    pub(super) fn close(&mut self) {
        self.sink = None;
    }
}

pub(super) fn out_of_order() -> Error {
    Error::new(
        ErrorKind::Internal,
        "internal error; please report it (an export has lost its output)",
    )
}
