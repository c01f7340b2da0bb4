//! The state of one list: which records it holds in which order, and what has happened to it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::time::Duration;

use crate::changes::{Entry, Operation};
use crate::drift::{Change, Drift, Replicas};
use crate::options::Options;
use crate::order::{Order, View};
use crate::page::{Asked, Slice};
use crate::rng::{Rng, scramble};
use crate::sequence::Sequence;

/// From then on pages hold no more than [`Options::later_max_limit`].
const REQUESTS_OF_FULL_PAGES: u64 = 3;

/// Changes are remembered one by one, which takes 50 bytes a record or more.
const MOST_CHANGED: u64 = 10_000_000;

/// A list, which remembers only its changes: as long as there are none, its size costs nothing.
#[derive(Debug)]
pub(crate) struct State {
    order: Order,
    drift: Option<Drift>,
    replicas: Option<Replicas>,
    ignore_offset: bool,
    later_limit: u64,
    seed: u64,
    rng: Rng,
    sequence: Sequence,
    /// Numbers below it were there at the start, the others came later.
    original: u64,
    next: u64,
    deleted: Vec<u64>,
    moved: BTreeSet<u64>,
    requests: u64,
    /// Whether records have an `id`; without one, a record with other members would be another record.
    has_ids: bool,
    /// How often records have been updated, by number.
    versions: BTreeMap<u64, u32>,
    /// What has happened, in order.
    log: Vec<Entry>,
    /// Since 1970.
    now: Duration,
}

impl State {
    pub(crate) fn new(options: &Options, size: u64, has_ids: bool) -> Self {
        let drift = options.drift;
        let seed = drift.map_or(options.seed, |drift| drift.seed);
        Self {
            order: options.order,
            drift,
            replicas: options.replicas,
            ignore_offset: options.ignore_offset,
            later_limit: options.later_max_limit.unwrap_or(u64::MAX),
            seed: options.seed,
            rng: Rng::new(seed),
            sequence: Sequence::new(size),
            original: size,
            next: size,
            deleted: Vec::new(),
            moved: BTreeSet::new(),
            requests: 0,
            has_ids,
            versions: BTreeMap::new(),
            log: Vec::new(),
            now: Duration::ZERO,
        }
    }

    /// The list, for which it is this time since 1970.
    pub(crate) fn at(&mut self, now: Duration) -> &mut Self {
        self.now = now;
        self
    }

    /// What has happened since the start, in order.
    pub(crate) fn log(&self) -> &[Entry] {
        &self.log
    }

    pub(crate) fn total(&self) -> u64 {
        self.sequence.total()
    }

    /// Records that were there all the time, in their order, moved ones where they are now.
    pub(crate) fn stayed(&self) -> impl Iterator<Item = u64> {
        let numbers = self.sequence.numbers();
        numbers.filter(|number| *number < self.original)
    }

    /// Records that came, whether they are still there or not.
    pub(crate) fn came(&self) -> Range<u64> {
        self.original..self.next
    }

    /// Records that went, whether they were there at the start or not.
    pub(crate) fn went(&self) -> impl Iterator<Item = u64> {
        self.deleted.iter().copied()
    }

    /// Records that have changed their place at least once, whether they are still there or not.
    pub(crate) fn moved(&self) -> impl Iterator<Item = u64> {
        self.moved.iter().copied()
    }

    /// The updates of the record with this number and the page requests so far, if the list holds it.
    pub(crate) fn reads_of(&self, number: u64) -> Option<(u32, u64)> {
        let held = self.sequence.place(number);
        held.map(|_| (self.version(number), self.requests))
    }

    /// Deletes the record with this number, if the list holds it.
    pub(crate) fn delete_number(&mut self, number: u64) {
        if let Some(place) = self.sequence.place(number) {
            self.delete(place);
        }
    }

    /// The page at this moment; the list may change right after it.
    pub(crate) fn page(&mut self, asked: Asked) -> Slice {
        // Not of the rng that choose the changes, so that those are the same for every order.
        let mut rng = Rng::new(scramble(self.seed) ^ self.requests);
        let total = self.seen(&mut rng);
        let offset = if self.ignore_offset { 0 } else { asked.offset };
        let limit = match self.requests < REQUESTS_OF_FULL_PAGES {
            true => asked.limit,
            false => asked.limit.min(self.later_limit),
        };
        let places = offset.min(total)..offset.saturating_add(limit).min(total);
        let view = View {
            sequence: &self.sequence,
            total,
            original: self.original,
            rng,
        };
        let numbers = self.order.list(view, places);
        let updated = numbers
            .iter()
            .flat_map(|run| self.versions.range(run.clone()));
        let slice = Slice {
            total,
            versions: updated
                .map(|(number, version)| (*number, *version))
                .collect(),
            numbers,
            read: self.requests,
        };
        self.requests += 1;
        if let Some(drift) = self.drift {
            let every = u64::from(drift.every_requests.max(1));
            let over = drift.times > 0 && self.requests / every > drift.times.into();
            if self.requests.is_multiple_of(every) && !over {
                self.drift(drift, asked.offset.saturating_add(asked.limit));
            }
        }
        slice
    }

    /// How many records the replica has whose turn it is.
    fn seen(&self, rng: &mut Rng) -> u64 {
        let total = self.total();
        let Some(replicas) = self.replicas.filter(|replicas| replicas.count > 1) else {
            return total;
        };
        let count = u64::from(replicas.count);
        let turn = match replicas.random {
            true => rng.below(count),
            false => self.requests % count,
        };
        let lacking = u128::from(total) * u128::from(replicas.lag_percent.min(100)) / 100;
        match turn + 1 == count {
            true => total - lacking as u64,
            false => total,
        }
    }

    /// Inserts, deletes and updates in mixed order, around `cursor`.
    fn drift(&mut self, drift: Drift, cursor: u64) {
        let [mut inserts, mut deletes, mut updates] =
            [drift.inserts, drift.deletes, drift.updates].map(u64::from);
        while inserts + deletes + updates > 0 {
            let place = self.place(cursor);
            let chosen = self.rng.below(inserts + deletes + updates);
            if chosen < inserts {
                inserts -= 1;
                self.insert(place);
            } else if chosen < inserts + deletes {
                deletes -= 1;
                self.delete(place);
            } else {
                updates -= 1;
                self.update(place);
            }
        }
        if drift.bulk_deletes > 0 {
            let place = self.rng.below(self.total());
            for _ in 0..drift.bulk_deletes {
                self.delete(place);
            }
        }
    }

    /// Changes the list at once.
    ///
    /// # Errors
    ///
    /// When too many records would change.
    pub(crate) fn change(&mut self, change: Change) -> io::Result<()> {
        let most = match change {
            Change::Insert(count)
            | Change::Update(count)
            | Change::Delete(count)
            | Change::DeleteFirst(count)
            | Change::UpdateFirst(count)
            | Change::Move(count) => count,
            Change::Reverse | Change::Shuffle => self.total(),
        };
        if most > MOST_CHANGED {
            let message = format!("at most {MOST_CHANGED} records can be changed at once");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        match change {
            Change::Insert(count) => (0..count).for_each(|_| {
                let place = self.rng.below(self.total() + 1);
                self.insert(place);
            }),
            Change::Update(count) => (0..count).for_each(|_| {
                let place = self.rng.below(self.total());
                self.update(place);
            }),
            Change::Delete(count) => (0..count.min(self.total())).for_each(|_| {
                let place = self.rng.below(self.total());
                self.delete(place);
            }),
            Change::DeleteFirst(count) => {
                (0..count.min(self.total())).for_each(|_| self.delete(0));
            }
            Change::UpdateFirst(count) => {
                let first = self.sequence.cut(0..count).into_iter().flatten();
                for number in first {
                    if let Some(place) = self.sequence.place(number) {
                        self.update(place);
                    }
                }
            }
            Change::Move(count) => (0..count).for_each(|_| {
                let [place, after] = [(); 2].map(|()| self.rng.below(self.total()));
                self.put(place, after);
            }),
            Change::Reverse => self.reorder(|numbers, _| numbers.reverse()),
            Change::Shuffle => self.reorder(|numbers, rng| rng.shuffle(numbers)),
        }
        Ok(())
    }

    fn reorder(&mut self, how: impl FnOnce(&mut [u64], &mut Rng)) {
        let mut numbers: Vec<u64> = self.sequence.numbers().collect();
        how(&mut numbers, &mut self.rng);
        self.sequence.replace(&numbers);
        self.moved.extend(numbers);
    }

    /// Before the cursor, right at it, or behind it.
    fn place(&mut self, cursor: u64) -> u64 {
        let cursor = cursor.min(self.total());
        match self.rng.below(3) {
            0 => self.rng.below(cursor),
            1 => cursor.saturating_sub(1) + self.rng.below(3),
            _ => cursor + self.rng.below(self.total() - cursor),
        }
    }

    fn insert(&mut self, place: u64) {
        let number = self.next;
        self.next += 1;
        self.sequence.insert(place, number);
        self.note(Operation::Insert, number);
    }

    fn delete(&mut self, place: u64) {
        if let Some(number) = self.sequence.remove(place) {
            self.deleted.push(number);
            self.note(Operation::Delete, number);
        }
    }

    fn update(&mut self, place: u64) {
        let others = self.total().saturating_sub(1);
        let after = self.order.after_update(others, &mut self.rng);
        let place = place.min(others);
        if let Some(number) = self
            .sequence
            .cut(place..place + 1)
            .pop()
            .filter(|_| self.has_ids)
        {
            *self.versions.entry(number.start).or_default() += 1;
            self.note(Operation::Update, number.start);
        }
        if let Some(after) = after {
            self.put(place, after);
        }
    }

    fn version(&self, number: u64) -> u32 {
        self.versions.get(&number).copied().unwrap_or_default()
    }

    fn note(&mut self, operation: Operation, number: u64) {
        self.log.push(Entry {
            at: self.now,
            operation,
            number,
            version: self.version(number),
        });
    }

    fn put(&mut self, place: u64, after: u64) {
        if let Some(number) = self.sequence.remove(place) {
            self.sequence.insert(after, number);
            self.moved.insert(number);
        }
    }
}

#[cfg(test)]
mod tests;
