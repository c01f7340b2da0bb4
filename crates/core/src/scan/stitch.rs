//! Joins pages into one complete list: decides which records are new, and where to look when a seam fails.
//!
//! A page is a contiguous slice of the list at its own moment. Say everything stable up to some
//! record has been delivered. A page that holds *any* delivered record reaches back to what is
//! covered, so its records extend the coverage without a hole, whenever it was fetched. Pages
//! therefore overlap by one record. A page without a delivered record proves nothing: records were
//! removed before it, and the scan steps back until a page joins again.
//!
//! A pure state machine: it sees identities, not records, and asks for offsets.

use super::position::Position;
use super::window::{Identity, Window};
use super::{Consistency, Doubt};
use crate::error::{Error, ErrorKind, Result};

/// As many identical pages in a row mean that the service ignores the offset. A list that grows in
/// front of the cursor can show the same page twice or thrice.
const IDENTICAL: u32 = 6;
/// Requests without a new record that are granted on top of two walks through the list.
const PATIENCE: u64 = 66;

/// A page, as far as joining it is concerned.
#[derive(Clone, Debug)]
pub(crate) struct Slice {
    pub(crate) offset: u64,
    pub(crate) ids: Vec<Identity>,
    pub(crate) has_more: bool,
    pub(crate) total: u64,
}

/// What to do with a page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It joins: deliver the records at these indices. `end`: the list ends with it.
    Deliver { fresh: Vec<usize>, end: bool },
    /// It does not join yet: fetch this offset first, then show the page again.
    First(u64),
    /// It will not join any more: fetch this offset in its place.
    Instead(u64),
}

/// The state of one scan.
pub(crate) struct Stitcher {
    consistency: Consistency,
    window: Window,
    /// Offset of the last record that was joined; none before the first page.
    cursor: Option<u64>,
    last: Option<Identity>,
    /// The total that the page joined last told.
    total: u64,
    /// Most records that a page has held.
    granted: u64,
    /// How far back the next step goes, in records; grows while no page joins.
    back: u64,
    /// Pages since the last new record, and the farthest offset seen: bounds for a scan gone astray.
    stalled: u64,
    farthest: u64,
    identical: u32,
    previous: Vec<Identity>,
    pub(crate) doubts: Vec<Doubt>,
    pub(crate) duplicates: u64,
    pub(crate) repairs: u64,
}

impl Stitcher {
    pub(crate) fn new(consistency: Consistency) -> Self {
        Stitcher {
            consistency,
            window: Window::default(),
            cursor: None,
            last: None,
            total: 0,
            granted: 0,
            back: 0,
            stalled: 0,
            farthest: 0,
            identical: 0,
            previous: Vec::new(),
            doubts: Vec::new(),
            duplicates: 0,
            repairs: 0,
        }
    }

    /// Goes on from a position instead of the beginning.
    pub(crate) fn resume(&mut self, position: &Position) {
        self.cursor = position.offset;
        self.last = position.recent.back().copied();
        self.previous = position
            .recent
            .iter()
            .rev()
            .take(2)
            .rev()
            .copied()
            .collect();
        self.window.remember(position.recent.iter().copied());
        if position.forgotten {
            self.window.forget();
        }
    }

    /// Offset of the last record of the page joined last.
    pub(crate) fn offset(&self) -> u64 {
        self.cursor.unwrap_or(0)
    }

    /// The distance between the offsets of pages fetched ahead, in records.
    pub(crate) fn stride(&self) -> u64 {
        match self.consistency {
            Consistency::Complete => self.granted.saturating_sub(1).max(1),
            Consistency::Fast => self.granted.max(1),
        }
    }

    /// Where to go on after everything joined so far.
    pub(crate) fn next_offset(&self) -> u64 {
        let Some(cursor) = self.cursor else { return 0 };
        // A page of one record has no room for an overlap.
        let overlaps = self.consistency == Consistency::Complete && self.previous.len() > 1;
        if overlaps {
            cursor
        } else {
            cursor.saturating_add(1)
        }
    }

    /// Judges a page; `again` when it was shown before.
    ///
    /// # Errors
    /// `Paging` when the service makes no progress.
    pub(crate) fn judge(&mut self, page: &Slice, again: bool) -> Result<Verdict> {
        self.farthest = self.farthest.max(page.offset);
        self.granted = self.granted.max(page.ids.len() as u64);
        if !again {
            self.refuse_standstill(page)?;
        }
        let expected = self.next_offset();
        let joins = match self.consistency {
            Consistency::Fast => page.offset <= expected,
            Consistency::Complete => self.joins(page, expected),
        };
        if joins {
            return Ok(self.deliver(page, expected));
        }
        if page.offset > expected {
            // A page before this one was short, or the list has shrunk: the gap comes first.
            return Ok(Verdict::First(expected));
        }
        if again {
            // The list has moved on since this page was fetched.
            return Ok(Verdict::Instead(expected));
        }
        Ok(self.step_back(page, expected))
    }

    fn joins(&mut self, page: &Slice, expected: u64) -> bool {
        let starts_known = page.ids.first().is_some_and(|id| self.window.contains(*id));
        if self.reaches_beyond_memory(page, expected) && !starts_known {
            // None of what was delivered is recognised. Going on from here loses the least; some may come again.
            self.doubt(Doubt::MovedTooFar);
            return true;
        }
        // From the very beginning nothing can be missing.
        if page.offset == 0 || page.ids.iter().any(|id| self.window.contains(*id)) {
            return true;
        }
        let shrunk = page.ids.is_empty() && page.total < page.offset;
        let behind_one = self.cursor.is_some() && self.previous.len() <= 1;
        let alone = page.offset == expected && behind_one && !shrunk;
        if alone && !page.ids.is_empty() {
            self.doubt(Doubt::NoOverlap);
        }
        alone
    }

    /// Whether a page may hold records that were delivered and forgotten, because the scan stepped back so far.
    fn reaches_beyond_memory(&self, page: &Slice, expected: u64) -> bool {
        let farthest = self.farthest_back(page, expected);
        let beyond = page.offset <= farthest.saturating_add(page.ids.len() as u64);
        let stepped_back = page.offset < expected.min(page.total);
        self.window.has_forgotten() && !page.ids.is_empty() && stepped_back && beyond
    }

    /// Where to step back to at most: what is remembered is not before it, unless the list has shrunk
    /// by more than it tells.
    fn farthest_back(&self, page: &Slice, expected: u64) -> u64 {
        let shrunk = self.total.saturating_sub(page.total);
        let by_total = expected.saturating_sub(shrunk.saturating_add(self.stride()));
        let by_memory = expected.min(page.total);
        by_total.min(by_memory.saturating_sub(self.window.len() as u64))
    }

    fn deliver(&mut self, page: &Slice, expected: u64) -> Verdict {
        let seam = self.last.is_some() && page.ids.first() == self.last.as_ref();
        let mut fresh = Vec::with_capacity(page.ids.len());
        for (index, id) in page.ids.iter().enumerate() {
            let known = match self.consistency {
                Consistency::Fast => page.offset + (index as u64) < expected,
                // Without an id, equal records are told apart by their position behind the seam.
                Consistency::Complete if seam && !id.by_id => index == 0,
                Consistency::Complete => self.window.contains(*id),
            };
            if !known {
                fresh.push(index);
            } else if !(seam && index == 0) {
                self.duplicates += 1;
            }
        }
        if self.consistency == Consistency::Complete {
            let new = fresh.iter().map(|index| page.ids[*index]);
            let distinct = self.window.remember(new);
            let known = page.ids.len() - fresh.len();
            if !distinct || known > usize::from(seam) && repeats_an_id(&page.ids) {
                self.doubt(Doubt::RepeatedId);
            }
        }
        if !fresh.is_empty() {
            self.stalled = 0;
        }
        let end_of_page = page.offset.saturating_add(page.ids.len() as u64);
        let end = match (page.ids.is_empty(), page.has_more) {
            (true, _) => true,
            // The total is only a hint, so one more page is asked for before it is disbelieved.
            (false, false) => {
                end_of_page >= page.total || (fresh.is_empty() && page.offset >= expected)
            }
            (false, true) => false,
        };
        if end && end_of_page < page.total {
            self.doubt(match page.has_more {
                true => Doubt::EmptyPage,
                false => Doubt::ShortOfTotal,
            });
        }
        if !page.ids.is_empty() {
            self.cursor = Some(end_of_page - 1);
            self.last = page.ids.last().copied();
            self.total = page.total;
            self.previous.clone_from(&page.ids);
        }
        self.back = 0;
        Verdict::Deliver { fresh, end }
    }

    fn step_back(&mut self, page: &Slice, expected: u64) -> Verdict {
        self.repairs += u64::from(self.back == 0);
        self.back = match page.ids.is_empty() && page.total < page.offset {
            // The list has become shorter than that: its new end is the place to begin at.
            true => self.stride(),
            false => (self.back * 2).max(self.stride()),
        };
        let from = page.offset.min(expected).min(page.total);
        let mut offset = from.saturating_sub(self.back);
        if self.window.has_forgotten() && !page.ids.is_empty() {
            offset = offset.max(self.farthest_back(page, expected));
        }
        Verdict::First(offset)
    }

    fn refuse_standstill(&mut self, page: &Slice) -> Result<()> {
        self.stalled += 1;
        let walk = self.farthest / self.stride();
        let same =
            !page.ids.is_empty() && page.ids == self.previous && Some(page.offset) != self.start();
        self.identical = if same { self.identical + 1 } else { 0 };
        if self.identical < IDENTICAL
            && self.stalled <= walk.saturating_mul(2).saturating_add(PATIENCE)
        {
            return Ok(());
        }
        let message = format!(
            "no new record in the last {} pages: the service ignores the offset, or the list has no stable order",
            self.stalled
        );
        Err(Error::new(ErrorKind::Paging, message).with_offset(page.offset))
    }

    /// The offset of the page joined last.
    fn start(&self) -> Option<u64> {
        let end = self.cursor?.checked_add(1)?;
        end.checked_sub(self.previous.len() as u64)
    }

    fn doubt(&mut self, doubt: Doubt) {
        if !self.doubts.contains(&doubt) {
            self.doubts.push(doubt);
        }
    }
}

fn repeats_an_id(page: &[Identity]) -> bool {
    let mut seen = Window::default();
    !seen.remember(page.iter().copied())
}
