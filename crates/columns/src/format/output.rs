//! The writer below a format: buffered, and counted.

use std::io::{BufWriter, Result, Write};
use talentdata_core::{Error, ErrorKind};

/// Counts what passes.
pub(super) struct Output<W: Write> {
    writer: BufWriter<W>,
    position: u64,
}

impl<W: Write> Output<W> {
    /// `position` is the length of what the output holds already.
    pub(super) fn new(writer: W, position: u64) -> Self {
        Output {
            writer: BufWriter::with_capacity(64 * 1024, writer),
            position,
        }
    }

    pub(super) fn position(&self) -> u64 {
        self.position
    }
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let written = self.writer.write(bytes)?;
        self.position += written as u64;
        Ok(written)
    }

    fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        self.writer.write_all(bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.writer.flush()
    }
}

pub(super) fn refused(error: impl std::fmt::Display) -> Error {
    let message = format!("the output could not be written: {error}");
    Error::new(ErrorKind::Io, message)
}
