//! Files that are written here are read back by other libraries.

mod footer;

use super::{Encoder, Format};
use crate::arrow::tests::rebuild::{Fields, batch_rows, fields, row, spelt, spelt_json};
use crate::arrow::tests::tables::{Table, table};
use crate::arrow::tests::{batches, fails, infer, record};
use crate::arrow::{ColumnKind, ColumnTypes, EXTRA, RecordBatch, TableOptions, TableSchema};
use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use ::parquet::basic::Encoding;
use arrow_ipc::reader::FileReader;
use proptest::prelude::*;
use proptest::sample::select;
use std::io::Cursor;
use talentdata_core::types::ListName;
use talentdata_core::{ErrorKind, RawRecord};

fn written(format: Format, columns: &TableSchema, records: &[RawRecord]) -> Vec<u8> {
    let file = tempfile::NamedTempFile::new().unwrap();
    let table = TableOptions::default().with_schema(columns.clone());
    let output = file.reopen().unwrap();
    let mut encoder = Encoder::new(format, ListName::Contacts, &table, "file".into(), output);
    let mut parts = records.chunks(3);
    parts.try_for_each(|part| encoder.write(part)).unwrap();
    let digest = encoder.finish().unwrap().finalize();
    let bytes = std::fs::read(file.path()).unwrap();
    assert_eq!(digest, blake3::hash(&bytes));
    bytes
}

/// Writes records in a text format.
fn text(format: Format, columns: &TableSchema, records: &[RawRecord]) -> String {
    String::from_utf8(written(format, columns, records)).unwrap()
}

proptest! {
    #[test]
    fn written_records_are_read_back_exactly(
        Table { records, sample } in table(),
        kinds in select(&[ColumnTypes::Typed, ColumnTypes::Json][..]),
        rows in 1..8_usize,
    ) {
        let columns = TableSchema::infer(ListName::Contacts, &records[..sample], kinds);
        let sent: Vec<Fields> = records.iter().map(fields).collect();

        let lines = text(Format::Jsonl, &columns, &records);
        prop_assert_eq!(lines.matches('\n').count(), records.len());
        for (line, record) in lines.lines().zip(&records) {
            let one_line = !record.as_str().contains(['\n', '\r']);
            prop_assert!(line == record.as_str() || !one_line);
            prop_assert_eq!(stripped(line), stripped(record.as_str()));
        }

        let text = text(Format::Csv, &columns, &records);
        let cells = cells(&text);
        let names = columns.fields.iter().map(|column| column.name.as_str()).chain([EXTRA]);
        prop_assert!(cells[0].iter().map(|cell| cell.as_deref().unwrap()).eq(names));
        let back: Vec<Fields> = cells[1..].iter().map(|cells| csv_row(&columns, cells)).collect();
        prop_assert_eq!(&back, &sent);
        // The library reads the same, but does not distinguish an empty cell from an empty text.
        let mut library = ::csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
        let read: Vec<_> = library.records().map(Result::unwrap).collect();
        prop_assert_eq!(read.len(), cells.len());
        for (read, cells) in read.iter().zip(&cells) {
            let cells = cells.iter().map(|cell| cell.as_deref().unwrap_or_default());
            prop_assert!(read.iter().eq(cells));
        }

        let back = |batches: &[RecordBatch]| batches.iter().flat_map(batch_rows).collect::<Vec<_>>();
        let bytes = bytes::Bytes::from(written(Format::Parquet, &columns, &records));
        let file = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap();
        prop_assert_eq!(file.schema(), &columns.to_arrow());
        let read: Vec<_> = file.build().unwrap().map(Result::unwrap).collect();
        prop_assert_eq!(&back(&read), &sent);
        let bytes = Cursor::new(written(Format::Arrow, &columns, &records));
        let file = FileReader::try_new(bytes, None).unwrap();
        prop_assert_eq!(file.schema(), columns.to_arrow());
        let read: Vec<_> = file.map(Result::unwrap).collect();
        prop_assert_eq!(&back(&read), &sent);
        prop_assert_eq!(&back(&batches(&columns, &records, rows)), &sent);
    }
}

#[test]
fn text_formats_keep_empty_cells_and_texts_distinct() {
    let sample = [
        record(r#"{"id":"1","n":1.10,"tags":["a","b"]}"#),
        record("{\"id\":\"\",\"email\":\"say \\\"hi\\\",\\nbye\",\"n\":2}"),
    ];
    let lines = [
        "id,firstName,lastName,email,n,tags,_extra\n",
        "1,,,,1.10,\"[\"\"a\"\",\"\"b\"\"]\",\n",
        "\"\",,,\"say \"\"hi\"\",\nbye\",2,,\n",
    ];
    assert_eq!(text(Format::Csv, &infer(&sample), &sample), lines.concat());
    // A row without any cell is still a row.
    let pools = TableSchema::infer(ListName::Pools, &[], ColumnTypes::Typed);
    let rows = text(Format::Csv, &pools, &[record("{}"), record("{\"a\":1}")]);
    assert_eq!(rows, "_extra\n\"\"\n\"{\"\"a\"\":1}\"\n");
    // Line breaks are removed only between tokens.
    let records = [
        record("{\"a\" : \"x \\n\"}"),
        record("{\n  \"a\" : \"x \\n \\\" y\",\r\n\"b\":[1,\n 2]}"),
    ];
    let lines = "{\"a\" : \"x \\n\"}\n{\"a\":\"x \\n \\\" y\",\"b\":[1,2]}\n";
    assert_eq!(text(Format::Jsonl, &pools, &records), lines);
}

/// JSON without white space between tokens.
fn stripped(json: &str) -> String {
    let (mut inside, mut escaped) = (false, false);
    let kept = json.chars().filter(|letter| {
        inside ^= *letter == '"' && !escaped;
        escaped = inside && *letter == '\\' && !escaped;
        inside || !letter.is_ascii_whitespace()
    });
    kept.collect()
}

fn csv_row(columns: &TableSchema, cells: &[Option<String>]) -> Fields {
    let (extra, cells) = cells.split_last().unwrap();
    assert_eq!(cells.len(), columns.fields.len());
    let cells = columns.fields.iter().zip(cells).map(|(column, cell)| {
        let value = cell.as_deref().map(|cell| match column.kind {
            ColumnKind::Text | ColumnKind::Timestamp(_) | ColumnKind::Date => spelt(cell),
            _ => spelt_json(cell),
        });
        (column.name.clone(), column.empty, value)
    });
    row(cells, extra.as_deref())
}

/// Reads CSV of RFC 4180. A cell without quotes and without text is `None`.
fn cells(mut text: &str) -> Vec<Vec<Option<String>>> {
    let (mut rows, mut row) = (Vec::new(), Vec::new());
    while !text.is_empty() {
        let mut cell = text.starts_with('"').then(String::new);
        while let Some((quoted, cell)) = text.strip_prefix('"').zip(cell.as_mut()) {
            let (piece, rest) = quoted.split_once('"').unwrap();
            // A doubled quote is a quote in the text.
            cell.push_str(piece);
            cell.push_str(&rest[..usize::from(rest.starts_with('"'))]);
            text = rest;
        }
        let (plain, rest) = text.split_at(text.find([',', '\n']).unwrap());
        assert!(cell.is_none() || plain.is_empty());
        row.push(cell.or((!plain.is_empty()).then(|| plain.to_owned())));
        if rest.starts_with('\n') {
            rows.push(std::mem::take(&mut row));
        }
        text = &rest[1..];
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

/// A full dictionary is followed by plain pages, which fastparquet of 2026 reads as nulls.
#[test]
fn a_dictionary_has_room_for_the_values_of_a_row_group() {
    let long = |id| record(format!("{{\"id\":\"{id:0200}\"}}"));
    let records: Vec<_> = (0..8192).map(long).collect();
    let bytes = written(Format::Parquet, &infer(&records[..1]), &records);
    let file = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes)).unwrap();
    let pages = file
        .metadata()
        .row_group(0)
        .column(0)
        .page_encoding_stats_mask();
    assert!(
        pages.unwrap().is_only(Encoding::RLE_DICTIONARY),
        "{pages:?}"
    );
}

#[test]
fn values_within_a_text_column_are_not_compared() {
    let records = [
        record(r#"{"id":"1","x":{"a":1},"y":1}"#),
        record(r#"{"id":"2","x":{"a":"b","c":1},"y":"b"}"#),
    ];
    for (format, expected) in [
        (Format::Csv, &["/y"][..]),
        (Format::Parquet, &["/x/a", "/y"]),
    ] {
        let table = TableOptions::default();
        let mut encoder = Encoder::new(
            format,
            ListName::Contacts,
            &table,
            "sink".into(),
            std::io::sink(),
        );
        // The columns are decided by the first record.
        encoder.sample.add(records[..1].to_vec());
        encoder.write_waiting().unwrap();
        encoder.write(&records[1..]).unwrap();
        let found = encoder.differences().unwrap();
        assert!(found.other_types.keys().eq(expected), "{format}: {found:?}");
        assert_eq!(
            found.new_fields.contains_key("/x/c"),
            format == Format::Parquet
        );
    }
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
    let refused = "b.xlsx b.pq b.json b.csv.gz s3://bucket/b.parquet s3://bucket/b";
    for path in refused.split(' ') {
        let words = format!("{path}|.jsonl|.csv|.parquet|.arrow|as the format");
        let refused = Format::of_path(path.as_ref());
        fails(refused, ErrorKind::InvalidArgument, &words);
    }
    for format in Format::ALL {
        assert_eq!(format.to_string().parse::<Format>().unwrap(), format);
    }
    let error = "xlsx".parse::<Format>().unwrap_err();
    assert!(error.message().contains("jsonl"), "{error}");
}
