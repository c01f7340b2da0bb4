//! What a scan may claim about services of many kinds, by thousands of seeds.

use super::lists::{Change, Copies, List, Order};
use super::{Run, pages, scan};
use crate::error::ErrorKind;
use fastrand::Rng;

/// What was seen in many scans of one kind of service.
#[derive(Debug, Default)]
struct Tally {
    scans: u64,
    /// Proven, yet a record that was in the list all the time was lost, or one came twice.
    wrong: u64,
    doubted: u64,
    failed: u64,
    /// Requests for each page of a list that does not change.
    cost: f64,
}

/// Seeds for each shape; more by TALENTDATA_ROUNDS.
pub(super) fn rounds(few: u64) -> u64 {
    let rounds = std::env::var("TALENTDATA_ROUNDS").ok();
    rounds.and_then(|rounds| rounds.parse().ok()).unwrap_or(few)
}

/// Sizes of list and page, and pages read ahead.
const SHAPES: [(u64, u64, usize); 8] = [
    (300, 20, 1),
    (300, 20, 4),
    (1000, 100, 1),
    (1000, 100, 6),
    (200, 10, 4),
    (150, 5, 3),
    (60, 2, 2),
    (40, 1, 1),
];

fn tally(change: Change, order: Order, copies: Copies, smallest_page: u64) -> Tally {
    let mut tally = Tally::default();
    let shapes = SHAPES
        .iter()
        .filter(|(_, page_size, _)| *page_size >= smallest_page);
    for &(size, page_size, ahead) in shapes {
        for seed in 0..rounds(60) {
            let mut random = Rng::with_seed(seed);
            let mut list = List::new(size, change, seed ^ 0x5eed);
            (list.order, list.copies) = (order, copies);
            let run = Run::of(page_size, ahead, seed % 2 == 1);
            tally.scans += 1;
            let outcome = match scan(&mut list, &run, &mut random) {
                Ok(outcome) => outcome,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Paging, "{error}");
                    println!(
                        "failed: {change:?}, {order:?}, {size} in pages of {page_size}, {ahead} ahead, seed {seed}: {error}"
                    );
                    tally.failed += 1;
                    continue;
                }
            };
            tally.cost += outcome.requests as f64 / pages(size, page_size) as f64;
            // One that moved while others came and went gives itself away by nothing.
            let mixed = matches!(change, Change::Everything(_));
            let stayed = list
                .stable()
                .filter(|record| !mixed || !list.moved.contains(record));
            let lost = outcome.lost(stayed);
            if !outcome.doubts.is_empty() {
                tally.doubted += 1;
            } else if outcome.repeats() + lost > 0 {
                println!(
                    "wrong: {change:?}, {order:?}, {size} in pages of {page_size}, {ahead} ahead, seed {seed}"
                );
                tally.wrong += 1;
            }
        }
    }
    tally.cost /= tally.scans as f64;
    tally
}

#[test]
fn a_list_that_stands_still_is_proven_by_its_count() {
    for size in [0, 1, 2, 99, 100, 101, 199, 200, 1000, 9901] {
        let mut list = List::new(size, Change::None, size);
        let run = Run::of(100, 48, true);
        let outcome = scan(&mut list, &run, &mut Rng::with_seed(size)).unwrap();
        assert_eq!(outcome.delivered, list.records);
        assert_eq!(outcome.doubts, []);
        assert!(outcome.counted);
        // The end is read once more, and so is the beginning of a list of several pages.
        let again = 1 + u64::from(size > 100);
        assert_eq!(outcome.requests, pages(size, 100) + again, "{size} records");
    }
}

#[test]
fn lists_that_only_insert_and_delete_are_proven_and_nothing_is_lost() {
    for change in [
        Change::Insert(0.5),
        Change::Delete(0.5),
        Change::InsertAndDelete(0.3),
        Change::InsertAndDelete(1.0),
        Change::BulkDelete(0.5),
        Change::BulkInsert(5),
        Change::DeleteOne,
        Change::Append,
        Change::Around {
            inserts: 2,
            deletes: 1,
        },
        Change::Around {
            inserts: 1,
            deletes: 2,
        },
    ] {
        let tally = tally(change, Order::Stable, Copies::One, 5);
        println!("{change:?}: {tally:?}");
        assert_eq!((tally.wrong, tally.failed), (0, 0), "{change:?}");
        // Fewer than 0.5 % are doubted for no reason.
        assert!(tally.doubted * 200 < tally.scans, "{change:?}: {tally:?}");
    }
}

#[test]
fn responses_that_are_empty_now_and_then_lose_nothing() {
    for change in [Change::None, Change::InsertAndDelete(0.3)] {
        let tally = tally(change, Order::Stable, Copies::Empty, 5);
        println!("{change:?}, one response in ten empty: {tally:?}");
        assert_eq!((tally.wrong, tally.failed), (0, 0), "{change:?}");
        // Such a response may come where the list ends, several times in a row.
        assert!(tally.doubted * 10 < tally.scans, "{change:?}: {tally:?}");
    }
}

#[test]
fn what_has_no_stable_order_is_never_proven_with_a_loss() {
    for (order, change) in [
        (Order::Random, Change::None),
        (Order::Ties(3), Change::None),
        (Order::Ties(7), Change::None),
        (Order::Ties(12), Change::None),
        (Order::TieAtEdge(3), Change::None),
        (Order::TieAtEdge(10), Change::None),
        (Order::Ties(7), Change::InsertAndDelete(0.5)),
        (Order::Stable, Change::MoveToEnd(0.3)),
        (Order::Stable, Change::MoveToFront(0.3)),
        (Order::Stable, Change::MoveAnywhere(0.3)),
        (Order::Stable, Change::Everything(0.3)),
    ] {
        let tally = tally(change, order, Copies::One, 1);
        println!("{order:?}, {change:?}: {tally:?}");
        // Moves together with inserts and deletes may give themselves away by nothing: counted, and seldom.
        let bearable = match change {
            Change::Everything(_) => tally.scans / 400,
            _ => 0,
        };
        assert!(tally.wrong <= bearable, "{order:?}, {change:?}: {tally:?}");
        assert!(tally.doubted > 0, "{order:?}, {change:?}: {tally:?}");
    }
}

/// A record that moves from ahead of the frontier to behind it is lost, and nothing tells so; but where it stands then must
/// not hide any other.
#[test]
fn a_record_that_moves_while_others_are_deleted_hides_no_other() {
    let shapes = SHAPES.iter().filter(|(_, page_size, _)| *page_size >= 5);
    for &(size, page_size, ahead) in shapes {
        let (mut proven, mut wrong) = (0, 0);
        for (seed, deletes) in (0..rounds(200)).flat_map(|seed| [1, 2, 3, 4].map(|few| (seed, few)))
        {
            let mut list = List::new(size, Change::MoveAndDelete(deletes), seed);
            let run = Run::of(page_size, ahead, seed % 2 == 1);
            let Ok(outcome) = scan(&mut list, &run, &mut Rng::with_seed(seed)) else {
                continue;
            };
            if outcome.doubts.is_empty() {
                let stayed = list.stable().filter(|record| !list.moved.contains(record));
                proven += 1;
                wrong += u64::from(outcome.lost(stayed) > 0);
            }
        }
        println!("{size} in pages of {page_size}, {ahead} ahead: {wrong} of {proven} wrong");
        // Several that have moved may look like a page of the list; the receipt says that the order is assumed to last.
        let bearable = proven / if page_size < 10 { 5 } else { 25 };
        assert!(
            wrong <= bearable,
            "pages of {page_size}: {wrong} of {proven}"
        );
        assert!(proven > 0, "pages of {page_size}");
    }
}

#[test]
fn copies_that_lag_behind_are_noticed() {
    let turn = tally(Change::None, Order::Stable, Copies::InTurn, 1);
    println!("in turn: {turn:?}");
    // Pages that are answered in any order may all come from the copy that lags.
    assert!(turn.wrong * 200 < turn.scans, "{turn:?}");
    // Where chance has every response come from the copy that lags, nothing tells it from a shorter list.
    let random = tally(Change::None, Order::Stable, Copies::AtRandom, 1);
    println!("at random: {random:?}");
    assert!(random.wrong * 20 < random.scans, "{random:?}");
}

#[test]
fn a_change_at_every_page_costs_at_most_two_fifths_more() {
    for change in [
        Change::DeleteOne,
        Change::DeleteFirst,
        Change::InsertOne,
        Change::InsertFirst,
    ] {
        let mut requests = 0;
        for seed in 0..100 {
            let mut list = List::new(3000, change, seed);
            let run = Run::of(100, 16, false);
            requests += scan(&mut list, &run, &mut Rng::with_seed(seed))
                .unwrap()
                .requests;
        }
        let cost = requests as f64 / 100.0 / pages(3000, 100) as f64;
        println!("{change:?}: {cost:.2} times the pages of a list that stands still");
        assert!(cost <= 1.4, "{change:?}: {cost}");
    }
}
