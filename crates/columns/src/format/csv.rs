//! CSV: the columns of the Arrow schema, quoted as RFC 4180 says.

use super::{BUFFER, Sink, refused};
use crate::arrow::{EXTRA, Object, TableSchema, text};
use csv_core::Writer;
use std::io::{BufWriter, Write};
use std::sync::Arc;
use talentdata_core::{RawRecord, Result};

/// Writes CSV with a header, lines ending in a line feed.
///
/// An empty cell has no quotes and an empty text has, as PostgreSQL, DuckDB, Polars and PyArrow tell
/// them apart. Numbers, dates and timestamps are the service's own text and nested values are its JSON, so
/// that none of them needs to be in `_extra`.
pub(super) struct CsvSink<W: Write> {
    output: BufWriter<W>,
    schema: Arc<TableSchema>,
    row: Row,
}

impl<W: Write> CsvSink<W> {
    /// With a header where the output `begins`.
    pub(super) fn new(writer: W, schema: Arc<TableSchema>, begins: bool) -> Result<Self> {
        let mut sink = CsvSink {
            output: BufWriter::with_capacity(BUFFER, writer),
            schema,
            row: Row::default(),
        };
        if begins {
            for column in sink.schema.iter() {
                sink.row.text(&column.name);
                sink.row.text.push(b',');
            }
            sink.row.text(EXTRA);
            sink.row.end(&mut sink.output)?;
        }
        Ok(sink)
    }
}

impl<W: Write + Send> Sink for CsvSink<W> {
    fn write(&mut self, records: &[RawRecord]) -> Result<usize> {
        let (columns, row) = (&self.schema.fields, &mut self.row);
        for record in records {
            let object = Object::new(columns, record.as_str());
            let rest = object.hold(columns, |at, value| {
                let cell = value.and_then(|value| text(&columns[at].kind, value));
                cell.iter().for_each(|text| row.text(text));
                row.text.push(b',');
                cell.is_some() == value.is_some()
            });
            object.extra(&rest).iter().for_each(|extra| row.text(extra));
            row.end(&mut self.output)?;
        }
        Ok(records.len())
    }

    fn flush(&mut self) -> Result<()> {
        self.output.flush().map_err(refused)
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
        // The most it can become: each byte a quote, doubled.
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
