//! Scans of lists that change while they are read, on virtual time: pages arrive in any order.

use super::super::window::Identity;
use super::*;
use fastrand::Rng;
use std::collections::HashSet;

mod extremes;

/// A list that changes, and remembers which records were in it all the time.
struct List {
    ids: Vec<u64>,
    next: u64,
    removed: HashSet<u64>,
    first: HashSet<u64>,
}

impl List {
    fn new(size: u64) -> Self {
        let ids: Vec<u64> = (0..size).collect();
        let first = ids.iter().copied().collect();
        List {
            ids,
            next: size,
            removed: HashSet::new(),
            first,
        }
    }

    fn insert(&mut self, at: usize) {
        self.ids.insert(at.min(self.ids.len()), self.next);
        self.next += 1;
    }

    fn remove(&mut self, from: usize, count: usize) {
        let from = from.min(self.ids.len());
        let to = (from + count).min(self.ids.len());
        self.removed.extend(self.ids.drain(from..to));
    }

    fn page(&self, offset: u64, limit: u64) -> Slice {
        let from = (offset as usize).min(self.ids.len());
        let to = (from + limit as usize).min(self.ids.len());
        let ids = self.ids[from..to]
            .iter()
            .map(|id| Identity::of(&id.to_le_bytes(), true))
            .collect();
        Slice {
            offset,
            ids,
            has_more: to < self.ids.len(),
            total: self.ids.len() as u64,
        }
    }

    fn stable(&self) -> Vec<u64> {
        self.ids
            .iter()
            .copied()
            .filter(|id| self.first.contains(id) && !self.removed.contains(id))
            .collect()
    }
}

/// How a list changes between two requests.
#[derive(Clone, Copy, Debug)]
struct Unrest {
    /// In one of how many requests.
    one_in: u32,
    most: usize,
    bulk: bool,
}

fn disturb(list: &mut List, unrest: Unrest, cursor: usize, random: &mut Rng) {
    if random.u32(..unrest.one_in) != 0 {
        return;
    }
    for _ in 0..random.usize(1..=unrest.most) {
        // Before the cursor, at it, behind it.
        let at = match random.u8(..3) {
            0 => random.usize(..=cursor.min(list.ids.len())),
            1 => (cursor + random.usize(..3)).saturating_sub(1),
            _ => random.usize(..=list.ids.len()),
        };
        match random.u8(..10) {
            0..=3 => list.insert(at),
            4..=7 => list.remove(at, 1),
            8 if unrest.bulk => {
                list.remove(at.saturating_sub(random.usize(..40)), random.usize(..40))
            }
            _ => {}
        }
    }
}

/// What a scan of a restless list yields.
struct Outcome {
    delivered: Vec<u64>,
    requests: u64,
    doubts: usize,
}

/// Scans: requests are decided by the list in any order and arrive in any order.
fn scan(
    list: &mut List,
    limit: u64,
    unrest: Unrest,
    random: &mut Rng,
    stop: Option<u64>,
) -> Result<(Outcome, Option<Position>)> {
    run(list, limit, unrest, random, None, stop)
}

fn run(
    list: &mut List,
    limit: u64,
    unrest: Unrest,
    random: &mut Rng,
    resume: Option<Position>,
    stop: Option<u64>,
) -> Result<(Outcome, Option<Position>)> {
    let mut position = resume.clone().unwrap_or_default();
    let mut sequence: Sequence<Vec<u64>> =
        Sequence::new(Consistency::Complete, resume.as_ref(), AHEAD);
    let mut underway: Vec<(u64, u64)> = Vec::new();
    let mut outcome = Outcome {
        delivered: Vec::new(),
        requests: 0,
        doubts: 0,
    };
    loop {
        while let Some(joined) = sequence.join()? {
            outcome
                .delivered
                .extend(joined.fresh.iter().map(|index| joined.page[*index]));
            position.note(
                joined.offset,
                joined
                    .fresh
                    .iter()
                    .map(|index| Identity::of(&joined.page[*index].to_le_bytes(), true)),
            );
            if joined.end {
                outcome.doubts = sequence.stitcher.doubts.len();
                return Ok((outcome, None));
            }
            if stop.is_some_and(|stop| outcome.requests >= stop) {
                return Ok((outcome, Some(position)));
            }
        }
        while let Some(request) = sequence.want() {
            underway.push(request);
        }
        assert!(!underway.is_empty(), "the scan waits for nothing");
        let (ticket, offset) = underway.swap_remove(random.usize(..underway.len()));
        disturb(list, unrest, offset as usize, random);
        let slice = list.page(offset, limit);
        let from = (offset as usize).min(list.ids.len());
        let page = list.ids[from..from + slice.ids.len()].to_vec();
        sequence.arrive(ticket, Ok((page, slice)));
        outcome.requests += 1;
    }
}

fn assert_complete(list: &List, delivered: &[u64], context: &str) {
    let mut seen = HashSet::new();
    for id in delivered {
        assert!(seen.insert(*id), "{context}: record {id} came twice");
    }
    for id in list.stable() {
        assert!(seen.contains(&id), "{context}: record {id} is missing");
    }
}

#[test]
fn a_quiet_list_takes_a_page_per_stride() {
    for size in [0, 1, 2, 99, 100, 101, 199, 200, 1000, 9901] {
        let mut list = List::new(size);
        let calm = Unrest {
            one_in: u32::MAX,
            most: 1,
            bulk: false,
        };
        let (outcome, _) = scan(&mut list, 100, calm, &mut Rng::with_seed(size), None).unwrap();
        assert_eq!(outcome.delivered, list.ids);
        assert_eq!(outcome.doubts, 0);
        let pages = if size <= 100 {
            1
        } else {
            (size - 1).div_ceil(99)
        };
        assert_eq!(outcome.requests, pages, "{size} records");
    }
}

#[test]
fn no_stable_record_is_lost_or_repeated_in_twelve_thousand_restless_scans() {
    let mut requests = 0;
    let mut pages = 0;
    for seed in 0..12_000 {
        let mut random = Rng::with_seed(seed);
        let limit = random.u64(3..=20);
        let mut list = List::new(random.u64(..300));
        let unrest = Unrest {
            one_in: random.u32(1..=6),
            most: random.usize(1..=15),
            bulk: random.bool(),
        };
        let (outcome, _) = scan(&mut list, limit, unrest, &mut random, None)
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_complete(
            &list,
            &outcome.delivered,
            &format!("seed {seed}, {unrest:?}, limit {limit}"),
        );
        assert_eq!(outcome.doubts, 0, "seed {seed}");
        requests += outcome.requests;
        pages += (outcome.delivered.len() as u64).div_ceil(limit) + 1;
    }
    assert!(
        requests < 4 * pages,
        "{requests} requests for {pages} pages"
    );
}

#[test]
fn a_resumed_scan_is_complete_over_both_runs() {
    for seed in 0..3_000 {
        let mut random = Rng::with_seed(seed);
        let limit = random.u64(3..=20);
        let mut list = List::new(random.u64(..300));
        let unrest = Unrest {
            one_in: random.u32(1..=6),
            most: random.usize(1..=8),
            bulk: random.bool(),
        };
        let mut delivered = Vec::new();
        let mut position = None;
        for round in 0..31 {
            // The last run goes to the end: a list that grows at every request outruns short ones.
            let stop = (round < 30).then(|| random.u64(1..=8));
            let (outcome, left) = run(&mut list, limit, unrest, &mut random, position, stop)
                .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            delivered.extend(outcome.delivered);
            position = left;
            if position.is_none() {
                break;
            }
        }
        assert!(position.is_none(), "seed {seed}: no end");
        assert_complete(
            &list,
            &delivered,
            &format!("seed {seed}, {unrest:?}, limit {limit}"),
        );
    }
}

#[test]
fn everything_delivered_may_vanish() {
    for seed in 0..500 {
        let mut random = Rng::with_seed(seed);
        let mut list = List::new(400);
        let mut sequence: Sequence<Vec<u64>> = Sequence::new(Consistency::Complete, None, AHEAD);
        let mut delivered = Vec::new();
        let mut emptied = false;
        'scan: loop {
            let Some((ticket, offset)) = sequence.want() else {
                panic!("seed {seed}: nothing wanted")
            };
            let slice = list.page(offset, 20);
            let from = (offset as usize).min(list.ids.len());
            let page = list.ids[from..from + slice.ids.len()].to_vec();
            sequence.arrive(ticket, Ok((page, slice)));
            while let Some(joined) = sequence.join().unwrap() {
                delivered.extend(joined.fresh.iter().map(|index| joined.page[*index]));
                if !emptied && delivered.len() > 100 + random.usize(..100) {
                    emptied = true;
                    list.remove(0, delivered.len());
                }
                if joined.end {
                    break 'scan;
                }
            }
        }
        assert_complete(&list, &delivered, &format!("seed {seed}"));
        assert_eq!(sequence.stitcher.doubts, []);
    }
}
