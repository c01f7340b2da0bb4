//! Which columns are chosen, and what goes to `_extra`.

use super::{batches, infer, record};
use crate::arrow::Kind;
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_schema::DataType;
use talentdata_core::RawRecord;

fn records(lines: &[&'static str]) -> Vec<RawRecord> {
    lines.iter().map(|line| record(*line)).collect()
}

fn kinds(lines: &[&'static str]) -> Vec<(String, Kind)> {
    let columns = infer(&records(lines));
    let further = columns.iter().skip(4);
    further
        .map(|column| (column.name.clone(), column.kind.clone()))
        .collect()
}

fn batch(sample: &[&'static str], lines: &[&'static str]) -> RecordBatch {
    batches(&infer(&records(sample)), &records(lines), usize::MAX).remove(0)
}

fn extras(batch: &RecordBatch) -> Vec<Option<&str>> {
    let extra = batch.columns().last().unwrap();
    extra.as_string::<i32>().iter().collect()
}

#[test]
fn documented_fields_come_first_and_extra_last() {
    let columns = infer(&records(&[r#"{"tags":[],"email":5,"id":"1"}"#]));
    let schema = columns.to_arrow();
    let names: Vec<&str> = schema
        .fields()
        .iter()
        .map(|field| field.name().as_str())
        .collect();
    assert_eq!(
        names,
        ["id", "firstName", "lastName", "email", "tags", "_extra"]
    );
    let types = schema.fields().iter().map(|field| field.data_type());
    let text = |kind: &&DataType| **kind == DataType::Utf8;
    assert_eq!(types.filter(text).count(), 5);
    let json = |name| {
        schema
            .field_with_name(name)
            .unwrap()
            .metadata()
            .get("talentdata:content")
            .cloned()
    };
    assert_eq!(
        (json("email"), json("tags"), json("_extra")),
        (None, None, Some("json".into()))
    );
}

#[test]
fn further_fields_take_the_narrowest_kind_that_holds_them() {
    let kind = |values: [&str; 2]| {
        let lines: Vec<RawRecord> = values
            .iter()
            .map(|value| record(format!("{{\"x\":{value}}}")))
            .collect();
        infer(&lines).iter().last().unwrap().kind.clone()
    };
    assert_eq!(kind([r#""a""#, "null"]), Kind::Text);
    assert_eq!(kind(["1", "-9223372036854775808"]), Kind::Integer);
    assert_eq!(kind(["1", "18446744073709551615"]), Kind::Unsigned);
    assert_eq!(kind(["-1", "18446744073709551615"]), Kind::Json);
    assert_eq!(kind(["1", "18446744073709551616"]), Kind::Json);
    assert_eq!(kind(["1", "2.5"]), Kind::Number);
    assert_eq!(kind(["1.5", "1e999"]), Kind::Json);
    assert_eq!(kind(["true", "false"]), Kind::Boolean);
    assert_eq!(kind(["true", "1"]), Kind::Json);
    assert_eq!(kind(["null", "null"]), Kind::Json);
    assert_eq!(kind(["{}", "[1]"]), Kind::Json);
}

#[test]
fn names_that_are_no_column_stay_in_extra() {
    let lines = [r#"{"_extra":1,"nul\u0000":2,"half\ud800":3,"\u0061":4}"#];
    assert_eq!(kinds(&lines), [("a".to_owned(), Kind::Integer)]);
    let batch = batch(&lines, &lines);
    assert_eq!(
        extras(&batch),
        [Some(r#"{"_extra":1,"nul\u0000":2,"half\ud800":3}"#)]
    );
}

#[test]
fn field_names_that_are_data_do_not_become_columns_without_end() {
    let members: Vec<String> = (0..2000).map(|number| format!("\"{number}\":1")).collect();
    let columns = infer(&[record(format!("{{{}}}", members.join(",")))]);
    assert_eq!(columns.iter().count(), 512);
}

#[test]
fn a_number_column_holds_the_nearest_double_and_extra_the_digits() {
    let batch = batch(
        &[r#"{"x":0.5}"#],
        &[
            r#"{"x":1.10}"#,
            r#"{"x":2e0}"#,
            r#"{"x":0.30000000000000004}"#,
            r#"{"x":0.1000000000000000055}"#,
            r#"{"x":"n/a"}"#,
        ],
    );
    let numbers = batch.column(4).as_primitive::<Float64Type>();
    assert_eq!(
        numbers.iter().collect::<Vec<_>>(),
        [Some(1.1), Some(2.0), Some(0.1 + 0.2), Some(0.1), None]
    );
    assert_eq!(
        extras(&batch),
        [
            None,
            None,
            None,
            Some(r#"{"x":0.1000000000000000055}"#),
            Some(r#"{"x":"n/a"}"#)
        ]
    );
}

#[test]
fn absent_and_null_are_told_apart_and_the_usual_one_is_free() {
    let usually_null = [r#"{"x":null}"#, r#"{"x":null}"#, "{}", r#"{"x":1}"#];
    let absent = Some(r#"{"_absent":["x"]}"#);
    assert_eq!(
        extras(&batch(&usually_null, &usually_null)),
        [None, None, absent, None]
    );
    let usually_absent = ["{}", "{}", r#"{"x":null}"#, r#"{"x":1}"#];
    let null = Some(r#"{"x":null}"#);
    assert_eq!(
        extras(&batch(&usually_absent, &usually_absent)),
        [None, None, null, None]
    );
}

#[test]
fn of_several_values_the_column_holds_the_last_and_extra_all() {
    let batch = batch(&[r#"{"x":1}"#], &[r#"{"x":1,"y":0,"\u0078":2,"x":3}"#]);
    assert_eq!(extras(&batch), [Some(r#"{"x":1,"y":0,"\u0078":2,"x":3}"#)]);
    assert_eq!(
        batch
            .column(4)
            .as_primitive::<arrow_array::types::Int64Type>()
            .value(0),
        3
    );
}

#[test]
fn a_field_of_the_marks_own_name_is_not_taken_for_it() {
    let batch = batch(&[], &[r#"{"_absent":["id"]}"#]);
    assert_eq!(extras(&batch), [Some(r#"{"_absent":[],"_absent":["id"]}"#)]);
}
