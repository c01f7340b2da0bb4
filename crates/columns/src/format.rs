//! The formats that records are written in.

mod csv;
mod ipc;
mod jsonl;
mod output;
mod parquet;

#[cfg(test)]
mod tests;

pub use csv::CsvSink;
pub use ipc::IpcSink;
pub use jsonl::JsonlSink;
pub(crate) use jsonl::line;
pub use parquet::{ParquetSink, join};

use talentdata_core::RawRecord;
use talentdata_core::Result;

/// Writes records in some format. After an error its output is to be given up, or cut back to a
/// position that was recorded before.
pub trait Sink: Send {
    /// Takes records from the front, and says how many: all, or fewer when a group of records ends
    /// with them (a Parquet row group), which is where a part file may end.
    ///
    /// # Errors
    /// `Io`, when the output takes no more.
    fn write(&mut self, records: &[RawRecord]) -> Result<usize>;

    /// Takes all of `records`.
    ///
    /// # Errors
    /// As [`Sink::write`].
    fn write_all(&mut self, mut records: &[RawRecord]) -> Result<()> {
        while !records.is_empty() {
            let taken = self.write(records)?;
            records = records.get(taken..).unwrap_or_default();
        }
        Ok(())
    }

    /// Records taken that are not yet part of what [`Sink::flush`] brings out, because their group
    /// has not ended.
    fn held(&self) -> u64 {
        0
    }

    /// The length of the output with all that was taken and is not held back; after
    /// [`Sink::flush`] the writer below has got it.
    fn position(&self) -> u64;

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
