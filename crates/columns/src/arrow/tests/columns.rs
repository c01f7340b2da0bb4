//! Which columns are chosen, what they hold, and what goes to `_extra`.

use super::{batches, infer, record};
use crate::arrow::{Columns, Kind, RecordBatch, TableSchema, Timestamp, Unit};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float64Type, Int64Type, TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow_array::{Array, ArrowPrimitiveType};
use arrow_schema::DataType;
use talentdata_core::RawRecord;
use talentdata_core::types::Resource;

fn records<T: AsRef<str>>(lines: &[T]) -> Vec<RawRecord> {
    lines.iter().map(record).collect()
}

/// Records with a field `x` that has these values.
fn values<T: AsRef<str>>(values: &[T]) -> Vec<RawRecord> {
    let line = |value: &T| record(format!("{{\"x\":{}}}", value.as_ref()));
    values.iter().map(line).collect()
}

/// The kind of a column that holds these.
fn kind<T: AsRef<str>>(sample: &[T]) -> Kind {
    infer(&values(sample)).fields.pop().unwrap().kind
}

fn list(items: Kind) -> Kind {
    Kind::List {
        items: Box::new(items),
    }
}

fn timestamp(unit: Unit, fraction: u8, offset: &str) -> Kind {
    Kind::Timestamp(Timestamp {
        unit,
        fraction,
        offset: offset.into(),
    })
}

/// Names and kinds of the fields of a struct.
fn members(kind: Kind) -> Vec<(String, Kind)> {
    match kind {
        Kind::Struct { fields } => fields.into_iter().map(|f| (f.name, f.kind)).collect(),
        other => panic!("{other:?}"),
    }
}

fn batch(sample: &[RawRecord], rows: &[RawRecord]) -> RecordBatch {
    batches(&infer(sample), rows, usize::MAX).remove(0)
}

/// A batch whose fifth column, behind the documented ones, is `x`.
fn batch_of<T: AsRef<str>, U: AsRef<str>>(sample: &[T], rows: &[U]) -> RecordBatch {
    batch(&values(sample), &values(rows))
}

fn extras(batch: &RecordBatch) -> Vec<Option<&str>> {
    let extra = batch.columns().last().unwrap();
    extra.as_string::<i32>().iter().collect()
}

/// In which rows something is in `_extra`.
fn noted(batch: &RecordBatch) -> Vec<bool> {
    extras(batch).iter().map(Option::is_some).collect()
}

fn numbers<T: ArrowPrimitiveType>(array: &dyn Array) -> Vec<Option<T::Native>> {
    array.as_primitive::<T>().iter().collect()
}

#[test]
fn documented_fields_come_first_and_extra_last() {
    let schema = infer(&records(&[r#"{"tags":[],"email":5,"id":"1"}"#])).to_arrow();
    let seen = schema.fields().iter().map(|field| {
        let content = field.metadata().get("talentdata:content");
        let is_text = *field.data_type() == DataType::Utf8;
        (&**field.name(), is_text, content.map(String::as_str))
    });
    let texts = ["id", "firstName", "lastName", "email"].map(|name| (name, true, None));
    let others = [("tags", false, None), ("_extra", true, Some("json"))];
    assert!(seen.eq(texts.into_iter().chain(others)));
}

#[test]
fn further_fields_take_the_narrowest_kind_that_holds_them() {
    let micros = |fraction, offset| timestamp(Unit::Micros, fraction, offset);
    let usual = r#""2026-11-22T08:00:00.120+02:00""#;
    let (plain, fine) = (
        r#""2026-11-22T08:00:00Z""#,
        r#""2026-11-22T08:00:00.123456789Z""#,
    );
    for (sample, expected) in [
        (&[r#""a""#, "null"][..], Kind::Text),
        (&["1", "-9223372036854775808"], Kind::Integer),
        (&["1", "18446744073709551615"], Kind::Unsigned),
        (&["-1", "18446744073709551615"], Kind::Json),
        (&["1", "18446744073709551616"], Kind::Json),
        (&["1", "2.5"], Kind::Number),
        (&["1.5", "1e999"], Kind::Json),
        (&["true", "false"], Kind::Boolean),
        (&["true", "1"], Kind::Json),
        (&["null", "null"], Kind::Json),
        (&["{}", "[1]"], Kind::Json),
        (&["[1]", "1"], Kind::Json),
        (&["{}"], Kind::Json),
        (&[r#"{"a":1}"#, r#""a""#], Kind::Json),
        (&["[]"], list(Kind::Json)),
        (&["[null]"], list(Kind::Json)),
        (&[r#"[1,"a"]"#], list(Kind::Json)),
        (&["[{}]"], list(Kind::Json)),
        (&["[]", "null", r#"["a",null]"#], list(Kind::Text)),
        (&["[1]", "[2.5]"], list(Kind::Number)),
        (&["[[1],[]]"], list(list(Kind::Integer))),
        (&[plain, "null"], micros(0, "Z")),
        (&[usual, usual, plain], micros(3, "+02:00")),
        (&[fine], timestamp(Unit::Nanos, 9, "Z")),
        (&[fine, r#""0000-01-01T00:00:00Z""#], micros(0, "Z")),
        (&[r#""2026-11-22T08:00:00.123456000Z""#], micros(6, "Z")),
        (&[r#""2026-11-22""#], Kind::Date),
        (&[plain, r#""2026-11-22 08:00:00Z""#], Kind::Text),
        (&[plain, r#""10000-01-01T00:00:00Z""#], Kind::Text),
        (&[plain, r#""""#], Kind::Text),
        (&[plain, r#""2026-11-22""#], Kind::Text),
        (&[plain, "1"], Kind::Json),
    ] {
        assert_eq!(kind(sample), expected, "{sample:?}");
    }
    let object = members(kind(&[r#"{"b":1,"a":{"c":[true]}}"#, r#"{"d":"x"}"#]));
    let [(b, _), (a, inner), (d, _)] = object.try_into().unwrap();
    assert_eq!([b, a, d], ["b", "a", "d"]);
    let inner = members(inner);
    assert_eq!(inner, [("c".to_owned(), list(Kind::Boolean))]);
    for (sample, expected) in [("[1]", Kind::Json), (r#""2026-11-22""#, Kind::Text)] {
        let mut flat = TableSchema::infer(Resource::Contacts, &values(&[sample]), Columns::Json);
        assert_eq!(flat.fields.pop().unwrap().kind, expected);
    }
}

#[test]
fn names_that_are_no_column_stay_in_extra() {
    let lines = records(&[r#"{"_extra":1,"nul\u0000":2,"half\ud800":3,"\u0061":4}"#]);
    let columns = infer(&lines);
    let further = columns.fields[4..].iter();
    let further = further.map(|column| (&*column.name, &column.kind));
    assert!(further.eq([("a", &Kind::Integer)]));
    let expected = r#"{"_extra":1,"nul\u0000":2,"half\ud800":3}"#;
    assert_eq!(extras(&batch(&lines, &lines)), [Some(expected)]);
}

#[test]
fn names_that_are_data_do_not_become_columns_without_end() {
    let members = |count: usize, value: &str| {
        let members: Vec<String> = (0..count).map(|n| format!("\"{n}\":{value}")).collect();
        format!("{{{}}}", members.join(","))
    };
    assert_eq!(infer(&[record(members(2000, "1"))]).fields.len(), 512);
    assert_eq!(kind(&[members(201, "1")]), Kind::Json);
    assert_eq!(self::members(kind(&[members(200, "1")])).len(), 200);
    let rare: Vec<String> = (0..11).map(|n| format!("{{\"id{n}\":1}}")).collect();
    assert_eq!(kind(&rare), Kind::Json);
    assert_eq!(self::members(kind(&rare[..10])).len(), 10);
    // Maps take no columns from others.
    let map = members(300, r#"{"a":[1]}"#);
    let maps: Vec<String> = (0..20).map(|n| format!("\"map{n}\":{map}")).collect();
    let text = format!("{{{},\"last\":{{\"a\":1}}}}", maps.join(","));
    let last = infer(&[record(text)]).fields.pop().unwrap();
    assert_eq!(self::members(last.kind).len(), 1);
    // The columns of a table are bounded, and so is their memory.
    let wide = members(200, "1");
    let fields: Vec<String> = (0..400).map(|n| format!("\"f{n}\":{wide}")).collect();
    let columns = infer(&[record(format!("{{{}}}", fields.join(",")))]);
    let nodes: usize = columns.fields.iter().map(|column| column.kind.size()).sum();
    assert!((800..=1024).contains(&nodes), "{nodes}");
    let sample = format!("[{wide}]");
    let empty = format!("[{}{{}}]", "{},".repeat(100_000));
    let batch = batch_of(&[&sample], &[&empty, &sample]);
    assert_eq!(batch.column(4).null_count(), 1);
    assert_eq!(noted(&batch), [true, false]);
    assert!(batch.get_array_memory_size() < 2 << 20);
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    let (deepest, deep) = (nested(31), nested(100));
    let lists = |kind: Kind| (1..=31).fold(kind, |items, _| list(items));
    assert_eq!(kind(&[&deepest]), lists(Kind::Integer));
    assert_eq!(kind(&[&deep]), lists(Kind::Json));
    let rows = [&*deep, &*deepest, "[]"];
    assert_eq!(noted(&batch_of(&[&deep], &rows)), [false; 3]);
}

#[test]
fn a_number_column_holds_the_nearest_double_and_extra_the_digits() {
    let rows = [
        "1.10",
        "2e0",
        "0.30000000000000004",
        "0.1000000000000000055",
        r#""n/a""#,
    ];
    let batch = batch_of(&["0.5"], &rows);
    let held = [Some(1.1), Some(2.0), Some(0.1 + 0.2), Some(0.1), None];
    assert_eq!(numbers::<Float64Type>(batch.column(4)), held);
    let (digits, text) = (r#"{"x":0.1000000000000000055}"#, r#"{"x":"n/a"}"#);
    assert_eq!(extras(&batch), [None, None, None, Some(digits), Some(text)]);
}

#[test]
fn absent_and_null_are_told_apart_and_the_usual_one_is_free() {
    let (absent, null) = (r#"{"_absent":["x"]}"#, r#"{"x":null}"#);
    for (usual, other, extra) in [(null, "{}", absent), ("{}", null, null)] {
        let records = records(&[usual, usual, other, r#"{"x":1}"#]);
        let batch = batch(&records, &records);
        assert_eq!(extras(&batch), [None, None, Some(extra), None]);
    }
    // A field of the list's own name is not taken for it.
    let own = batch(&[], &records(&[r#"{"_absent":["id"]}"#]));
    assert_eq!(extras(&own), [Some(r#"{"_absent":[],"_absent":["id"]}"#)]);
}

#[test]
fn of_several_values_the_column_holds_the_last_and_extra_all() {
    let rows = records(&[r#"{"x":1,"y":0,"\u0078":2,"x":3}"#]);
    let batch = batch(&values(&["1"]), &rows);
    assert_eq!(extras(&batch), [Some(rows[0].as_str())]);
    assert_eq!(numbers::<Int64Type>(batch.column(4)), [Some(3)]);
    let sample = [r#"{"a":1,"l":[1],"s":{"b":true}}"#];
    let deep = r#"{"l":[1,2],"s":{"b":true},"l":null,"l":[3],"s":{"b":false,"b":null}}"#;
    let twice = [
        (r#"{"a":1,"l":[1],"a":2}"#, r#"{"a":2,"l":[1]}"#, true),
        (deep, r#"{"l":[3],"s":{}}"#, true),
        ("null", "null", true),
        (r#"{"a":7,"a":"x"}"#, "{}", true),
        (r#"{"a":5,"l":[4]}"#, r#"{"a":5,"l":[4]}"#, false),
        (r#"{"a":6,"s":null,"\u0061":8}"#, r#"{"a":8}"#, true),
    ];
    let held = batch_of(&sample, &twice.map(|(twice, ..)| twice));
    let once = batch_of(&sample, &twice.map(|(_, once, _)| once));
    assert_eq!(held.column(4), once.column(4));
    assert_eq!(noted(&held), twice.map(|(.., noted)| noted));
}

#[test]
fn a_nested_value_that_could_not_be_written_again_stands_in_extra() {
    let sample = [r#"[{"a":1,"t":"2026-11-22T00:00:00Z","n":0.5}]"#];
    let whole = r#"[{"a":1,"t":"2026-11-22T00:00:00Z","n":0.5},null,{}]"#;
    // Each with the numbers that `a` holds, and whether it is in `_extra` too.
    let rows: [(&str, &[Option<i64>], bool); 12] = [
        (whole, &[Some(1), None, None], false),
        (r#"[]"#, &[], false),
        (r#"[{"t":"2026-11-22T00:00:00Z","a":1}]"#, &[Some(1)], true),
        (r#"[{"a":1,"b":2}]"#, &[Some(1)], true),
        (r#"[{"a":1,"a":2}]"#, &[Some(2)], true),
        (r#"[{"a":null}]"#, &[None], true),
        (r#"[{"a":"1"}]"#, &[None], true),
        // The number is the same in another spelling.
        (r#"[{"n":0.50}]"#, &[None], false),
        (r#"[{"t":"2026-11-22T00:00:00z"}]"#, &[None], true),
        (r#"[ ]"#, &[], true),
        (r#"{"a":1}"#, &[], true),
        // The name's two spellings differ in length, and only its text counts.
        (r#"[{"\u0061":1}]"#, &[Some(1)], false),
    ];
    let batch = batch_of(&sample, &rows.map(|(text, ..)| text));
    assert_eq!(noted(&batch), rows.map(|(.., noted)| noted));
    let items = batch.column(4).as_list::<i32>().values().clone();
    let held: Vec<_> = rows.iter().flat_map(|(_, held, _)| *held).collect();
    let numbers = numbers::<Int64Type>(items.as_struct().column(0));
    assert!(numbers.iter().eq(held));
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
    let plain = batch_of(&rows, &rows);
    for written in [&printed, &spaced] {
        let held = batch_of(&rows, written);
        assert_eq!(held.column(4), plain.column(4));
        assert_eq!(batch_of(written, written).column(4), plain.column(4));
        assert_eq!(noted(&held), [true, true, true, false]);
    }
}

#[test]
fn an_instant_is_held_whatever_its_text() {
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
    let batch = batch_of(&[r#""2016-12-31T23:00:00Z""#], &rows.map(|(text, ..)| text));
    let since = rows.map(|(_, since, _)| since.map(|micros: i64| micros + 1_483_228_800_000_000));
    assert_eq!(numbers::<TimestampMicrosecondType>(batch.column(4)), since);
    assert_eq!(noted(&batch), rows.map(|(.., noted)| noted));
    let fine = r#""2017-01-01T00:00:00.000000001Z""#;
    let batch = batch_of(&[fine], &[fine, r#""2300-01-01T00:00:00.000000001Z""#]);
    let held = [Some(1_483_228_800_000_000_001), None];
    assert_eq!(numbers::<TimestampNanosecondType>(batch.column(4)), held);
}
