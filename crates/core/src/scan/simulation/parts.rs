//! Lists that are read in parts, in any order, while they change.

mod cuts;

use super::lists::{Change, Copies, List, Order};
use super::services::rounds;
use super::{Run, Service, scan};
use crate::record::{Identity, IdentityKey};
use crate::scan::part::{Division, Piece};
use crate::scan::{Basis, Completeness, Doubt, PartRead, Receipt};
use fastrand::Rng;
use std::collections::HashSet;

/// A plan of a simulated list: its pieces, and the totals that it has seen.
fn plan(
    list: &mut List,
    parts: u64,
    page_size: u64,
    key: &IdentityKey,
) -> (Vec<Piece>, (u64, u64)) {
    let first = list.page(0, page_size);
    let granted = first.records.len() as u64;
    let mut division = Division::new(first.total, granted, first.has_more, parts);
    for offset in division.offsets() {
        let page = list.page(offset, page_size);
        let ids: Vec<Identity> = (page.records.iter())
            .map(|record| {
                let (bytes, by_id) = list.identity(*record);
                key.identify(&bytes.to_le_bytes(), by_id)
            })
            .collect();
        division.take(offset, page.total, ids);
    }
    (division.pieces(), division.totals)
}

/// What reading a list in parts has brought.
struct Parts {
    delivered: Vec<u64>,
    receipt: Receipt,
    requests: u64,
}

/// Reads a list in parts of random order; `between` happens before each; none where a part failed.
fn in_parts(
    list: &mut List,
    parts: u64,
    page_size: u64,
    seed: u64,
    between: impl Fn(&mut List, &mut Rng),
) -> Option<Parts> {
    let mut random = Rng::with_seed(seed);
    let key = IdentityKey::random();
    let (pieces, totals) = plan(list, parts, page_size, &key);
    let of = pieces.len() as u64;
    let mut order: Vec<(u64, Piece)> = (1..).zip(pieces).collect();
    random.shuffle(&mut order);
    let (mut delivered, mut receipts, mut requests) = (Vec::new(), Vec::new(), of);
    for (part, piece) in order {
        between(list, &mut random);
        let planned = piece.records(totals.1);
        let mut run = Run::of(page_size, 4, seed % 2 == 1);
        run.part = Some((piece, key));
        let outcome = match scan(list, &run, &mut random) {
            Ok(outcome) => outcome,
            Err(error) => {
                println!("failed: part {part} of {of}, seed {seed}: {error}");
                return None;
            }
        };
        requests += outcome.requests;
        let proven = outcome.doubts.is_empty();
        receipts.push(Receipt {
            records: outcome.delivered.len() as u64,
            completeness: match proven {
                true => Completeness::Proven,
                false => Completeness::NotProven,
            },
            basis: proven.then_some(Basis::Joined),
            doubts: outcome.doubts,
            part: Some(PartRead {
                plan: String::new(),
                part,
                of,
                total_lowest: totals.0.min(outcome.totals.0),
                total_highest: totals.1.max(outcome.totals.1),
                planned_records: planned,
            }),
            ..Receipt::default()
        });
        delivered.extend(outcome.delivered);
    }
    let receipt = Receipt::of_parts(receipts).unwrap();
    Some(Parts {
        delivered,
        receipt,
        requests,
    })
}

/// What the union of plain ranges of offsets has lost or repeated.
fn naive(list: &mut List, parts: u64, page_size: u64) -> bool {
    let total = list.page(0, page_size).total;
    let mut delivered = Vec::new();
    for part in 0..parts {
        let (mut offset, end) = (total * part / parts, total * (part + 1) / parts);
        while offset < end {
            let page = list.page(offset, page_size.min(end - offset));
            if page.records.is_empty() {
                break;
            }
            offset += page.records.len() as u64;
            delivered.extend(page.records);
        }
    }
    !is_complete(list, &delivered)
}

fn is_complete(list: &List, delivered: &[u64]) -> bool {
    let distinct: HashSet<&u64> = delivered.iter().collect();
    distinct.len() == delivered.len() && list.stable().all(|record| distinct.contains(record))
}

/// Sizes of list and page, and parts.
const SHAPES: [(u64, u64, u64); 7] = [
    (1000, 100, 4),
    (3000, 100, 8),
    (1000, 50, 8),
    (300, 20, 5),
    (400, 20, 12),
    (200, 20, 50),
    (150, 100, 3),
];

#[derive(Debug, Default)]
struct Seen {
    reads: u64,
    wrong: u64,
    doubted: u64,
    failed: u64,
    naive_wrong: u64,
    requests: u64,
    doubts: Vec<Doubt>,
}

fn seen(
    change: Change,
    order: Order,
    copies: Copies,
    between: impl Fn(&mut List, &mut Rng) + Copy,
) -> Seen {
    let mut seen = Seen::default();
    for (size, page_size, parts) in SHAPES {
        for seed in 0..rounds(20) {
            let new = || {
                let mut list = List::new(size, change, seed ^ 0x9a27);
                (list.order, list.copies) = (order, copies);
                list
            };
            let mut list = new();
            seen.reads += 1;
            seen.naive_wrong += u64::from(naive(&mut new(), parts, page_size));
            let Some(read) = in_parts(&mut list, parts, page_size, seed, between) else {
                seen.failed += 1;
                continue;
            };
            seen.requests += read.requests;
            let complete = is_complete(&list, &read.delivered);
            if read.receipt.completeness != Completeness::Proven {
                seen.doubted += 1;
                seen.doubts.extend(&read.receipt.doubts);
            } else if !complete {
                let stable = list.stable().filter(|one| !read.delivered.contains(one));
                println!(
                    "wrong: {change:?}, {order:?}, {size} in pages of {page_size}, {parts} parts, seed {seed}: lost {:?}",
                    stable.collect::<Vec<_>>()
                );
                seen.wrong += 1;
            }
        }
    }
    seen.doubts.sort_by_key(|doubt| *doubt as u32);
    seen.doubts.dedup();
    seen
}

fn nothing(_: &mut List, _: &mut Rng) {}

#[test]
fn a_list_that_stands_still_is_proven() {
    for size in [0, 1, 2, 99, 100, 101, 199, 200, 201, 399, 1000, 9901] {
        for parts in [1, 2, 3, 8, 100] {
            let mut list = List::new(size, Change::None, size);
            let read = in_parts(&mut list, parts, 100, size, nothing).unwrap();
            let mut delivered = read.delivered;
            delivered.sort_unstable();
            assert_eq!(delivered, list.records, "{size} records, {parts} parts");
            assert_eq!(read.receipt.doubts, []);
            assert_eq!(read.receipt.completeness, Completeness::Proven);
        }
    }
}

#[test]
fn parts_of_a_list_that_inserts_and_deletes_are_complete_together() {
    for change in [
        Change::Insert(0.5),
        Change::Delete(0.5),
        Change::InsertAndDelete(0.3),
        Change::InsertAndDelete(1.0),
        Change::BulkDelete(0.2),
        Change::DeleteOne,
        Change::DeleteFirst,
        Change::InsertOne,
        Change::InsertFirst,
        Change::Append,
        Change::Around {
            inserts: 1,
            deletes: 1,
        },
    ] {
        let seen = seen(change, Order::Stable, Copies::One, nothing);
        println!("{change:?}: {seen:?}");
        assert_eq!((seen.wrong, seen.failed), (0, 0), "{change:?}");
        let moves = !matches!(change, Change::Append);
        assert_eq!(seen.naive_wrong > 0, moves, "{change:?}");
    }
}

#[test]
fn parts_of_a_list_without_a_stable_order_are_never_proven_with_a_loss() {
    for (order, change) in [
        (Order::Random, Change::None),
        (Order::Ties(3), Change::None),
        (Order::Ties(7), Change::None),
        (Order::Ties(7), Change::InsertAndDelete(0.5)),
        (Order::Stable, Change::MoveToEnd(0.3)),
        (Order::Stable, Change::MoveToFront(0.3)),
        (Order::Stable, Change::MoveAnywhere(0.3)),
    ] {
        let seen = seen(change, order, Copies::One, nothing);
        println!("{order:?}, {change:?}: {seen:?}");
        // Records of two parts that change places, each to where the other part was not read yet or is read already,
        // leave all counts as they were.
        let bearable = u64::from(change == Change::MoveAnywhere(0.3)) * seen.reads / 100;
        assert!(seen.wrong <= bearable, "{order:?}, {change:?}: {seen:?}");
        assert!(seen.doubted > 0, "{order:?}, {change:?}");
    }
}
