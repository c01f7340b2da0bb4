//! Differences between records and their columns.

use super::{infer, record};
use crate::arrow::{
    Checker, Counts, NewFieldPolicy, RecordBatch, RecordBatches, TableOptions, TableSchema,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use talentdata_core::RawRecord;
use talentdata_core::scan::SchemaDifferences;
use talentdata_core::types::ListName;

/// An entry of `differences.json`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case<'a> {
    it: &'a str,
    #[serde(borrow)]
    sample: Vec<&'a RawValue>,
    #[serde(borrow)]
    records: Vec<&'a RawValue>,
    /// The message about the first difference if it is an error.
    fails: Option<&'a str>,
    expected: SchemaDifferences,
}

fn checker(on_new: NewFieldPolicy, sample: &[RawRecord], counts: Counts) -> Checker {
    let options = TableOptions::default()
        .with_schema(infer(sample))
        .with_on_new(on_new);
    let mut checker = Checker::given(&options).unwrap();
    checker.counts = counts;
    checker
}

#[test]
fn differences_are_counted_with_an_example_or_are_an_error() {
    let cases: Vec<Case<'_>> = serde_json::from_str(include_str!("differences.json")).unwrap();
    for mut case in cases {
        let records = |raw: &[&RawValue]| -> Vec<RawRecord> {
            raw.iter().map(|raw| record(raw.get())).collect()
        };
        let (sample, records) = (records(&case.sample), records(&case.records));
        for on_new in [NewFieldPolicy::Keep, NewFieldPolicy::Freeze] {
            let mut counts = Counts::default();
            for record in &records {
                // A resumed export continues the counts.
                let kept = serde_json::to_string(&counts).unwrap();
                let mut checker = checker(on_new, &sample, serde_json::from_str(&kept).unwrap());
                checker.check(record).unwrap();
                counts = checker.counts;
            }
            let found = checker(on_new, &sample, counts).differences();
            assert_eq!(found, case.expected, "{}", case.it);
            case.expected.new_fields.clear();
            case.expected.other_types.clear();
        }
        let mut strict = checker(NewFieldPolicy::Fail, &sample, Counts::default());
        let error = records.iter().find_map(|record| strict.check(record).err());
        let expected = case
            .fails
            .map(|fault| format!("record 0 of the list (id 1): {fault}"));
        let message = error.as_ref().map(|error| error.message().to_owned());
        let is_expected = message
            .zip(expected)
            .map(|(message, expected)| message.starts_with(&expected));
        assert_eq!(
            (is_expected, error.is_some()),
            (case.fails.map(|_| true), case.fails.is_some()),
            "{error:?}"
        );
    }
}

#[test]
fn rows_of_inferred_columns_meet_another_type_by_the_same_policy() {
    let most = TableSchema::SAMPLE;
    let run = |on_new| {
        let records = (0..=most).map(move |at| {
            let value = if at == most { "\"a\"" } else { "1" };
            Ok(record(format!("{{\"id\":\"{at}\",\"x\":[{value}]}}")))
        });
        let table = TableOptions::default().with_on_new(on_new);
        let mut batches = RecordBatches::new(
            ListName::Contacts,
            &table.clone().with_batch_rows(5000),
            records,
        )
        .unwrap();
        let read: Vec<_> = batches.by_ref().collect();
        let rows = read
            .iter()
            .flatten()
            .map(RecordBatch::num_rows)
            .sum::<usize>();
        (
            rows,
            batches.differences(),
            read.into_iter().find_map(Result::err),
        )
    };
    let (rows, differences, error) = run(NewFieldPolicy::Keep);
    assert!(error.is_none() && rows == most + 1);
    let found = &differences.other_types["/x/*"];
    assert_eq!((found.count, found.column.as_deref()), (1, Some("int64")));
    assert_eq!(
        (found.example.id.as_deref(), &*found.example.pointer),
        (Some("1000"), "/x/0")
    );
    let words = "/x/* has the type int64, but string in 1 values, first in record 0 (id 1000)";
    assert!(differences.summary().unwrap().ends_with(words));
    let (rows, differences, error) = run(NewFieldPolicy::Freeze);
    assert!(error.is_none() && rows == most + 1 && differences == SchemaDifferences::default());
    let (rows, _, error) = run(NewFieldPolicy::Fail);
    let told = "record 0 of the list (id 1000): /x/0: its type is string, and its column has the type int64; choose";
    let error = error.unwrap();
    assert!(
        rows == most && error.message().starts_with(told),
        "{rows}: {error}"
    );
}

#[test]
fn names_that_are_data_do_not_fill_the_memory() {
    let members: Vec<String> = (0..3000).map(|n| format!("\"{n}\":1")).collect();
    let mut checker = checker(NewFieldPolicy::Keep, &[], Counts::default());
    let record = record(format!("{{{}}}", members.join(",")));
    checker.check(&record).unwrap();
    let new = checker.differences().new_fields;
    assert_eq!((new.len(), new["..."].count), (1001, 2000));
}
