//! Schemas as files, and as Arrow schemas of a caller.

use super::tables::{Table, table};
use super::{infer, record};
use crate::arrow::{Columns, TableSchema};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use proptest::prelude::*;
use serde_json::{Value, json};
use talentdata_core::ErrorKind;
use talentdata_core::types::Resource;

proptest! {
    #[test]
    fn a_schema_survives_its_file_and_arrow(Table { records, sample } in table(), typed: bool) {
        let columns = if typed { Columns::Typed } else { Columns::Json };
        let schema = TableSchema::infer(Resource::Contacts, &records[..sample], columns);
        prop_assert_eq!(&TableSchema::from_json(&schema.to_json()).unwrap(), &schema);
        let arrow = schema.to_arrow();
        prop_assert_eq!(TableSchema::from_arrow(&arrow).unwrap().to_arrow(), arrow);
    }
}

#[test]
fn a_schema_file_says_names_types_and_how_they_were_found() {
    let sample = [
        record(r#"{"id":"1","tags":["a"],"at":"2026-11-22T08:00:00.5Z"}"#),
        record(r#"{"id":"2","firstName":"A","at":null,"owner":{"id":1}}"#),
    ];
    let documented = |name: &str, nullable: bool| {
        json!({"name": name, "type": "string", "nullable": nullable,
        "empty": "absent", "source": "documented"})
    };
    let found: Value = serde_json::from_str(&infer(&sample).to_json()).unwrap();
    let expected = json!({
        "talentdata_schema": 1, "resource": "contacts", "columns": "typed", "sampled_records": 2,
        "fields": [
            documented("id", false), documented("firstName", true), documented("lastName", true),
            documented("email", true),
            {"name": "tags", "type": "list", "items": {"type": "string"}, "nullable": true, "empty": "absent",
             "source": "sampled"},
            {"name": "at", "type": "timestamp", "unit": "us", "fraction": 1, "offset": "Z", "nullable": true,
             "empty": "null", "source": "sampled"},
            {"name": "owner", "type": "struct", "nullable": true, "empty": "absent", "source": "sampled",
             "fields": [{"name": "id", "type": "int64", "nullable": false, "empty": "absent", "source": "sampled"}]},
        ],
    });
    assert_eq!(found, expected);
}

#[test]
fn what_is_no_schema_is_refused() {
    let head = r#""talentdata_schema":1,"resource":null,"columns":"typed","sampled_records":0"#;
    let with = |fields: &str| format!("{{{head},\"fields\":[{fields}]}}");
    TableSchema::from_json(&with(r#"{"name":"a","type":"string"}"#)).unwrap();
    let date = r#"{"name":"a","type":"date"}"#;
    for (text, why) in [
        (
            &*with(r#"{"name":"a","type":"int32"}"#),
            "unknown variant `int32`",
        ),
        (&with(&format!("{date},{date}")), "\"a\" occurs twice"),
        (
            &with(r#"{"name":"_extra","type":"string"}"#),
            "cannot be the name",
        ),
        (
            &with(r#"{"name":"a","type":"struct","fields":[]}"#),
            "has no fields",
        ),
        (&with(r#"{"name":"a","type":"list"}"#), "items"),
        ("[]", "invalid length 0"),
        ("{}", "talentdata_schema"),
        (" \n", "EOF"),
        ("id,firstName", "line 1 column 1"),
        (
            &infer(&[]).to_json().replace("schema\": 1", "schema\": 2"),
            "version 2",
        ),
    ] {
        let error = TableSchema::from_json(text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains(why), "{error}");
    }
}

#[test]
fn a_file_that_is_no_schema_is_an_invalid_argument_and_one_that_cannot_be_read_an_error_of_io() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("contacts.parquet");
    std::fs::write(&path, b"PAR1\xff\x00").unwrap();
    for (path, kind, why) in [
        (path.as_path(), ErrorKind::InvalidArgument, "not a schema"),
        (directory.path(), ErrorKind::Io, "cannot read"),
        (&directory.path().join("nosuch"), ErrorKind::Io, "nosuch"),
    ] {
        let error = TableSchema::from_file(path).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains(why), "{error}");
    }
}

#[test]
fn an_arrow_schema_of_other_types_is_refused_by_its_column() {
    let inner = Field::new("small", DataType::Int32, true);
    let outer = Field::new("outer", DataType::Struct(vec![inner].into()), true);
    let error = TableSchema::from_arrow(&Schema::new(vec![outer])).unwrap_err();
    let refusal = "column outer.small is of type Int32";
    assert!(error.message().contains(refusal), "{error}");
    let naive = DataType::Timestamp(TimeUnit::Microsecond, None);
    assert!(TableSchema::from_arrow(&Schema::new(vec![Field::new("at", naive, true)])).is_err());
}

#[test]
fn the_first_records_decide_before_they_fill_the_memory() {
    let text = "x".repeat(TableSchema::SAMPLE_BYTES / 4);
    let large = format!("{{\"text\":\"{text}\"}}");
    for (one, count) in [("{}", 1000), (&large, 4)] {
        let mut records = vec![record(one); count];
        let decided = infer(&records);
        records.push(record(r#"{"late":1}"#));
        assert_eq!(infer(&records), decided);
        assert_eq!(decided.sampled_records as usize, count);
        records.remove(0);
        assert_eq!(infer(&records).fields.pop().unwrap().name, "late");
    }
}
