//! CSV: the columns of the Arrow schema, quoted as RFC 4180 says.

use super::Sink;
use super::output::{Output, refused};
use crate::arrow::{Cell, EXTRA, Form, Splitter, TableSchema};
use csv_core::Writer;
use std::io::Write;
use talentdata_core::RawRecord;
use talentdata_core::Result;

/// Writes CSV with a header, lines ending in a line feed.
///
/// An empty cell has no quotes and an empty text has, as PostgreSQL, DuckDB, Polars and PyArrow tell
/// them apart. Numbers, dates and timestamps are the service's own text and nested values are its JSON, so
/// that none of them needs to be in `_extra`.
pub struct CsvSink<W: Write> {
    output: Output<W>,
    splitter: Splitter,
    rows: Rows,
}

impl<W: Write> CsvSink<W> {
    /// Writes to `writer`, which holds `position` bytes already; the header only where it holds none.
    ///
    /// # Errors
    /// `Io`, when the output does not take the header.
    pub fn new(writer: W, schema: &TableSchema, position: u64) -> Result<Self> {
        let mut sink = CsvSink {
            output: Output::new(writer, position),
            splitter: Splitter::new(schema, Form::Texts),
            rows: Rows::default(),
        };
        if position == 0 {
            for column in schema {
                sink.rows.text(&column.name);
                sink.rows.text_end();
            }
            sink.rows.text(EXTRA);
            sink.rows.end(&mut sink.output)?;
        }
        Ok(sink)
    }
}

impl<W: Write + Send> Sink for CsvSink<W> {
    fn write(&mut self, records: &[RawRecord]) -> Result<usize> {
        let (rows, output) = (&mut self.rows, &mut self.output);
        for record in records {
            let extra = self.splitter.split(record, |_, cell| {
                rows.cell(&cell);
                rows.text_end();
                true
            });
            if let Some(extra) = extra {
                rows.text(extra);
            }
            rows.end(output)?;
        }
        Ok(records.len())
    }

    fn position(&self) -> u64 {
        self.output.position()
    }

    fn flush(&mut self) -> Result<()> {
        self.output.flush().map_err(refused)
    }
}

/// The row that is being written.
#[derive(Default)]
struct Rows {
    quoting: Writer,
    row: Vec<u8>,
}

impl Rows {
    fn cell(&mut self, cell: &Cell<'_>) {
        // Text goes to memory: nothing can fail.
        let _ = match cell {
            Cell::Empty => Ok(()),
            Cell::Text(text) => return self.text(text),
            Cell::Raw(text) => return self.text(text),
            Cell::Integer(value) | Cell::Instant(value) => write!(self.row, "{value}"),
            Cell::Day(value) => write!(self.row, "{value}"),
            Cell::Unsigned(value) => write!(self.row, "{value}"),
            Cell::Number(value) => write!(self.row, "{value}"),
            Cell::Boolean(value) => write!(self.row, "{value}"),
        };
    }

    fn text(&mut self, text: &str) {
        let text = text.as_bytes();
        if !text.is_empty() && !self.quoting.should_quote(text) {
            return self.row.extend_from_slice(text);
        }
        self.row.push(b'"');
        let begin = self.row.len();
        // The most it can become: each byte a quote, doubled.
        self.row.resize(begin + 2 * text.len(), 0);
        let (_, _, length) = csv_core::quote(text, &mut self.row[begin..], b'"', b'"', true);
        self.row.truncate(begin + length);
        self.row.push(b'"');
    }

    fn text_end(&mut self) {
        self.row.push(b',');
    }

    fn end(&mut self, output: &mut impl Write) -> Result<()> {
        if self.row.is_empty() {
            self.text(""); // readers skip an empty line
        }
        self.row.push(b'\n');
        output.write_all(&self.row).map_err(refused)?;
        self.row.clear();
        Ok(())
    }
}
