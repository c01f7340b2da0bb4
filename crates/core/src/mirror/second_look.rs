//! Looks again at records that seem to be deleted, where the list moved while it was read.
//!
//! In a list whose order does not change, a record that is still there stands between those that it stood
//! between before. A page is a slice of the list at one instant: if it shows one of them from either side, or an end of
//! the list in its place, and not the record, the record was gone at that instant, whatever the joining of the
//! other pages rests on. A record whose neighbours could not be found on one page stays `missing`.
//!
//! A pure state machine: it asks for offsets and is shown what is on the pages there.

use super::difference::{Gap, Located, Undelivered};

/// So many pages are read for one gap before it is given up: where it should be, and around.
const TRIES: u32 = 6;

/// What a page shows.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) offset: u64,
    /// Where each record was, if that is known.
    pub(super) records: Vec<Option<Located>>,
    /// Records on it that were not delivered.
    pub(super) undelivered: Vec<Undelivered>,
    /// Whether the list ends with it.
    pub(super) is_end: bool,
    /// How many records the list has, as far as the service says.
    pub(super) total: u64,
}

/// Whether deletes of a proven scan are looked at again: where the list moved, and where nothing is left of it.
pub(super) fn is_needed(moved: bool, delivered: u64) -> bool {
    moved || delivered == 0
}

/// The gaps of a scan, looked at one by one.
pub(super) struct Looks {
    gaps: Vec<Gap>,
    outcomes: Vec<Outcome>,
    page_size: u64,
    /// How many pages may still be read.
    left: u64,
    /// The gap that is looked for.
    at: usize,
    tries: u32,
    /// By how many places records have moved since they were delivered, as far as is known.
    shift: i64,
    /// How many pages in a row have shown nothing known.
    missed: u32,
    /// How many pages were where they should be, and did not show both sides of the gap.
    stuck: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Open,
    Gone,
    /// Some of its records are still there.
    Shown,
    GivenUp,
}

impl Looks {
    /// `most` pages may be read, of `page_size` records.
    pub(super) fn new(mut gaps: Vec<Gap>, page_size: u64, most: u64) -> Self {
        // Neighbouring gaps may be on one page.
        gaps.sort_unstable_by_key(|gap| (gap.place, gap.first));
        Looks {
            outcomes: vec![Outcome::Open; gaps.len()],
            gaps,
            page_size: page_size.max(1),
            left: most,
            at: 0,
            tries: 0,
            shift: 0,
            missed: 0,
            stuck: 0,
        }
    }

    /// Where to read next; none when all is done.
    pub(super) fn next(&mut self) -> Option<u64> {
        loop {
            let gap = self.gaps.get(self.at)?;
            let offset = self.offset(gap);
            let open = self.outcomes[self.at] == Outcome::Open;
            if open && self.tries < TRIES && self.left > 0 {
                self.left -= 1;
                self.tries += 1;
                return Some(offset);
            }
            if open {
                self.outcomes[self.at] = Outcome::GivenUp;
            }
            (self.at, self.tries, self.missed, self.stuck) = (self.at + 1, 0, 0, 0);
        }
    }

    /// The offset of a page with the gap in its middle.
    fn offset(&self, gap: &Gap) -> u64 {
        if !gap.begins {
            return 0;
        }
        // Of the end of the list there may be more by now, and less of what stood before it.
        let eighths = match gap.ends {
            false => [1, 4, 7],
            true => [4, 2, 6],
        };
        let margin = self.page_size * eighths[self.stuck % 3] / 8;
        let middle = gap.place.saturating_sub(margin.max(1));
        // Where nothing is known, it may be on either side.
        let step = (self.page_size * 3 / 4).max(1) as i64;
        let steps = i64::from(self.missed.div_ceil(2));
        let around = if self.missed % 2 == 1 { -step } else { step };
        middle.saturating_add_signed(self.shift + around * steps)
    }

    /// Takes a page that was asked for.
    pub(super) fn take(&mut self, page: &Shown) {
        if !page.is_end && !page.records.is_empty() {
            // The service may grant less than was asked for.
            self.page_size = self.page_size.min(page.records.len() as u64);
        }
        let mut places = page.records.iter().flatten();
        // Those behind it may be on the page too.
        let last = places.clone().map(|located| located.place).max();
        for (gap, outcome) in self.gaps.iter().zip(&mut self.outcomes).skip(self.at) {
            // What stood before it may be gone, too; behind the end of the list there is nothing.
            if gap.place > last.unwrap_or(u64::MAX) && !page.is_end {
                break;
            }
            if *outcome == Outcome::Open && page.holds(gap) {
                let any = page.undelivered.iter().any(|one| gap.has(*one));
                *outcome = if any { Outcome::Shown } else { Outcome::Gone };
            }
        }
        let Some(place) = self.gaps.get(self.at).map(|gap| gap.place) else {
            return;
        };
        if page.records.is_empty() {
            // The list has become shorter than that.
            (self.shift, self.missed) = (page.total as i64 - place as i64, 0);
            return;
        }
        if places.next().is_none() {
            self.missed += 1;
            return;
        }
        let known = page.records.iter().zip(page.offset + 1..);
        let known = known.filter_map(|(located, now)| Some((located.as_ref()?.place, now)));
        let nearest = known.min_by_key(|(before, _)| before.abs_diff(place));
        if let Some((before, now)) = nearest {
            let shift = now as i64 - before as i64;
            let moved = self.shift != shift;
            self.stuck = if moved { self.stuck } else { self.stuck + 1 };
            (self.shift, self.missed) = (shift, 0);
        }
    }

    /// The gaps, each with whether its records are gone.
    pub(super) fn finish(mut self) -> Vec<Gap> {
        for (gap, outcome) in self.gaps.iter_mut().zip(self.outcomes) {
            gap.gone = outcome == Outcome::Gone;
        }
        self.gaps
    }
}

impl Shown {
    /// Whether the place of a gap is on the page: behind all that stood before it, and before all that stood behind it.
    fn holds(&self, gap: &Gap) -> bool {
        let position = |index: usize| self.records[index].map(|located| located.position);
        let indices = 0..self.records.len();
        let before = |index: &usize| position(*index).is_some_and(|it| it < gap.from);
        let behind = |index: &usize| position(*index).is_some_and(|it| it >= gap.to);
        let first = (self.offset == 0).then_some(0);
        let begins = indices
            .clone()
            .rfind(before)
            .map(|index| index + 1)
            .or(first);
        let ends = indices.clone().find(behind);
        let ends = ends.or(self.is_end.then_some(indices.end));
        begins
            .zip(ends)
            .is_some_and(|(begins, ends)| begins <= ends)
    }
}

#[cfg(test)]
mod tests;
