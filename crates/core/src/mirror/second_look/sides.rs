//! Which records on a page stood before a gap, and which behind it.

use super::Shown;
use crate::mirror::difference::{Gap, Located};

/// A page, arranged so that each of many gaps is found on it at once.
pub(super) struct Sides<'a> {
    page: &'a Shown,
    /// For each record, the lowest position at it or behind it, and the highest one up to it. Both only rise.
    lowest: Vec<u64>,
    highest: Vec<Option<u64>>,
}

impl<'a> Sides<'a> {
    pub(super) fn of(page: &'a Shown) -> Self {
        let position = |located: &Option<Located>| located.map(|it| it.position);
        let mut lowest = vec![u64::MAX; page.records.len()];
        let mut low = u64::MAX;
        for (at, located) in page.records.iter().enumerate().rev() {
            low = position(located).map_or(low, |it| it.min(low));
            lowest[at] = low;
        }
        let highest = page.records.iter().scan(None, |high, located| {
            *high = position(located).max(*high);
            Some(*high)
        });
        Sides {
            page,
            lowest,
            highest: highest.collect(),
        }
    }

    /// The index behind the last record that stood before a gap, and that of the first one that stood behind it. An end of
    /// the list stands for either.
    pub(super) fn around(&self, gap: &Gap) -> (Option<usize>, Option<usize>) {
        let before = self.lowest.partition_point(|lowest| *lowest < gap.from);
        let begins = before > 0 || self.page.offset == 0;
        let reaches = |highest: &Option<u64>| highest.is_some_and(|it| it >= gap.to);
        let behind = self.highest.partition_point(|highest| !reaches(highest));
        let ends = behind < self.highest.len() || self.page.is_end;
        (begins.then_some(before), ends.then_some(behind))
    }

    /// The farthest place on the page; if nothing is known of it, it may be anywhere.
    pub(super) fn last(&self) -> u64 {
        let places = self.page.records.iter().flatten().map(|it| it.place);
        places.max().unwrap_or(u64::MAX)
    }

    /// Whether nothing on it is known.
    pub(super) fn is_blind(&self) -> bool {
        self.page.records.iter().all(Option::is_none)
    }

    /// The place of the known record that was nearest to a place, and the one that it has now.
    pub(super) fn nearest(&self, place: u64) -> Option<(u64, u64)> {
        let known = self.page.records.iter().zip(self.page.offset + 1..);
        let known = known.filter_map(|(located, now)| Some((located.as_ref()?.place, now)));
        known.min_by_key(|(before, _)| before.abs_diff(place))
    }
}
