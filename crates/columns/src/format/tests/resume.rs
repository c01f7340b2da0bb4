//! An interrupted output, continued, has the bytes of an uninterrupted one.

use super::{GROUP, ROWS, csv, jsonl, parquet};
use crate::arrow::TableSchema;
use crate::arrow::tests::infer;
use crate::arrow::tests::tables::{Table, table};
use crate::format::{CsvSink, JsonlSink, ParquetSink, Sink, join};
use proptest::prelude::*;
use proptest::sample::Index;
use std::fs::File;
use talentdata_core::ErrorKind;
use talentdata_core::RawRecord;

proptest! {
    #[test]
    fn jsonl_continues(Table { records, .. } in table(), cut: Index, lost in 0..20_usize) {
        let (before, after) = records.split_at(cut.index(records.len() + 1));
        let mut bytes = Vec::new();
        let position = checkpoint(&mut JsonlSink::new(&mut bytes, 0), before);
        crash(&mut bytes, position, lost);
        super::whole(&mut JsonlSink::new(&mut bytes, position), after);
        prop_assert_eq!(bytes, jsonl(&records));
    }

    #[test]
    fn csv_continues(Table { records, sample } in table(), cut: Index, lost in 0..20_usize) {
        let columns = infer(&records[..sample]);
        let (before, after) = records.split_at(cut.index(records.len() + 1));
        let mut bytes = Vec::new();
        let position = checkpoint(&mut CsvSink::new(&mut bytes, &columns, 0).unwrap(), before);
        let kept = serde_json::to_string(&columns).unwrap();
        crash(&mut bytes, position, lost);
        let kept: TableSchema = serde_json::from_str(&kept).unwrap();
        super::whole(&mut CsvSink::new(&mut bytes, &kept, position).unwrap(), after);
        prop_assert_eq!(bytes, csv(&columns, &records));
    }

    #[test]
    fn parquet_parts_join(Table { records, sample } in table(), ends: [bool; 8], slices in 1..5_usize) {
        let columns = infer(&records[..sample]);
        let mut joined = Vec::new();
        join(parts(&columns, &records, &ends, slices), &mut joined).unwrap();
        prop_assert!(joined == parquet(&columns, &records), "the bytes differ");
    }
}

#[test]
fn nothing_and_broken_parts_do_not_join() {
    let refused = |parts: Vec<File>| join(parts, Vec::new()).unwrap_err().kind();
    assert_eq!(refused(Vec::new()), ErrorKind::InvalidArgument);
    assert_eq!(refused(vec![tempfile::tempfile().unwrap()]), ErrorKind::Io);
    let columns = |name| infer(&[crate::arrow::tests::record(format!("{{\"{name}\":1}}"))]);
    let [a, b] = ["a", "b"].map(|name| {
        let file = tempfile::tempfile().unwrap();
        let mut sink = ParquetSink::new(file.try_clone().unwrap(), &columns(name)).unwrap();
        super::whole(&mut sink, &[crate::arrow::tests::record("{}")]);
        file
    });
    assert_eq!(refused(vec![a, b]), ErrorKind::Io);
}

/// Writes, and says where the output stands.
fn checkpoint(sink: &mut dyn Sink, records: &[RawRecord]) -> u64 {
    sink.write_all(records).unwrap();
    sink.flush().unwrap();
    assert_eq!(sink.held(), 0);
    sink.position()
}

/// What was written after the checkpoint is cut off.
fn crash(bytes: &mut Vec<u8>, position: u64, lost: usize) {
    assert_eq!(bytes.len() as u64, position);
    bytes.extend(std::iter::repeat_n(b'x', lost));
    bytes.truncate(position as usize);
}

/// Writes part files, ending one at the n-th end of a row group if `ends` says so.
fn parts(columns: &TableSchema, records: &[RawRecord], ends: &[bool], slices: usize) -> Vec<File> {
    let mut parts = Vec::new();
    let mut begin = || {
        let file = tempfile::tempfile().unwrap();
        parts.push(file.try_clone().unwrap());
        ParquetSink::with_groups(file, columns, GROUP, ROWS).unwrap()
    };
    let mut sink = begin();
    let mut ends = ends.iter().cycle();
    for mut slice in records.chunks(slices) {
        while !slice.is_empty() {
            let taken = sink.write(slice).unwrap();
            slice = &slice[taken..];
            if sink.held() == 0 && *ends.next().unwrap() {
                sink.finish().unwrap();
                sink = begin();
            }
        }
    }
    sink.finish().unwrap();
    parts
}
