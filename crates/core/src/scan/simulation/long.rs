//! Long lists, read in one run or in two, that change far from where the scan is: what a bounded memory of
//! identities could not see.

use super::lists::{Change, List};
use super::services::rounds;
use super::{Page, Run, Service, scan};
use crate::scan::Doubt;
use fastrand::Rng;
use std::collections::HashSet;

/// What came of a scan in one run or in two.
struct Outcome {
    delivered: Vec<u64>,
    doubts: Vec<Doubt>,
    requests: u64,
}

impl Outcome {
    fn is_proven(&self) -> bool {
        self.doubts.is_empty()
    }

    fn repeats(&self) -> usize {
        self.delivered.len() - self.delivered.iter().collect::<HashSet<_>>().len()
    }

    fn lost<'a>(&self, stable: impl Iterator<Item = &'a u64>) -> usize {
        let delivered: HashSet<&u64> = self.delivered.iter().collect();
        stable.filter(|record| !delivered.contains(record)).count()
    }
}

/// Reads a list in pages of 100; stopped after `stop` requests, if at all, the list changes and the scan is resumed.
fn read<S: Service>(
    list: &mut S,
    stop: Option<u64>,
    seed: u64,
    between: impl FnOnce(&mut S),
) -> Outcome {
    let mut random = Rng::with_seed(seed);
    let mut run = Run::of(100, 48, true);
    run.stop = stop;
    let mut first = scan(list, &run, &mut random).unwrap();
    if let Some(position) = first.position.take() {
        between(list);
        (run.stop, run.resume) = (None, Some(position));
        let second = scan(list, &run, &mut random).unwrap();
        first.delivered.extend(second.delivered);
        first.doubts = second.doubts;
        first.requests += second.requests;
    }
    Outcome {
        delivered: first.delivered,
        doubts: first.doubts,
        requests: first.requests,
    }
}

/// A list of which certain records move at certain requests; its total never changes.
struct Moving {
    list: List,
    /// At which request, which record, and to where: from 0, the front, to 1, the end.
    moves: Vec<(u64, u64, f64)>,
    requests: u64,
}

impl Service for Moving {
    fn page(&mut self, offset: u64, limit: u64) -> Page {
        for (at, record, to) in &self.moves {
            if *at == self.requests {
                let records = &mut self.list.records;
                let from = records.iter().position(|other| other == record).unwrap();
                let record = records.remove(from);
                records.insert((*to * records.len() as f64) as usize, record);
            }
        }
        self.requests += 1;
        self.list.page(offset, limit)
    }
}

#[test]
fn two_records_that_pass_the_scan_are_not_hidden_by_a_total_that_stands_still() {
    for size in [20_000, 30_000] {
        let mut list = Moving {
            list: List::new(size, Change::None, 1),
            moves: vec![(size / 200, 50, 1.0), (size / 200, size - 3_000, 0.0)],
            requests: 0,
        };
        let outcome = read(&mut list, None, 1, |_| ());
        assert_eq!(outcome.lost(list.list.stable()), 1);
        assert!(!outcome.is_proven());
        assert_eq!(outcome.repeats(), 0);
    }
}

#[test]
fn moves_alone_are_never_proven_with_a_loss() {
    let (mut proven, mut scans) = (0, 0);
    for seed in 0..rounds(60) {
        let mut random = Rng::with_seed(seed);
        let size = random.u64(20_000..=40_000);
        let moves = (0..random.usize(1..=6))
            .map(|_| (random.u64(..size / 99), random.u64(..size), random.f64()))
            .collect();
        let mut list = Moving {
            list: List::new(size, Change::None, seed),
            moves,
            requests: 0,
        };
        let outcome = read(&mut list, None, seed, |_| ());
        let wrong = outcome.lost(list.list.stable()) + outcome.repeats();
        assert!(wrong == 0 || !outcome.is_proven(), "seed {seed}");
        proven += u64::from(outcome.is_proven());
        scans += 1;
    }
    println!("{proven} of {scans} proven");
    assert!(proven > 0);
}

#[test]
fn thousands_of_inserts_in_front_between_two_runs_repeat_nothing() {
    for inserts in [4_960, 5_000, 5_040, 12_000] {
        let mut list = List::new(25_000, Change::None, inserts);
        let outcome = read(&mut list, Some(111), inserts, |list| {
            (0..inserts).for_each(|_| list.insert(0));
        });
        assert_eq!(
            (outcome.repeats(), outcome.lost(list.stable())),
            (0, 0),
            "{inserts}"
        );
        assert_eq!(outcome.doubts, [], "{inserts}");
        assert!(
            outcome.requests < 253 + 2 * inserts / 99 + 200,
            "{inserts}: {}",
            outcome.requests
        );
    }
}

/// Sorted by time of change, the newest first: what is updated moves to the front.
#[test]
fn updates_between_two_runs_of_a_list_sorted_by_time_of_change_are_noticed() {
    let mut losses = 0;
    for seed in 0..rounds(40) {
        let mut list = List::new(20_000, Change::None, seed);
        let outcome = read(&mut list, Some(85), seed, |list| {
            let mut random = Rng::with_seed(seed);
            for _ in 0..300 {
                let record = list.records.remove(random.usize(..list.records.len()));
                list.records.insert(0, record);
            }
            (0..40).for_each(|_| list.insert(0));
        });
        let lost = outcome.lost(list.stable());
        assert!(lost == 0 || !outcome.is_proven(), "seed {seed}");
        losses += u64::from(lost > 0);
    }
    // Otherwise nothing was there to be noticed.
    assert!(losses * 10 > 9 * rounds(40), "{losses}");
}

#[test]
fn long_lists_stopped_anywhere_are_complete_whatever_was_inserted_and_deleted_meanwhile() {
    let mut doubted = 0;
    let all = rounds(60);
    for seed in 0..all {
        let mut random = Rng::with_seed(seed);
        let size = random.u64(20_000..=100_000);
        let change = [
            Change::None,
            Change::InsertAndDelete(0.3),
            Change::Delete(0.3),
            Change::Insert(0.3),
        ];
        let mut list = List::new(size, change[seed as usize % 4], seed);
        let stop = random.u64(2..size / 99);
        let outcome = read(&mut list, Some(stop), seed, |list| {
            for _ in 0..random.usize(..8_000) {
                let length = list.records.len();
                match seed / 4 % 4 {
                    0 => list.insert(random.usize(..=length)),
                    1 => drop(list.records.remove(random.usize(..length))),
                    2 if random.bool() => list.insert(random.usize(..=length)),
                    2 => drop(list.records.remove(random.usize(..length))),
                    _ => list.insert(0),
                }
            }
        });
        if outcome.is_proven() {
            let wrong = (outcome.repeats(), outcome.lost(list.stable()));
            assert_eq!(wrong, (0, 0), "seed {seed}");
        } else {
            println!("seed {seed}: {:?}", outcome.doubts);
            doubted += 1;
        }
    }
    println!("{doubted} of {all} doubted");
    assert!(doubted * 50 <= all, "{doubted}");
}

/// Counted and printed: a move between two runs may leave no trace.
#[test]
fn moves_between_two_runs_are_mostly_noticed() {
    let (mut proven, mut wrong) = (0, 0);
    let all = rounds(60);
    for seed in 0..all {
        let mut random = Rng::with_seed(seed);
        let mut list = List::new(random.u64(20_000..=60_000), Change::None, seed);
        let stop = random.u64(2..list.records.len() as u64 / 99);
        let outcome = read(&mut list, Some(stop), seed, |list| {
            for _ in 0..random.usize(1..2_000) {
                let record = list.records.remove(random.usize(..list.records.len()));
                list.records
                    .insert(random.usize(..=list.records.len()), record);
            }
        });
        proven += u64::from(outcome.is_proven());
        wrong +=
            u64::from(outcome.is_proven() && outcome.repeats() + outcome.lost(list.stable()) > 0);
    }
    println!("{proven} of {all} proven, of these {wrong} wrong");
    // The total stands still, so that the count tells.
    assert_eq!(wrong, 0);
}
