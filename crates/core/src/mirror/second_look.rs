//! Looks again at records that seem to be deleted, where the list moved while it was read.
//!
//! In a list whose order does not change, a record that is still there stands between those that it stood
//! between before. A page is a slice of the list at one instant: if it shows one of them from either side, or an end of
//! the list in its place, and not the record, the record was gone at that instant, whatever the joining of the
//! other pages rests on. A record whose neighbours could not be found on one page stays `missing`.
//!
//! A pure state machine: it asks for offsets and is shown what is on the pages there.

use super::difference::{Gap, Located};
use std::collections::HashSet;

/// So many pages are read for one gap before it is given up: where it should be, and around.
const TRIES: u32 = 6;

/// What a page shows.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) offset: u64,
    /// Each record, and where it was if it is known.
    pub(super) records: Vec<(u128, Option<Located>)>,
    /// Whether the list ends with it.
    pub(super) is_end: bool,
    /// How many records the list has, as far as the service says.
    pub(super) total: u64,
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
    /// How many pages in a row have shown nothing known.
    missed: u32,
    /// How many pages were where they should be, and did not show both sides of the gap.
    stuck: usize,
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
        gaps.sort_by_key(|gap| gap.place);
        Looks {
            outcomes: vec![Outcome::Open; gaps.len()],
            gaps,
            page_size: page_size.max(1),
            left: most,
            at: 0,
            tries: 0,
            shift: 0,
            missed: 0,
            stuck: 0,
        }
    }

    /// Where to read next; none when all is done.
    pub(super) fn next(&mut self) -> Option<u64> {
        loop {
            let gap = self.gaps.get(self.at)?;
            let offset = self.offset(gap);
            let open = self.outcomes[self.at] == Outcome::Open;
            if open && self.tries < TRIES && self.left > 0 {
                self.left -= 1;
                self.tries += 1;
                return Some(offset);
            }
            if open {
                self.outcomes[self.at] = Outcome::GivenUp;
            }
            (self.at, self.tries, self.missed, self.stuck) = (self.at + 1, 0, 0, 0);
        }
    }

    /// The offset of a page with the gap in its middle.
    fn offset(&self, gap: &Gap) -> u64 {
        if gap.between.before == 0 {
            return 0;
        }
        // Of the end of the list there may be more by now, and less of what stood before it.
        let eighths = match gap.between.behind {
            0 => [1, 4, 7],
            _ => [4, 2, 6],
        };
        let margin = self.page_size * eighths[self.stuck % 3] / 8;
        let middle = gap.place.saturating_sub(margin.max(1));
        // Where nothing is known, it may be on either side.
        let step = (self.page_size * 3 / 4).max(1) as i64;
        let steps = i64::from(self.missed.div_ceil(2));
        let around = if self.missed % 2 == 1 { -step } else { step };
        middle.saturating_add_signed(self.shift + around * steps)
    }

    /// Takes a page that was asked for.
    pub(super) fn take(&mut self, page: &Shown) {
        if !page.is_end && !page.records.is_empty() {
            // The service may grant less than was asked for.
            self.page_size = self.page_size.min(page.records.len() as u64);
        }
        let shown: HashSet<u128> = page.records.iter().map(|(identity, _)| *identity).collect();
        let mut places = page.records.iter().filter_map(|(_, located)| *located);
        // Those behind it may be on the page too.
        let last = places.clone().map(|located| located.place).max();
        for (gap, outcome) in self.gaps.iter().zip(&mut self.outcomes).skip(self.at) {
            if gap.place > last.unwrap_or(u64::MAX) {
                break;
            }
            if *outcome == Outcome::Open && page.holds(gap) {
                let still = |identity| shown.contains(&identity);
                let any = gap.absent.iter().any(|one| still(one.fingerprint.identity));
                *outcome = if any { Outcome::Shown } else { Outcome::Gone };
            }
        }
        let Some(place) = self.gaps.get(self.at).map(|gap| gap.place) else {
            return;
        };
        if page.records.is_empty() {
            // The list has become shorter than that.
            (self.shift, self.missed) = (page.total as i64 - place as i64, 0);
            return;
        }
        if places.next().is_none() {
            self.missed += 1;
            return;
        }
        let known = page.records.iter().zip(page.offset + 1..);
        let known = known.filter_map(|((_, located), now)| Some((located.as_ref()?.place, now)));
        let nearest = known.min_by_key(|(before, _)| before.abs_diff(place));
        if let Some((before, now)) = nearest {
            let shift = now as i64 - before as i64;
            let moved = self.shift != shift;
            self.stuck = if moved { self.stuck } else { self.stuck + 1 };
            (self.shift, self.missed) = (shift, 0);
        }
    }

    /// The gaps, and whether the records in each are gone.
    pub(super) fn finish(self) -> Vec<(Gap, bool)> {
        let outcomes = self.outcomes.into_iter();
        let gone = outcomes.map(|outcome| outcome == Outcome::Gone);
        self.gaps.into_iter().zip(gone).collect()
    }
}

impl Shown {
    /// Whether the place of a gap is on the page: behind all that stood before it, and before all that stood behind it.
    fn holds(&self, gap: &Gap) -> bool {
        let position = |index: usize| self.records[index].1.map(|located| located.position);
        let indices = 0..self.records.len();
        let before = |index: &usize| position(*index).is_some_and(|it| it < gap.from);
        let behind = |index: &usize| position(*index).is_some_and(|it| it >= gap.to);
        let first = (self.offset == 0).then_some(0);
        let begins = indices
            .clone()
            .rfind(before)
            .map(|index| index + 1)
            .or(first);
        let ends = indices.clone().find(behind);
        let ends = ends.or(self.is_end.then_some(indices.end));
        begins
            .zip(ends)
            .is_some_and(|(begins, ends)| begins <= ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mirror::difference::Absent;
    use crate::mirror::fingerprint::Fingerprint;
    use crate::mirror::state::Between;

    /// The outcome of looking for these records of `before`, and the pages read. The scan has delivered all others,
    /// and since then the list has become `now`.
    fn look(before: &[u128], absent: &[u128], now: &[u128], page: usize) -> (Vec<bool>, u64) {
        look_asking(page as u64, before, absent, now, page)
    }

    /// The same from a service that grants pages of `page` records, however many are `asked` for.
    fn look_asking(
        asked: u64,
        before: &[u128],
        absent: &[u128],
        now: &[u128],
        page: usize,
    ) -> (Vec<bool>, u64) {
        let delivered: Vec<u128> = (before.iter().copied())
            .filter(|id| !absent.contains(id))
            .collect();
        let locate = |id: u128| {
            let place = delivered.iter().position(|other| *other == id)? as u64 + 1;
            let position = before.iter().position(|other| *other == id)? as u64;
            Some(Located { position, place })
        };
        let gaps = absent.iter().map(|id| {
            let at = before.iter().position(|other| other == id).unwrap();
            let nearest = |id: Option<&u128>| id.copied().unwrap_or(0);
            let is_there = |id: &&u128| delivered.contains(id);
            let previous = nearest(before[..at].iter().rfind(is_there));
            let fingerprint = Fingerprint {
                identity: *id,
                contents: 0,
                bytes: 0,
            };
            Gap {
                from: at as u64,
                to: at as u64 + 1,
                place: locate(previous).map_or(0, |located| located.place),
                between: Between {
                    before: previous,
                    behind: nearest(before[at..].iter().find(is_there)),
                },
                absent: vec![Absent {
                    position: at as u64,
                    fingerprint,
                    missing_since: None,
                }],
            }
        });
        let mut looks = Looks::new(gaps.collect(), asked, 100);
        let mut requests = 0;
        while let Some(offset) = looks.next() {
            requests += 1;
            let from = (offset as usize).min(now.len());
            let to = (from + page).min(now.len());
            looks.take(&Shown {
                offset,
                records: now[from..to].iter().map(|id| (*id, locate(*id))).collect(),
                is_end: to == now.len(),
                total: now.len() as u64,
            });
        }
        let gone = looks.finish().into_iter().map(|(_, gone)| gone);
        (gone.collect(), requests)
    }

    fn without(list: &[u128], gone: &[u128]) -> Vec<u128> {
        let list = list.iter().copied();
        list.filter(|id| !gone.contains(id)).collect()
    }

    #[test]
    fn a_record_is_gone_where_its_neighbours_stand_without_it() {
        let list: Vec<u128> = (1..=1000).collect();
        let gone = [300, 305, 700];
        let now = without(&list, &gone);
        // The first two are on one page.
        assert_eq!(look(&list, &gone, &now, 100), (vec![true; 3], 2));
        // Its neighbours may be gone by then, too.
        let more: Vec<u128> = (296..=304).chain([305, 700]).collect();
        let now = without(&list, &more);
        assert_eq!(look(&list, &gone, &now, 100), (vec![true; 3], 2));
    }

    #[test]
    fn a_record_that_is_there_again_is_not_gone() {
        let list: Vec<u128> = (1..=1000).collect();
        assert_eq!(look(&list, &[300], &list, 100), (vec![false], 1));
        // Nor is one that stands elsewhere on the page, or among records in another order.
        let mut moved = without(&list, &[300]);
        moved.insert(310, 300);
        assert_eq!(look(&list, &[300], &moved, 100), (vec![false], 1));
        let mut turned = without(&list, &[300]);
        turned.swap(290, 310);
        assert_eq!(look(&list, &[300], &turned, 100).0, [false]);
    }

    #[test]
    fn a_gap_is_found_where_the_list_has_moved() {
        let list: Vec<u128> = (1..=1000).collect();
        let rest = without(&list, &[500]);
        for moved in [10_u128, 40, 80, 400] {
            let now: Vec<u128> = (2000..2000 + moved).chain(rest.clone()).collect();
            let (gone, requests) = look(&list, &[500], &now, 100);
            assert!(gone[0] && requests <= 3, "{moved}: {requests}");
            let now = &rest[moved as usize..];
            let (gone, requests) = look(&list, &[500], now, 100);
            assert!(gone[0] && requests <= 3, "{moved}: {requests}");
        }
        // Among nothing that is known, it is given up.
        let now: Vec<u128> = (2000..4000).chain(rest).collect();
        let (gone, requests) = look(&list, &[500], &now, 100);
        assert!(!gone[0] && requests <= u64::from(TRIES));
    }

    #[test]
    fn a_gap_is_found_where_pages_are_smaller_than_asked_for() {
        let list: Vec<u128> = (1..=1000).collect();
        let gone = [300, 700];
        let rest = without(&list, &gone);
        let now: Vec<u128> = (2000..2030).chain(rest).collect();
        let (gone, requests) = look_asking(100, &list, &gone, &now, 7);
        assert!(gone == [true; 2] && requests <= 8, "{gone:?}: {requests}");
    }

    #[test]
    fn the_ends_of_the_list_are_neighbours_too() {
        let list: Vec<u128> = (1..=400).collect();
        let now = without(&list, &[1, 400]);
        assert_eq!(look(&list, &[1, 400], &now, 100), (vec![true; 2], 2));
        assert_eq!(look(&list, &[1, 400], &list, 100).0, [false; 2]);
        assert_eq!(look(&[1], &[1], &[], 100), (vec![true], 1));
        assert_eq!(look(&[1], &[1], &[1], 100).0, [false]);
    }
}
