//! CSV with the columns of the Arrow schema, quoted according to RFC 4180.

use super::refused;
use crate::arrow::{Checker, EXTRA, Object, TableSchema, text};
use csv_core::Writer;
use std::io::Write;
use std::sync::Arc;
use talentdata_core::{RawRecord, Result};

/// A writer of CSV with a header. Lines end in a line feed.
/// An empty text has quotes, and an empty cell has none. PostgreSQL, Polars and PyArrow distinguish them like this, and
/// DuckDB does with `allow_quoted_nulls = false`. Numbers, dates and timestamps are the service's own text and nested
/// values are its JSON, so none of them needs to be in `_extra`.
pub(super) struct CsvWriter<W: Write> {
    pub(super) output: W,
    schema: Arc<TableSchema>,
    row: Row,
}

impl<W: Write> CsvWriter<W> {
    /// Writes the header.
    pub(super) fn new(output: W, schema: Arc<TableSchema>) -> Result<Self> {
        let mut writer = CsvWriter {
            output,
            schema,
            row: Row::default(),
        };
        for column in &writer.schema.fields {
            writer.row.text(&column.name);
            writer.row.text.push(b',');
        }
        writer.row.text(EXTRA);
        writer.row.end(&mut writer.output)?;
        Ok(writer)
    }

    /// Writes a row. The checker compares the fields that the row cannot hold with the columns.
    pub(super) fn write(
        &mut self,
        record: &RawRecord,
        checker: Option<&mut Checker>,
    ) -> Result<()> {
        let (columns, row) = (&self.schema.fields, &mut self.row);
        let object = Object::of_record(columns, record);
        let rest = object.hold(columns, |at, value| {
            let cell = value.and_then(|value| text(&columns[at].kind, value));
            cell.iter().for_each(|text| row.text(text));
            row.text.push(b',');
            cell.is_some() == value.is_some()
        });
        if let Some(extra) = object.extra(&rest) {
            row.text(&extra);
            if let Some(checker) = checker {
                checker.after_row(record, &object, &rest);
            }
        }
        row.end(&mut self.output)
    }
}

/// The row that is being written.
#[derive(Default)]
struct Row {
    quoting: Writer,
    text: Vec<u8>,
}

impl Row {
    fn text(&mut self, text: &str) {
        let text = text.as_bytes();
        if !text.is_empty() && !self.quoting.should_quote(text) {
            return self.text.extend_from_slice(text);
        }
        self.text.push(b'"');
        let begin = self.text.len();
        // The maximum length: each byte is a quote that is doubled.
        self.text.resize(begin + 2 * text.len(), 0);
        let (_, _, length) = csv_core::quote(text, &mut self.text[begin..], b'"', b'"', true);
        self.text.truncate(begin + length);
        self.text.push(b'"');
    }

    fn end(&mut self, output: &mut impl Write) -> Result<()> {
        if self.text.is_empty() {
            self.text(""); // readers skip an empty line
        }
        self.text.push(b'\n');
        output.write_all(&self.text).map_err(refused)?;
        self.text.clear();
        Ok(())
    }
}
