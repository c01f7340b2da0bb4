//! The order of a list's records, as runs of consecutive numbers: a list that never changed is a single run.

use std::ops::Range;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

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
