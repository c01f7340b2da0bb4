//! The chosen columns, their values, and the content of `_extra`.

use super::rebuild::{spelt_json, value};
use super::{batches, infer, record};
use crate::arrow::{ColumnKind, ColumnTypes, RecordBatch, TableSchema};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use talentdata_core::RawRecord;
use talentdata_core::types::ListName;

/// An entry of `columns.json`. Samples and rows are values of a field `x`, or whole records.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case<'a> {
    it: &'a str,
    #[serde(default)]
    records: bool,
    #[serde(default)]
    columns: ColumnTypes,
    /// Samples, and the type of their column: an object as in a schema file, or only the name of the type.
    #[serde(default, borrow)]
    kinds: Vec<(Vec<&'a RawValue>, Value)>,
    #[serde(default, borrow)]
    sample: Vec<&'a RawValue>,
    /// For each row: the value in the record, the value that the cell of the last column returns, and the value in
    /// `_extra`. True stands for the whole value of the record.
    #[serde(default, borrow)]
    rows: Vec<[&'a RawValue; 3]>,
}

/// Returns records with a field `x` that has these values.
fn values<T: AsRef<str>>(values: &[T]) -> Vec<RawRecord> {
    let line = |value: &T| record(format!("{{\"x\":{}}}", value.as_ref()));
    values.iter().map(line).collect()
}

/// Returns the inferred kind of a column with these values.
fn kind<T: AsRef<str>>(sample: &[T]) -> ColumnKind {
    infer(&values(sample)).fields.pop().unwrap().kind
}

fn batch(sample: &[RawRecord], rows: &[RawRecord]) -> RecordBatch {
    batches(&infer(sample), rows, usize::MAX).remove(0)
}

/// Returns the content of `_extra` in each row.
fn extras(batch: &RecordBatch) -> Vec<Option<&str>> {
    let extra = batch.columns().last().unwrap();
    extra.as_string::<i32>().iter().collect()
}

#[test]
fn columns_hold_what_they_can_and_extra_has_the_rest() {
    let cases: Vec<Case<'_>> = serde_json::from_str(include_str!("columns.json")).unwrap();
    for case in &cases {
        let it = case.it;
        for (sample, expected) in &case.kinds {
            let records = values(&sample.iter().map(|raw| raw.get()).collect::<Vec<_>>());
            let schema = TableSchema::infer(ListName::Contacts, &records, case.columns);
            let found = serde_json::to_value(&schema.fields.last().unwrap().kind).unwrap();
            let expected = if expected.is_string() {
                &json!({"type": expected})
            } else {
                expected
            };
            let expected: ColumnKind = serde_json::from_value(expected.clone()).unwrap();
            let expected = serde_json::to_value(expected).unwrap();
            assert_eq!(found, expected, "{it}: {sample:?}");
        }
        let all = |raw: &[&RawValue]| {
            if case.records {
                raw.iter().map(|raw| record(raw.get())).collect()
            } else {
                values(&raw.iter().map(|raw| raw.get()).collect::<Vec<_>>())
            }
        };
        let sent = all(&case.rows.iter().map(|row| row[0]).collect::<Vec<_>>());
        let Some(batch) = batches(&infer(&all(&case.sample)), &sent, usize::MAX).pop() else {
            continue;
        };
        let last = batch.num_columns() - 2;
        let (schema, column) = (batch.schema(), batch.column(last));
        for (at, [raw, cell, extra]) in case.rows.iter().enumerate() {
            let held = (!column.is_null(at)).then(|| value(schema.field(last), column, at));
            let expected = (cell.get() != "null").then(|| spelt_json(cell.get()));
            assert_eq!(held, expected, "{it}: {raw}");
            let expected = match extra.get() {
                "false" => None,
                "true" => Some(sent[at].as_str()),
                extra => Some(extra),
            };
            assert_eq!(extras(&batch)[at], expected, "{it}: {raw}");
        }
    }
}

#[test]
fn names_that_are_data_do_not_become_columns() {
    let members = |count: usize, value: &str| {
        let members: Vec<String> = (0..count).map(|n| format!("\"{n}\":{value}")).collect();
        format!("{{{}}}", members.join(","))
    };
    let width = |kind: ColumnKind| kind.size() - 1;
    assert_eq!(infer(&[record(members(2000, "1"))]).fields.len(), 512);
    assert_eq!(kind(&[members(201, "1")]), ColumnKind::Json);
    assert_eq!(width(kind(&[members(200, "1")])), 200);
    let rare: Vec<String> = (0..11).map(|n| format!("{{\"id{n}\":1}}")).collect();
    assert_eq!(kind(&rare), ColumnKind::Json);
    assert_eq!(width(kind(&rare[..10])), 10);
    // Maps take no columns from others.
    let map = members(300, r#"{"a":[1]}"#);
    let maps: Vec<String> = (0..20).map(|n| format!("\"map{n}\":{map}")).collect();
    let text = format!("{{{},\"last\":{{\"a\":1}}}}", maps.join(","));
    let last = infer(&[record(text)]).fields.pop().unwrap();
    assert_eq!(width(last.kind), 1);
    // The columns of a table are bounded, and so is their memory.
    let wide = members(200, "1");
    let fields: Vec<String> = (0..400).map(|n| format!("\"f{n}\":{wide}")).collect();
    let columns = infer(&[record(format!("{{{}}}", fields.join(",")))]);
    let nodes: usize = columns.fields.iter().map(|column| column.kind.size()).sum();
    assert!((800..=1024).contains(&nodes), "{nodes}");
    let sample = format!("[{wide}]");
    let empty = format!("[{}{{}}]", "{},".repeat(100_000));
    let batch = batch(&values(&[&sample]), &values(&[&empty, &sample]));
    assert_eq!(batch.column(4).null_count(), 1);
    let whole = format!("{{\"x\":{empty}}}");
    assert_eq!(extras(&batch), [Some(&*whole), None]);
    assert!(batch.get_array_memory_size() < 2 << 20);
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    let (deepest, deep) = (nested(31), nested(100));
    let lists = |innermost: ColumnKind| {
        let list = |items| ColumnKind::List {
            items: Box::new(items),
        };
        (1..=31).fold(innermost, |items, _| list(items))
    };
    assert_eq!(kind(&[&deepest]), lists(ColumnKind::Integer));
    assert_eq!(kind(&[&deep]), lists(ColumnKind::Json));
    let rows = values(&[&*deep, &*deepest, "[]"]);
    assert_eq!(extras(&batch(&values(&[deep]), &rows)), [None; 3]);
}
