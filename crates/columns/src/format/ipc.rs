//! The Arrow IPC file format, also known as Feather version 2.

use super::Sink;
use super::output::{Output, refused};
use crate::arrow::{BatchBuilder, TableSchema};
use arrow_ipc::writer::FileWriter;
use std::io::Write;
use talentdata_core::RawRecord;
use talentdata_core::Result;

/// Rows of a record batch in a file: enough for columnar work, few enough that memory hardly notices.
const ROWS: usize = 2048;

/// Writes an Arrow IPC file. It cannot be continued after an interruption.
pub struct IpcSink<W: Write> {
    writer: FileWriter<Output<W>>,
    builder: BatchBuilder,
}

impl<W: Write> IpcSink<W> {
    /// Writes to `writer`, which holds nothing yet.
    ///
    /// # Errors
    /// `Io`, when the output does not take the schema.
    pub fn new(writer: W, schema: &TableSchema) -> Result<Self> {
        let output = Output::new(writer, 0);
        Ok(IpcSink {
            writer: FileWriter::try_new(output, &schema.to_arrow()).map_err(refused)?,
            builder: BatchBuilder::new(schema, ROWS),
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

    fn held(&self) -> u64 {
        self.builder.len() as u64
    }

    fn position(&self) -> u64 {
        self.writer.get_ref().position()
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
