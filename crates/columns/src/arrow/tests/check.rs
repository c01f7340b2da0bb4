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
    let options = TableOptions {
        schema: Some(Arc::new(infer(&[record(SAMPLE)]))),
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

fn told(differences: &BTreeMap<String, Difference>) -> Vec<(&str, u64, &str, &str)> {
    differences
        .iter()
        .map(|(name, difference)| {
            let example = &difference.example;
            let (pointer, found) = (example.pointer.as_str(), example.found.as_str());
            (name.as_str(), difference.count, pointer, found)
        })
        .collect()
}

fn check(differences: &SchemaDifferences, new: bool) {
    let fresh = [
        ("/new", 2, "/new", "array"),
        ("/o/b/*/new~1er", 1, "/o/b/1/new~1er", "object"),
    ];
    assert_eq!(
        told(&differences.new_fields),
        if new { &fresh[..] } else { &[] }
    );
    let other = [
        ("/n", 2, "/n", "string"),
        ("/o", 1, "/o", "number"),
        ("/o/b/*/c", 1, "/o/b/1/c", "number"),
    ];
    assert_eq!(told(&differences.other_types), other);
    let missing = [
        ("/n", 1, "/n", "nothing"),
        ("/o/a", 1, "/o/a", "null"),
        ("/o/b/*/c", 1, "/o/b/0/c", "nothing"),
    ];
    assert_eq!(told(&differences.missing_fields), missing);
}

#[test]
fn differences_are_counted_with_an_example() {
    for (on_new, new) in [(OnNew::Keep, true), (OnNew::Freeze, false)] {
        let mut whole = checker(on_new);
        odd().iter().for_each(|record| whole.check(record).unwrap());
        check(&whole.differences(), new);
        // A resumed export goes on counting.
        let mut first = checker(on_new);
        odd()[..2]
            .iter()
            .for_each(|record| first.check(record).unwrap());
        let counts = serde_json::to_string(&first.counts).unwrap();
        let counts: Counts = serde_json::from_str(&counts).unwrap();
        let mut second = checker(on_new);
        second.counts = counts;
        odd()[2..]
            .iter()
            .for_each(|record| second.check(record).unwrap());
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
    assert!(
        error
            .message()
            .contains("record 0 of the list: /o/b/1/new~1er"),
        "{error}"
    );
}

#[test]
fn a_nullable_field_is_missing_where_no_record_has_it() {
    let options = TableOptions {
        schema: Some(Arc::new(infer(&[record("{}"), record(SAMPLE)]))),
        ..TableOptions::default()
    };
    let mut checker = Checker::new(&options).unwrap();
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
    checker
        .check(&record(format!("{{{}}}", members.join(","))))
        .unwrap();
    let new = checker.differences().new_fields;
    assert_eq!((new.len(), new["..."].count), (1001, 2000));
}
