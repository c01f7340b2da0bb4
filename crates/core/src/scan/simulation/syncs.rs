//! What syncs tell of simulated lists, held against what really happened: thousands of scans by the real joiner,
//! compared by the real difference.

use super::lists::{Change, Copies, List, Order};
use super::{Page, Run, Service, scan};
use crate::error::ErrorKind;
use crate::mirror::Operation;
use crate::mirror::trial::{Scanned, Told, Trial};
use fastrand::Rng;
use std::collections::{HashMap, HashSet};

/// Above the bits that number a record are those of its version.
const VERSION: u32 = 32;

/// A list with a clock, whose records have versions.
struct World {
    list: List,
    now: i64,
    versions: HashMap<u64, u64>,
    born: HashMap<u64, i64>,
    died: HashMap<u64, i64>,
    /// Mean number of updates between two requests.
    updates: f64,
    random: Rng,
}

impl World {
    fn new(list: List, updates: f64, seed: u64) -> Self {
        let born = list.records.iter().map(|record| (*record, 0)).collect();
        World {
            list,
            now: 0,
            versions: HashMap::new(),
            born,
            died: HashMap::new(),
            updates,
            random: Rng::with_seed(seed),
        }
    }

    fn version(&self, record: u64) -> u64 {
        self.versions.get(&record).copied().unwrap_or(0)
    }
}

impl Service for World {
    fn page(&mut self, offset: u64, limit: u64) -> Page {
        self.now += 1;
        let before = self.list.records.clone();
        let mut page = self.list.page(offset, limit);
        if self.list.records != before {
            let before: HashSet<u64> = before.into_iter().collect();
            let after: HashSet<u64> = self.list.records.iter().copied().collect();
            for record in before.difference(&after) {
                self.died.insert(*record, self.now);
            }
            for record in after.difference(&before) {
                self.born.insert(*record, self.now);
            }
        }
        for record in &mut page.records {
            *record |= self.version(*record) << VERSION;
        }
        // Updates happen between this request and the next.
        if self.random.f64() < self.updates
            && let Some(record) = self.random.choice(&self.list.records)
        {
            *self.versions.entry(*record).or_default() += 1;
        }
        page
    }

    fn identity(&mut self, record: u64) -> (u64, bool) {
        (record & ((1 << VERSION) - 1), true)
    }
}

/// What was counted over many syncs.
#[derive(Debug, Default)]
struct Seen {
    syncs: u64,
    proven: u64,
    joined: u64,
    failed: u64,
    deletes: u64,
    updates: u64,
    /// Told of records that were never gone, or never changed.
    false_deletes: u64,
    false_updates: u64,
    false_inserts: u64,
    deletes_without_proof: u64,
    /// Changes before a proven sync that it has not told.
    untold: u64,
    /// Deletes that comparing two plain scans would have told falsely.
    naive_false_deletes: u64,
    looks: u64,
}

/// What a version says; see the trial.
fn contents(version: u64) -> u64 {
    version - version / 3
}

fn rounds() -> u64 {
    let rounds = std::env::var("TALENTDATA_ROUNDS").ok();
    rounds.and_then(|rounds| rounds.parse().ok()).unwrap_or(9)
}

/// Syncs of one mirror, one after the other.
const SYNCS: u64 = 8;

fn sync(change: Change, order: Order, copies: Copies) -> Seen {
    let mut seen = Seen::default();
    for seed in 0..rounds() {
        let (size, page_size, ahead) =
            [(300, 20, 4), (1000, 100, 6), (200, 10, 1)][seed as usize % 3];
        let mut list = List::new(size, change, seed ^ 0x5e_ed);
        (list.order, list.copies) = (order, copies);
        let mut world = World::new(list, 0.3, seed);
        let mut mirror = Mirrored::default();
        for number in 0..SYNCS {
            let run = Run::of(page_size, ahead, (seed + number) % 2 == 1);
            mirror.sync(&mut world, &run, seed * SYNCS + number, &mut seen);
            // Others read the list, too.
            (0..5).for_each(|_| drop(world.page(0, page_size)));
        }
    }
    seen
}

/// A mirror, and a copy that follows what it tells.
#[derive(Default)]
struct Mirrored {
    mirror: Trial,
    copy: HashMap<u64, u64>,
}

impl Mirrored {
    fn sync(&mut self, world: &mut World, run: &Run, seed: u64, seen: &mut Seen) {
        let (started, versions) = (world.now, world.versions.clone());
        let outcome = match scan(world, run, &mut Rng::with_seed(seed)) {
            Ok(outcome) => outcome,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Paging, "{error}");
                seen.failed += 1;
                return;
            }
        };
        let mask = (1 << VERSION) - 1;
        let delivered = outcome.seen.iter();
        let mut once = HashSet::new();
        let scanned = Scanned {
            // Each once, as a sync takes them.
            delivered: delivered
                .map(|it| (it & mask, it >> VERSION))
                .filter(|(record, _)| once.insert(*record))
                .collect(),
            strays: (outcome.strays.iter())
                .map(|(stray, (before, behind))| {
                    let number = |record: &Option<u64>| record.map(|record| record & mask);
                    (stray & mask, (number(before), number(behind)))
                })
                .collect(),
            proven: outcome.doubts.is_empty(),
            moved: !outcome.counted,
            started,
            page_size: run.page_size,
        };
        seen.syncs += 1;
        seen.proven += u64::from(scanned.proven);
        seen.joined += u64::from(scanned.proven && scanned.moved);
        let came: HashSet<u64> = scanned
            .delivered
            .iter()
            .map(|(record, _)| *record)
            .collect();
        let alive: HashSet<u64> = world.list.records.iter().copied().collect();
        seen.naive_false_deletes += (self.copy.keys())
            .filter(|record| alive.contains(record) && !came.contains(record))
            .count() as u64;
        let mut looks = 0;
        let told = self.mirror.sync(&scanned, |offset| {
            looks += 1;
            let page = world.page(offset, run.page_size);
            let records = page.records.iter().map(|record| record & mask);
            (records.collect(), page.total)
        });
        seen.looks += looks;
        for one in told {
            self.follow(one, &scanned, world, seen);
        }
        if scanned.proven {
            seen.untold += self.untold(world, started, &versions);
        }
    }

    fn follow(&mut self, told: Told, scanned: &Scanned, world: &World, seen: &mut Seen) {
        let known = self.copy.get(&told.record).copied();
        match told.operation {
            Operation::Insert => {
                seen.false_inserts += u64::from(known.is_some());
                self.copy.insert(told.record, told.version);
            }
            Operation::Update => {
                seen.updates += 1;
                let same = known.is_none_or(|known| contents(known) == contents(told.version));
                seen.false_updates += u64::from(same);
                self.copy.insert(told.record, told.version);
            }
            Operation::Return => {
                assert!(known.is_some(), "{told:?}");
            }
            Operation::Missing => assert!(known.is_some(), "{told:?}"),
            Operation::Delete => {
                seen.deletes += 1;
                seen.deletes_without_proof += u64::from(!scanned.proven);
                let died = world.died.get(&told.record);
                let within = died.is_some_and(|died| told.last_seen < Some(*died));
                seen.false_deletes += u64::from(!within || known.is_none());
                self.copy.remove(&told.record);
            }
        }
    }

    /// What a proven sync should have told and has not.
    fn untold(&self, world: &World, started: i64, versions: &HashMap<u64, u64>) -> u64 {
        let gone = |record: &u64| world.died.get(record).is_some_and(|died| *died <= started);
        let dead = self.copy.keys().filter(|record| gone(record)).count();
        let stale = |record: &u64| {
            let before = versions.get(record).copied().unwrap_or(0);
            let known = self.copy.get(record);
            known.is_none_or(|known| contents(*known) < contents(before))
        };
        let old = |record: &&u64| world.born.get(record).is_some_and(|born| *born <= started);
        let records = world.list.records.iter().filter(old);
        let outdated = records.filter(|record| stale(record)).count();
        (dead + outdated) as u64
    }
}

fn show(what: &str, seen: &Seen) {
    println!("{what}: {seen:?}");
}

#[test]
fn lists_that_insert_and_delete_are_followed_without_a_false_word() {
    for change in [
        Change::BulkDelete(0.3),
        Change::BulkReplace(0.3),
        Change::None,
        Change::Insert(0.3),
        Change::Delete(0.2),
        Change::InsertAndDelete(0.2),
        Change::DeleteFirst,
        Change::Append,
    ] {
        let seen = sync(change, Order::Stable, Copies::One);
        show(&format!("{change:?}"), &seen);
        let wrong = [
            seen.false_deletes,
            seen.false_updates,
            seen.false_inserts,
            seen.deletes_without_proof,
            seen.untold,
        ];
        assert_eq!(wrong, [0; 5], "{change:?}: {seen:?}");
        assert!(seen.proven * 10 > seen.syncs * 8, "{change:?}: {seen:?}");
        assert!(seen.updates > 0 || seen.syncs == 0, "{seen:?}");
    }
}

#[test]
fn lists_without_a_stable_order_lose_nothing_falsely() {
    for (change, order, copies) in [
        (Change::None, Order::Ties(7), Copies::One),
        (Change::None, Order::Random, Copies::One),
        (Change::InsertAndDelete(0.2), Order::Ties(7), Copies::One),
        (Change::None, Order::Stable, Copies::InTurn),
        (Change::MoveToFront(0.3), Order::Stable, Copies::One),
        (Change::MoveToEnd(0.3), Order::Stable, Copies::One),
        (Change::MoveAnywhere(0.3), Order::Stable, Copies::One),
        (Change::Everything(0.2), Order::Stable, Copies::One),
    ] {
        let seen = sync(change, order, copies);
        show(&format!("{change:?}, {order:?}, {copies:?}"), &seen);
        let wrong = [
            seen.false_deletes,
            seen.false_updates,
            seen.deletes_without_proof,
        ];
        assert_eq!(wrong, [0; 3], "{change:?}, {order:?}, {copies:?}: {seen:?}");
    }
}
