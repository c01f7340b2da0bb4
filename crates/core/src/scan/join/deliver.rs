//! Takes in a page that joins: which of its records are new, where they stand, and whether the list ends.

use super::fit::{Fit, SLACK};
use super::seam::{Seam, is_perfect};
use super::{Joiner, Removed, Slice, Verdict};
use crate::scan::Doubt;
use crate::scan::memory::Place;
use crate::scan::sight::Sight;

/// The end of the list is looked at this often, and once more where its size has jumped: a copy of the
/// list that lags behind ends early.
const LOOKS: u32 = 2;
/// The end is looked at no more than this, because a list may grow faster than it is read.
const MOST_LOOKS: u32 = 5;

impl Joiner {
    pub(super) fn deliver(&mut self, page: &Slice, sight: Sight, fit: Fit) -> Verdict {
        // A single response that holds the whole list needs no other to confirm it, and no total.
        let whole =
            !self.ending && self.cursor.is_none() && !page.has_more && page.end() >= page.total;
        let shift = self
            .cursor
            .map_or(0, |cursor| self.shift(page, &sight, cursor));
        let perfect = self.cursor.is_none()
            || is_perfect(&sight, shift)
            || sight.last.is_none() && self.is_single();
        let expected = self.cursor.map_or(0, |cursor| {
            cursor.saturating_add(1).saturating_sub(page.offset)
        });
        self.duplicates += (sight.count as u64).saturating_sub(expected);
        let needed = self.needed(page, &sight, shift);
        let mut fresh = self.own(page, &sight, sight.fresh());
        let before = |index: &&usize| sight.last.is_some_and(|last| **index < last);
        let behind = fresh.iter().filter(before).count();
        let few = needed.max(SLACK + 1).min(self.stride());
        let (rank, frontier) = (sight.rank, self.memory.frontier());
        if self.unsettled.is_some_and(|unsettled| rank > unsettled) {
            self.unsettled = None;
        }
        if fit == Fit::Unsettled {
            self.unsettled = Some(rank);
        }
        if fit == Fit::Joins
            && sight.last.is_some()
            && sight.missing > 0
            && page.has_more
            && ((fresh.len() - behind) as u64) < few
        {
            // They may have been inserted before the missing records, which are on the next page then.
            fresh.truncate(behind);
        }
        let followed = fresh.len() > behind || !page.has_more;
        let shrunk = self.evidence.shrunk_to(page.total);
        // An older page may lack records because they came later.
        let newer = page.sent > self.latest;
        self.latest = self.latest.max(page.arrived);
        if !whole || page.end() == page.total {
            let records = page.ids.len() as u64;
            self.evidence
                .note_total(page.total, page.end(), records, self.granted);
        }
        if newer && followed && sight.is_certain() && (1..=shrunk).contains(&sight.missing) {
            self.removed = Some(Removed {
                ranks: rank + 1..=frontier,
                at: page.arrived,
            });
        }
        if self.small_pages && (self.seam.steps > 0 || sight.missing > 0) {
            self.evidence.doubt(Doubt::NoOverlap);
        }
        self.held = perfect;
        self.adapt(needed, shift, perfect);
        if sight.last.is_some() && sight.ordered {
            for gap in sight.gaps() {
                self.memory.note_gone(gap);
            }
        }
        if sight.last.is_some() && followed && fit == Fit::Joins {
            self.memory.note_gone(rank + 1..frontier + 1);
            // Whether they stood before what is new or behind it is not known.
            self.memory.loosen(rank);
        }
        self.remember(page, &sight, &fresh, fit);
        self.evidence.delivered += fresh.len() as u64;
        let reached = fresh.len() > behind && fit == Fit::Joins || sight.missing == 0;
        if reached {
            self.evidence.note_frontier(newer);
        }
        // The next page follows this one without a gap, even where it brings nothing new.
        (self.cursor, self.rank) = match sight.last {
            Some(last) if fresh.len() == behind => (Some(page.offset + last as u64), rank),
            _ if fit == Fit::Unsettled => (page.end().checked_sub(1).or(self.cursor), rank),
            _ => {
                let last = page.end().checked_sub(1);
                (last.or(self.cursor), self.memory.frontier())
            }
        };
        if reached {
            self.seam = Seam::default();
        }
        self.note_passed(page, &fresh);
        if self.ending {
            self.settle(page);
        }
        let end = whole || self.ending || self.ends(page, &fresh);
        Verdict::Deliver { fresh, behind, end }
    }

    pub(super) fn remember(&mut self, page: &Slice, sight: &Sight, fresh: &[usize], fit: Fit) {
        let mut distinct = true;
        let places = sight.known.iter().enumerate();
        let mut known = places.filter_map(|(index, place)| Some((index, (*place)?)));
        // The first known record that was not passed yet, and the farthest of those before it.
        let (mut next, mut before) = (known.next(), None::<Place>);
        for &index in fresh {
            while let Some((_, place)) = next.filter(|(at, _)| *at < index) {
                let farther = before.is_none_or(|before| before.low <= place.low);
                before = if farther { Some(place) } else { before };
                next = known.next();
            }
            let high = match (next, fit) {
                (Some((_, next)), _) => Some(next.before()),
                (None, Fit::Unsettled) => Some(u64::MAX),
                (None, _) => None,
            };
            let id = page.ids[index];
            distinct &= match high {
                Some(high) => self.memory.insert(id, Place::between(before, high)),
                None => self.memory.append(id),
            };
        }
        if !distinct {
            let by_id = fresh.iter().any(|index| page.ids[*index].by_id());
            self.evidence.doubt(match by_id {
                true => Doubt::RepeatedId,
                false => Doubt::EqualRecords,
            });
        }
    }

    /// Whether the list ends with a joined page.
    pub(super) fn ends(&mut self, page: &Slice, fresh: &[usize]) -> bool {
        let short = (page.ids.len() as u64) < self.granted;
        let says_end = page.ids.is_empty() || !page.has_more;
        let ended = says_end || fresh.is_empty() && short;
        if !ended {
            // Where reads are stale, the end comes and goes.
            if !self.evidence.has(Doubt::StaleReads) {
                self.looks = 0;
            }
            return false;
        }
        self.looks += 1;
        let enough = LOOKS + u32::from(self.evidence.has_jumped());
        if self.looks < MOST_LOOKS && (self.looks < enough || !fresh.is_empty()) {
            return false;
        }
        if page.has_more {
            self.evidence.doubt(Doubt::EmptyPage);
        } else if self
            .evidence
            .total()
            .is_some_and(|total| page.end() < total)
        {
            self.evidence.doubt(Doubt::ShortOfTotal);
        }
        self.settle(page);
        if self.has_successor() {
            // The next part has not begun.
            self.evidence.doubt(Doubt::MovedTooFar);
        }
        self.conclude();
        true
    }

    /// What was missing should have turned up by now.
    fn settle(&mut self, page: &Slice) {
        let shrunk = self
            .evidence
            .shrunk_to(page.total)
            .saturating_add(self.granted);
        let missing = |rank| self.memory.left_behind(rank);
        if self.unsettled.is_some_and(|rank| missing(rank) > shrunk) {
            self.evidence.doubt(Doubt::MovedTooFar);
        }
    }

    /// Weighs what a scan of the whole list has seen; a part alone cannot be held against the total.
    fn conclude(&mut self) {
        if !self.is_piece() {
            self.evidence.conclude();
        }
    }

    pub(super) fn end_here(&mut self) -> Verdict {
        self.conclude();
        Verdict::Deliver {
            fresh: Vec::new(),
            behind: 0,
            end: true,
        }
    }
}
