//! The formats that records are written in, and their names.

mod csv;
mod parquet;

#[cfg(test)]
mod tests;

pub(crate) use parquet::join;

use crate::arrow::{BatchBuilder, TableSchema};
use arrow_ipc::writer::FileWriter;
use csv::CsvSink;
use parquet::ParquetSink;
use serde::{Deserialize, Serialize};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use talentdata_core::{Error, ErrorKind, RawRecord, Result, choice};

/// Bytes that are brought to the output at once.
const BUFFER: usize = 64 * 1024;

/// Rows of a record batch in an Arrow file: enough for columnar work, few enough that memory hardly notices.
const ROWS: usize = 2048;

/// The format of an exported file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(C)]
pub enum Format {
    /// JSON Lines: a record per line, as the service sent it.
    Jsonl = 1,
    /// CSV with a header.
    Csv = 2,
    /// Parquet. It is resumed behind the last complete row group. The row groups are joined at the
    /// end, which takes the space twice for a moment.
    Parquet = 3,
    /// The Arrow IPC file format. Such an export cannot be resumed.
    Arrow = 4,
}

// The names are the file name extensions, without the dot.
choice!(Format, "format", {
    Jsonl => "jsonl",
    Csv => "csv",
    Parquet => "parquet",
    Arrow => "arrow",
});

impl Format {
    /// The format that the extension of a file name stands for, in whatever case; JSON Lines without an extension, for a
    /// pipe or a device, and for `-`.
    ///
    /// # Errors
    /// `InvalidArgument` for any other extension, and for the address of a service in place of a path.
    pub fn of_path(path: &Path) -> Result<Self> {
        let shown = path.display().to_string();
        let refused = |what: String| {
            let message = format!(
                "{shown}: {what}; use the extension .jsonl, .csv, .parquet or .arrow, or name one of these formats (--format)"
            );
            Error::new(ErrorKind::InvalidArgument, message)
        };
        if let Some((scheme, _)) = shown.split_once("://") {
            return Err(refused(format!(
                "an export is written to a file, not to {scheme}://"
            )));
        }
        let is_stream = || std::fs::metadata(path).is_ok_and(|found| !found.is_file());
        match path.extension() {
            None => Ok(Self::Jsonl),
            Some(extension) => {
                let extension = extension.to_string_lossy();
                let named = extension.to_lowercase().parse().ok();
                named
                    .or_else(|| is_stream().then_some(Self::Jsonl))
                    .ok_or_else(|| {
                        refused(format!(
                            "the extension .{extension} is no format of an export"
                        ))
                    })
            }
        }
    }

    /// Whether an unfinished export can be continued.
    pub(crate) fn can_resume(self) -> bool {
        self != Self::Arrow
    }

    /// Whether it is made of row groups, each a file of its own until they are joined.
    pub(crate) fn has_groups(self) -> bool {
        self == Self::Parquet
    }

    /// What writes it to `writer`. `schema` is asked for in formats that have columns. An output that can be continued has
    /// `held` so many bytes before, and its row groups are written to be joined.
    pub(crate) fn sink(
        self,
        writer: impl Write + Send + 'static,
        schema: impl FnOnce() -> Arc<TableSchema>,
        held: Option<u64>,
    ) -> Result<Box<dyn Sink>> {
        let begins = held.unwrap_or_default() == 0;
        Ok(match self {
            Self::Jsonl => Box::new(JsonlSink::new(writer)),
            Self::Csv => Box::new(CsvSink::new(writer, schema(), begins)?),
            Self::Parquet => Box::new(ParquetSink::new(writer, schema(), held)),
            Self::Arrow => Box::new(IpcSink::new(writer, schema())?),
        })
    }
}

/// Writes records in some format. After an error its output is to be given up, or cut back to a
/// position that was recorded before.
pub(crate) trait Sink: Send {
    /// Takes records from the front, and says how many: all, or fewer when a group of records ends
    /// with them (a Parquet row group), which is where an export can be continued.
    ///
    /// # Errors
    /// `Io`, when the output takes no more.
    fn write(&mut self, records: &[RawRecord]) -> Result<usize>;

    /// Records taken that are not yet part of what [`Sink::flush`] brings out, because their group
    /// has not ended.
    fn held(&self) -> usize {
        0
    }

    /// Brings everything that is not held back to the writer below, and flushes that.
    ///
    /// # Errors
    /// `Io`, when the output takes no more.
    fn flush(&mut self) -> Result<()>;

    /// Writes the end of the format, with what was held back. Nothing may be written after it.
    ///
    /// # Errors
    /// `Io`, when the output takes no more.
    fn finish(&mut self) -> Result<()> {
        self.flush()
    }
}

/// Writes JSON Lines: the bytes of each record as the service sent them. White space outside strings is left out where a
/// record holds line breaks; nothing else is ever changed.
struct JsonlSink<W: Write> {
    output: BufWriter<W>,
    line: Vec<u8>,
}

impl<W: Write> JsonlSink<W> {
    fn new(writer: W) -> Self {
        JsonlSink {
            output: BufWriter::with_capacity(BUFFER, writer),
            line: Vec::new(),
        }
    }
}

impl<W: Write + Send> Sink for JsonlSink<W> {
    fn write(&mut self, records: &[RawRecord]) -> Result<usize> {
        for record in records {
            let line = line(record, &mut self.line);
            let written = self.output.write_all(line);
            written
                .and_then(|()| self.output.write_all(b"\n"))
                .map_err(refused)?;
        }
        Ok(records.len())
    }

    fn flush(&mut self) -> Result<()> {
        self.output.flush().map_err(refused)
    }
}

/// The line that a record is; `buffer` may hold it.
pub(crate) fn line<'a>(record: &'a RawRecord, buffer: &'a mut Vec<u8>) -> &'a [u8] {
    let json = record.as_bytes();
    if !json.contains(&b'\n') && !json.contains(&b'\r') {
        return json;
    }
    buffer.clear();
    let (mut quoted, mut escaped) = (false, false);
    for byte in json {
        if quoted || !byte.is_ascii_whitespace() {
            buffer.push(*byte);
        }
        quoted ^= *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
    }
    buffer
}

/// Writes the Arrow IPC file format, also known as Feather version 2. It cannot be continued after an interruption.
struct IpcSink<W: Write> {
    writer: FileWriter<BufWriter<W>>,
    builder: BatchBuilder,
}

impl<W: Write> IpcSink<W> {
    fn new(writer: W, schema: Arc<TableSchema>) -> Result<Self> {
        let builder = BatchBuilder::new(schema, ROWS);
        let output = BufWriter::with_capacity(BUFFER, writer);
        Ok(IpcSink {
            writer: FileWriter::try_new(output, &builder.schema()).map_err(refused)?,
            builder,
        })
    }

    fn write_batch(&mut self) -> Result<()> {
        let batch = self.builder.finish()?;
        self.writer.write(&batch).map_err(refused)
    }
}

impl<W: Write + Send> Sink for IpcSink<W> {
    fn write(&mut self, records: &[RawRecord]) -> Result<usize> {
        for record in records {
            self.builder.append(record);
            if self.builder.is_full() {
                self.write_batch()?;
            }
        }
        Ok(records.len())
    }

    fn held(&self) -> usize {
        self.builder.len()
    }

    fn flush(&mut self) -> Result<()> {
        self.writer.flush().map_err(refused)
    }

    fn finish(&mut self) -> Result<()> {
        if !self.builder.is_empty() {
            self.write_batch()?;
        }
        self.writer.finish().map_err(refused)?;
        self.flush()
    }
}

fn refused(error: impl std::fmt::Display) -> Error {
    let message = format!("the output could not be written: {error}");
    Error::new(ErrorKind::Io, message)
}
