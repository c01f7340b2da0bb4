//! Where a part of a list begins and ends: finds the anchors, and keeps what belongs to the parts beside it apart.
//!
//! Records of an anchor stood side by side when the plan was made. A record that is found between them and is not one of
//! them came later, so no part owes it to anybody. Such a record goes to the part before if it stands before the first
//! record behind the cut that is left, to the part behind if it stands behind the last one, and to none between.
//! So no record comes twice, whenever the two parts are read.

use super::fit::Fit;
use super::{Joiner, Slice, Verdict};
use crate::record::Identity;
use crate::scan::part::{Anchor, Piece};
use crate::scan::position::{Position, Recent};
use crate::scan::sight::Sight;
use crate::scan::{Consistency, Doubt};
use std::collections::HashMap;

/// How many pages are read at most to find where the part begins.
const MOST_SEEKS: u32 = 64;

/// What the joiner knows about the part that it reads.
pub(super) struct Bounds {
    begin: Option<Begin>,
    end: Option<End>,
}

/// An anchor and where its records stand in it.
struct Found {
    anchor: Anchor,
    ranks: HashMap<u64, usize>,
}

struct Begin {
    found: Found,
    search: Search,
}

/// How far the search for the beginning has come.
#[derive(PartialEq)]
enum Search {
    /// So many pages were read; the last one was read around records behind the cut.
    Seeking {
        tried: u32,
        centred: bool,
    },
    /// It is found; no record behind the cut was delivered yet.
    Found,
    Over,
}

struct End {
    found: Found,
    /// How many of its records before the cut were delivered, and where the last one stood.
    passed: usize,
    passed_at: u64,
}

/// Where a page is cut off, because what follows belongs to the next part.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Cut {
    None,
    /// The part ends before this index.
    At(usize),
    /// What stands from this index on has to be seen with what follows it.
    Later(usize),
    /// The page lies far behind where the part should have ended.
    Missed,
}

impl Found {
    fn new(anchor: &Anchor) -> Self {
        let ranks = anchor.ids.iter().map(|id| id.short()).zip(0..).collect();
        Found {
            anchor: anchor.clone(),
            ranks,
        }
    }

    fn rank(&self, id: Identity) -> Option<usize> {
        let rank = *self.ranks.get(&id.short())?;
        (self.anchor.ids.get(rank) == Some(&id)).then_some(rank)
    }

    /// Its records on a page: index and rank.
    fn on(&self, ids: &[Identity]) -> Vec<(usize, usize)> {
        let ranks = ids.iter().enumerate();
        ranks
            .filter_map(|(index, id)| Some((index, self.rank(*id)?)))
            .collect()
    }
}

impl Joiner {
    /// Reads a part instead of the whole list; pages of `page_size` records are going to be asked for.
    pub(crate) fn read_part(&mut self, part: &Piece, page_size: u64) {
        for doubt in &part.doubts {
            self.evidence.doubt(*doubt);
        }
        if let Some(begin) = &part.begin {
            let before = &begin.ids[..begin.middle()];
            let recent = before.iter().map(|id| Recent {
                id: *id,
                behind: false,
            });
            let mut position = Position::default();
            position.note(begin.cut() - 1, &self.evidence, recent);
            position.evidence.begin_with(begin.total, begin.cut());
            self.resume(&position, page_size);
            self.overlap = 1;
            // The anchor page and the first page must agree on the order.
            self.seam.glimpse.clone_from(&begin.ids);
        }
        let search = match self.consistency {
            Consistency::Fast => Search::Over,
            _ => Search::Seeking {
                tried: 0,
                centred: false,
            },
        };
        self.bounds = Some(Bounds {
            begin: part.begin.as_ref().map(|begin| Begin {
                found: Found::new(begin),
                search,
            }),
            end: part.end.as_ref().map(|end| End {
                found: Found::new(end),
                passed: 0,
                passed_at: 0,
            }),
        });
    }

    /// Whether it reads a piece of the list, which the list's total says nothing about.
    pub(super) fn is_piece(&self) -> bool {
        let bounds = self.bounds.as_ref();
        bounds.is_some_and(|bounds| bounds.begin.is_some() || bounds.end.is_some())
    }

    /// Whether it begins behind another part.
    pub(super) fn has_predecessor(&self) -> bool {
        self.begin().is_some()
    }

    /// Whether it ends before another part.
    pub(super) fn has_successor(&self) -> bool {
        self.end().is_some()
    }

    fn begin(&self) -> Option<&Begin> {
        self.bounds.as_ref()?.begin.as_ref()
    }

    fn begin_mut(&mut self) -> Option<&mut Begin> {
        self.bounds.as_mut()?.begin.as_mut()
    }

    fn end(&self) -> Option<&End> {
        self.bounds.as_ref()?.end.as_ref()
    }

    /// Where the first page of a part begins, while it is looked for.
    pub(super) fn first_offset(&self) -> Option<u64> {
        let begin = self.begin()?;
        let anchor = &begin.found.anchor;
        let before = anchor.cut() - anchor.middle() as u64;
        matches!(begin.search, Search::Seeking { tried: 0, .. }).then_some(before)
    }

    /// How far reading ahead makes sense in a list of this total.
    pub(crate) fn read_ahead_to(&self, total: u64) -> u64 {
        self.end().map_or(total, |end| {
            let expected = end.found.anchor.expected(total);
            total.min(expected.saturating_add(self.granted / 2))
        })
    }

    /// Finds the beginning of the part; none where the page may be judged.
    pub(super) fn seek(&mut self, page: &Slice) -> Option<Verdict> {
        let granted = self.granted.max(1);
        let begin = self.begin()?;
        let anchor = &begin.found.anchor;
        let (middle, support) = (anchor.middle(), anchor.support());
        match begin.search {
            Search::Over => None,
            Search::Found => self.enter(page),
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

    /// Waits for a record behind the cut, so that none is taken that stands before them and came later.
    fn enter(&mut self, page: &Slice) -> Option<Verdict> {
        let found = &self.begin()?.found;
        let middle = found.anchor.middle();
        let hits = found.on(&page.ids);
        let entered = hits.iter().any(|(_, rank)| *rank >= middle);
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

    /// The new records of a page that belong to this part.
    pub(super) fn own(&self, page: &Slice, sight: &Sight, mut fresh: Vec<usize>) -> Vec<usize> {
        let Some(begin) = self.begin() else {
            return fresh;
        };
        let hits = begin.found.on(&page.ids);
        let middle = begin.found.anchor.middle();
        let known = sight.known.iter().position(Option::is_some);
        let behind = hits.iter().find(|(_, rank)| *rank >= middle);
        let first = known
            .into_iter()
            .chain(behind.map(|(index, _)| *index))
            .min();
        let last = hits.last().map(|(index, _)| *index);
        let is_anchor = |index: &usize| hits.iter().any(|(hit, _)| hit == index);
        fresh.retain(|index| {
            let inside =
                first.is_none_or(|first| *index > first) && last.is_none_or(|last| *index > last);
            inside || is_anchor(index)
        });
        fresh
    }

    /// Where the page passes on to the next part.
    pub(super) fn cut(&mut self, page: &Slice) -> Cut {
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
    pub(super) fn note_passed(&mut self, page: &Slice, fresh: &[usize]) {
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
