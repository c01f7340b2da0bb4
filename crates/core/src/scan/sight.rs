//! How a page looks next to what is remembered: which of its records are known, and in which order.

use super::memory::{Memory, Place};
use crate::record::Identity;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// A page as seen from the frontier.
pub(super) struct Sight {
    /// Where each record of the page stands; none for one that is not remembered.
    pub(super) known: Vec<Option<Place>>,
    /// How many are known.
    pub(super) count: usize,
    /// The index of the last known record.
    pub(super) last: Option<usize>,
    /// Whether the known records stand in the order in which they were delivered.
    pub(super) ordered: bool,
    /// The highest rank on the page.
    pub(super) rank: u64,
    /// How many records of higher ranks, up to the frontier, are not known to be gone.
    pub(super) missing: u64,
}

impl Sight {
    pub(super) fn of(memory: &Memory, ids: &[Identity]) -> Self {
        let known: Vec<Option<Place>> = ids.iter().map(|id| memory.find(*id)).collect();
        let mut ordered = true;
        let (mut reached, mut rank) = (0, 0);
        for place in known.iter().flatten() {
            reached = reached.max(place.low);
            rank = rank.max(place.rank());
            ordered &= reached <= place.high;
        }
        Sight {
            count: known.iter().flatten().count(),
            last: known.iter().rposition(Option::is_some),
            ordered,
            rank,
            missing: memory.left_behind(rank),
            known,
        }
    }

    /// Whether the record of the highest rank stands for certain where its rank says.
    pub(super) fn is_certain(&self) -> bool {
        let mut known = self.known.iter().flatten();
        known.any(|place| place.rank() == self.rank && place.low == place.high)
    }

    /// The indices of the records that are not known.
    pub(super) fn fresh(&self) -> Vec<usize> {
        let fresh = self.known.iter().enumerate();
        let fresh = fresh.filter(|(_, place)| place.is_none());
        fresh.map(|(index, _)| index).collect()
    }

    /// The ranks between two known records of the page that are not on it.
    pub(super) fn gaps(&self) -> Vec<Range<u64>> {
        let appended = self
            .known
            .iter()
            .flatten()
            .filter(|place| place.is_appended());
        let ranks: Vec<u64> = appended.map(|place| place.rank()).collect();
        let gap = |pair: &[u64]| (pair[0] + 1 < pair[1]).then(|| pair[0] + 1..pair[1]);
        ranks.windows(2).filter_map(gap).collect()
    }

    /// How many unknown records stand before the last known one.
    pub(super) fn behind(&self) -> usize {
        self.last.map_or(0, |last| last + 1 - self.count)
    }
}

/// Whether the records that two readings of the list share stand in the same order in both.
pub(super) fn same_order(earlier: &[Identity], later: &[Identity]) -> bool {
    let places: HashMap<u64, usize> = earlier.iter().map(|id| id.short()).zip(0..).collect();
    let shared = later.iter().filter_map(|id| places.get(&id.short()));
    shared.is_sorted()
}

/// Whether two records of a page have the same identity.
pub(super) fn has_equals(page: &[Identity]) -> bool {
    let mut seen = HashSet::with_capacity(page.len());
    !page.iter().all(|id| seen.insert(id.short()))
}
