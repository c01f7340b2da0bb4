//! Looks again at records that seem to be deleted, where the list moved while it was read.
//!
//! In a list whose order does not change, a record that is still there stands between those that it stood
//! between before. A page is a slice of the list at one instant: if it shows one of them from either side, or an end of
//! the list in its place, and not the record, the record was gone at that instant, whatever the joining of the
//! other pages rests on. Where so much is new between the two that no page shows both, pages are joined into a
//! [`Chain`] that does. A record whose neighbours could not be found stays `missing`.
//!
//! A pure state machine: it asks for offsets and is shown what is on the pages there.

use super::difference::{Gap, Located, Undelivered};
use chain::Chain;
use search::{Search, Way};
use sides::Sides;

mod chain;
mod search;
mod sides;

/// What a page shows.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) offset: u64,
    pub(super) identities: Vec<u128>,
    /// Where each record was, if that is known.
    pub(super) records: Vec<Option<Located>>,
    /// Records on it that were not delivered.
    pub(super) undelivered: Vec<Undelivered>,
    /// Whether the list ends with it.
    pub(super) is_end: bool,
    /// How many records the list has, as far as the service says.
    pub(super) total: u64,
}

impl Shown {
    fn end(&self) -> u64 {
        self.offset.saturating_add(self.identities.len() as u64)
    }
}

/// Whether deletes of a proven scan are looked at again: where the list moved, and where nothing is left of it.
pub(super) fn is_needed(moved: bool, delivered: u64) -> bool {
    moved || delivered == 0
}

/// The gaps of a scan, looked at one by one.
pub(super) struct Looks {
    gaps: Vec<Gap>,
    outcomes: Vec<Outcome>,
    /// Records that were not delivered and are there.
    there: Vec<Undelivered>,
    page_size: u64,
    /// How many pages may still be read.
    left: u64,
    /// The gap that is looked for.
    at: usize,
    search: Search,
    /// By how many places records have moved since they were delivered, as far as is known.
    shift: i64,
    chain: Chain,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// Not seen yet; the chain of this number has shown what stood before it, and nothing from behind it.
    Open(u32),
    Gone,
    GivenUp,
}

impl Looks {
    /// `most` pages may be read, of `page_size` records.
    pub(super) fn new(mut gaps: Vec<Gap>, page_size: u64, most: u64) -> Self {
        // Neighbouring gaps may be on one page.
        gaps.sort_unstable_by_key(|gap| (gap.place, gap.first));
        Looks {
            outcomes: vec![Outcome::Open(0); gaps.len()],
            gaps,
            there: Vec::new(),
            page_size: page_size.max(1),
            left: most,
            at: 0,
            search: Search::default(),
            shift: 0,
            chain: Chain::default(),
        }
    }

    /// Where to read next; none when all is done.
    pub(super) fn next(&mut self) -> Option<u64> {
        loop {
            let gap = self.gaps.get(self.at)?;
            if let Outcome::Open(chain) = self.outcomes[self.at] {
                let way = Way {
                    target: gap.place.saturating_add_signed(self.shift),
                    begins: gap.begins,
                    ends: gap.ends,
                    page_size: self.page_size,
                    chain: self.chain.is(chain).then_some(&self.chain),
                };
                if self.left > 0
                    && let Some(offset) = self.search.next(&way)
                {
                    self.left -= 1;
                    return Some(offset);
                }
                self.outcomes[self.at] = Outcome::GivenUp;
            }
            (self.at, self.search) = (self.at + 1, Search::default());
        }
    }

    /// Takes a page that was asked for.
    pub(super) fn take(&mut self, page: &Shown) {
        if !page.is_end && !page.records.is_empty() {
            // The service may grant less than was asked for.
            self.page_size = self.page_size.min(page.records.len() as u64);
        }
        self.there.extend(&page.undelivered);
        let Some(gap) = self.gaps.get(self.at) else {
            return;
        };
        let sides = Sides::of(page);
        let (place, around) = (gap.place, sides.around(gap));
        let joins = self.chain.joins(page);
        let walked = self.search.walks;
        let lengthens = joins && page.end() > self.chain.end();
        // Unless this page is where another one begins, a chain that is broken is taken up again where it should be by now.
        let taken = joins || !walked || around.0.is_some();
        if taken {
            self.chain.take(page, joins);
            self.search.note_taken(walked && !lengthens);
        } else {
            self.chain.widen(self.page_size);
            if !self.search.take_up(self.chain.shift_to(page)) {
                self.chain.abandon();
            }
        }
        self.settle(page, &sides, taken);
        self.search.note(page, around, sides.is_blind());
        if page.records.is_empty() {
            // The list has become shorter than that.
            self.shift = page.total as i64 - place as i64;
        } else if let Some((before, now)) = sides.nearest(place) {
            self.shift = now as i64 - before as i64;
        }
    }

    /// Decides on the gaps whose places a page shows, and notes which one follows; `taken` if the chain ends with it.
    fn settle(&mut self, page: &Shown, sides: &Sides<'_>, taken: bool) {
        let (chain, last) = (self.chain.number(), sides.last());
        let all = self.gaps.iter().zip(&mut self.outcomes).skip(self.at);
        for (gap, outcome) in all {
            let Outcome::Open(begun) = *outcome else {
                continue;
            };
            *outcome = match sides.around(gap) {
                (Some(before), Some(behind)) if before <= behind => Outcome::Gone,
                (None, Some(_)) if taken && begun == chain => Outcome::Gone,
                (_, Some(_)) => Outcome::Open(0),
                (Some(_), None) if taken => Outcome::Open(chain),
                (_, None) => *outcome,
            };
            // What stood before it may be gone, too; behind the end of the list there is nothing.
            if gap.place > last && !page.is_end {
                break;
            }
        }
    }

    /// The gaps, each with whether its records are gone.
    pub(super) fn finish(mut self) -> Vec<Gap> {
        self.there.sort_unstable_by_key(|one| one.position);
        self.there.dedup();
        let mut gaps = Vec::with_capacity(self.gaps.len());
        for (mut gap, outcome) in self.gaps.into_iter().zip(self.outcomes) {
            gap.gone = outcome == Outcome::Gone;
            // Of several records that were not delivered, some may be there again.
            let from = self.there.partition_point(|one| one.position < gap.first);
            let there = self.there[from..].iter();
            let there = there.take_while(|one| one.position < gap.end);
            for one in there.filter(|one| gap.gone && one.apart == gap.apart) {
                gaps.extend(gap.up_to(one.position));
                gaps.push(Gap {
                    first: one.position,
                    end: one.position + 1,
                    gone: false,
                    ..gap
                });
                gap.first = one.position + 1;
            }
            gaps.extend(gap.up_to(gap.end));
        }
        gaps
    }
}

impl Gap {
    /// Its part with the records before this position, if there is one.
    fn up_to(self, end: u64) -> Option<Self> {
        (self.first < end).then_some(Gap { end, ..self })
    }
}

#[cfg(test)]
mod tests;
