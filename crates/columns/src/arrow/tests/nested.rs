//! Lists, structs and timestamps: what is typed, what stays JSON, and what is noted in `_extra`.

use super::{batches, infer, record};
use crate::arrow::{Columns, Kind, RecordBatch, TableSchema, Timestamp, Unit};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMicrosecondType, TimestampNanosecondType};
use talentdata_core::RawRecord;
use talentdata_core::types::Resource;

fn values(values: &[&str]) -> Vec<RawRecord> {
    let line = |value: &&str| record(format!("{{\"x\":{value}}}"));
    values.iter().map(line).collect()
}

/// The kind of a column that holds these.
fn kind(sample: &[&str]) -> Kind {
    infer(&values(sample)).iter().last().unwrap().kind.clone()
}

fn list(items: Kind) -> Kind {
    Kind::List {
        items: Box::new(items),
    }
}

/// Names and kinds of the fields of a struct.
fn members(kind: Kind) -> Vec<(String, Kind)> {
    match kind {
        Kind::Struct { fields } => fields.into_iter().map(|f| (f.name, f.kind)).collect(),
        other => panic!("{other:?}"),
    }
}

fn batch(sample: &[&str], rows: &[&str]) -> RecordBatch {
    batches(&infer(&values(sample)), &values(rows), usize::MAX).remove(0)
}

fn extras(sample: &[&str], rows: &[&str]) -> Vec<bool> {
    let batch = batch(sample, rows);
    let extra = batch.column(5).as_string::<i32>();
    (0..extra.len()).map(|at| !extra.is_null(at)).collect()
}

fn timestamp(unit: Unit, fraction: u8, offset: &str) -> Kind {
    Kind::Timestamp(Timestamp {
        unit,
        fraction,
        offset: offset.into(),
    })
}

#[test]
fn arrays_and_objects_become_lists_and_structs() {
    assert_eq!(kind(&["[]", "null", r#"["a",null]"#]), list(Kind::Text));
    assert_eq!(kind(&["[1]", "[2.5]"]), list(Kind::Number));
    assert_eq!(kind(&["[[1],[]]"]), list(list(Kind::Integer)));
    let object = members(kind(&[r#"{"b":1,"a":{"c":[true]}}"#, r#"{"d":"x"}"#]));
    let names: Vec<&str> = object.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["b", "a", "d"]);
    assert_eq!(
        members(object[1].1.clone()),
        [("c".to_owned(), list(Kind::Boolean))]
    );
}

#[test]
fn what_has_no_one_type_stays_json() {
    for sample in [
        &["[1]", "{}"][..],
        &["[1]", "1"],
        &["{}"],
        &[r#"{"a":1}"#, r#""a""#],
    ] {
        assert_eq!(kind(sample), Kind::Json, "{sample:?}");
    }
    for sample in [&["[]"][..], &["[null]"], &[r#"[1,"a"]"#], &["[{}]"]] {
        assert_eq!(kind(sample), list(Kind::Json), "{sample:?}");
    }
    let json = TableSchema::infer(Resource::Contacts, &values(&["[1]"]), Columns::Json);
    assert_eq!(json.iter().last().unwrap().kind, Kind::Json);
    let json = TableSchema::infer(
        Resource::Contacts,
        &values(&[r#""2026-11-22""#]),
        Columns::Json,
    );
    assert_eq!(json.iter().last().unwrap().kind, Kind::Text);
}

#[test]
fn objects_whose_names_are_data_stay_json() {
    let many: Vec<String> = (0..201).map(|n| format!("\"{n}\":1")).collect();
    let (many, few) = (many.join(","), many[..200].join(","));
    assert_eq!(kind(&[&format!("{{{many}}}")]), Kind::Json);
    assert_eq!(members(kind(&[&format!("{{{few}}}")])).len(), 200);
    let rare: Vec<String> = (0..11).map(|n| format!("{{\"id{n}\":1}}")).collect();
    let rare: Vec<&str> = rare.iter().map(String::as_str).collect();
    assert_eq!(kind(&rare), Kind::Json);
    assert_eq!(members(kind(&rare[..10])).len(), 10);
}

#[test]
fn maps_take_no_columns_from_others() {
    let map: Vec<String> = (0..300).map(|n| format!("\"{n}\":{{\"a\":[1]}}")).collect();
    let maps: Vec<String> = (0..20)
        .map(|n| format!("\"map{n}\":{{{}}}", map.join(",")))
        .collect();
    let columns = infer(&[record(format!(
        "{{{},\"last\":{{\"a\":1}}}}",
        maps.join(",")
    ))]);
    assert_eq!(
        members(columns.iter().last().unwrap().kind.clone()).len(),
        1
    );
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(kind(&[&nested(31)]).depth(), 32);
    assert_eq!(kind(&[&nested(100)]).depth(), 32);
    let deep = nested(100);
    assert_eq!(extras(&[&deep], &[&deep, &nested(31), "[]"]), [false; 3]);
}

#[test]
fn the_columns_of_a_table_are_bounded_and_so_is_their_memory() {
    let wide: Vec<String> = (0..200).map(|n| format!("\"{n}\":1")).collect();
    let fields: Vec<String> = (0..400)
        .map(|n| format!("\"f{n}\":{{{}}}", wide.join(",")))
        .collect();
    let columns = infer(&[record(format!("{{{}}}", fields.join(",")))]);
    let nodes: usize = columns.iter().map(|column| column.kind.size()).sum();
    assert!((800..=1024).contains(&nodes), "{nodes}");
    let sample = format!("[{{{}}}]", wide.join(","));
    let empty = format!("[{}{{}}]", "{},".repeat(100_000));
    let batch = batch(&[&sample], &[&empty, &sample]);
    assert_eq!(batch.column(4).null_count(), 1);
    assert!(batch.column(5).is_valid(0) && batch.column(5).is_null(1));
    assert!(batch.get_array_memory_size() < 2 << 20);
}

#[test]
fn a_nested_value_that_could_not_be_written_again_stands_in_extra() {
    let sample = [r#"[{"a":1,"t":"2026-11-22T00:00:00Z","n":0.5}]"#];
    let rows = [
        r#"[{"a":1,"t":"2026-11-22T00:00:00Z","n":0.5},null,{}]"#,
        r#"[]"#,
        r#"[{"t":"2026-11-22T00:00:00Z","a":1}]"#,
        r#"[{"a":1,"b":2}]"#,
        r#"[{"a":1,"a":2}]"#,
        r#"[{"a":null}]"#,
        r#"[{"a":"1"}]"#,
        r#"[{"n":0.50}]"#,
        r#"[{"t":"2026-11-22T00:00:00z"}]"#,
        r#"[ ]"#,
        r#"{"a":1}"#,
        r#"[{"\u0061":1}]"#,
    ];
    let mut expected = [true; 12];
    (expected[0], expected[1], expected[11]) = (false, false, false);
    // Its number is the same in another spelling.
    expected[7] = false;
    // The name's two spellings differ in length, and only its text counts.
    assert_eq!(extras(&sample, &rows), expected);
    let batch = batch(&sample, &rows);
    let items = batch.column(4).as_list::<i32>().values().clone();
    let numbers = items
        .as_struct()
        .column(0)
        .as_primitive::<Int64Type>()
        .clone();
    let numbers: Vec<Option<i64>> = numbers.iter().collect();
    let held = [
        Some(1),
        None,
        None,
        Some(1),
        Some(1),
        Some(2),
        None,
        None,
        None,
        None,
        Some(1),
    ];
    assert_eq!(numbers, held);
}

#[test]
fn texts_of_rfc_3339_become_timestamps_and_dates() {
    let micros = |fraction, offset| timestamp(Unit::Micros, fraction, offset);
    assert_eq!(kind(&[r#""2026-11-22T08:00:00Z""#, "null"]), micros(0, "Z"));
    let usual = [
        r#""2026-11-22T08:00:00.120+02:00""#,
        r#""2026-11-22T08:00:00.120+02:00""#,
        r#""2026-11-22T08:00:00Z""#,
    ];
    assert_eq!(kind(&usual), micros(3, "+02:00"));
    let fine = r#""2026-11-22T08:00:00.123456789Z""#;
    assert_eq!(kind(&[fine]), timestamp(Unit::Nanos, 9, "Z"));
    assert_eq!(kind(&[fine, r#""0000-01-01T00:00:00Z""#]), micros(0, "Z"));
    assert_eq!(
        kind(&[r#""2026-11-22T08:00:00.123456000Z""#]),
        micros(6, "Z")
    );
    assert_eq!(kind(&[r#""2026-11-22""#]), Kind::Date);
    for other in [
        r#""2026-11-22 08:00:00Z""#,
        r#""10000-01-01T00:00:00Z""#,
        r#""""#,
        r#""2026-11-22""#,
    ] {
        assert_eq!(
            kind(&[r#""2026-11-22T08:00:00Z""#, other]),
            Kind::Text,
            "{other}"
        );
    }
    assert_eq!(kind(&[r#""2026-11-22T08:00:00Z""#, "1"]), Kind::Json);
}

#[test]
fn an_instant_is_held_whatever_its_text() {
    let sample = [r#""2016-12-31T23:00:00Z""#];
    let rows = [
        (r#""2017-01-01T00:00:00Z""#, Some(0), false),
        (r#""2017-01-01T02:00:00+02:00""#, Some(0), true),
        (r#""2017-01-01T00:00:00.000Z""#, Some(0), true),
        (r#""2017-01-01t00:00:00z""#, Some(0), true),
        (r#""2017-01-01T00:00:00-00:00""#, Some(0), true),
        (r#""2016-12-31T23:59:60Z""#, Some(0), true),
        (r#""2017-01-01T00:00:00.0000019Z""#, Some(1), true),
        (r#""10000-01-01T00:00:00Z""#, None, true),
        (r#""soon""#, None, true),
        ("null", None, true),
        (r#""2017-01-01T00:00:00\u005a""#, Some(0), false),
    ];
    let batch = batch(&sample, &rows.map(|(text, ..)| text));
    let held = batch.column(4).as_primitive::<TimestampMicrosecondType>();
    let since = held
        .iter()
        .map(|held| held.map(|micros| micros - 1_483_228_800_000_000));
    assert_eq!(since.collect::<Vec<_>>(), rows.map(|(_, since, _)| since));
    let noted = (0..rows.len()).map(|at| batch.column(5).is_valid(at));
    assert_eq!(noted.collect::<Vec<_>>(), rows.map(|(.., noted)| noted));
    let fine = [r#""2017-01-01T00:00:00.000000001Z""#];
    let far = r#""2300-01-01T00:00:00.000000001Z""#;
    let batch = batch_of_nanos(&fine, far);
    assert_eq!(batch.column(4).null_count(), 1);
}

fn batch_of_nanos(fine: &[&str], far: &str) -> RecordBatch {
    let batch = batch(fine, &[fine[0], far]);
    let held = batch.column(4).as_primitive::<TimestampNanosecondType>();
    assert_eq!(held.value(0), 1_483_228_800_000_000_001);
    batch
}

/// Every other column than `_extra`.
fn held(sample: &[&str], rows: &[&str]) -> RecordBatch {
    let batch = batch(sample, rows);
    batch.project(&[4]).unwrap()
}

#[test]
fn a_nested_value_with_white_space_is_in_its_column_too() {
    let rows = [
        r#"{"a":[{"b":1,"t":"x"},null,{}],"c":{"d":[[true],[]]}}"#,
        r#"{"a":[],"c":{}}"#,
        r#"{"a":[{"b":2}]}"#,
        "null",
    ];
    let printed = rows.map(|row| {
        let value: serde_json::Value = serde_json::from_str(row).unwrap();
        serde_json::to_string_pretty(&value).unwrap()
    });
    let spaced = rows.map(|row| row.replace(',', " , ").replace(':', "\t:\r"));
    for written in [&printed, &spaced] {
        let written: Vec<&str> = written.iter().map(String::as_str).collect();
        assert_eq!(held(&rows, &written), held(&rows, &rows));
        assert_eq!(held(&written, &written), held(&rows, &rows));
        assert_eq!(extras(&rows, &written), [true, true, true, false]);
    }
}

#[test]
fn of_a_name_that_occurs_twice_in_a_struct_the_last_value_is_held() {
    let twice = [
        r#"{"a":1,"l":[1],"a":2}"#,
        r#"{"l":[1,2],"s":{"b":true},"l":null,"l":[3],"s":{"b":false,"b":null}}"#,
        "null",
        r#"{"a":7,"a":"x"}"#,
        r#"{"a":5,"l":[4]}"#,
        r#"{"a":6,"s":null,"\u0061":8}"#,
    ];
    let once = [
        r#"{"a":2,"l":[1]}"#,
        r#"{"l":[3],"s":{}}"#,
        "null",
        "{}",
        r#"{"a":5,"l":[4]}"#,
        r#"{"a":8}"#,
    ];
    let sample = [r#"{"a":1,"l":[1],"s":{"b":true}}"#];
    assert_eq!(held(&sample, &twice), held(&sample, &once));
    let noted = [true, true, true, true, false, true];
    assert_eq!(extras(&sample, &twice), noted);
}
