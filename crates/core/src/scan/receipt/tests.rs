//! Receipts of several runs, and of scans that were not taken to their end.

use super::*;

fn receipt(records: u64, doubts: Vec<Doubt>) -> Receipt {
    Receipt {
        completeness: Completeness::Proven,
        doubts,
        records,
        seconds: records as f64,
        budget_used: 1.0 / records as f64,
        total_first: Some(records as i64),
        unknown_fields: [("a".to_owned(), records)].into(),
        unknown_values: [("b".to_owned(), [("c".to_owned(), records)].into())].into(),
        ..Receipt::default()
    }
}

#[test]
fn two_runs_are_counted_together() {
    let both = receipt(3, Vec::new()).after(&receipt(1, Vec::new()));
    assert_eq!((both.resumed, both.records), (1, 4));
    assert_eq!((both.seconds, both.budget_used), (4.0, 0.5));
    assert_eq!(both.total_first, Some(1));
    assert_eq!(both.unknown_fields["a"], 4);
    assert_eq!(both.unknown_values["b"]["c"], 4);
    assert_eq!(both.completeness, Completeness::Proven);
    assert_eq!(receipt(1, Vec::new()).after(&both).resumed, 2);
}

#[test]
fn a_scan_is_unfinished_until_the_caller_has_every_record() {
    let part = Receipt {
        basis: Some(Basis::Joined),
        assumes: Some(ASSUMES.to_owned()),
        ..receipt(3, Vec::new())
    };
    let part = part.without(1);
    assert_eq!((part.basis, part.assumes), (None, None));
    assert_eq!(
        (part.records, part.completeness),
        (2, Completeness::Unfinished)
    );
    let whole = receipt(3, Vec::new()).without(0);
    assert_eq!(whole, receipt(3, Vec::new()));
}

#[test]
fn a_doubt_of_any_run_stays() {
    let first = receipt(1, vec![Doubt::MovedTooFar]);
    let both = receipt(1, vec![Doubt::MovedTooFar, Doubt::EmptyPage]).after(&first);
    assert_eq!(both.doubts, [Doubt::MovedTooFar, Doubt::EmptyPage]);
    let both = receipt(1, Vec::new()).after(&first);
    assert_eq!(both.completeness, Completeness::NotProven);
}
