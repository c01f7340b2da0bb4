//! Where to read when a page does not join, and by how much pages overlap.

use super::{Joiner, Slice, Verdict};
use crate::record::Identity;
use crate::scan::Doubt;
use crate::scan::sight::Sight;

/// After so many seams in a row that held, the overlap shrinks by a record.
const CALM: u32 = 4;
/// A scan steps back this often for more known records; after that, those that the page has must do.
const MOST_STEPS: u32 = 5;

/// What has been tried to join the next page.
#[derive(Default)]
pub(super) struct Seam {
    /// Whether it was read again with a wider overlap.
    pub(super) widened: bool,
    /// How often the scan stepped back, and how far the last time.
    pub(super) steps: u32,
    pub(super) back: u64,
    /// The page seen last here.
    pub(super) glimpse: Vec<Identity>,
    /// Pages in a row that overlap, share nothing and have no `id`.
    pub(super) unrelated: u32,
}

impl Joiner {
    /// Where to read when a page does not join.
    pub(super) fn read_elsewhere(&mut self, page: &Slice, cursor: u64, again: bool) -> Verdict {
        match again {
            // The list has moved on since this page was read.
            true => Verdict::Instead(self.next_offset()),
            false => self.step_back(page, cursor),
        }
    }

    fn step_back(&mut self, page: &Slice, cursor: u64) -> Verdict {
        self.repairs += u64::from(self.seam.steps == 0);
        self.seam.steps += 1;
        self.seam.back = match self.seam.steps {
            1 => (self.granted / 4).max(self.overlap + 1),
            _ => (self.seam.back * 2).max(self.granted.saturating_sub(1)),
        };
        if !page.ids.is_empty() {
            self.seam.glimpse.clone_from(&page.ids);
        }
        let mut from = page.offset.min(self.next_offset());
        if self.rank == self.memory.frontier() {
            // If the list has shrunk behind the frontier, the frontier is where the total says.
            from = from.min(
                cursor
                    .saturating_add(1)
                    .saturating_sub(self.evidence.shrunk_to(page.total)),
            );
        }
        if page.ids.is_empty() && self.evidence.total().is_some() {
            // The list has become shorter than that: its new end is the place to begin at.
            from = from.min(page.total);
        }
        let mut offset = from.saturating_sub(self.seam.back);
        if self.memory.has_forgotten() && !page.ids.is_empty() {
            offset = offset
                .max(self.farthest_back(page, cursor))
                .min(from.saturating_sub(1));
        }
        Verdict::Before(offset)
    }

    /// By how much the seam is to overlap when it is read again; none where the page shows enough.
    pub(super) fn widen(&self, page: &Slice, sight: &Sight, shift: i64) -> Option<u64> {
        if self.seam.widened || self.seam.steps > 0 {
            return None;
        }
        let needed = self.lacking(page, sight, shift)?;
        Some(self.wide(needed, shift))
    }

    /// Whether the page joins by so few known records that they may have moved while others were deleted, and stepping back
    /// may show more. Before the first page of a part there are none.
    pub(super) fn is_weak(&self, page: &Slice, sight: &Sight, shift: i64) -> bool {
        let remembered = self.memory.len();
        let begins = self.has_predecessor() && (remembered as u64) < self.granted;
        let may_step_back = self.seam.steps < MOST_STEPS && !begins && sight.count < remembered;
        may_step_back && self.lacking(page, sight, shift).is_some()
    }

    /// How many known records the page would have to hold; none where it holds as many, or the number tells nothing.
    fn lacking(&self, page: &Slice, sight: &Sight, shift: i64) -> Option<u64> {
        let disordered = self.evidence.has(Doubt::OrderChanged);
        if page.offset == 0 || disordered || sight.last.is_none() || is_perfect(sight, shift) {
            return None;
        }
        let needed = self.needed(page, sight, shift);
        ((sight.count as u64) < needed).then_some(needed)
    }

    /// How many known records a page has to hold that does not stand where it is expected.
    pub(super) fn needed(&self, page: &Slice, sight: &Sight, shift: i64) -> u64 {
        // A single record may have moved, but small pages have no room for two.
        let least = (self.granted / 2).clamp(1, 2);
        match self.evidence.change_of_total(page.total) {
            // The total says the same.
            Some(change) if change == shift && change != 0 && sight.missing == 0 => 1,
            // Ties in the order are as likely as records that came and went.
            Some(0) => (self.granted / 3).clamp(least, 8),
            _ => (self.granted / 5).clamp(least, 6),
        }
    }

    pub(super) fn wide(&self, needed: u64, shift: i64) -> u64 {
        let most = (self.granted / 2).max(1);
        needed.saturating_add(shift.min(0).unsigned_abs()).min(most)
    }

    /// By how many places the last known record stands behind where it is expected.
    pub(super) fn shift(&self, page: &Slice, sight: &Sight, cursor: u64) -> i64 {
        let Some(last) = sight.last else { return 0 };
        let found = i128::from(page.offset) + last as i128 - i128::from(sight.rank);
        let expected = i128::from(cursor) - i128::from(self.rank);
        i64::try_from(found - expected).unwrap_or(i64::MAX)
    }

    /// The overlap follows what the list needs.
    pub(super) fn adapt(&mut self, needed: u64, shift: i64, perfect: bool) {
        if perfect {
            self.calm += 1;
            if self.calm >= CALM {
                self.calm = 0;
                self.overlap = self.overlap.saturating_sub(1).max(1);
            }
        } else {
            self.calm = 0;
            self.overlap = self.overlap.max(self.wide(needed, shift));
        }
    }
}

/// Whether a page begins with the last records delivered, in their places, and goes on with new ones only.
pub(super) fn is_perfect(sight: &Sight, shift: i64) -> bool {
    shift == 0 && sight.missing == 0 && sight.behind() == 0
}
