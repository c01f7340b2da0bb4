//! How records differ from a schema that was given.

use super::{infer, record};
use crate::arrow::{Checker, Counts, OnNew, TableOptions};
use std::collections::BTreeMap;
use std::sync::Arc;
use talentdata_core::ErrorKind;
use talentdata_core::RawRecord;
use talentdata_core::scan::{Difference, SchemaDifferences};

const SAMPLE: &str =
    r#"{"id":"1","firstName":"A","lastName":"B","email":"c","n":1,"o":{"a":1,"b":[{"c":true}]}}"#;

fn checker(on_new: OnNew) -> Checker {
    checker_of(on_new, &[record(SAMPLE)])
}

fn checker_of(on_new: OnNew, sample: &[RawRecord]) -> Checker {
    let options = TableOptions {
        schema: Some(Arc::new(infer(sample))),
        on_new,
        ..TableOptions::default()
    };
    Checker::new(&options).unwrap()
}

fn odd() -> Vec<RawRecord> {
    let known = r#""id":"1","firstName":"A","lastName":"B","email":"c""#;
    [
        r#""n":1,"o":{"a":1,"b":[{"c":true}]}"#,
        r#""n":"x","o":{"a":1,"b":[null,{"c":1,"new/er":{}}]}"#,
        r#""n":18446744073709551616,"o":7,"new":[]"#,
        r#""o":{"a":null,"b":[{}]},"new":null"#,
    ]
    .map(|rest| record(format!("{{{known},{rest}}}")))
    .into()
}

/// Name, count, pointer and kind of the example, one difference after the other.
fn told(differences: &BTreeMap<String, Difference>) -> String {
    let told = differences.iter().map(|(name, difference)| {
        let (count, example) = (difference.count, &difference.example);
        format!("{name} {count} {} {}", example.pointer, example.found)
    });
    told.collect::<Vec<_>>().join("; ")
}

fn check(differences: &SchemaDifferences, new: &str) {
    assert_eq!(told(&differences.new_fields), new);
    let other = "/n 2 /n string; /o 1 /o number; /o/b/*/c 1 /o/b/1/c number";
    assert_eq!(told(&differences.other_types), other);
    let missing = "/n 1 /n nothing; /o/a 1 /o/a null; /o/b/*/c 1 /o/b/0/c nothing";
    assert_eq!(told(&differences.missing_fields), missing);
}

#[test]
fn differences_are_counted_with_an_example() {
    let new = "/new 2 /new array; /o/b/*/new~1er 1 /o/b/1/new~1er object";
    for (on_new, new) in [(OnNew::Keep, new), (OnNew::Freeze, "")] {
        let counted = |odd: &[RawRecord], counts: Counts| {
            let mut checker = checker(on_new);
            checker.counts = counts;
            odd.iter().for_each(|record| checker.check(record).unwrap());
            checker
        };
        let whole = counted(&odd(), Counts::default());
        check(&whole.differences(), new);
        // A resumed export goes on counting.
        let first = counted(&odd()[..2], Counts::default());
        let counts = serde_json::to_string(&first.counts).unwrap();
        let second = counted(&odd()[2..], serde_json::from_str(&counts).unwrap());
        check(&second.differences(), new);
    }
}

#[test]
fn a_new_field_can_be_an_error() {
    let mut checker = checker(OnNew::Fail);
    let odd = odd();
    checker.check(&odd[0]).unwrap();
    let error = checker.check(&odd[1]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Schema);
    let told = "record 0 of the list: /o/b/1/new~1er";
    assert!(error.message().contains(told), "{error}");
}

#[test]
fn a_nullable_field_is_missing_where_no_record_has_it() {
    let mut checker = checker_of(OnNew::Keep, &[record("{}"), record(SAMPLE)]);
    checker.check(&record(r#"{"id":"1","o":null}"#)).unwrap();
    checker.check(&record(r#"{"id":"1","n":2}"#)).unwrap();
    let missing = checker.differences().missing_fields;
    let names: Vec<&str> = missing.keys().map(String::as_str).collect();
    assert_eq!(names, ["/email", "/firstName", "/lastName", "/o"]);
}

#[test]
fn names_that_are_data_do_not_fill_the_memory() {
    let members: Vec<String> = (0..3000).map(|n| format!("\"{n}\":1")).collect();
    let mut checker = checker(OnNew::Keep);
    let record = record(format!("{{{}}}", members.join(",")));
    checker.check(&record).unwrap();
    let new = checker.differences().new_fields;
    assert_eq!((new.len(), new["..."].count), (1001, 2000));
}
