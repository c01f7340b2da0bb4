//! What happens where a list is cut into parts: anchors that slide or are gone, and records that come between.

use super::super::lists::{Change, List};
use super::super::services::rounds;
use super::{Parts, in_parts, is_complete, nothing};
use crate::scan::Completeness;
use std::collections::HashSet;

/// Reads a list of 3,000 in four parts after something has happened to it, and says what was proven.
fn after(change: impl Fn(&mut List)) -> (List, Parts) {
    let mut list = List::new(3_000, Change::None, 1);
    let changed = std::cell::Cell::new(false);
    let read = in_parts(&mut list, 4, 100, 1, |list, _| {
        if !changed.replace(true) {
            change(list);
        }
    });
    (list, read.unwrap())
}

#[test]
fn anchors_are_found_where_they_have_slid_to() {
    for slid in [30, 150, 1_000, 2_500] {
        let (list, read) = after(|list| {
            let new: Vec<u64> = (10_000..10_000 + slid).collect();
            list.records.splice(0..0, new);
        });
        assert_eq!(read.receipt.completeness, Completeness::Proven, "{slid}");
        assert!(is_complete(&list, &read.delivered), "{slid} in front");
        let (list, read) = after(|list| drop(list.records.drain(..slid.min(600) as usize)));
        assert_eq!(read.receipt.completeness, Completeness::Proven, "{slid}");
        assert!(is_complete(&list, &read.delivered), "{slid} gone");
    }
}

#[test]
fn where_an_anchor_is_gone_nothing_is_lost_and_nothing_proven() {
    // The anchor pages begin at 700, 1,450 and 2,200, and are cut at 750, 1,500 and 2,250.
    for gone in [700..800, 700..750, 750..800, 600..900] {
        let (list, read) = after(|list| drop(list.records.drain(gone.clone())));
        let delivered: HashSet<&u64> = read.delivered.iter().collect();
        assert!(list.stable().all(|record| delivered.contains(record)));
        assert_eq!(
            read.receipt.completeness,
            Completeness::NotProven,
            "{gone:?}"
        );
    }
    for left in [720..780, 701..799] {
        let gone = left.start..left.end;
        let (list, read) = after(|list| drop(list.records.drain(gone.clone())));
        let proven = read.receipt.completeness == Completeness::Proven;
        assert_eq!(proven, left.start > 703, "{left:?}");
        assert!(is_complete(&list, &read.delivered), "{left:?}");
    }
}

/// Where the part behind reads a page again, the page may end within the new records.
#[test]
fn neighbours_that_are_inserted_at_a_cut_come_once() {
    let mut proven = 0;
    for seed in 0..rounds(150) {
        let mut list = List::new(1_000, Change::BulkInsert(40), seed);
        let read = in_parts(&mut list, 8, 50, seed, nothing).unwrap();
        if read.receipt.completeness == Completeness::Proven {
            proven += 1;
            assert!(is_complete(&list, &read.delivered), "seed {seed}");
        }
    }
    assert!(2 * proven > rounds(150), "{proven}");
}

#[test]
fn where_more_came_between_than_a_page_holds_nothing_is_lost_and_nothing_proven() {
    let (list, read) = after(|list| drop(list.records.splice(750..750, 10_000..10_150)));
    let delivered: HashSet<&u64> = read.delivered.iter().collect();
    assert!(list.stable().all(|record| delivered.contains(record)));
    assert_eq!(read.receipt.completeness, Completeness::NotProven);
}

/// All that was read before the cut may vanish between two pages of the part behind.
#[test]
fn a_part_ends_whatever_is_deleted_before_it() {
    for seed in 0..rounds(100) {
        let mut list = List::new(400, Change::BulkDelete(0.2), seed ^ 0x9a27);
        let read = in_parts(&mut list, 12, 20, seed, nothing);
        assert!(read.is_some(), "seed {seed}");
    }
}
