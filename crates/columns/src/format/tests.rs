//! What is written is read back by the libraries, and interruptions leave no trace.

use super::csv::CsvSink;
use super::parquet::{ParquetSink, join};
use super::{Held, IpcSink, JsonlSink, Sink};
use crate::arrow::tests::rebuild::{Fields, batch_rows, fields, row, spelt, spelt_json};
use crate::arrow::tests::tables::{Table, table};
use crate::arrow::tests::{infer, record};
use crate::arrow::{Columns, EXTRA, Kind, TableSchema};
use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use arrow_ipc::reader::FileReader;
use proptest::prelude::*;
use std::io::Write;
use std::sync::Arc;
use talentdata_core::types::Resource;
use talentdata_core::{ErrorKind, RawRecord};

/// Small row groups, so that small tables have several.
const GROUP: usize = 3;
const ROWS: usize = 2;

fn csv_to<W: Write + Send>(writer: W, columns: &TableSchema, begins: bool) -> CsvSink<W> {
    CsvSink::new(writer, Arc::new(columns.clone()), begins).unwrap()
}

fn parquet_to<W: Write + Send>(
    writer: W,
    columns: &TableSchema,
    held: Option<Held>,
) -> ParquetSink<W> {
    ParquetSink::with_groups(writer, Arc::new(columns.clone()), held, GROUP, ROWS)
}

fn jsonl(records: &[RawRecord]) -> Vec<u8> {
    let mut bytes = Vec::new();
    whole(&mut JsonlSink::new(&mut bytes), records);
    bytes
}

fn csv(columns: &TableSchema, records: &[RawRecord]) -> Vec<u8> {
    let mut bytes = Vec::new();
    whole(&mut csv_to(&mut bytes, columns, true), records);
    bytes
}

fn parquet(columns: &TableSchema, records: &[RawRecord]) -> Vec<u8> {
    let mut bytes = Vec::new();
    whole(&mut parquet_to(&mut bytes, columns, None), records);
    bytes
}

fn ipc(columns: &TableSchema, records: &[RawRecord]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let sink = IpcSink::new(&mut bytes, Arc::new(columns.clone()));
    whole(&mut sink.unwrap(), records);
    bytes
}

fn whole(sink: &mut dyn Sink, mut records: &[RawRecord]) {
    while !records.is_empty() {
        let taken = sink.write(records).unwrap();
        records = &records[taken..];
    }
    sink.finish().unwrap();
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
        let names: Vec<_> = columns.iter().map(|column| column.name.as_str()).chain([EXTRA]).collect();
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
        let bytes = bytes::Bytes::from(parquet(&columns, &records));
        let file = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap();
        prop_assert_eq!(file.schema(), &columns.to_arrow());
        prop_assert_eq!(file.metadata().num_row_groups(), records.len().div_ceil(GROUP));
        let rows = |batch| batch_rows(&batch);
        let back: Vec<Fields> = file.build().unwrap().map(Result::unwrap).flat_map(rows).collect();
        let sent: Vec<Fields> = records.iter().map(fields).collect();
        prop_assert_eq!(back, sent.clone());
        let bytes = std::io::Cursor::new(ipc(&columns, &records));
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
    assert_eq!(cells.len(), columns.iter().count());
    let cells = columns.iter().zip(cells).map(|(column, cell)| {
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

proptest! {
    #[test]
    fn row_groups_join(Table { records, sample } in table(), interrupted: [bool; 8], slices in 1..5_usize) {
        let columns = infer(&records[..sample]);
        let file = tempfile::tempfile().unwrap();
        let begin = |held| parquet_to(file.try_clone().unwrap(), &columns, Some(held));
        let (mut sink, mut ends) = (begin(Held::Nothing), Vec::new());
        let length = || file.metadata().unwrap().len();
        let mut interrupted = interrupted.iter().cycle();
        for mut slice in records.chunks(slices) {
            while !slice.is_empty() {
                slice = &slice[sink.write(slice).unwrap()..];
                if sink.held() == 0 {
                    sink.flush().unwrap();
                    ends.push(length());
                    if *interrupted.next().unwrap() {
                        sink = begin(Held::Some);
                    }
                }
            }
        }
        sink.finish().unwrap();
        ends.push(length());
        ends.dedup();
        let mut joined = Vec::new();
        join(&file, &ends, &mut joined).unwrap();
        prop_assert!(joined == parquet(&columns, &records), "the bytes differ");
    }
}

#[test]
fn nothing_and_broken_row_groups_do_not_join() {
    let mut file = tempfile::tempfile().unwrap();
    let columns = |name| infer(&[record(format!("{{\"{name}\":1}}"))]);
    let mut ends = vec![0];
    for name in ["a", "b"] {
        let sink = &mut parquet_to(
            file.try_clone().unwrap(),
            &columns(name),
            Some(Held::Nothing),
        );
        whole(sink, &[record("{}")]);
        ends.push(file.metadata().unwrap().len());
    }
    file.write_all(b"torn").unwrap();
    for ends in [&[][..], &[4], &ends[1..], &[ends[1], ends[1] + 4]] {
        assert_eq!(
            join(&file, ends, Vec::new()).unwrap_err().kind(),
            ErrorKind::Io
        );
    }
}

#[test]
fn the_extension_decides_the_format_and_others_are_refused() {
    use super::Format;
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
