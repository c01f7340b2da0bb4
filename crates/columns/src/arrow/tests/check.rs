//! Differences between records and their columns.

use super::{infer, record};
use crate::arrow::{Checker, Counts, OnNew, TableOptions};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::sync::Arc;
use talentdata_core::RawRecord;
use talentdata_core::scan::SchemaDifferences;

/// An entry of `differences.json`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case<'a> {
    it: &'a str,
    #[serde(borrow)]
    sample: Vec<&'a RawValue>,
    #[serde(borrow)]
    records: Vec<&'a RawValue>,
    /// What is said of the first difference where that is an error.
    fails: Option<&'a str>,
    expected: SchemaDifferences,
}

fn checker(on_new: OnNew, sample: &[RawRecord], counts: Counts) -> Checker {
    let options = TableOptions {
        schema: Some(Arc::new(infer(sample))),
        on_new,
        ..TableOptions::default()
    };
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
        for on_new in [OnNew::Keep, OnNew::Freeze] {
            let mut counts = Counts::default();
            for record in &records {
                // A resumed export goes on counting.
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
        let mut strict = checker(OnNew::Fail, &sample, Counts::default());
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
fn names_that_are_data_do_not_fill_the_memory() {
    let members: Vec<String> = (0..3000).map(|n| format!("\"{n}\":1")).collect();
    let mut checker = checker(OnNew::Keep, &[], Counts::default());
    let record = record(format!("{{{}}}", members.join(",")));
    checker.check(&record).unwrap();
    let new = checker.differences().new_fields;
    assert_eq!((new.len(), new["..."].count), (1001, 2000));
}
