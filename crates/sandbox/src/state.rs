//! The state of one list: which records it holds in which order, and what has happened to it.

use crate::options::{Change, Drift, Options, named};
use crate::records::Records;
use crate::samples::{Rng, moment_text, scramble};
use crate::service::Clock;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::time::Duration;

/// From then on pages hold no more than [`Options::later_max_limit`].
const REQUESTS_OF_FULL_PAGES: u64 = 3;

/// Changes are remembered one by one, which takes 50 bytes a record or more.
const MAX_CHANGED: u64 = 10_000_000;

/// A list, which remembers only its changes: as long as there are none, its size costs nothing.
#[derive(Debug)]
pub(crate) struct State {
    options: Options,
    clock: Clock,
    rng: Rng,
    sequence: Sequence,
    /// Numbers below it were there at the start, the others were inserted later.
    original: u64,
    next: u64,
    moved: BTreeSet<u64>,
    /// Page requests so far.
    requests: u64,
    /// Whether records have an `id`; without one, a record with other members would be another record.
    has_ids: bool,
    /// How often records have been updated, by number.
    versions: BTreeMap<u64, u32>,
    log: Vec<Entry>,
}

/// A change as a list remembers it: the record itself is computed when somebody asks.
#[derive(Debug)]
struct Entry {
    at: Duration,
    operation: Operation,
    number: u64,
    version: u32,
}

/// The records of a page, and the list at that moment.
#[derive(Debug)]
pub(crate) struct Slice {
    /// How many records the list holds.
    pub(crate) total: u64,
    /// Numbers of records, and how often each has been updated.
    pub(crate) records: Vec<(u64, u32)>,
    /// Page requests that the list had before this one.
    pub(crate) read: u64,
}

impl State {
    pub(crate) fn new(options: &Options, clock: Clock, size: u64, has_ids: bool) -> Self {
        let seed = options.drift.map_or(options.seed, |drift| drift.seed);
        Self {
            options: options.clone(),
            clock,
            rng: Rng::new(seed),
            sequence: Sequence::new(size),
            original: size,
            next: size,
            moved: BTreeSet::new(),
            requests: 0,
            has_ids,
            versions: BTreeMap::new(),
            log: Vec::new(),
        }
    }

    fn total(&self) -> u64 {
        self.sequence.total
    }

    /// What has happened since the start, in order, but for the first `skip` changes.
    pub(crate) fn changes(&self, records: &Records, skip: usize) -> Vec<Logged> {
        let logged = |entry: &Entry| Logged {
            at: entry.at,
            operation: entry.operation,
            key: records.identity(entry.number),
            record: records.value(entry.number, entry.version, 0),
        };
        self.log.iter().skip(skip).map(logged).collect()
    }

    /// `{"list", "total", "stayed", "came", "went", "moved"}`, the last four as arrays of identities: records that were
    /// there all the time (in their order), that came since, that went (some of them after they had come), and that
    /// have changed their place (some of which went). The identity of a record without an `id` is an object of its
    /// members.
    pub(crate) fn report(&self, records: &Records) -> Value {
        let identity = |number| records.identity(number);
        let deletes = |entry: &&Entry| entry.operation == Operation::Delete;
        let went = self.log.iter().filter(deletes).map(|entry| entry.number);
        let stayed = self.sequence.numbers();
        let stayed = stayed.filter(|number| *number < self.original);
        json!({
            "list": records.list.name,
            "total": self.total(),
            "stayed": stayed.map(identity).collect::<Value>(),
            "came": (self.original..self.next).map(identity).collect::<Value>(),
            "went": went.map(identity).collect::<Value>(),
            "moved": self.moved.iter().copied().map(identity).collect::<Value>(),
        })
    }

    /// The record with this number, if the list holds it.
    pub(crate) fn record(&self, records: &Records, number: u64) -> Option<Value> {
        self.sequence.place(number)?;
        Some(records.value(number, self.version(number), self.requests))
    }

    /// Deletes the record with this number, if the list holds it.
    pub(crate) fn delete_number(&mut self, number: u64) {
        if let Some(place) = self.sequence.place(number) {
            self.delete(place);
        }
    }

    /// The page at this moment; the list may change right after it.
    pub(crate) fn page(&mut self, offset: u64, limit: u64) -> Slice {
        // Not of the generator that chooses the changes, so that those are the same for every order.
        let mut rng = Rng::new(scramble(self.options.seed) ^ self.requests);
        let total = self.seen(&mut rng);
        let most = match self.requests < REQUESTS_OF_FULL_PAGES {
            true => limit,
            false => limit.min(self.options.later_max_limit.unwrap_or(u64::MAX)),
        };
        let start = if self.options.ignore_offset {
            0
        } else {
            offset
        };
        let places = start.min(total)..start.saturating_add(most).min(total);
        let numbers = self.at(places, total, &mut rng).into_iter();
        let slice = Slice {
            total,
            records: numbers.map(|one| (one, self.version(one))).collect(),
            read: self.requests,
        };
        self.requests += 1;
        if let Some(drift) = self.options.drift {
            let every = u64::from(drift.every_requests.max(1));
            let over = drift.times > 0 && self.requests / every > drift.times.into();
            if self.requests.is_multiple_of(every) && !over {
                self.drift(drift, offset.saturating_add(limit));
            }
        }
        slice
    }

    /// How many records the replica has whose turn it is.
    fn seen(&self, rng: &mut Rng) -> u64 {
        let total = self.total();
        let Some(replicas) = self.options.replicas.filter(|one| one.count > 1) else {
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

    /// The numbers at these places, which end before `total` does, in an order that `rng` chooses where none is given.
    fn at(&self, places: Range<u64>, total: u64, rng: &mut Rng) -> Vec<u64> {
        match self.options.order {
            Order::Ties => self.tied(places, total, rng),
            Order::Random => {
                let permutation = Permutation::new(total, rng);
                let places = places.map(|place| permutation.of(place));
                let numbers = places.flat_map(|place| self.sequence.cut(place..place + 1));
                numbers.collect()
            }
            _ => self.sequence.cut(places).collect(),
        }
    }

    fn tied(&self, places: Range<u64>, total: u64, rng: &mut Rng) -> Vec<u64> {
        let start = places.start.saturating_sub(MARGIN);
        let end = places.end.saturating_add(MARGIN).min(total);
        let mut value = 0;
        let valued = self.sequence.cut(start..end).map(|number| {
            // A record that was inserted between tied ones is tied with them.
            if number < self.original {
                value = tied_value(number);
            }
            (value, number)
        });
        let mut valued: Vec<(u64, u64)> = valued.collect();
        for tied in valued.chunk_by_mut(|one, other| one.0 == other.0) {
            rng.shuffle(tied);
        }
        let page = valued.into_iter().skip((places.start - start) as usize);
        let count = places.end.saturating_sub(places.start) as usize;
        page.take(count).map(|(_, number)| number).collect()
    }

    /// Inserts, deletes and updates in mixed order, around `cursor`.
    fn drift(&mut self, drift: Drift, cursor: u64) {
        let [mut inserts, mut deletes, mut updates] =
            [drift.inserts, drift.deletes, drift.updates].map(u64::from);
        while inserts + deletes + updates > 0 {
            let place = self.place_near(cursor);
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
        let count = match change {
            Change::Insert(count) | Change::Update(count) | Change::Move(count) => count,
            Change::UpdateFirst(count) => count,
            Change::Delete(count) | Change::DeleteFirst(count) => count,
            Change::Reverse | Change::Shuffle => self.total(),
        };
        if count > MAX_CHANGED {
            let message = format!("at most {MAX_CHANGED} records can be changed at once");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        if let Change::Reverse | Change::Shuffle = change {
            let mut numbers: Vec<u64> = self.sequence.numbers().collect();
            match change {
                Change::Reverse => numbers.reverse(),
                _ => self.rng.shuffle(&mut numbers),
            }
            self.sequence.replace(&numbers);
            self.moved.extend(numbers);
            return Ok(());
        }
        let firsts: Vec<u64> = match change {
            Change::UpdateFirst(count) => self.sequence.cut(0..count).collect(),
            _ => Vec::new(),
        };
        for step in 0..count {
            let total = self.total();
            match change {
                Change::Insert(_) => {
                    let place = self.rng.below(total + 1);
                    self.insert(place);
                }
                Change::Update(_) => {
                    let place = self.rng.below(total);
                    self.update(place);
                }
                Change::Delete(_) if total > 0 => {
                    let place = self.rng.below(total);
                    self.delete(place);
                }
                Change::DeleteFirst(_) => self.delete(0),
                Change::Move(_) => {
                    let [place, after] = [(); 2].map(|()| self.rng.below(total));
                    self.put(place, after);
                }
                Change::UpdateFirst(_) => {
                    let first = firsts.get(step as usize);
                    if let Some(place) = first.and_then(|one| self.sequence.place(*one)) {
                        self.update(place);
                    }
                }
                _ => break,
            }
        }
        Ok(())
    }

    /// Before the cursor, right at it, or behind it.
    fn place_near(&mut self, cursor: u64) -> u64 {
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
            self.note(Operation::Delete, number);
        }
    }

    fn update(&mut self, place: u64) {
        let others = self.total().saturating_sub(1);
        let after = match self.options.order {
            Order::Stable | Order::Ties | Order::Random => None,
            Order::Updated => Some(others),
            Order::UpdatedDesc => Some(0),
            Order::Anywhere => Some(self.rng.below(others + 1)),
        };
        let place = place.min(others);
        let number = self.sequence.cut(place..place + 1).next();
        if let Some(number) = number.filter(|_| self.has_ids) {
            *self.versions.entry(number).or_default() += 1;
            self.note(Operation::Update, number);
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
            at: self.clock.now(),
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
struct Sequence {
    runs: Vec<Range<u64>>,
    total: u64,
}

impl Sequence {
    /// The numbers from 0 to `size - 1`.
    fn new(size: u64) -> Self {
        let runs = std::iter::once(0..size).collect();
        Self { runs, total: size }
    }

    fn numbers(&self) -> impl Iterator<Item = u64> {
        self.runs.iter().cloned().flatten()
    }

    /// Puts the same numbers, or others, in this order.
    fn replace(&mut self, numbers: &[u64]) {
        self.total = numbers.len() as u64;
        self.runs = numbers.iter().map(|number| *number..number + 1).collect();
    }

    /// The numbers at these places; places beyond the end hold none.
    fn cut(&self, places: Range<u64>) -> impl Iterator<Item = u64> {
        let (mut skip, mut take) = (places.start, places.end.saturating_sub(places.start));
        let cut = self.runs.iter().map_while(move |run| {
            let start = run.start + skip.min(run.end - run.start);
            skip -= start - run.start;
            let wanted = take;
            let end = start + take.min(run.end - start);
            take -= end - start;
            (wanted > 0).then_some(start..end)
        });
        cut.flatten()
    }

    /// The place of a number that is in the list.
    fn place(&self, number: u64) -> Option<u64> {
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
    fn insert(&mut self, place: u64, number: u64) {
        let at = self.split(place.min(self.total));
        self.runs.insert(at, number..number + 1);
        self.total += 1;
    }

    /// Removes the number at `place`, or the last one; `None` when there is none.
    fn remove(&mut self, place: u64) -> Option<u64> {
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

    /// Makes a run begin at `place`, and returns its index; at the end of the list that is the one after the last.
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

named! {
    /// What a service sorts its lists by.
    #[derive(Default)]
    pub enum Order {
        /// By something that never changes; an updated record keeps its place.
        #[default]
        Stable = "stable",
        /// By a column with ties: runs of seven to twelve records are tied, and come in another order at every request.
        Ties = "ties",
        /// Not at all: every request sees another order.
        Random = "random",
        /// By the time of the last change: an updated record moves to the end.
        Updated = "updated",
        /// By the time of the last change, the latest first: an updated record moves to the front.
        UpdatedDesc = "updated-desc",
        /// By a column that updates change: an updated record moves to a random place.
        Anywhere = "anywhere",
    }
}

/// More than the longest run of ties, so that ties which a page's edge divides are shuffled as a whole.
const MARGIN: u64 = 32;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// It was inserted.
    Insert,
    /// Its members changed, but not its `id`.
    Update,
    /// It was deleted.
    Delete,
}

/// A change that has happened.
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
    /// The change as JSON: `at` (a date-time of RFC 3339 in UTC, with microseconds), `op`, `key` and `record`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "at": moment_text(self.at),
            "op": self.operation,
            "key": self.key,
            "record": self.record,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(options: Options, size: u64) -> State {
        State::new(&options, Clock::start(), size, true)
    }

    fn ordered(order: Order) -> Options {
        Options {
            order,
            ..Options::default()
        }
    }

    fn read(state: &mut State, offset: u64, limit: u64) -> Vec<u64> {
        let records = state.page(offset, limit).records.into_iter();
        records.map(|(number, _)| number).collect()
    }

    fn deleted(state: &State) -> Vec<u64> {
        let deletes = state.log.iter();
        let deletes = deletes.filter(|entry| entry.operation == Operation::Delete);
        deletes.map(|entry| entry.number).collect()
    }

    /// The same changes made to a plain vector give the same list.
    #[test]
    fn runs_behave_like_a_vector() {
        let mut list = Sequence::new(50);
        let mut plain: Vec<u64> = (0..50).collect();
        let mut rng = Rng::new(11);
        for number in 50..2050 {
            let place = rng.below(list.total + 2);
            if rng.below(100) < 48 {
                plain.insert(plain.len().min(place as usize), number);
                list.insert(place, number);
            } else if plain.is_empty() {
                assert_eq!(list.remove(place), None);
            } else {
                let removed = plain.remove((plain.len() - 1).min(place as usize));
                assert_eq!(list.remove(place), Some(removed));
            }
            assert_eq!(list.total, plain.len() as u64);
            assert!(list.numbers().eq(plain.iter().copied()), "{number}");
            let (offset, limit) = (rng.below(60), 1 + rng.below(20));
            let expected = plain.iter().skip(offset as usize).take(limit as usize);
            let cut = list.cut(offset..offset + limit);
            assert!(expected.copied().eq(cut), "{number}");
            let place = plain.iter().position(|other| *other == number);
            assert_eq!(list.place(number), place.map(|place| place as u64));
        }
    }

    /// Also of a list too large for any memory: it grows with the changes only.
    #[test]
    fn drift_changes_a_list_as_often_as_it_says() {
        let drift = |drift| Options {
            drift: Some(drift),
            order: Order::Updated,
            ..Options::default()
        };
        let endless = Drift {
            every_requests: 2,
            inserts: 3,
            deletes: 2,
            seed: 5,
            ..Drift::default()
        };
        let mut list = state(drift(endless), 1 << 50);
        for page in 0..100 {
            read(&mut list, page * 100, 100);
        }
        assert_eq!(list.total(), (1 << 50) + 50);
        assert_eq!((list.next, list.log.len()), ((1 << 50) + 150, 250));
        assert!(list.sequence.runs.len() < 600);

        let once = Drift {
            every_requests: 2,
            times: 1,
            updates: 3,
            bulk_deletes: 20,
            ..Drift::default()
        };
        let mut list = state(drift(once), 300);
        let totals = [0; 6].map(|offset| {
            read(&mut list, offset, 10);
            list.total()
        });
        assert_eq!(totals, [300, 280, 280, 280, 280, 280]);
        let mut went = deleted(&list);
        assert_eq!((list.moved.len(), went.len()), (3, 20));
        went.retain(|number| !list.moved.contains(number));
        went.sort_unstable();
        let span = went[went.len() - 1] - went[0];
        assert!(span < 23, "in one piece: {went:?}");
    }

    #[test]
    fn every_order_lists_every_record_once_and_puts_an_updated_one_where_it_belongs() {
        for (order, moved, place) in [
            (Order::Stable, 0, Some(0)),
            (Order::Ties, 0, None),
            (Order::Random, 0, None),
            (Order::Updated, 1, Some(299)),
            (Order::UpdatedDesc, 1, Some(0)),
            (Order::Anywhere, 1, None),
        ] {
            for total in [1, 2, 3, 57, 100, 301] {
                let mut all = read(&mut state(ordered(order), total), 0, total);
                all.sort_unstable();
                assert!(all.into_iter().eq(0..total), "{order} {total}");
            }
            let mut list = state(ordered(order), 300);
            let same = read(&mut list, 0, 300) == read(&mut list, 0, 300);
            let unsteady = matches!(order, Order::Ties | Order::Random);
            assert_eq!(same, !unsteady, "{order}, a list that rests");
            list.change(Change::UpdateFirst(1)).unwrap();
            let all = read(&mut list, 0, 300);
            let found = all.iter().position(|number| *number == 0);
            assert!(place.is_none_or(|place| Some(place) == found), "{order}");
            assert_eq!(list.moved.len(), moved, "{order}");
        }
        let page = read(&mut state(ordered(Order::Random), 1 << 50), 5, 100);
        assert!(page.len() == 100 && page.iter().any(|number| *number > 1 << 48));
        let mut ties = state(ordered(Order::Ties), 1000);
        let once = read(&mut ties, 0, 1000);
        for (place, number) in once.iter().enumerate() {
            assert!(number.abs_diff(place as u64) < 12, "{number} at {place}");
        }
        let lengths = (0..7).map(|value| (0..570).filter(|one| tied_value(*one) == value).count());
        assert!(lengths.eq([7, 8, 9, 10, 11, 12, 7]));
    }

    #[test]
    fn changes_at_once_reorder_the_list_are_bounded_and_logged() {
        let mut list = state(Options::default(), 300);
        list.change(Change::DeleteFirst(2)).unwrap();
        list.change(Change::Reverse).unwrap();
        assert_eq!(read(&mut list, 0, 3), [299, 298, 297]);
        list.change(Change::Shuffle).unwrap();
        list.change(Change::Move(50)).unwrap();
        let mut all = read(&mut list, 0, 300);
        assert!(!all.is_sorted());
        all.sort_unstable();
        assert!(all.into_iter().eq(2..300));
        assert_eq!(list.moved.len(), 298);
        list.change(Change::Update(2)).unwrap();
        list.change(Change::Insert(1)).unwrap();
        list.change(Change::Delete(500)).unwrap();
        assert_eq!(list.total(), 0);
        let kinds: Vec<_> = list.log.iter().map(|entry| entry.operation).collect();
        let update = [Operation::Update, Operation::Update, Operation::Insert];
        assert_eq!(kinds[..2], [Operation::Delete; 2], "moves are no changes");
        assert_eq!(kinds[2..5], update);
        assert_eq!((kinds.len(), list.log[4].number), (304, 300));

        let mut huge = state(Options::default(), 1 << 50);
        huge.change(Change::Reverse).unwrap_err();
        huge.change(Change::Move(1 << 40)).unwrap_err();
        huge.change(Change::DeleteFirst(3)).unwrap();
        assert_eq!(read(&mut huge, 0, 1), [3]);

        let mut without = State::new(&Options::default(), Clock::start(), 300, false);
        without.change(Change::Update(9)).unwrap();
        assert!(without.log.is_empty() && without.versions.is_empty());
    }

    #[test]
    fn pages_can_become_smaller() {
        let options = Options {
            later_max_limit: Some(50),
            ..Options::default()
        };
        let mut list = state(options, 1000);
        let lengths = [0; 5].map(|offset| read(&mut list, offset, 100).len());
        assert_eq!(lengths, [100, 100, 100, 50, 50]);
    }
}
