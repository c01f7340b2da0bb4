//! What is written is read back by the libraries.

use super::{Encoder, Format};
use crate::arrow::tests::rebuild::{Fields, batch_rows, fields, row, spelt, spelt_json};
use crate::arrow::tests::tables::{Table, table};
use crate::arrow::tests::{infer, record};
use crate::arrow::{Columns, EXTRA, Kind, TableOptions, TableSchema};
use crate::digest::Digesting;
use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use arrow_ipc::reader::FileReader;
use proptest::prelude::*;
use std::io::{Read, Seek};
use std::sync::Arc;
use talentdata_core::types::Resource;
use talentdata_core::{ErrorKind, RawRecord};

fn written(format: Format, columns: &TableSchema, records: &[RawRecord]) -> Vec<u8> {
    let mut file = tempfile::tempfile().unwrap();
    let table = TableOptions {
        schema: Some(Arc::new(columns.clone())),
        ..TableOptions::default()
    };
    let target = Digesting::new(
        "file".to_owned(),
        Box::new(file.try_clone().unwrap()) as Box<_>,
    );
    let mut encoder = Encoder::new(format, Resource::Contacts, &table, target);
    records
        .chunks(3)
        .for_each(|part| encoder.write(part).unwrap());
    let digest = encoder.finish().unwrap().finalize();
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut bytes).unwrap();
    assert_eq!(digest, blake3::hash(&bytes));
    bytes
}

fn jsonl(records: &[RawRecord]) -> Vec<u8> {
    written(Format::Jsonl, &infer(&[]), records)
}

fn csv(columns: &TableSchema, records: &[RawRecord]) -> Vec<u8> {
    written(Format::Csv, columns, records)
}

proptest! {
    #[test]
    fn jsonl_comes_back_exactly(Table { records, .. } in table()) {
        let bytes = jsonl(&records);
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        prop_assert_eq!(lines.len(), records.len());
        for (line, record) in lines.into_iter().zip(&records) {
            let line = line.strip_suffix(b"\n").unwrap();
            let one_line = !record.as_str().contains(['\n', '\r']);
            prop_assert!(line == record.as_bytes() || !one_line);
            prop_assert_eq!(stripped(line), stripped(record.as_bytes()));
        }
    }

    #[test]
    fn csv_comes_back_exactly(Table { records, sample } in table()) {
        let columns = infer(&records[..sample]);
        let bytes = csv(&columns, &records);
        let rows = cells(&bytes);
        let names: Vec<_> = columns.fields.iter().map(|column| column.name.as_str()).chain([EXTRA]).collect();
        let header: Vec<_> = rows[0].iter().map(|cell| cell.as_deref().unwrap()).collect();
        prop_assert_eq!(header, names);
        let back: Vec<Fields> = rows[1..].iter().map(|cells| csv_row(&columns, cells)).collect();
        let sent: Vec<Fields> = records.iter().map(fields).collect();
        prop_assert_eq!(back, sent);

        // The library reads the same, but does not tell an empty cell from an empty text.
        let mut library = ::csv::ReaderBuilder::new().has_headers(false).from_reader(bytes.as_slice());
        let read: Vec<Vec<String>> = library.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect();
        let texts: Vec<Vec<String>> = rows.into_iter().map(|row| row.into_iter().map(Option::unwrap_or_default).collect()).collect();
        prop_assert_eq!(read, texts);
    }

    #[test]
    fn batches_come_back_exactly(Table { records, sample } in table()) {
        let columns = infer(&records[..sample]);
        let bytes = bytes::Bytes::from(written(Format::Parquet, &columns, &records));
        let file = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap();
        prop_assert_eq!(file.schema(), &columns.to_arrow());
        let rows = |batch| batch_rows(&batch);
        let back: Vec<Fields> = file.build().unwrap().map(Result::unwrap).flat_map(rows).collect();
        let sent: Vec<Fields> = records.iter().map(fields).collect();
        prop_assert_eq!(back, sent.clone());
        let bytes = std::io::Cursor::new(written(Format::Arrow, &columns, &records));
        let file = FileReader::try_new(bytes, None).unwrap();
        prop_assert_eq!(file.schema(), columns.to_arrow());
        let back: Vec<Fields> = file.map(Result::unwrap).flat_map(rows).collect();
        prop_assert_eq!(back, sent);
    }
}

#[test]
fn csv_tells_an_empty_text_from_an_empty_cell_and_keeps_the_digits() {
    let sample = [
        record(r#"{"id":"1","n":1.10,"tags":["a","b"]}"#),
        record("{\"id\":\"\",\"email\":\"say \\\"hi\\\",\\nbye\",\"n\":2}"),
    ];
    let text = String::from_utf8(csv(&infer(&sample), &sample)).unwrap();
    let lines = [
        "id,firstName,lastName,email,n,tags,_extra\n",
        "1,,,,1.10,\"[\"\"a\"\",\"\"b\"\"]\",\n",
        "\"\",,,\"say \"\"hi\"\",\nbye\",2,,\n",
    ];
    assert_eq!(text, lines.concat());
}

#[test]
fn a_csv_row_without_any_cell_is_still_a_row() {
    let columns = TableSchema::infer(Resource::Pools, &[], Columns::Typed);
    let text = String::from_utf8(csv(&columns, &[record("{}"), record("{\"a\":1}")])).unwrap();
    assert_eq!(text, "_extra\n\"\"\n\"{\"\"a\"\":1}\"\n");
}

#[test]
fn jsonl_takes_out_line_breaks_only_between_tokens() {
    let records = [
        record("{\"a\" : \"x \\n\"}"),
        record("{\n  \"a\" : \"x \\n \\\" y\",\r\n\"b\":[1,\n 2]}"),
    ];
    let text = String::from_utf8(jsonl(&records)).unwrap();
    assert_eq!(
        text,
        "{\"a\" : \"x \\n\"}\n{\"a\":\"x \\n \\\" y\",\"b\":[1,2]}\n"
    );
}

/// JSON without white space between tokens.
fn stripped(json: &[u8]) -> String {
    let (mut text, mut inside, mut escaped) = (String::new(), false, false);
    for letter in std::str::from_utf8(json).unwrap().chars() {
        inside ^= letter == '"' && !escaped;
        escaped = inside && letter == '\\' && !escaped;
        if inside || !letter.is_ascii_whitespace() {
            text.push(letter);
        }
    }
    text
}

fn csv_row(columns: &TableSchema, cells: &[Option<String>]) -> Fields {
    let (extra, cells) = cells.split_last().unwrap();
    assert_eq!(cells.len(), columns.fields.len());
    let cells = columns.fields.iter().zip(cells).map(|(column, cell)| {
        let value = cell.as_deref().map(|cell| match column.kind {
            Kind::Text | Kind::Timestamp(_) | Kind::Date => spelt(cell),
            _ => spelt_json(cell),
        });
        (column.name.clone(), column.empty, value)
    });
    row(cells, extra.as_deref())
}

/// Reads RFC 4180; a cell without quotes and without text is none.
fn cells(bytes: &[u8]) -> Vec<Vec<Option<String>>> {
    let mut text = std::str::from_utf8(bytes).unwrap();
    let (mut rows, mut row) = (Vec::new(), Vec::new());
    while !text.is_empty() {
        let cell = if let Some(quoted) = text.strip_prefix('"') {
            let mut cell = String::new();
            text = quoted;
            loop {
                let (piece, rest) = text.split_once('"').unwrap();
                cell.push_str(piece);
                text = rest;
                match text.strip_prefix('"') {
                    Some(rest) => text = rest,
                    None => break Some(cell),
                }
                cell.push('"');
            }
        } else {
            let (cell, rest) = text.split_at(text.find([',', '\n']).unwrap());
            text = rest;
            Some(cell.to_owned()).filter(|cell| !cell.is_empty())
        };
        row.push(cell);
        let ended = text.starts_with('\n');
        assert!(ended || text.starts_with(','));
        text = &text[1..];
        if ended {
            rows.push(std::mem::take(&mut row));
        }
    }
    rows
}

#[test]
fn a_row_group_has_8192_records() {
    let records = vec![record("{\"id\":\"1\"}"); 20_000];
    let bytes = written(Format::Parquet, &infer(&records[..1]), &records);
    let file = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes)).unwrap();
    let groups = file.metadata().row_groups().iter();
    let rows: Vec<i64> = groups.map(|group| group.num_rows()).collect();
    assert_eq!(rows, [8192, 8192, 3616]);
}

#[test]
fn the_extension_decides_the_format_and_others_are_refused() {
    for (path, format) in [
        ("a/b.parquet", Format::Parquet),
        ("b.CSV", Format::Csv),
        ("b.csv/c", Format::Jsonl),
        (".arrow", Format::Jsonl),
        ("-", Format::Jsonl),
        ("/dev/stdout", Format::Jsonl),
    ] {
        assert_eq!(Format::of_path(path.as_ref()).unwrap(), format, "{path}");
    }
    for path in [
        "b.xlsx",
        "b.pq",
        "b.json",
        "b.csv.gz",
        "s3://bucket/b.parquet",
        "s3://bucket/b",
    ] {
        let error = Format::of_path(path.as_ref()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        let words = [path, ".jsonl", ".csv", ".parquet", ".arrow", "--format"];
        assert!(
            words.iter().all(|word| error.message().contains(word)),
            "{error}"
        );
    }
    for format in Format::ALL {
        assert_eq!(format.to_string().parse::<Format>().unwrap(), format);
    }
    assert!(
        "xlsx"
            .parse::<Format>()
            .unwrap_err()
            .message()
            .contains("jsonl")
    );
}
