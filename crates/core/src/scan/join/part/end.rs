//! Finds where a part ends: the first record left of those that stood behind the next cut.

use super::super::{Joiner, Slice};
use super::Found;
use super::begin::MOST_SEEKS;
use crate::scan::{Consistency, Doubt};

/// Where a part ends.
pub(super) struct End {
    pub(super) found: Found,
    /// How many of its records before the cut were delivered, and where the last one stood.
    pub(super) passed: usize,
    pub(super) passed_at: u64,
}

/// Where a page is cut off, because what follows belongs to the next part.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::scan::join) enum Cut {
    None,
    /// The part ends before this index.
    At(usize),
    /// What stands from this index on has to be seen with what follows it.
    Later(usize),
    /// The page lies far behind where the part should have ended.
    Missed,
}

impl Joiner {
    /// Where the page passes on to the next part.
    pub(in crate::scan::join) fn cut(&mut self, page: &Slice) -> Cut {
        let by_position = self.consistency == Consistency::Fast || self.by_position();
        let granted = self.granted.max(1);
        let Some(end) = self.bounds.as_ref().and_then(|bounds| bounds.end.as_ref()) else {
            return Cut::None;
        };
        let anchor = &end.found.anchor;
        if by_position {
            let left = anchor.cut().saturating_sub(page.offset);
            return match usize::try_from(left) {
                Ok(left) if left < page.ids.len() => Cut::At(left),
                _ => Cut::None,
            };
        }
        let (middle, support) = (anchor.middle(), anchor.support());
        let hits = end.found.on(&page.ids);
        let change = page.total.abs_diff(anchor.total);
        let expected = anchor.expected(page.total);
        if !hits.is_sorted_by_key(|(_, rank)| *rank) {
            self.evidence.doubt(Doubt::OrderChanged);
        }
        let Some((index, _)) = hits.iter().find(|(_, rank)| *rank >= middle).copied() else {
            let limit = match end.passed >= support {
                true => end
                    .passed_at
                    .saturating_add(3 * granted)
                    .saturating_add(change),
                false => expected
                    .saturating_add(change)
                    .saturating_add(u64::from(MOST_SEEKS / 2) * granted),
            };
            if page.offset <= limit {
                return Cut::None;
            }
            return Cut::Missed;
        };
        let known_behind = page.ids[index..]
            .iter()
            .any(|id| self.memory.find(*id).is_some());
        if known_behind {
            // What belongs to the next part stands before what was delivered.
            self.evidence.doubt(Doubt::OrderChanged);
            return Cut::None;
        }
        let others = hits.len() - 1;
        if end.passed.saturating_add(others) >= support {
            return Cut::At(index);
        }
        if page.has_more && 2 * index > page.ids.len() {
            return Cut::Later(index);
        }
        let near = (page.offset + index as u64).abs_diff(expected) <= change + 2 * granted;
        self.evidence.doubt(match near {
            true => Doubt::MovedTooFar,
            false => Doubt::OrderChanged,
        });
        if near { Cut::At(index) } else { Cut::None }
    }

    /// Notes which records before the next cut are delivered.
    pub(in crate::scan::join) fn note_passed(&mut self, page: &Slice, fresh: &[usize]) {
        let Some(end) = self.bounds.as_mut().and_then(|bounds| bounds.end.as_mut()) else {
            return;
        };
        for index in fresh {
            if end.found.rank(page.ids[*index]).is_some() {
                end.passed += 1;
                end.passed_at = page.offset + *index as u64;
            }
        }
    }
}
