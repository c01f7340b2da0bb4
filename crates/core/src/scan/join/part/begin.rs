//! Finds where a part begins: the anchor, wherever inserts and deletes have moved it.

use super::super::fit::Fit;
use super::super::{Joiner, Slice, Verdict};
use super::Found;
use crate::record::Identity;
use crate::scan::part::Anchor;
use crate::scan::sight::Sight;
use crate::scan::{Consistency, Doubt};

/// How many pages are read at most to find where the part begins.
pub(super) const MOST_SEEKS: u32 = 64;

/// Where a part begins.
pub(super) struct Begin {
    pub(super) found: Found,
    pub(super) search: Search,
}

/// How far the search for the beginning has come.
#[derive(PartialEq)]
pub(super) enum Search {
    /// So many pages were read; the last one was read around records behind the cut.
    Seeking {
        tried: u32,
        centred: bool,
    },
    /// It is found; no page with a record behind the cut was seen yet.
    Found,
    Over,
}

impl Joiner {
    /// Where the first page of a part begins, while it is looked for.
    pub(in crate::scan::join) fn first_offset(&self) -> Option<u64> {
        let begin = self.begin()?;
        let anchor = &begin.found.anchor;
        let before = anchor.cut() - anchor.middle() as u64;
        matches!(begin.search, Search::Seeking { tried: 0, .. }).then_some(before)
    }

    /// Finds the beginning of the part; none where the page may be judged.
    pub(in crate::scan::join) fn seek(&mut self, page: &Slice) -> Option<Verdict> {
        let granted = self.granted.max(1);
        let begin = self.begin()?;
        let anchor = &begin.found.anchor;
        let (middle, support) = (anchor.middle(), anchor.support());
        match begin.search {
            Search::Over if self.consistency == Consistency::Fast || self.by_position() => None,
            Search::Found | Search::Over => self.enter(page),
            Search::Seeking { tried, centred } => {
                let hits = begin.found.on(&page.ids);
                let before = hits.iter().rfind(|(_, rank)| *rank < middle).copied();
                let behind = hits.iter().find(|(_, rank)| *rank >= middle).copied();
                if hits.len() >= support
                    && let Some((index, rank)) = before
                {
                    let found = page.offset + index as u64;
                    self.cursor = Some(found + (middle - 1 - rank) as u64);
                    self.set_search(Search::Found);
                    return self.enter(page);
                }
                if hits.len() >= support
                    && let Some((index, rank)) = behind
                {
                    let cut = (page.offset + index as u64).saturating_sub((rank - middle) as u64);
                    if page.offset > 0 && !centred {
                        self.set_search(Search::Seeking {
                            tried: tried + 1,
                            centred: true,
                        });
                        let from = cut.min(page.offset).saturating_sub(granted * 3 / 4);
                        return Some(Verdict::Instead(from));
                    }
                    if page.offset > 0 {
                        // Nothing shows what stood before the first of them.
                        self.evidence.doubt(Doubt::MovedTooFar);
                    }
                    return Some(self.begin_at(page, index));
                }
                if tried > MOST_SEEKS {
                    return Some(self.begin_at(page, 0));
                }
                let (tried, offset) =
                    next_place(anchor, page, granted, tried).unwrap_or_else(|| {
                        // The anchor is gone. Rather too early than too late.
                        let from = anchor.expected(page.total).min(anchor.cut());
                        (MOST_SEEKS + 1, from.saturating_sub(granted))
                    });
                if tried > MOST_SEEKS {
                    self.evidence.doubt(Doubt::MovedTooFar);
                }
                self.set_search(Search::Seeking {
                    tried,
                    centred: false,
                });
                Some(Verdict::Instead(offset))
            }
        }
    }

    fn set_search(&mut self, search: Search) {
        if let Some(begin) = self.begin_mut() {
            begin.search = search;
        }
    }

    /// Begins at this index of a page, although nothing on the page was delivered.
    fn begin_at(&mut self, page: &Slice, index: usize) -> Verdict {
        self.set_search(Search::Over);
        self.cursor = (page.offset + index as u64).checked_sub(1);
        let sight = Sight::of(&self.memory, &page.ids);
        self.deliver(page, sight, Fit::Joins)
    }

    /// Waits for a record behind the cut, or one of this part, so that none is taken that stands before them and came later.
    fn enter(&mut self, page: &Slice) -> Option<Verdict> {
        let Begin { found, search } = self.begin()?;
        let hits = found.on(&page.ids);
        if *search == Search::Over && hits.is_empty() {
            return None;
        }
        let middle = found.anchor.middle();
        let is_behind = |id: &Identity| match found.rank(*id) {
            Some(rank) => rank >= middle,
            None => self.memory.find(*id).is_some(),
        };
        let entered = page.ids.iter().any(is_behind);
        let last = hits.last().map_or(0, |(index, _)| *index);
        if !entered && page.has_more && last > 0 {
            return Some(Verdict::Instead(page.offset + last as u64));
        }
        if !entered && page.has_more {
            self.evidence.doubt(Doubt::MovedTooFar);
        }
        self.set_search(Search::Over);
        None
    }
}

/// Where to look for an anchor next, and how many places are used up then: where it stands if the list has changed
/// evenly, and then farther and farther on both sides of it.
fn next_place(anchor: &Anchor, page: &Slice, granted: u64, tried: u32) -> Option<(u32, u64)> {
    let centre = anchor.expected(page.total);
    let centre = centre.saturating_sub(anchor.middle() as u64);
    let step = (granted / 2 + granted.min(anchor.ids.len() as u64) / 2).max(1);
    let place = |turn: u32| {
        let distance = u64::from(turn.div_ceil(2)) * step;
        let place = match turn % 2 {
            0 => centre.saturating_add(distance),
            _ => centre.checked_sub(distance)?,
        };
        // The page that was just seen need not be read again.
        let is_new = place.abs_diff(page.offset) > granted / 4;
        (place < page.total && is_new).then_some((turn + 1, place))
    };
    (tried..MOST_SEEKS).find_map(place)
}
