//! What is written is read back by the libraries, and interruptions leave no trace.

mod formats;
mod resume;

use super::{CsvSink, IpcSink, JsonlSink, ParquetSink, Sink};
use crate::arrow::TableSchema;
use talentdata_core::RawRecord;

/// Small row groups, so that small tables have several.
const GROUP: usize = 3;
const ROWS: usize = 2;

fn jsonl(records: &[RawRecord]) -> Vec<u8> {
    let mut bytes = Vec::new();
    whole(&mut JsonlSink::new(&mut bytes, 0), records);
    bytes
}

fn csv(columns: &TableSchema, records: &[RawRecord]) -> Vec<u8> {
    let mut bytes = Vec::new();
    whole(&mut CsvSink::new(&mut bytes, columns, 0).unwrap(), records);
    bytes
}

fn parquet(columns: &TableSchema, records: &[RawRecord]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let sink = ParquetSink::with_groups(&mut bytes, columns, GROUP, ROWS);
    whole(&mut sink.unwrap(), records);
    bytes
}

fn ipc(columns: &TableSchema, records: &[RawRecord]) -> Vec<u8> {
    let mut bytes = Vec::new();
    whole(&mut IpcSink::new(&mut bytes, columns).unwrap(), records);
    bytes
}

fn whole(sink: &mut dyn Sink, records: &[RawRecord]) {
    sink.write_all(records).unwrap();
    sink.finish().unwrap();
}
