//! Scans that are stopped and resumed, while the list changes or is turned upside down in between.

use super::lists::{Change, List};
use super::{Run, scan};
use crate::scan::Doubt;
use fastrand::Rng;
use std::collections::HashSet;

/// Scans in several runs, `between` which something happens; returns what was delivered and the doubts, or none
/// where a run failed.
fn in_runs(
    list: &mut List,
    page_size: u64,
    seed: u64,
    mut stop: impl FnMut(&mut Rng) -> u64,
    mut between: impl FnMut(&mut List, &mut Rng),
) -> (Vec<u64>, Option<Vec<Doubt>>) {
    let mut random = Rng::with_seed(seed);
    let mut run = Run::of(page_size, 4, seed % 2 == 1);
    let mut delivered = Vec::new();
    for round in 0..40 {
        // The last run goes to the end: a list that grows at every request outruns short ones.
        run.stop = (round < 30).then(|| stop(&mut random));
        let Ok(outcome) = scan(list, &run, &mut random) else {
            return (delivered, None);
        };
        delivered.extend(&outcome.delivered);
        if outcome.position.is_none() {
            return (delivered, Some(outcome.doubts));
        }
        run.resume = outcome.position;
        between(list, &mut random);
    }
    panic!("no end");
}

fn is_complete(list: &List, delivered: &[u64]) -> bool {
    let distinct: HashSet<&u64> = delivered.iter().collect();
    distinct.len() == delivered.len() && list.stable().all(|record| distinct.contains(record))
}

#[test]
fn a_resumed_scan_of_a_list_that_inserts_and_deletes_is_complete_over_all_runs() {
    let mut doubted = 0;
    for seed in 0..2_000 {
        let mut random = Rng::with_seed(seed);
        let page_size = random.u64(5..=40);
        let mut list = List::new(random.u64(..400), Change::InsertAndDelete(0.4), seed);
        let stop = |random: &mut Rng| random.u64(1..=8);
        let (delivered, doubts) = in_runs(&mut list, page_size, seed, stop, |_, _| ());
        assert!(
            is_complete(&list, &delivered) || doubts != Some(Vec::new()),
            "seed {seed}"
        );
        if doubts != Some(Vec::new()) {
            println!("seed {seed}, {page_size} a page: {doubts:?}");
            doubted += 1;
        }
    }
    println!("{doubted} of 2000 doubted");
    assert!(doubted < 10);
}

#[test]
fn a_list_turned_upside_down_between_two_runs_is_not_proven() {
    type HeadOfQueue = fn(&mut List, &mut Rng);
    let turns: [(&str, HeadOfQueue); 4] = [
        ("reversed", |list, _| list.records.reverse()),
        ("shuffled", |list, random| random.shuffle(&mut list.records)),
        ("200 moved to the end", |list, _| {
            list.records.rotate_left(200)
        }),
        ("200 moved to the front", |list, _| {
            list.records.rotate_right(200)
        }),
    ];
    for (name, turn) in turns {
        let mut wrong = 0;
        for seed in 0..60 {
            let mut turned = false;
            let mut list = List::new(7_000, Change::None, seed);
            let stop = |random: &mut Rng| random.u64(20..=50);
            let (delivered, doubts) = in_runs(&mut list, 100, seed, stop, |list, random| {
                if !std::mem::replace(&mut turned, true) {
                    turn(list, random);
                }
            });
            assert!(turned, "{name}, seed {seed}");
            let proven = doubts == Some(Vec::new());
            wrong += u32::from(proven && !is_complete(&list, &delivered));
        }
        assert_eq!(wrong, 0, "{name}");
    }
}

#[test]
fn what_was_delivered_may_vanish_between_two_runs() {
    for seed in 0..100 {
        let mut gone = false;
        let mut list = List::new(3_000, Change::None, seed);
        let stop = |random: &mut Rng| random.u64(5..=20);
        let (delivered, doubts) = in_runs(&mut list, 100, seed, stop, |list, random| {
            if !std::mem::replace(&mut gone, true) {
                list.records.drain(..random.usize(..400));
            }
        });
        assert_eq!(doubts, Some(Vec::new()), "seed {seed}");
        assert!(is_complete(&list, &delivered), "seed {seed}");
    }
}
