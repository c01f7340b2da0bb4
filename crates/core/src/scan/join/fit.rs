//! Whether a page joins what has been read, and what it says against a stable order.

use super::{Joiner, Slice};
use crate::error::{Error, ErrorKind, Result};
use crate::scan::Doubt;
use crate::scan::memory::Place;
use crate::scan::sight::{Sight, has_equals, same_order};

/// How many records may have been removed between two pages without the total saying so.
pub(super) const SLACK: u64 = 3;
/// A scan goes back to the beginning of the list no more often than this.
const MOST_RESTARTS: u32 = 2;
/// So many pages in a row that overlap and share nothing show that records without `id` have no lasting identity.
const MOST_UNRELATED: u32 = 3;

/// Whether a page joins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    None,
    Joins,
    /// It follows what has been read, or begins the list, yet more records are missing from it than the
    /// list has shrunk by.
    Unsettled,
}

impl Joiner {
    /// Whether pages hold a single record, which leaves no room for an overlap.
    pub(super) fn is_single(&self) -> bool {
        self.small_pages && self.granted == 1
    }

    /// Whether it is the next of pages that hold a single record, or the end behind them.
    pub(super) fn follows_single(&self, page: &Slice, cursor: u64) -> bool {
        let ends = self.evidence.total() == Some(page.total) || self.evidence.total().is_none();
        self.is_single()
            && page.offset.checked_sub(1) == Some(cursor)
            && (!page.ids.is_empty() || ends)
    }

    /// Notes what the page says against a stable order.
    pub(super) fn watch(&mut self, page: &Slice, sight: &Sight) {
        let by_id = page.ids.iter().all(|id| id.by_id());
        let ordered = sight.ordered && same_order(&self.seam.glimpse, &page.ids);
        if !by_id && (!sight.ordered || has_equals(&page.ids)) {
            self.evidence.doubt(Doubt::EqualRecords);
        } else if !ordered && has_equals(&page.ids) {
            self.evidence.doubt(Doubt::RepeatedId);
        } else if !ordered {
            self.evidence.doubt(Doubt::OrderChanged);
        }
        if let Some(removed) = &self.removed
            && page.sent > removed.at
        {
            let gone = |place: &Place| place.is_appended() && removed.ranks.contains(&place.rank());
            if sight.known.iter().flatten().any(gone) {
                self.evidence.doubt(Doubt::StaleReads);
            }
        }
    }

    pub(super) fn fit(&mut self, page: &Slice, sight: &Sight, cursor: u64) -> Result<Fit> {
        if self.follows_single(page, cursor) {
            if !page.ids.is_empty() {
                self.evidence.doubt(Doubt::NoOverlap);
            }
            return Ok(Fit::Joins);
        }
        let lasting = page.ids.iter().any(|id| id.by_id()) || page.ids.is_empty();
        if sight.last.is_none() && !lasting && self.evidence.shrunk_to(page.total) == 0 {
            self.seam.unrelated += 1;
            if self.seam.unrelated >= MOST_UNRELATED || page.offset == 0 {
                let message = "records have no id and change from one read to the next, so pages cannot be joined";
                return Err(Error::new(ErrorKind::Paging, message).with_offset(page.offset));
            }
        }
        let Some(last) = sight.last else {
            // From the very beginning nothing can be missing. What was delivered is gone, or it follows.
            if page.offset == 0 && !self.has_predecessor() {
                self.restarts += 1;
                if self.restarts <= MOST_RESTARTS {
                    return Ok(Fit::Unsettled);
                }
                self.evidence.doubt(Doubt::MovedTooFar);
                return Ok(Fit::Joins);
            }
            let lost = self.is_beyond_memory(page, cursor);
            if lost {
                self.evidence.doubt(Doubt::MovedTooFar);
            }
            let disordered = self.evidence.has(Doubt::OrderChanged) && self.seam.steps > 0;
            let joins = (lost || disordered) && !page.ids.is_empty();
            return Ok(if joins { Fit::Joins } else { Fit::None });
        };
        if self.evidence.has(Doubt::OrderChanged) || self.evidence.has(Doubt::StaleReads) {
            return Ok(Fit::Joins);
        }
        // What follows the last known record may be on the next page.
        let followed = last + 1 < page.ids.len() || !page.has_more;
        let most = match self.seam.steps {
            0 => SLACK,
            _ => self.granted,
        };
        let shrunk = self.evidence.shrunk_to(page.total);
        if !followed || sight.missing <= shrunk.saturating_add(most) {
            return Ok(Fit::Joins);
        }
        if self.is_beyond_memory(page, cursor) {
            self.evidence.doubt(Doubt::MovedTooFar);
            return Ok(Fit::Joins);
        }
        // What stands before it has been read, too.
        let settled = page.offset == 0 || self.seam.steps > 0 || self.unsettled.is_some();
        Ok(if settled { Fit::Unsettled } else { Fit::None })
    }

    /// Whether stepping back further would come to records that were delivered and forgotten.
    pub(super) fn is_beyond_memory(&self, page: &Slice, cursor: u64) -> bool {
        let stepped_back = page.offset < self.next_offset().min(page.total);
        let beyond = page.offset
            <= self
                .farthest_back(page, cursor)
                .saturating_add(page.ids.len() as u64);
        self.memory.has_forgotten() && !page.ids.is_empty() && stepped_back && beyond
    }

    /// Where to step back to at most: what is remembered is not before it, unless the list has shrunk
    /// by more than it says.
    pub(super) fn farthest_back(&self, page: &Slice, cursor: u64) -> u64 {
        let shrunk = self.evidence.shrunk_to(page.total);
        let by_total = cursor.saturating_sub(shrunk.saturating_add(self.granted));
        let by_memory = cursor
            .min(page.total)
            .saturating_sub(self.memory.len() as u64);
        by_total.min(by_memory)
    }
}
