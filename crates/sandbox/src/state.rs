//! The state of one list: its records, their order, and their changes.

use crate::clock::now;
use crate::options::{Change, Drift, ListOrder, Options, Replicas};
use crate::samples::{Rng, moment_text, scramble};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::time::Duration;

/// After this many page requests, pages have no more records than [`Options::later_max_limit`].
const REQUESTS_OF_FULL_PAGES: u64 = 3;

/// Limits the records that are compared with an `id`.
const SEARCHED: u64 = 1_000_000;

/// Limits the size of a list that changes, because it stores all of its numbers, and each change.
const MAX_CHANGED: u64 = 10_000_000;

/// A list, which stores only its changes. Without changes, its size costs nothing.
#[derive(Debug)]
pub(crate) struct RecordsState {
    options: Options,
    rng: Rng,
    /// The numbers of the records in the order of the list; `None` while this is the initial order.
    numbers: Option<Vec<u64>>,
    /// The number of initial records. Records with higher numbers were inserted later.
    original: u64,
    next: u64,
    /// The number of page requests so far.
    requests: u64,
    /// True if records have an `id`. Without one, a record with other members would be another record.
    has_ids: bool,
    /// The number of updates of each record, by number.
    versions: BTreeMap<u64, u32>,
    log: Vec<ChangeEntry>,
}

/// A change as a list stores it. The record itself is computed on request.
#[derive(Debug)]
pub(crate) struct ChangeEntry {
    pub(crate) at: Duration,
    pub(crate) operation: ChangeKind,
    pub(crate) number: u64,
    pub(crate) version: u32,
}

/// The records of a page, and the list at that time.
#[derive(Debug)]
pub(crate) struct PageSlice {
    /// The number of records in the list.
    pub(crate) total: u64,
    /// The numbers of the records, and the number of updates of each.
    pub(crate) records: Vec<(u64, u32)>,
    /// The number of page requests before this one.
    pub(crate) read: u64,
}

impl RecordsState {
    /// Creates the initial state of a list of this size.
    ///
    /// # Errors
    /// If `drift` is set, but the list is too large for it.
    pub(crate) fn new(options: &Options, size: u64, has_ids: bool) -> io::Result<Self> {
        let seed = options.drift.map_or(options.seed, |drift| drift.seed);
        let state = Self {
            options: options.clone(),
            rng: Rng::new(seed),
            numbers: None,
            original: size,
            next: size,
            requests: 0,
            has_ids,
            versions: BTreeMap::new(),
            log: Vec::new(),
        };
        options.drift.map_or(Ok(()), |_| state.changeable(0))?;
        Ok(state)
    }

    fn total(&self) -> u64 {
        let changed = self.numbers.as_ref().map(|numbers| numbers.len() as u64);
        changed.unwrap_or(self.original)
    }

    /// Checks that the list is small enough to change this many of its records.
    fn changeable(&self, count: u64) -> io::Result<()> {
        if self.total().max(count) <= MAX_CHANGED {
            return Ok(());
        }
        let message = format!("only a list of at most {MAX_CHANGED} records can change");
        Err(io::Error::new(io::ErrorKind::InvalidInput, message))
    }

    /// Returns the numbers in the order of the list, to be changed.
    fn numbers(&mut self) -> &mut Vec<u64> {
        self.numbers
            .get_or_insert_with(|| (0..self.original).collect())
    }

    /// Returns the numbers at these places. There are none beyond the end.
    fn cut(&self, places: Range<u64>) -> Vec<u64> {
        let places = places.start.min(self.total())..places.end.min(self.total());
        match &self.numbers {
            Some(numbers) => numbers[places.start as usize..places.end as usize].to_vec(),
            None => places.collect(),
        }
    }

    /// Returns all changes since the start, in order.
    pub(crate) fn log(&self) -> &[ChangeEntry] {
        &self.log
    }

    /// Returns the number of page requests so far.
    pub(crate) fn requests(&self) -> u64 {
        self.requests
    }

    /// Returns the first of a million records for which `is_it` is true: its number, and the number of its updates.
    pub(crate) fn find(&self, is_it: impl Fn(u64) -> bool) -> Option<(u64, u32)> {
        let number = self.cut(0..SEARCHED).into_iter().find(|one| is_it(*one))?;
        Some((number, self.version(number)))
    }

    /// Returns the current page. The list may change right after it.
    pub(crate) fn page(&mut self, offset: u64, limit: u64) -> PageSlice {
        // Not the generator that chooses the changes, so that these are the same for every order.
        let mut rng = Rng::new(scramble(self.options.seed) ^ self.requests);
        let total = self.seen();
        let most = if self.requests < REQUESTS_OF_FULL_PAGES {
            limit
        } else {
            limit.min(self.options.later_max_limit.unwrap_or(u64::MAX))
        };
        let start = if self.options.ignore_offset {
            0
        } else {
            offset
        };
        let places = start.min(total)..start.saturating_add(most).min(total);
        let numbers = match self.options.order {
            ListOrder::Ties => self.tied(places, total, &mut rng),
            ListOrder::Random => self.random(places, total, &mut rng),
            _ => self.cut(places),
        };
        let records = numbers.into_iter().map(|one| (one, self.version(one)));
        let slice = PageSlice {
            total,
            records: records.collect(),
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

    /// Returns the number of records of the replica whose turn it is.
    fn seen(&self) -> u64 {
        let total = self.total();
        match self.options.replicas {
            Some(Replicas { count, lag_percent }) if count > 1 => {
                let turn = self.requests % u64::from(count);
                let lags = turn + 1 == u64::from(count);
                let lacking = u128::from(total) * u128::from(lag_percent.min(100)) / 100;
                total - if lags { lacking as u64 } else { 0 }
            }
            _ => total,
        }
    }

    /// Returns the numbers at these places of a random order of the first `total` numbers. Each number is the one
    /// before plus a fixed step, modulo `total`. The step and `total` are coprime, so the order contains each number
    /// exactly once.
    fn random(&self, places: Range<u64>, total: u64, rng: &mut Rng) -> Vec<u64> {
        let [mut step, start] = [(); 2].map(|()| rng.below(total));
        while greatest_divisor(step, total) > 1 {
            step = rng.below(total);
        }
        let place = |place: u64| {
            let place = u128::from(place) * u128::from(step) + u128::from(start);
            (place % u128::from(total)) as u64
        };
        let places = places.map(place);
        places
            .flat_map(|place| self.cut(place..place + 1))
            .collect()
    }

    fn tied(&self, places: Range<u64>, total: u64, rng: &mut Rng) -> Vec<u64> {
        let start = places.start.saturating_sub(TIE_MARGIN);
        let end = places.end.saturating_add(TIE_MARGIN).min(total);
        let mut value = 0;
        let valued = self.cut(start..end).into_iter().map(|number| {
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

    /// Inserts, deletes and updates records in mixed order, around `cursor`.
    fn drift(&mut self, drift: Drift, cursor: u64) {
        let operations = [
            (ChangeKind::Insert, drift.inserts),
            (ChangeKind::Delete, drift.deletes),
            (ChangeKind::Update, drift.updates),
        ];
        let operations = operations.map(|(one, count)| vec![one; count as usize]);
        let mut operations = operations.concat();
        self.rng.shuffle(&mut operations);
        for operation in operations {
            let place = self.place_near(cursor);
            match operation {
                ChangeKind::Insert => self.insert(place),
                ChangeKind::Delete => self.delete(place),
                ChangeKind::Update => self.update(place),
            }
        }
        if drift.bulk_deletes > 0 {
            let place = self.rng.below(self.total());
            for _ in 0..drift.bulk_deletes {
                self.delete(place);
            }
        }
    }

    /// Changes the list immediately.
    ///
    /// # Errors
    /// If the list is too large, or too many records would change.
    pub(crate) fn change(&mut self, change: Change) -> io::Result<()> {
        let count = match change {
            Change::Insert(count) | Change::Update(count) => count,
            Change::Delete(count) | Change::DeleteFirst(count) => count,
            Change::Shuffle => 0,
        };
        self.changeable(count)?;
        for _ in 0..count {
            let total = self.total();
            let place = match change {
                Change::Insert(_) => self.rng.below(total + 1),
                Change::DeleteFirst(_) => 0,
                _ => self.rng.below(total),
            };
            match change {
                Change::Insert(_) => self.insert(place),
                Change::Update(_) => self.update(place),
                _ => self.delete(place),
            }
        }
        if change == Change::Shuffle {
            let mut numbers = std::mem::take(self.numbers());
            self.rng.shuffle(&mut numbers);
            self.numbers = Some(numbers);
        }
        Ok(())
    }

    /// Returns a place before the cursor, at it, or after it.
    fn place_near(&mut self, cursor: u64) -> u64 {
        let cursor = cursor.min(self.total());
        match self.rng.below(3) {
            0 => self.rng.below(cursor),
            1 => cursor.saturating_sub(1) + self.rng.below(3),
            _ => cursor + self.rng.below(self.total() - cursor),
        }
    }

    /// Inserts a record in front of the one at `place`, or at the end.
    fn insert(&mut self, place: u64) {
        let (number, total) = (self.next, self.total());
        self.next += 1;
        self.numbers().insert(place.min(total) as usize, number);
        self.note(ChangeKind::Insert, number);
    }

    /// Deletes the record at `place`, or the last one.
    fn delete(&mut self, place: u64) {
        if let Some(last) = self.total().checked_sub(1) {
            let number = self.numbers().remove(place.min(last) as usize);
            self.note(ChangeKind::Delete, number);
        }
    }

    /// Updates the record at `place`, or the last one, and moves it to its new place in the order.
    fn update(&mut self, place: u64) {
        let Some(last) = self.total().checked_sub(1) else {
            return;
        };
        let place = place.min(last);
        let number = self.cut(place..place + 1)[0];
        if self.has_ids {
            *self.versions.entry(number).or_default() += 1;
            self.note(ChangeKind::Update, number);
        }
        let after = match self.options.order {
            ListOrder::Stable | ListOrder::Ties | ListOrder::Random => return,
            ListOrder::Updated => last,
            ListOrder::UpdatedDesc => 0,
            ListOrder::Anywhere => self.rng.below(last + 1),
        };
        self.numbers().remove(place as usize);
        self.numbers().insert(after as usize, number);
    }

    fn version(&self, number: u64) -> u32 {
        self.versions.get(&number).copied().unwrap_or_default()
    }

    fn note(&mut self, operation: ChangeKind, number: u64) {
        self.log.push(ChangeEntry {
            at: now(),
            operation,
            number,
            version: self.version(number),
        });
    }
}

/// Returns the greatest common divisor of two numbers; of 0 and another number, the other one.
fn greatest_divisor(one: u64, other: u64) -> u64 {
    match other {
        0 => one,
        other => greatest_divisor(other, one % other),
    }
}

/// A length above the longest run of ties, so that ties across the edge of a page are shuffled as a whole.
const TIE_MARGIN: u64 = 32;

/// Returns the value by which a record is sorted: seven records share the first, eight the second, and so on up to
/// twelve.
fn tied_value(number: u64) -> u64 {
    const LAST: [u64; 6] = [7, 15, 24, 34, 45, 57];
    let within = number % LAST[5];
    let run = LAST.iter().filter(|last| **last <= within).count() as u64;
    number / LAST[5] * LAST.len() as u64 + run
}

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// The record was inserted.
    Insert,
    /// The members of the record changed, but not its `id`.
    Update,
    /// The record was deleted.
    Delete,
}

/// A change of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Logged {
    /// The time since 1970, by the clock of this machine.
    pub at: Duration,
    /// The kind of the change.
    pub operation: ChangeKind,
    /// The `id` of the record, or an object of its members if it has none.
    pub key: Value,
    /// The record after the change; a deleted record before it.
    pub record: Value,
}

impl Logged {
    /// Returns the change as JSON: `at` (a date-time of RFC 3339 in UTC, with microseconds), `op`, `key` and `record`.
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

    fn state(set: impl FnOnce(&mut Options), size: u64) -> RecordsState {
        let mut options = Options::default();
        set(&mut options);
        RecordsState::new(&options, size, true).unwrap()
    }

    fn read(state: &mut RecordsState, offset: u64, limit: u64) -> Vec<u64> {
        let records = state.page(offset, limit).records.into_iter();
        records.map(|(number, _)| number).collect()
    }

    fn logged(state: &RecordsState, operation: ChangeKind) -> Vec<u64> {
        let entries = state.log.iter();
        let entries = entries.filter(|entry| entry.operation == operation);
        entries.map(|entry| entry.number).collect()
    }

    #[test]
    fn drift_ends_and_bulk_deletes_are_in_one_piece() {
        let drift = "every=2,times=1,updates=3,bulk-deletes=20";
        let options = Options {
            drift: Some(drift.parse().unwrap()),
            order: ListOrder::Updated,
            ..Options::default()
        };
        RecordsState::new(&options, 1 << 50, true).unwrap_err();
        let mut list = RecordsState::new(&options, 300, true).unwrap();
        let totals = [0; 4].map(|offset| {
            read(&mut list, offset, 10);
            list.total()
        });
        assert_eq!(totals, [300, 280, 280, 280]);
        let moved = logged(&list, ChangeKind::Update);
        let mut deleted = logged(&list, ChangeKind::Delete);
        assert_eq!((moved.len(), deleted.len()), (3, 20));
        deleted.retain(|number| !moved.contains(number));
        let span = deleted.iter().max().unwrap() - deleted.iter().min().unwrap();
        assert!(span < 23, "in one piece: {deleted:?}");
    }

    #[test]
    fn every_order_lists_every_record_once_and_puts_an_updated_one_where_it_belongs() {
        let ordered = |order, size| state(|options| options.order = order, size);
        for (order, moved, place) in [
            (ListOrder::Stable, false, None),
            (ListOrder::Ties, false, None),
            (ListOrder::Random, false, None),
            (ListOrder::Updated, true, Some(299)),
            (ListOrder::UpdatedDesc, true, Some(0)),
            (ListOrder::Anywhere, true, None),
        ] {
            for total in [0, 1, 2, 3, 57, 100, 301] {
                let mut all = read(&mut ordered(order, total), 0, total);
                all.sort_unstable();
                assert!(all.into_iter().eq(0..total), "{order} {total}");
            }
            let mut list = ordered(order, 300);
            let same = read(&mut list, 0, 300) == read(&mut list, 0, 300);
            let unsteady = matches!(order, ListOrder::Ties | ListOrder::Random);
            assert_eq!(same, !unsteady, "{order}, a list that does not change");
            let rest = list.cut(0..300);
            list.change(Change::Update(1)).unwrap();
            assert_eq!(list.cut(0..300) != rest, moved, "{order}");
            let all = read(&mut list, 0, 300);
            let updated = logged(&list, ChangeKind::Update)[0];
            assert!(place.is_none_or(|place| all[place] == updated), "{order}");
        }
        let page = read(&mut ordered(ListOrder::Random, 1 << 50), 5, 100);
        assert!(page.len() == 100 && page.iter().any(|number| *number > 1 << 48));
        let once = read(&mut ordered(ListOrder::Ties, 1000), 0, 1000);
        for (place, number) in once.iter().enumerate() {
            assert!(number.abs_diff(place as u64) < 12, "{number} at {place}");
        }
        let lengths = (0..7).map(|value| (0..570).filter(|one| tied_value(*one) == value).count());
        assert!(lengths.eq([7, 8, 9, 10, 11, 12, 7]));
    }

    #[test]
    fn changes_at_once_are_bounded_and_logged() {
        let mut list = state(|_| (), 300);
        list.change(Change::DeleteFirst(2)).unwrap();
        list.change(Change::Shuffle).unwrap();
        let mut all = read(&mut list, 0, 300);
        assert!(!all.is_sorted());
        all.sort_unstable();
        assert!(all.into_iter().eq(2..300));
        list.change(Change::Update(2)).unwrap();
        list.change(Change::Insert(1)).unwrap();
        list.change(Change::Delete(500)).unwrap();
        assert_eq!(list.total(), 0);
        let kinds: Vec<_> = list.log.iter().map(|entry| entry.operation).collect();
        let update = [ChangeKind::Update, ChangeKind::Update, ChangeKind::Insert];
        assert_eq!(kinds[..2], [ChangeKind::Delete; 2], "moves are no changes");
        assert_eq!(kinds[2..5], update);
        assert_eq!((kinds.len(), list.log[4].number), (304, 300));

        list.change(Change::Insert(1 << 40)).unwrap_err();
        let mut huge = state(|_| (), 1 << 50);
        huge.change(Change::Shuffle).unwrap_err();

        let mut without = RecordsState::new(&Options::default(), 300, false).unwrap();
        without.change(Change::Update(9)).unwrap();
        assert!(without.log.is_empty(), "another record would be there");
    }
}
