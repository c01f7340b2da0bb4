//! Encodes records in a format, with columns that are inferred from the first records.

use super::Format;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{JsonlSink, Sink};
use crate::record::RawRecord;
use std::io::Write;
use talentdata_types::ListShape;

#[cfg(feature = "arrow")]
pub(super) use crate::arrow::Columns;

/// Without Arrow no table has columns.
#[cfg(not(feature = "arrow"))]
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) enum Columns {}

/// Encodes the records of one export.
pub(super) struct Encoder {
    format: Format,
    shape: &'static ListShape,
    /// None in formats without columns, and until they are decided.
    pub(super) columns: Option<Columns>,
    sink: Option<Box<dyn Sink>>,
}

impl Encoder {
    /// # Errors
    /// `Config`, when this build cannot write the format.
    pub(super) fn new(format: Format, shape: &'static ListShape) -> Result<Self> {
        if format != Format::Jsonl && !cfg!(feature = "arrow") {
            let message = format!("format: this build cannot write {format}; it has no Arrow");
            return Err(Error::new(ErrorKind::Config, message));
        }
        Ok(Encoder {
            format,
            shape,
            columns: None,
            sink: None,
        })
    }

    /// How many records are needed to decide the columns; none when that is done.
    pub(super) fn sample(&self) -> Option<usize> {
        if self.format == Format::Jsonl || self.columns.is_some() {
            return None;
        }
        #[cfg(feature = "arrow")]
        return Some(Columns::SAMPLE);
        #[cfg(not(feature = "arrow"))]
        None
    }

    /// Decides the columns.
    pub(super) fn decide(&mut self, sample: &[RawRecord]) {
        #[cfg(feature = "arrow")]
        self.columns
            .get_or_insert_with(|| Columns::infer(self.shape, sample));
        #[cfg(not(feature = "arrow"))]
        let _ = (self.shape, sample);
    }

    /// Whether there is somewhere to write to.
    pub(super) fn is_open(&self) -> bool {
        self.sink.is_some()
    }

    /// Writes to `writer` from here on, which holds `bytes` bytes of this format already.
    pub(super) fn open(&mut self, writer: impl Write + Send + 'static, bytes: u64) -> Result<()> {
        let sink: Box<dyn Sink> = match (self.format, &self.columns) {
            (Format::Jsonl, _) => Box::new(JsonlSink::new(writer, bytes)),
            #[cfg(feature = "arrow")]
            (Format::Csv, Some(columns)) => {
                Box::new(crate::format::CsvSink::new(writer, columns, bytes)?)
            }
            #[cfg(feature = "arrow")]
            (Format::Parquet, Some(columns)) => {
                Box::new(crate::format::ParquetSink::new(writer, columns)?)
            }
            #[cfg(feature = "arrow")]
            (Format::Arrow, Some(columns)) => {
                Box::new(crate::format::IpcSink::new(writer, columns)?)
            }
            _ => return Err(out_of_order()),
        };
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

fn out_of_order() -> Error {
    Error::new(
        ErrorKind::Internal,
        "internal error; please report it (an export has lost its output)",
    )
}
