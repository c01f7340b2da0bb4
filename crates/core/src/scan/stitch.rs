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
const PATIENCE: u64 = 64;

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
        position
            .recent
            .iter()
            .for_each(|id| self.window.insert(*id));
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
        if overlaps { cursor } else { cursor + 1 }
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
        if page.offset == 0 {
            // From the very beginning nothing can be missing.
            return true;
        }
        if page.ids.iter().any(|id| self.window.contains(*id)) {
            return true;
        }
        let alone = page.offset == expected && self.previous.len() <= 1 && self.cursor.is_some();
        if alone && !page.ids.is_empty() {
            self.doubt(Doubt::NoOverlap);
        }
        alone
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
            fresh
                .iter()
                .for_each(|index| self.window.insert(page.ids[*index]));
        }
        if !fresh.is_empty() {
            self.stalled = 0;
        }
        let end_of_page = page.offset + page.ids.len() as u64;
        let end = match (page.ids.is_empty(), page.has_more) {
            (true, more) => {
                if more && page.offset < page.total {
                    self.doubt(Doubt::EmptyPage);
                }
                true
            }
            // The total is only a hint, so one more page is asked for before it is disbelieved.
            (false, false) => {
                end_of_page >= page.total || (fresh.is_empty() && page.offset >= expected)
            }
            (false, true) => false,
        };
        if !page.ids.is_empty() {
            self.cursor = Some(end_of_page - 1);
            self.last = page.ids.last().copied();
            self.previous.clone_from(&page.ids);
        }
        self.back = 0;
        Verdict::Deliver { fresh, end }
    }

    fn step_back(&mut self, page: &Slice, expected: u64) -> Verdict {
        self.repairs += u64::from(self.back == 0);
        self.back = (self.back * 2).max(self.stride());
        let offset = page.offset.min(expected).saturating_sub(self.back);
        if self.window.has_forgotten() && self.back > self.window.len() as u64 {
            // What is farther back is not remembered; a page there could not be recognised.
            self.doubt(Doubt::MovedTooFar);
            return self.deliver(page, expected);
        }
        Verdict::First(offset)
    }

    fn refuse_standstill(&mut self, page: &Slice) -> Result<()> {
        self.stalled += 1;
        let walk = self.farthest / self.stride() + 1;
        let same =
            !page.ids.is_empty() && page.ids == self.previous && Some(page.offset) != self.start();
        self.identical = if same { self.identical + 1 } else { 0 };
        if self.identical < IDENTICAL && self.stalled <= 2 * walk + PATIENCE {
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
        Some(self.cursor? + 1 - self.previous.len() as u64)
    }

    fn doubt(&mut self, doubt: Doubt) {
        if !self.doubts.contains(&doubt) {
            self.doubts.push(doubt);
        }
    }
}
