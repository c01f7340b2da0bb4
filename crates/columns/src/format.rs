//! The file formats for records, and their names.

mod csv;

#[cfg(test)]
mod tests;

use crate::arrow::{BatchBuilder, Checker, NewFieldPolicy, Sample, TableOptions, TableSchema};
use crate::digest::HashingWriter;
use arrow_ipc::writer::FileWriter;
use blake3::Hasher;
use csv::CsvWriter;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use serde::{Deserialize, Serialize};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use talentdata_core::internal::choice;
use talentdata_core::scan::SchemaDifferences;
use talentdata_core::types::ListName;
use talentdata_core::{Error, ErrorKind, RawRecord, Result};

/// The number of bytes that are written to the output at once.
const BUFFER: usize = 64 * 1024;

/// The rows of a record batch in an Arrow file: enough for columnar work, and few enough to take little memory.
const ARROW_ROWS: usize = 2048;

/// The number of rows that the Parquet encoder receives at once.
const PARQUET_ROWS: usize = 1024;

/// The rows of a Parquet row group, whose encoded columns must fit in memory. Larger groups would compress a little
/// better.
const GROUP_ROWS: usize = 8192;

/// The number of bytes at which a row group ends, even if it has few rows.
const GROUP_BYTES: usize = 128 * 1024 * 1024;

/// The size of a Parquet page, in bytes before compression.
const PAGE: usize = 32 * 1024;

/// The maximum size of a column's dictionary in a row group, in bytes.
const DICTIONARY: usize = 4 * 1024 * 1024;

/// The name of the writer of a Parquet file, in the form that the format prescribes.
const CREATED_BY: &str = concat!("talentdata version ", env!("CARGO_PKG_VERSION"));

/// The format of an exported file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(C)]
pub enum Format {
    /// JSON Lines: a record per line, as the service sent it.
    Jsonl = 1,
    /// CSV with a header.
    Csv = 2,
    /// Parquet.
    Parquet = 3,
    /// The Arrow IPC file format.
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
    /// Returns the format for the extension of a file name, in upper or lower case. Without an extension, for a pipe or
    /// a device, and for `-`, it is JSON Lines.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use talentdata_columns::export::Format;
    ///
    /// assert_eq!(Format::of_path("contacts.PARQUET".as_ref())?, Format::Parquet);
    /// assert!(Format::of_path("contacts.xlsx".as_ref()).is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` for any other extension, and for a URL instead of a path.
    pub fn of_path(path: &Path) -> Result<Self> {
        let shown = path.display().to_string();
        let scheme = shown.split_once("://").map(|(scheme, _)| scheme);
        let is_stream = std::fs::metadata(path).is_ok_and(|found| !found.is_file());
        let named = match path.extension() {
            _ if scheme.is_some() => None,
            None => Some(Self::Jsonl),
            Some(name) => name.to_string_lossy().to_lowercase().parse().ok(),
        };
        named.or(is_stream.then_some(Self::Jsonl)).ok_or_else(|| {
            let what = match scheme {
                Some(scheme) => format!("an export is written to a file, not to {scheme}://"),
                None => "its extension names no format".to_owned(),
            };
            Error::invalid(format!(
                "{shown}: {what}; use the extension .jsonl, .csv, .parquet or .arrow, or name one of these as the format"
            ))
        })
    }
}

/// The output of an encoder, which hashes the bytes that it writes.
type HashedOutput = BufWriter<HashingWriter<Box<dyn Write + Send>>>;

/// An encoder of records in one of the formats. In formats with columns, the first records wait until the columns are
/// decided.
pub(crate) struct Encoder {
    format: Format,
    sample: Sample,
    on_new: NewFieldPolicy,
    /// True if the caller gave the columns. The caller then compares the records.
    is_given: bool,
    /// The check of records against inferred columns; `None` until the columns are decided.
    checker: Option<Checker>,
    /// The output, until the writer takes it. The writer is created as soon as there is something to write.
    target: Option<HashedOutput>,
    writer: Option<Writer>,
}

impl Encoder {
    pub(crate) fn new(
        format: Format,
        resource: ListName,
        table: &TableOptions,
        name: String,
        output: impl Write + Send + 'static,
    ) -> Self {
        let target = HashingWriter::new(name, Box::new(output) as Box<_>);
        Encoder {
            format,
            sample: Sample::new(resource, table),
            on_new: table.on_new,
            is_given: table.schema.is_some(),
            checker: None,
            target: Some(BufWriter::with_capacity(BUFFER, target)),
            writer: None,
        }
    }

    /// Takes records, and writes them once their columns are decided.
    ///
    /// # Errors
    /// `Io` if the output fails. Nothing may be written after that.
    pub(crate) fn write(&mut self, records: &[RawRecord]) -> Result<()> {
        self.sample.add(records.iter().cloned());
        if self.format == Format::Jsonl || self.sample.schema().is_some() {
            self.write_waiting()
        } else {
            Ok(())
        }
    }

    /// Flushes everything that is encoded to the output.
    pub(crate) fn flush(&mut self) -> Result<()> {
        match &mut self.writer {
            None => Ok(()),
            Some(Writer::Jsonl(output, _)) => output.flush().map_err(refused),
            Some(Writer::Csv(writer)) => writer.output.flush().map_err(refused),
            Some(Writer::Parquet(_, writer)) => writer.sync().map_err(refused),
            Some(Writer::Arrow(_, writer)) => writer.flush().map_err(refused),
        }
    }

    /// Writes the waiting records and the end of the format. Returns the digest of all bytes.
    pub(crate) fn finish(mut self) -> Result<Hasher> {
        self.write_waiting()?;
        let mut target = match self.writer {
            None => return Err(refused(io::Error::other("there is none"))),
            Some(Writer::Jsonl(output, _)) => output,
            Some(Writer::Csv(writer)) => writer.output,
            Some(Writer::Parquet(mut builder, mut writer)) => {
                if builder.len() > 0 {
                    writer.write(&builder.finish()?).map_err(refused)?;
                }
                writer.into_inner().map_err(refused)?
            }
            Some(Writer::Arrow(mut builder, mut writer)) => {
                if builder.len() > 0 {
                    writer.write(&builder.finish()?).map_err(refused)?;
                }
                writer.into_inner().map_err(refused)?
            }
        };
        target.flush().map_err(refused)?;
        Ok(*target.get_ref().hasher.clone())
    }

    /// Returns the differences so far between records and inferred columns, if there are such columns.
    pub(crate) fn differences(&self) -> Option<SchemaDifferences> {
        self.checker.as_ref().map(Checker::differences)
    }

    /// Writes all waiting records, even if the sample is not complete.
    pub(crate) fn write_waiting(&mut self) -> Result<()> {
        if let Some(target) = self.target.take() {
            let schema = || self.sample.decide();
            self.writer = Some(Writer::new(self.format, target, schema)?);
            let checker = Checker::new(self.sample.decide(), self.on_new);
            self.checker = match self.format {
                Format::Jsonl => None,
                _ if self.is_given => None,
                Format::Csv => Some(checker.flat()),
                Format::Parquet | Format::Arrow => Some(checker),
            };
        }
        while let (Some(writer), Some(record)) = (&mut self.writer, self.sample.next()) {
            if let Some(checker) = &mut self.checker {
                checker.before_row(&record)?;
            }
            writer.write(&record, self.checker.as_mut())?;
        }
        Ok(())
    }
}

enum Writer {
    /// The output, and a buffer for a line.
    Jsonl(HashedOutput, Vec<u8>),
    Csv(Box<CsvWriter<HashedOutput>>),
    Parquet(BatchBuilder, Box<ArrowWriter<HashedOutput>>),
    Arrow(BatchBuilder, Box<FileWriter<HashedOutput>>),
}

impl Writer {
    fn new(
        format: Format,
        target: HashedOutput,
        schema: impl FnOnce() -> Arc<TableSchema>,
    ) -> Result<Self> {
        Ok(match format {
            Format::Jsonl => Writer::Jsonl(target, Vec::new()),
            Format::Csv => Writer::Csv(Box::new(CsvWriter::new(target, schema())?)),
            Format::Parquet => {
                let builder = BatchBuilder::new(schema(), PARQUET_ROWS);
                let writer = ArrowWriter::try_new(target, builder.schema(), Some(properties()));
                Writer::Parquet(builder, Box::new(writer.map_err(refused)?))
            }
            Format::Arrow => {
                let builder = BatchBuilder::new(schema(), ARROW_ROWS);
                let writer = FileWriter::try_new(target, &builder.schema());
                Writer::Arrow(builder, Box::new(writer.map_err(refused)?))
            }
        })
    }

    /// Writes a record. The checker compares the fields that the row cannot hold with the columns.
    fn write(&mut self, record: &RawRecord, checker: Option<&mut Checker>) -> Result<()> {
        match self {
            Writer::Jsonl(output, buffer) => {
                let written = output.write_all(line(record, buffer));
                let written = written.and_then(|()| output.write_all(b"\n"));
                written.map_err(refused)
            }
            Writer::Csv(writer) => writer.write(record, checker),
            Writer::Parquet(builder, writer) => match builder.append(record, checker) {
                Some(batch) => writer.write(&batch?).map_err(refused),
                None => Ok(()),
            },
            Writer::Arrow(builder, writer) => match builder.append(record, checker) {
                Some(batch) => writer.write(&batch?).map_err(refused),
                None => Ok(()),
            },
        }
    }
}

/// Returns the settings of every Parquet file. They never vary, so a resumed export gives the same bytes.
fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_created_by(CREATED_BY.into())
        .set_compression(Compression::SNAPPY)
        // After a dictionary is full, its column continues with plain pages, which fastparquet of 2026 reads as nulls.
        // So the dictionary has room for all values of a row group.
        .set_dictionary_page_size_limit(DICTIONARY)
        // Larger pages would take more memory.
        .set_data_page_size_limit(PAGE)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        // The index is for skipping pages of a row group. Our groups have few pages, and without it the footer stays
        // small.
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_max_row_group_bytes(Some(GROUP_BYTES))
        .build()
}

/// Returns the line for a record: its bytes as the service sent them. If they contain line breaks, white space outside
/// strings is removed, and the line is in `buffer`.
pub(crate) fn line<'a>(record: &'a RawRecord, buffer: &'a mut Vec<u8>) -> &'a [u8] {
    let json = record.as_bytes();
    if memchr::memchr2(b'\n', b'\r', json).is_none() {
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

fn refused(error: impl std::error::Error + 'static) -> Error {
    let message = format!("the output could not be written: {error}");
    // Libraries wrap the error of the system.
    let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |error| {
        error.source()
    });
    let system = causes.filter_map(|error| error.downcast_ref()).next();
    system.map_or_else(
        || Error::new(ErrorKind::Io, message.clone()),
        |system| Error::of_io(system, message.clone()),
    )
}
