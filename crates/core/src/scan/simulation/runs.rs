//! Scans of long lists that change far from where the scan is, and scans that are stopped and resumed, while the list
//! changes or is turned upside down in between.

use super::lists::{Change, List};
use super::services::rounds;
use super::{Outcome, Page, Run, Service, in_runs};
use fastrand::Rng;

/// Reads a list in pages of 100; stopped after `stop` requests, if at all, the list changes and the scan is resumed.
fn read<S: Service>(
    list: &mut S,
    stop: Option<u64>,
    seed: u64,
    mut between: impl FnMut(&mut S),
) -> Outcome {
    let (run, mut random) = (Run::of(100, 48, true), Rng::with_seed(seed));
    let stop = |run, _: &mut Rng| stop.filter(|_| run == 0);
    in_runs(list, run, &mut random, stop, |list, _| between(list)).unwrap()
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

fn moving(size: u64, moves: Vec<(u64, u64, f64)>) -> Moving {
    Moving {
        list: List::new(size, Change::None, 1),
        moves,
        requests: 0,
    }
}

#[test]
fn two_records_that_pass_the_scan_are_not_hidden_by_a_total_that_stands_still() {
    for size in [20_000, 30_000] {
        let moves = vec![(size / 200, 50, 1.0), (size / 200, size - 3_000, 0.0)];
        let mut list = moving(size, moves);
        let outcome = read(&mut list, None, 1, |_| ());
        assert_eq!(outcome.lost(list.list.stable()), 1);
        assert!(!outcome.is_proven());
        assert_eq!(outcome.repeats(), 0);
    }
}

#[test]
fn moves_alone_are_never_proven_with_a_loss() {
    let mut proven = 0;
    for seed in 0..rounds(60) {
        let mut random = Rng::with_seed(seed);
        let size = random.u64(20_000..=40_000);
        let moves = 1..=random.usize(1..=6);
        let moves = moves.map(|_| (random.u64(..size / 99), random.u64(..size), random.f64()));
        let mut list = moving(size, moves.collect());
        let outcome = read(&mut list, None, seed, |_| ());
        let wrong = outcome.wrong(&list.list);
        assert!(wrong == 0 || !outcome.is_proven(), "seed {seed}");
        proven += u64::from(outcome.is_proven());
    }
    println!("{proven} of {} proven", rounds(60));
    assert!(proven > 0);
}

#[test]
fn thousands_of_inserts_in_front_between_two_runs_repeat_nothing() {
    for inserts in [4_960, 5_000, 5_040, 12_000] {
        let mut list = List::new(25_000, Change::None, inserts);
        let outcome = read(&mut list, Some(111), inserts, |list| {
            (0..inserts).for_each(|_| list.insert(0));
        });
        assert_eq!(outcome.wrong(&list), 0, "{inserts}");
        assert_eq!(outcome.doubts, [], "{inserts}");
        let most = 253 + 2 * inserts / 99 + 200;
        assert!(outcome.requests < most, "{inserts}: {}", outcome.requests);
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
            assert_eq!(outcome.wrong(&list), 0, "seed {seed}");
        } else {
            println!("seed {seed}: {:?}", outcome.doubts);
            doubted += 1;
        }
    }
    println!("{doubted} of {all} doubted");
    assert!(doubted * 50 <= all, "{doubted}");
}

/// The total stands still, so that the count tells.
#[test]
fn moves_between_two_runs_are_never_proven_with_a_loss() {
    let (mut proven, all) = (0, rounds(60));
    for seed in 0..all {
        let mut random = Rng::with_seed(seed);
        let mut list = List::new(random.u64(20_000..=60_000), Change::None, seed);
        let stop = random.u64(2..list.records.len() as u64 / 99);
        let outcome = read(&mut list, Some(stop), seed, |list| {
            let records = &mut list.records;
            for _ in 0..random.usize(1..2_000) {
                let record = records.remove(random.usize(..records.len()));
                records.insert(random.usize(..=records.len()), record);
            }
        });
        proven += u64::from(outcome.is_proven());
        let wrong = outcome.wrong(&list);
        assert!(wrong == 0 || !outcome.is_proven(), "seed {seed}");
    }
    println!("{proven} of {all} proven");
}

#[test]
fn a_resumed_scan_of_a_list_that_inserts_and_deletes_is_complete_over_all_runs() {
    let mut doubted = 0;
    for seed in 0..2_000 {
        let mut random = Rng::with_seed(seed);
        let page_size = random.u64(5..=40);
        let mut list = List::new(random.u64(..400), Change::InsertAndDelete(0.4), seed);
        let run = Run::of(page_size, 4, seed % 2 == 1);
        // The last run goes to the end: a list that grows at every request outruns short ones.
        let stop = |run, random: &mut Rng| (run < 30).then(|| random.u64(1..=8));
        let outcome = in_runs(&mut list, run, &mut Rng::with_seed(seed), stop, |_, _| ());
        match outcome {
            Ok(outcome) if outcome.is_proven() => {
                assert_eq!(outcome.wrong(&list), 0, "seed {seed}");
            }
            _ => doubted += 1,
        }
    }
    println!("{doubted} of 2000 doubted");
    assert!(doubted < 10);
}

#[test]
fn a_list_turned_upside_down_between_two_runs_is_not_proven_with_a_loss() {
    type Turn = fn(&mut List, &mut Rng);
    let turns: [(&str, Turn); 4] = [
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
        for seed in 0..60 {
            let mut list = List::new(7_000, Change::None, seed);
            let mut random = Rng::with_seed(seed);
            let stop = random.u64(20..=50);
            let outcome = read(&mut list, Some(stop), seed, |list| turn(list, &mut random));
            let wrong = outcome.wrong(&list);
            assert!(wrong == 0 || !outcome.is_proven(), "{name}, seed {seed}");
        }
    }
}

#[test]
fn what_was_delivered_may_vanish_between_two_runs() {
    for seed in 0..100 {
        let mut list = List::new(3_000, Change::None, seed);
        let mut random = Rng::with_seed(seed);
        let stop = random.u64(5..=20);
        let outcome = read(&mut list, Some(stop), seed, |list| {
            list.records.drain(..random.usize(..400));
        });
        assert_eq!(outcome.doubts, [], "seed {seed}");
        assert_eq!(outcome.wrong(&list), 0, "seed {seed}");
    }
}
