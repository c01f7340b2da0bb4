//! The state of one list: which records it holds in which order, and what has happened to it.

use crate::list::{Asked, Slice};
use crate::options::{Change, Drift, Options, Replicas, named};
use crate::records::Records;
use crate::samples::{Rng, moment_text, scramble};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::time::Duration;

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

/// Record numbers in the order of the list.
///
/// Each insertion, deletion or move adds a few runs, so memory and time grow with the changes, not with the list.
#[derive(Debug)]
pub(crate) struct Sequence {
    runs: Vec<Range<u64>>,
    total: u64,
}

impl Sequence {
    /// The numbers from 0 to `size - 1`.
    pub(crate) fn new(size: u64) -> Self {
        let runs = std::iter::once(0..size).collect();
        Self { runs, total: size }
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    pub(crate) fn numbers(&self) -> impl Iterator<Item = u64> {
        self.runs.iter().cloned().flatten()
    }

    /// Puts the same numbers, or others, in this order.
    pub(crate) fn replace(&mut self, numbers: &[u64]) {
        self.total = numbers.len() as u64;
        self.runs = numbers.iter().map(|number| *number..number + 1).collect();
    }

    /// The numbers at these places, as runs; places beyond the end hold none.
    pub(crate) fn cut(&self, places: Range<u64>) -> Vec<Range<u64>> {
        let (mut skip, mut take) = (places.start, places.end.saturating_sub(places.start));
        let mut numbers = Vec::new();
        for run in &self.runs {
            let start = run.start + skip.min(run.end - run.start);
            skip -= start - run.start;
            let end = start + take.min(run.end - start);
            take -= end - start;
            if start < end {
                numbers.push(start..end);
            }
            if take == 0 {
                break;
            }
        }
        numbers
    }

    /// The place of a number that is in the list.
    pub(crate) fn place(&self, number: u64) -> Option<u64> {
        let mut before = 0;
        for run in &self.runs {
            if run.contains(&number) {
                return Some(before + number - run.start);
            }
            before += run.end - run.start;
        }
        None
    }

    /// Inserts a number in front of the one at `place`, or at the end.
    pub(crate) fn insert(&mut self, place: u64, number: u64) {
        let at = self.split(place.min(self.total));
        self.runs.insert(at, number..number + 1);
        self.total += 1;
    }

    /// Removes the number at `place`, or the last one; `None` when there is none.
    pub(crate) fn remove(&mut self, place: u64) -> Option<u64> {
        let last = self.total.checked_sub(1)?;
        let at = self.split(place.min(last));
        let run = &mut self.runs[at];
        let number = run.start;
        run.start += 1;
        if run.is_empty() {
            self.runs.remove(at);
        }
        self.total -= 1;
        Some(number)
    }

    /// Makes a run begin at `place`, and tells which one; at the end of the list that is the one after the last.
    fn split(&mut self, place: u64) -> usize {
        let mut before = place;
        for (at, run) in self.runs.iter_mut().enumerate() {
            let length = run.end - run.start;
            if before < length {
                if before == 0 {
                    return at;
                }
                let rest = run.start + before..run.end;
                run.end = rest.start;
                self.runs.insert(at + 1, rest);
                return at + 1;
            }
            before -= length;
        }
        self.runs.len()
    }
}

/// What a service sorts its lists by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// By something that never changes; an updated record keeps its place.
    #[default]
    Stable,
    /// By a column with ties: runs of seven to twelve records are tied, and come in another order at every request.
    Ties,
    /// Not at all: every request sees another order.
    Random,
    /// By the time of the last change: an updated record moves to the end.
    Updated,
    /// By the time of the last change, the latest first: an updated record moves to the front.
    UpdatedDesc,
    /// By a column that updates change: an updated record moves to a random place.
    Anywhere,
}

named!(Order {
    Stable = "stable",
    Ties = "ties",
    Random = "random",
    Updated = "updated",
    UpdatedDesc = "updated-desc",
    Anywhere = "anywhere",
});

/// More than the longest run of ties, so that ties which a page's edge divides are shuffled as a whole.
const MARGIN: u64 = 32;

/// A list at one request.
pub(crate) struct View<'a> {
    pub(crate) sequence: &'a Sequence,
    /// Records that this request sees, of those in the sequence.
    pub(crate) total: u64,
    /// Numbers below it were there at the start; the others came later.
    pub(crate) original: u64,
    /// Another one for each request.
    pub(crate) rng: Rng,
}

impl Order {
    /// The numbers at `places`, which end before `view.total` does, as runs.
    pub(crate) fn list(self, mut view: View<'_>, places: Range<u64>) -> Vec<Range<u64>> {
        match self {
            Self::Stable | Self::Updated | Self::UpdatedDesc | Self::Anywhere => {
                view.sequence.cut(places)
            }
            Self::Ties => view.tied(places),
            Self::Random => {
                let permutation = Permutation::new(view.total, &mut view.rng);
                let places = places.map(|place| permutation.of(place));
                let numbers = places.flat_map(|place| view.sequence.cut(place..place + 1));
                numbers.collect()
            }
        }
    }

    /// Where an updated record goes, in a list of `others` beside it; `None` where it stays.
    pub(crate) fn after_update(self, others: u64, rng: &mut Rng) -> Option<u64> {
        match self {
            Self::Stable | Self::Ties | Self::Random => None,
            Self::Updated => Some(others),
            Self::UpdatedDesc => Some(0),
            Self::Anywhere => Some(rng.below(others + 1)),
        }
    }
}

impl View<'_> {
    fn tied(&mut self, places: Range<u64>) -> Vec<Range<u64>> {
        let start = places.start.saturating_sub(MARGIN);
        let end = places.end.saturating_add(MARGIN).min(self.total);
        let mut value = 0;
        let numbers = self.sequence.cut(start..end).into_iter().flatten();
        let valued = numbers.map(|number| {
            // A record that was inserted between tied ones is tied with them.
            if number < self.original {
                value = tied_value(number);
            }
            (value, number)
        });
        let mut valued: Vec<(u64, u64)> = valued.collect();
        for tied in valued.chunk_by_mut(|one, other| one.0 == other.0) {
            self.rng.shuffle(tied);
        }
        let before = (places.start - start) as usize;
        let count = places.end.saturating_sub(places.start) as usize;
        let page = valued.iter().skip(before).take(count);
        page.map(|(_, number)| *number..number + 1).collect()
    }
}

/// The value that a record is sorted by: seven records share the first, eight the second, and so on up to twelve.
fn tied_value(number: u64) -> u64 {
    const LAST: [u64; 6] = [7, 15, 24, 34, 45, 57];
    let within = number % LAST[5];
    let run = LAST.iter().filter(|last| **last <= within).count() as u64;
    number / LAST[5] * LAST.len() as u64 + run
}

/// A random order of so many places, computed place by place: a Feistel network over the next power of four.
struct Permutation {
    count: u64,
    half_bits: u32,
    keys: [u64; 4],
}

impl Permutation {
    fn new(count: u64, rng: &mut Rng) -> Self {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        Self {
            count,
            half_bits: bits.div_ceil(2).max(1),
            keys: std::array::from_fn(|_| rng.next()),
        }
    }

    /// Where `place` goes; it has to be less than the count, or this does not end.
    fn of(&self, mut place: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        loop {
            let (mut left, mut right) = (place >> self.half_bits, place & mask);
            for key in self.keys {
                (left, right) = (right, left ^ (scramble(right ^ key) & mask));
            }
            place = left << self.half_bits | right;
            if place < self.count {
                return place;
            }
        }
    }
}

/// What happened to a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// It came.
    Insert,
    /// Its members changed, but not its `id`.
    Update,
    /// It went.
    Delete,
}

impl Operation {
    /// `insert`, `update` or `delete`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

/// A change that has happened, as whoever tests a client is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Logged {
    /// When: since 1970, by the clock of this machine.
    pub at: Duration,
    /// What.
    pub operation: Operation,
    /// The `id` of the record; where it has none, an object of its members.
    pub key: Value,
    /// The record after the change; one that was deleted, before it.
    pub record: Value,
}

impl Logged {
    /// The time as a date-time of RFC 3339 in UTC, with microseconds.
    #[must_use]
    pub fn time(&self) -> String {
        moment_text(self.at)
    }

    /// The change as JSON: `at`, `op`, `key` and `record`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        serde_json::json!({
            "at": self.time(),
            "op": self.operation.name(),
            "key": self.key,
            "record": self.record,
        })
    }
}

/// A change as a list remembers it: the record itself is computed when somebody asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) at: Duration,
    pub(crate) operation: Operation,
    pub(crate) number: u64,
    pub(crate) version: u32,
}

impl Entry {
    pub(crate) fn logged(&self, records: &Records) -> Logged {
        Logged {
            at: self.at,
            operation: self.operation,
            key: records.identity(self.number),
            record: records.value(self.number, self.version, 0),
        }
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod sequence_tests {
    use super::*;
    use crate::samples::Rng;

    /// The same changes made to a plain vector give the same list.
    #[test]
    fn runs_behave_like_a_vector() {
        let mut list = Sequence::new(50);
        let mut plain: Vec<u64> = (0..50).collect();
        let mut rng = Rng::new(11);
        for number in 50..2050 {
            let place = rng.below(list.total() + 2);
            if rng.below(100) < 48 {
                plain.insert(plain.len().min(place as usize), number);
                list.insert(place, number);
            } else if plain.is_empty() {
                assert_eq!(list.remove(place), None);
            } else {
                let removed = plain.remove((plain.len() - 1).min(place as usize));
                assert_eq!(list.remove(place), Some(removed));
            }
            assert_eq!(list.total(), plain.len() as u64);
            assert!(list.numbers().eq(plain.iter().copied()), "{number}");
            let (offset, limit) = (rng.below(60), 1 + rng.below(20));
            let cut = list.cut(offset..offset + limit).into_iter().flatten();
            let expected = plain.iter().skip(offset as usize).take(limit as usize);
            assert!(expected.copied().eq(cut), "{number}");
            let place = plain.iter().position(|other| *other == number);
            assert_eq!(list.place(number), place.map(|place| place as u64));
        }
    }

    #[test]
    fn memory_grows_with_the_changes_only() {
        let mut list = Sequence::new(1 << 50);
        for number in 0..100 {
            list.insert(number * 1000, (1 << 50) + number);
            list.remove(number * 1001);
        }
        assert_eq!(list.total(), 1 << 50);
        assert!(list.runs.len() <= 1 + 3 * 100);
    }
}

#[cfg(test)]
mod order_tests {
    use super::*;

    fn numbers(order: Order, total: u64, places: Range<u64>, request: u64) -> Vec<u64> {
        let view = View {
            sequence: &Sequence::new(total),
            total,
            original: total,
            rng: Rng::new(request),
        };
        order.list(view, places).into_iter().flatten().collect()
    }

    #[test]
    fn every_order_lists_every_record_once() {
        for order in Order::ALL {
            for total in [1, 2, 3, 57, 100, 301] {
                let mut all = numbers(order, total, 0..total, 9);
                all.sort_unstable();
                assert!(all.into_iter().eq(0..total), "{order} {total}");
            }
        }
    }

    #[test]
    fn ties_are_short_and_come_in_another_order_each_time() {
        let once = numbers(Order::Ties, 1000, 0..1000, 1);
        assert_ne!(once, numbers(Order::Ties, 1000, 0..1000, 2));
        for (place, number) in once.iter().enumerate() {
            assert!(number.abs_diff(place as u64) < 12, "{number} at {place}");
        }
        let mut lengths = vec![0_u64; 200];
        for number in 0..570 {
            lengths[tied_value(number) as usize] += 1;
        }
        assert_eq!(lengths[..7], [7, 8, 9, 10, 11, 12, 7]);
    }

    #[test]
    fn a_random_page_of_a_huge_list_needs_no_memory() {
        let page = numbers(Order::Random, 1 << 50, 5..105, 3);
        assert_eq!(page.len(), 100);
        assert!(page.iter().any(|number| *number > 1 << 48));
    }
}
