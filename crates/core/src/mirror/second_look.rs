//! Looks again at records that seem to be deleted, where the list moved while it was read.
//!
//! In a list whose order does not change, a record that is still there stands between those that it stood
//! between before. A page is a slice of the list at one instant: if it shows one of them from either side, or an end of
//! the list in its place, and not the record, the record was gone at that instant, whatever the joining of the
//! other pages rests on. A record whose neighbours could not be found on one page stays `missing`.
//!
//! A pure state machine: it asks for offsets and is shown what is on the pages there.

use super::difference::{Gap, Neighbour};
use std::collections::HashSet;

/// So many pages are read for one gap before it is given up: where it should be, and around.
const TRIES: u32 = 5;

/// What a page shows.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) offset: u64,
    pub(super) identities: Vec<u128>,
    /// Whether the list ends with it.
    pub(super) is_end: bool,
}

/// Whether deletes of a proven scan are looked at again: where the list moved, and where nothing is left of it.
pub(super) fn is_needed(moved: bool, delivered: u64) -> bool {
    moved || delivered == 0
}

/// The gaps of a scan, looked at one by one.
pub(super) struct Looks {
    gaps: Vec<Gap>,
    outcomes: Vec<Outcome>,
    page_size: u64,
    /// How many pages may still be read.
    left: u64,
    /// The gap that is looked for.
    at: usize,
    tries: u32,
    /// By how many places records have moved since they were delivered, as far as is known.
    shift: i64,
    /// Where the gap was not seen with the shift of before.
    missed: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Open,
    Gone,
    /// Some of its records are still there.
    Shown,
    GivenUp,
}

impl Looks {
    /// `most` pages may be read, of `page_size` records.
    pub(super) fn new(mut gaps: Vec<Gap>, page_size: u64, most: u64) -> Self {
        // Neighbouring gaps may be on one page.
        gaps.sort_by_key(|gap| gap.before.first().map_or(0, |before| before.place + 1));
        Looks {
            outcomes: vec![Outcome::Open; gaps.len()],
            gaps,
            page_size: page_size.max(1),
            left: most,
            at: 0,
            tries: 0,
            shift: 0,
            missed: 0,
        }
    }

    /// Where to read next; none when all is done.
    pub(super) fn next(&mut self) -> Option<u64> {
        loop {
            let gap = self.gaps.get(self.at)?;
            if self.outcomes[self.at] != Outcome::Open || self.is_hopeless(gap) {
                if self.outcomes[self.at] == Outcome::Open {
                    self.outcomes[self.at] = Outcome::GivenUp;
                }
                (self.at, self.tries, self.missed) = (self.at + 1, 0, 0);
                continue;
            }
            self.left -= 1;
            self.tries += 1;
            return Some(self.offset(gap));
        }
    }

    fn is_hopeless(&self, gap: &Gap) -> bool {
        let wide = matches!((gap.before.first(), gap.behind.first()), (Some(before), Some(behind))
            if behind.place.saturating_sub(before.place) >= self.page_size);
        wide || self.tries == TRIES || self.left == 0
    }

    /// The offset of a page with the gap in its middle.
    fn offset(&self, gap: &Gap) -> u64 {
        let Some(before) = gap.before.first() else {
            return 0;
        };
        let behind = gap.behind.first();
        let width = behind.map_or(0, |behind| behind.place.saturating_sub(before.place));
        let margin = match behind {
            Some(_) => (self.page_size - 1).saturating_sub(width) / 2,
            // The end of the list may be farther away by now.
            None => self.page_size / 8,
        };
        let middle = before.place.saturating_sub(margin);
        // Where it was not, it may be on either side.
        let far = (self.page_size * 3 / 4) as i64;
        let around = [0, -far, far][self.missed.min(2) as usize];
        middle.saturating_add_signed(self.shift + around)
    }

    /// Takes a page that was asked for.
    pub(super) fn take(&mut self, page: &Shown) {
        let shown: HashSet<u128> = page.identities.iter().copied().collect();
        let find = |neighbours: &[Neighbour]| {
            let mut found = neighbours.iter().filter_map(|neighbour| {
                let mut identities = page.identities.iter();
                let at = identities.position(|identity| *identity == neighbour.identity)?;
                Some((at, neighbour.place))
            });
            found.next()
        };
        // Those behind it may be on the page too.
        for (gap, outcome) in self.gaps.iter().zip(&mut self.outcomes).skip(self.at) {
            let place = gap.before.first().map_or(0, |before| before.place);
            let end = page.offset + self.page_size;
            if place > end.saturating_add_signed(-self.shift) + self.page_size {
                break;
            }
            if *outcome != Outcome::Open {
                continue;
            }
            let first = (page.offset == 0).then_some(0);
            let begins = find(&gap.before).map(|(at, _)| at + 1).or(first);
            let last = page.is_end.then_some(page.identities.len());
            let ends = find(&gap.behind).map(|(at, _)| at).or(last);
            if begins
                .zip(ends)
                .is_some_and(|(begins, ends)| begins <= ends)
            {
                let still = |identity| shown.contains(&identity);
                let any = gap.absent.iter().any(|one| still(one.fingerprint.identity));
                *outcome = if any { Outcome::Shown } else { Outcome::Gone };
            }
        }
        let gap = self.gaps.get(self.at);
        let seen = gap.and_then(|gap| find(&gap.before).or_else(|| find(&gap.behind)));
        match seen {
            Some((at, place)) => {
                let shift = (page.offset + at as u64) as i64 - place as i64;
                if self.shift == shift && self.missed == 0 {
                    // The page stood where it should, and did not show both sides.
                    self.tries = TRIES;
                }
                (self.shift, self.missed) = (shift, 0);
            }
            None => self.missed += 1,
        }
    }

    /// The gaps, and whether the records in each are gone.
    pub(super) fn finish(self) -> Vec<(Gap, bool)> {
        let outcomes = self
            .outcomes
            .into_iter()
            .map(|outcome| outcome == Outcome::Gone);
        self.gaps.into_iter().zip(outcomes).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mirror::difference::Absent;
    use crate::mirror::fingerprint::Fingerprint;

    /// The outcome of looking at these gaps of a list, and the pages read.
    fn look(list: &[u128], gaps: Vec<Gap>, page: usize) -> (Vec<bool>, u64) {
        let mut looks = Looks::new(gaps, page as u64, 100);
        let mut requests = 0;
        while let Some(offset) = looks.next() {
            requests += 1;
            let from = (offset as usize).min(list.len());
            let to = (from + page).min(list.len());
            looks.take(&Shown {
                offset,
                identities: list[from..to].to_vec(),
                is_end: to == list.len(),
            });
        }
        (
            looks.finish().into_iter().map(|(_, gone)| gone).collect(),
            requests,
        )
    }

    /// A gap between two records that were delivered at these places.
    fn gap(before: Option<(u128, u64)>, behind: Option<(u128, u64)>, absent: u128) -> Gap {
        let neighbour = |(identity, place)| Neighbour { identity, place };
        let fingerprint = Fingerprint {
            identity: absent,
            contents: 0,
            bytes: 0,
        };
        Gap {
            before: before.map(neighbour).into_iter().collect(),
            behind: behind.map(neighbour).into_iter().collect(),
            absent: vec![Absent {
                position: 0,
                fingerprint,
                missing_since: None,
            }],
        }
    }

    #[test]
    fn a_record_is_gone_where_its_neighbours_stand_without_it() {
        let list: Vec<u128> = (1..=1000)
            .filter(|id| ![300, 305, 700].contains(id))
            .collect();
        let gaps = vec![
            gap(Some((299, 298)), Some((301, 299)), 300),
            gap(Some((304, 302)), Some((306, 303)), 305),
            gap(Some((699, 696)), Some((701, 697)), 700),
        ];
        // The first two are on one page.
        assert_eq!(look(&list, gaps, 100), (vec![true; 3], 2));
    }

    #[test]
    fn a_record_that_is_there_again_is_not_gone() {
        let list: Vec<u128> = (1..=1000).collect();
        let gaps = vec![gap(Some((299, 298)), Some((301, 299)), 300)];
        assert_eq!(look(&list, gaps, 100), (vec![false], 1));
    }

    #[test]
    fn a_gap_is_found_where_the_list_has_moved() {
        for moved in [10_u128, 40, 80] {
            let front = (2000..2000 + moved).chain(1..=1000);
            let list: Vec<u128> = front.filter(|id| *id != 500).collect();
            let gaps = vec![gap(Some((499, 498)), Some((501, 499)), 500)];
            let (gone, requests) = look(&list, gaps, 100);
            assert!(gone[0] && requests <= 4, "{moved}: {requests}");
        }
        // Too far to be found.
        let list: Vec<u128> = (2000..2600)
            .chain(1..=1000)
            .filter(|id| *id != 500)
            .collect();
        let gaps = vec![gap(Some((499, 498)), Some((501, 499)), 500)];
        assert_eq!(look(&list, gaps, 100), (vec![false], 4));
    }

    #[test]
    fn the_ends_of_the_list_are_neighbours_too() {
        let list: Vec<u128> = (2..=400).collect();
        let first = || gap(None, Some((2, 0)), 1);
        let last = || gap(Some((400, 398)), None, 401);
        assert_eq!(look(&list, vec![first(), last()], 100), (vec![true; 2], 2));
        assert_eq!(look(&[], vec![gap(None, None, 1)], 100), (vec![true], 1));
        assert_eq!(look(&list, vec![gap(None, None, 1)], 100).0, [false]);
        let list: Vec<u128> = (1..=401).collect();
        assert_eq!(look(&list, vec![first(), last()], 100).0, [false; 2]);
    }
}
