//! Schemas as files, and as Arrow schemas of a caller.

use super::tables::{Table, table};
use super::{fails, infer, record};
use crate::arrow::{ColumnTypes, TableSchema};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use proptest::prelude::*;
use serde_json::{Value, json};
use talentdata_core::ErrorKind;
use talentdata_core::types::ListName;

proptest! {
    #[test]
    fn a_schema_survives_its_file_and_arrow(Table { records, sample } in table(), typed: bool) {
        let columns = if typed { ColumnTypes::Typed } else { ColumnTypes::Json };
        let schema = TableSchema::infer(ListName::Contacts, &records[..sample], columns);
        prop_assert_eq!(&TableSchema::from_json(&schema.to_json()).unwrap(), &schema);
        let arrow = schema.to_arrow();
        prop_assert_eq!(TableSchema::from_arrow(&arrow).unwrap().to_arrow(), arrow);
    }
}

#[test]
fn a_schema_file_has_names_types_and_their_origin() {
    let sample = [
        record(r#"{"tags":["a"],"email":5,"id":"1","at":"2026-11-22T08:00:00.5Z"}"#),
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
    let arrow = infer(&sample).to_arrow();
    let seen = arrow.fields().iter().map(|field| {
        let content = field.metadata().get("talentdata:content");
        let is_text = *field.data_type() == DataType::Utf8;
        (&**field.name(), is_text, content.map(String::as_str))
    });
    let texts = ["id", "firstName", "lastName", "email"].map(|name| (name, true, None));
    let others = ["tags", "at", "owner"].map(|name| (name, false, None));
    let extra = [("_extra", true, Some("json"))];
    assert!(seen.eq(texts.into_iter().chain(others).chain(extra)));
}

#[test]
fn anything_but_a_schema_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("contacts.parquet");
    let head = r#"{"talentdata_schema":1,"resource":null,"columns":"typed","sampled_records":0"#;
    let date = r#"{"name":"a","type":"date"}"#;
    for (fields, why) in [
        (date, ""),
        (r#"{"name":"a","type":"int32"}"#, "unknown variant `int32`"),
        (&format!("{date},{date}"), "\"a\" occurs twice"),
        (r#"{"name":"_extra","type":"date"}"#, "cannot be the name"),
        (
            r#"{"name":"a","type":"struct","fields":[]}"#,
            "has no fields",
        ),
        (r#"{"name":"a","type":"list"}"#, "items"),
        ("]}[]", "trailing characters"),
    ] {
        let read = TableSchema::from_json(&format!("{head},\"fields\":[{fields}]}}"));
        let message = read.map_or_else(|error| error.message().to_owned(), |_| String::new());
        assert!(message.contains(why), "{message}");
        assert_eq!(message.is_empty(), why.is_empty());
    }
    let version = infer(&[]).to_json().replace("schema\": 1", "schema\": 2");
    let (invalid, wrong_path) = (ErrorKind::InvalidArgument, ErrorKind::Path);
    for (content, name, kind, why) in [
        (
            &b"PAR1\xff\x00"[..],
            "contacts.parquet",
            invalid,
            "not a schema",
        ),
        (
            b"[1]",
            "contacts.parquet",
            invalid,
            "expected the JSON object of a schema",
        ),
        (b"{}", "contacts.parquet", invalid, "talentdata_schema"),
        (version.as_bytes(), "contacts.parquet", invalid, "version 2"),
        (b"", "", wrong_path, "cannot read"),
        (b"", "nosuch", wrong_path, "nosuch"),
    ] {
        std::fs::write(&path, content).unwrap();
        let read = TableSchema::from_file(&path.with_file_name(name));
        fails(read, kind, why);
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
