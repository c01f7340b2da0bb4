//! Joins pages into one complete list: decides which records are new, and where to read when a page does not join.
//!
//! Say the list has an order that does not change. Everything in it up to the *frontier*, the farthest
//! record delivered, has been delivered, except for what was inserted behind the frontier. A page is a
//! contiguous slice of the list at its own moment. If it holds a record that stands at the frontier or
//! behind it, then all that is stable between the frontier and the end of the page is on the page.
//!
//! Pages therefore overlap. A known record shows where the page stands only as long as the record has
//! not moved, so a page joins through records delivered lately: few of those that rank between the last
//! known record and the frontier may be missing from it, no more than the list has shrunk by. Where
//! the page stands elsewhere than expected, it is read again with a wider overlap, and both readings
//! and what was delivered must agree on the order. Where nothing on it is known, the scan steps back.
//!
//! A pure state machine: it sees identities, not records, and asks for offsets.

mod deliver;
mod fit;
mod part;
mod seam;
mod slice;

use super::evidence::Evidence;
use super::memory::{Memory, Place};
use super::position::Position;
use super::progress::Progress;
use super::sight::Sight;
use super::{Consistency, Doubt};
use crate::error::Result;
use fit::Fit;
use part::{Bounds, Cut};
use seam::Seam;
pub(crate) use slice::Slice;
use std::ops::RangeInclusive;

/// Pages of fewer records show too little of what stands around a record to tell whether it has moved.
const SMALL_PAGE: u64 = 4;

/// What to do with a page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It joins: deliver the records at these indices, of which the first `behind` stand behind the
    /// frontier. `end`: the list ends with it.
    Deliver {
        fresh: Vec<usize>,
        behind: usize,
        end: bool,
    },
    /// It does not join yet: read this offset first, then show the page again.
    Before(u64),
    /// It does not join any more: read this offset in its place.
    Instead(u64),
}

/// The state of one scan.
pub(crate) struct Joiner {
    consistency: Consistency,
    pub(super) memory: Memory,
    pub(super) evidence: Evidence,
    /// Offset of the last record joined, as of its page; none before the first.
    pub(super) cursor: Option<u64>,
    /// The rank of that record: the frontier, unless the scan has just stepped back.
    rank: u64,
    /// Most records that a page has held.
    granted: u64,
    /// Whether the service sends only few records a page, although there are more.
    small_pages: bool,
    /// Whether the page joined last stood where it was expected.
    held: bool,
    /// By how many records the next pages overlap.
    overlap: u64,
    /// Seams in a row that held at this overlap.
    calm: u32,
    seam: Seam,
    /// How often the end of the list has been looked at in a row.
    looks: u32,
    progress: Progress,
    /// Records that pages sent for later must not show again.
    removed: Option<Removed>,
    /// When the last of the joined pages arrived.
    latest: u64,
    /// The rank behind which records are missing that have to turn up again, because the list has not
    /// shrunk enough: what follows was inserted before them, or the record of this rank has moved.
    unsettled: Option<u64>,
    /// How often the scan has gone back to the beginning of the list and found nothing known there.
    restarts: u32,
    /// Where the part begins and ends, if only a part of the list is read.
    bounds: Option<Bounds>,
    /// Whether the page that is judged was cut off where the part ends.
    ending: bool,
    pub(crate) duplicates: u64,
    pub(crate) repairs: u64,
}

/// Appended records that a page has shown to be gone, by rank, and when it arrived.
struct Removed {
    ranks: RangeInclusive<u64>,
    at: u64,
}

impl Joiner {
    pub(crate) fn new(consistency: Consistency) -> Self {
        Joiner {
            consistency,
            memory: Memory::default(),
            evidence: Evidence::default(),
            cursor: None,
            rank: 0,
            granted: 0,
            small_pages: false,
            held: true,
            overlap: 1,
            calm: 0,
            seam: Seam::default(),
            looks: 0,
            progress: Progress::default(),
            removed: None,
            latest: 0,
            unsettled: None,
            restarts: 0,
            bounds: None,
            ending: false,
            duplicates: 0,
            repairs: 0,
        }
    }

    /// Goes on from a position instead of the beginning; pages of `page_size` records are going to be
    /// asked for.
    pub(crate) fn resume(&mut self, position: &Position, page_size: u64) {
        self.cursor = position.offset;
        self.evidence = position.evidence.clone();
        for recent in &position.recent {
            if recent.behind {
                let high = (2 * self.memory.frontier()).saturating_sub(1);
                self.memory.insert(recent.id, Place::between(None, high));
            } else {
                self.memory.append(recent.id);
            }
        }
        if self.evidence.delivered > self.memory.len() as u64 {
            self.memory.forget();
        }
        self.rank = self.memory.frontier();
        // The list may have changed a lot in the meantime.
        self.overlap = (page_size / 2).min(self.memory.len() as u64).max(1);
    }

    /// Whether as many records came as a list holds that never changed its size.
    pub(crate) fn is_counted(&self) -> bool {
        !self.is_piece() && self.evidence.is_counted()
    }

    /// Whether a page was joined, in this run or the one before.
    pub(crate) fn has_begun(&self) -> bool {
        self.granted > 0
    }

    /// Offset of the frontier.
    pub(crate) fn offset(&self) -> u64 {
        self.cursor.unwrap_or(0)
    }

    /// The distance between the offsets of pages read ahead, in records.
    pub(crate) fn stride(&self) -> u64 {
        self.granted.saturating_sub(self.overlap_of_next()).max(1)
    }

    fn overlap_of_next(&self) -> u64 {
        match self.consistency {
            Consistency::Fast => 0,
            // A page of one record has no room for an overlap.
            Consistency::Complete | Consistency::Snapshot
                if self.is_single() || self.by_position() =>
            {
                0
            }
            Consistency::Complete | Consistency::Snapshot => self.overlap,
        }
    }

    /// Where to go on after everything joined so far.
    pub(crate) fn next_offset(&self) -> u64 {
        if let Some(offset) = self.first_offset() {
            return offset;
        }
        let Some(cursor) = self.cursor else { return 0 };
        cursor
            .saturating_add(1)
            .saturating_sub(self.overlap_of_next())
    }

    /// Whether the page joined last stood where it was expected.
    pub(crate) fn held(&self) -> bool {
        self.held
    }

    /// Equal records without an `id` are told apart by nothing but their position.
    fn by_position(&self) -> bool {
        self.evidence.has(Doubt::EqualRecords)
    }

    /// Notes a page as it arrives.
    pub(crate) fn note_arrival(&mut self, page: &Slice) {
        let granted = self.granted.max(page.ids.len() as u64);
        self.evidence.note_arrival(page.total, granted);
    }

    /// Judges a page; `again` when it was shown before.
    ///
    /// # Errors
    /// `Paging` when the service makes no progress, or records have no identity that lasts.
    pub(crate) fn judge(&mut self, page: &Slice, again: bool) -> Result<Verdict> {
        self.granted = self.granted.max(page.ids.len() as u64);
        let small = self.granted < SMALL_PAGE;
        self.small_pages = small && (self.small_pages || !page.ids.is_empty() && page.has_more);
        self.memory.note_page(page.ids.len());
        if let Some(verdict) = self.seek(page) {
            return Ok(verdict);
        }
        let cut = self.cut(page);
        if cut == Cut::Missed {
            self.evidence.doubt(Doubt::MovedTooFar);
            return Ok(self.end_here());
        }
        let page = page.up_to(cut);
        self.ending = matches!(cut, Cut::At(_));
        self.judge_own(&page, again)
    }

    /// Judges a page that has nothing of the next part.
    fn judge_own(&mut self, page: &Slice, again: bool) -> Result<Verdict> {
        let Some(cursor) = self.cursor else {
            if page.offset > 0 {
                return Ok(Verdict::Before(0));
            }
            return Ok(self.deliver(page, Sight::of(&self.memory, &page.ids), Fit::Joins));
        };
        if self.consistency == Consistency::Fast || self.by_position() {
            return self.judge_by_position(page, cursor);
        }
        let sight = Sight::of(&self.memory, &page.ids);
        self.watch(page, &sight);
        if self.by_position() {
            return self.judge_by_position(page, cursor);
        }
        let appended = self.memory.frontier();
        if let Err(error) = self.progress.note(page, cursor, appended, self.stride()) {
            if self.evidence.has(Doubt::StaleReads) {
                // Its end comes and goes; what there is has been read.
                return Ok(self.end_here());
            }
            return Err(error);
        }
        let gap = sight.last.is_none() && page.offset > cursor && !page.ids.is_empty();
        if gap && !self.follows_single(page, cursor) {
            return Ok(Verdict::Before(self.next_offset()));
        }
        let fit = self.fit(page, &sight, cursor)?;
        if fit == Fit::None {
            return Ok(self.read_elsewhere(page, cursor, again));
        }
        let shift = self.shift(page, &sight, cursor);
        if !again && let Some(wide) = self.widen(page, &sight, shift) {
            let frontier = cursor.saturating_add_signed(shift).saturating_add(1);
            let from = frontier.saturating_sub(wide).min(page.offset - 1);
            self.seam.widened = true;
            self.seam.glimpse.clone_from(&page.ids);
            return Ok(Verdict::Before(from));
        }
        if self.is_weak(page, &sight, shift) {
            return Ok(self.read_elsewhere(page, cursor, again));
        }
        Ok(self.deliver(page, sight, fit))
    }

    fn judge_by_position(&mut self, page: &Slice, cursor: u64) -> Result<Verdict> {
        if page.offset > cursor.saturating_add(1) {
            return Ok(Verdict::Before(self.next_offset()));
        }
        if !self.by_position() {
            let delivered = self.evidence.delivered;
            self.progress.note(page, cursor, delivered, self.stride())?;
        }
        let known = usize::try_from(cursor.saturating_add(1) - page.offset).unwrap_or(usize::MAX);
        let fresh: Vec<usize> = (known..page.ids.len()).collect();
        self.evidence.delivered += fresh.len() as u64;
        if let (Some(_), Some(last)) = (fresh.last(), page.end().checked_sub(1)) {
            self.cursor = Some(last);
        }
        let end = self.ending
            || page.ids.is_empty()
            || !page.has_more && (fresh.is_empty() || page.end() >= page.total);
        Ok(Verdict::Deliver {
            fresh,
            behind: 0,
            end,
        })
    }
}
