//! The footer of a Parquet file contains nothing that readers of the last three years refuse. `cargo xtask test
//! readers` runs these readers.

use super::{Format, infer, record, written};
use ::parquet::basic::{ColumnOrder, Compression, Encoding};
use ::parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use std::collections::BTreeSet;

/// Every element that a footer may have: the numbers of its fields in parquet.thrift, from the outermost one inwards.
/// Readers skip unknown fields. But they refuse a whole file because of an unknown variant of a union, such as 7.2, an
/// order of floats.
const KNOWN: &str = "
    1 2 3 4 5 5.1 5.2 6
    2.1 2.3 2.4 2.5 2.6
    2.10 2.10.1 2.10.3 2.10.6 2.10.8 2.10.8.1 2.10.8.2 2.10.8.2.2 2.10.8.2.3 2.10.10 2.10.10.1 2.10.10.2
    4.1 4.2 4.3 4.5 4.6 4.7 4.1.2 4.1.3
    4.1.3.1 4.1.3.2 4.1.3.3 4.1.3.4 4.1.3.5 4.1.3.6 4.1.3.7 4.1.3.9 4.1.3.11 4.1.3.12 4.1.3.13 4.1.3.16
    4.1.3.12.1 4.1.3.12.2 4.1.3.12.3 4.1.3.12.5 4.1.3.12.6 4.1.3.12.7 4.1.3.12.8
    4.1.3.13.1 4.1.3.13.2 4.1.3.13.3 4.1.3.16.1 4.1.3.16.2 4.1.3.16.3
    7 7.1";

/// Writes a file with a column of every kind.
fn file() -> Vec<u8> {
    let records = [
        record(
            r#"{"id":"1","n":1,"u":18446744073709551615,"x":-0.0,"b":true,"day":"2026-11-22","mixed":1,
                "us":"2026-11-22T08:00:00Z","ns":"2026-11-22T08:00:00.123456789Z","list":[[1.5],[]],"object":{"a":{"b":1.5}}}"#,
        ),
        record(r#"{"id":"2","mixed":"a","object":{"a":null}}"#),
    ];
    written(Format::Parquet, &infer(&records), &records)
}

/// The elements of a struct of Thrift's compact protocol.
struct Thrift<'a> {
    bytes: &'a [u8],
    found: BTreeSet<String>,
}

impl Thrift<'_> {
    fn byte(&mut self) -> u8 {
        let byte = self.bytes[0];
        self.skip(1);
        byte
    }

    fn skip(&mut self, count: usize) {
        self.bytes = &self.bytes[count..];
    }

    fn varint(&mut self) -> usize {
        let byte = self.byte();
        let rest = if byte < 128 { 0 } else { self.varint() << 7 };
        usize::from(byte & 127) | rest
    }

    fn fields(&mut self, path: &str) {
        let mut id = 0;
        loop {
            let head = self.byte();
            if head == 0 {
                return;
            }
            id = match head >> 4 {
                0 => self.varint() / 2,
                step => id + usize::from(step),
            };
            let path = format!("{path}{id}");
            self.found.insert(path.clone());
            self.value(head & 15, &format!("{path}."));
        }
    }

    fn value(&mut self, kind: u8, path: &str) {
        match kind {
            1 | 2 => {}
            3 => self.skip(1),
            4..=6 => drop(self.varint()),
            7 => self.skip(8),
            8 => {
                let length = self.varint();
                self.skip(length);
            }
            9 | 10 => {
                let head = self.byte();
                let count = match head >> 4 {
                    15 => self.varint(),
                    count => usize::from(count),
                };
                (0..count).for_each(|_| self.value(head & 15, path));
            }
            12 => self.fields(path),
            other => unreachable!("no element of a footer is of the type {other}"),
        }
    }
}

#[test]
fn a_parquet_footer_has_no_element_that_older_readers_do_not_know() {
    let bytes = file();
    let (rest, end) = bytes.split_at(bytes.len() - 8);
    let length = u32::from_le_bytes(end[..4].try_into().unwrap()) as usize;
    let mut thrift = Thrift {
        bytes: &rest[rest.len() - length..],
        found: BTreeSet::new(),
    };
    thrift.fields("");
    assert_eq!(thrift.bytes.len(), 0);
    let known: BTreeSet<String> = KNOWN.split_whitespace().map(str::to_owned).collect();
    let unknown: Vec<_> = thrift.found.difference(&known).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn a_parquet_file_has_the_first_version_of_everything() {
    let bytes = bytes::Bytes::from(file());
    let metadata: ParquetMetaData = ParquetMetaDataReader::new()
        .parse_and_finish(&bytes)
        .unwrap();
    let file = metadata.file_metadata();
    assert_eq!(file.version(), 1);
    // The format prescribes this form, from which readers take an application and a version.
    let created_by = concat!("talentdata version ", env!("CARGO_PKG_VERSION"));
    assert_eq!(file.created_by(), Some(created_by));
    let mut orders = file.column_orders().unwrap().iter();
    assert!(orders.all(|order| matches!(order, ColumnOrder::TYPE_DEFINED_ORDER(_))));
    for column in metadata.row_group(0).columns() {
        assert_eq!(column.compression(), Compression::SNAPPY);
        let mut encodings = column.encodings();
        let old = [Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY];
        assert!(encodings.all(|encoding| old.contains(&encoding)));
        assert_eq!(column.column_index_offset(), None);
        assert_eq!(column.offset_index_offset(), None);
    }
}
