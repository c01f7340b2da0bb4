//! A list that changes between page requests, and remembers only the changes (section 8, pagination, rule 7).

use std::ops::Range;

use crate::data::Dice;
use crate::options::Drift;
use crate::page::{Asked, Slice};

/// The order of a list's records, as runs of consecutive numbers; a list that never changed is one run.
///
/// Each change adds at most two runs, so memory and time grow with the changes, not with the list.
#[derive(Debug)]
pub(crate) struct Drifting {
    drift: Drift,
    dice: Dice,
    runs: Vec<Range<u64>>,
    total: u64,
    /// Numbers below it were there at the start, the others came later.
    original: u64,
    next: u64,
    deleted: Vec<u64>,
    requests: u64,
}

impl Drifting {
    pub(crate) fn new(drift: Drift, size: u64) -> Self {
        Self {
            drift,
            dice: Dice::new(drift.seed),
            runs: std::iter::once(0..size).collect(),
            total: size,
            original: size,
            next: size,
            deleted: Vec::new(),
            requests: 0,
        }
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Records that were there all the time, in their order.
    pub(crate) fn stayed(&self) -> impl Iterator<Item = u64> {
        let runs = self.runs.iter().cloned().flatten();
        runs.filter(|number| *number < self.original)
    }

    /// Records that came, whether they are still there or not.
    pub(crate) fn came(&self) -> Range<u64> {
        self.original..self.next
    }

    /// Records that went, whether they were there at the start or not.
    pub(crate) fn went(&self) -> &[u64] {
        &self.deleted
    }

    /// The page at this moment; the list may change right after it.
    pub(crate) fn page(&mut self, asked: Asked) -> Slice {
        let slice = Slice {
            total: self.total,
            numbers: self.cut(asked),
        };
        self.requests += 1;
        if self
            .requests
            .is_multiple_of(self.drift.every_requests.max(1).into())
        {
            let end = asked.offset.saturating_add(asked.limit).min(self.total);
            self.change(end);
        }
        slice
    }

    fn cut(&self, asked: Asked) -> Vec<Range<u64>> {
        let (mut skip, mut take) = (asked.offset, asked.limit);
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

    /// Inserts and deletes in mixed order, around `cursor`.
    fn change(&mut self, cursor: u64) {
        let mut inserts = u64::from(self.drift.inserts);
        let mut deletes = u64::from(self.drift.deletes);
        while inserts + deletes > 0 {
            let place = self.place(cursor);
            if self.dice.below(inserts + deletes) < inserts {
                inserts -= 1;
                self.insert(place);
            } else {
                deletes -= 1;
                self.delete(place);
            }
        }
    }

    /// Before the cursor, right at it, or behind it.
    fn place(&mut self, cursor: u64) -> u64 {
        let cursor = cursor.min(self.total);
        match self.dice.below(3) {
            0 => self.dice.below(cursor),
            1 => cursor.saturating_sub(1) + self.dice.below(3),
            _ => cursor + self.dice.below(self.total - cursor),
        }
    }

    fn insert(&mut self, place: u64) {
        let at = self.split(place.min(self.total));
        self.runs.insert(at, self.next..self.next + 1);
        self.next += 1;
        self.total += 1;
    }

    fn delete(&mut self, place: u64) {
        if self.total == 0 {
            return;
        }
        let at = self.split(place.min(self.total - 1));
        let run = &mut self.runs[at];
        self.deleted.push(run.start);
        run.start += 1;
        if run.is_empty() {
            self.runs.remove(at);
        }
        self.total -= 1;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The same changes made to a plain vector give the same list.
    #[test]
    fn runs_behave_like_a_vector() {
        let drift = Drift {
            every_requests: 1,
            inserts: 0,
            deletes: 0,
            seed: 0,
        };
        let mut list = Drifting::new(drift, 50);
        let mut plain: Vec<u64> = (0..50).collect();
        let mut dice = Dice::new(11);
        for step in 0..2000 {
            let place = dice.below(list.total() + 2);
            if dice.below(100) < 48 {
                plain.insert(plain.len().min(place as usize), list.next);
                list.insert(place);
            } else if !plain.is_empty() {
                plain.remove((plain.len() - 1).min(place as usize));
                list.delete(place);
            }
            let (offset, limit) = (dice.below(60), 1 + dice.below(20));
            let page = list.page(Asked { offset, limit });
            let numbers: Vec<u64> = page.numbers.into_iter().flatten().collect();
            let expected = plain.iter().skip(offset as usize).take(limit as usize);
            assert!(expected.eq(&numbers), "step {step}");
            assert_eq!(page.total, plain.len() as u64);
        }
    }

    #[test]
    fn memory_grows_with_the_changes_only() {
        let drift = Drift {
            every_requests: 2,
            inserts: 3,
            deletes: 2,
            seed: 5,
        };
        let mut list = Drifting::new(drift, 1 << 50);
        for page in 0..100 {
            let offset = page * 100;
            list.page(Asked { offset, limit: 100 });
        }
        assert_eq!(list.total(), (1 << 50) + 50);
        assert_eq!(list.came(), 1 << 50..(1 << 50) + 150);
        assert_eq!(list.went().len(), 100);
        assert!(list.runs.len() <= 1 + 2 * 250);
    }
}
