//! Where a part of a list begins and ends: finds the anchors, and keeps what belongs to the parts beside it apart.
//!
//! Records of an anchor stood side by side when the plan was made. A record that is found between them and is not one of
//! them came later, so no part owes it to anybody. Such a record goes to the part before if it stands before the first
//! record behind the cut that is left, to the part behind if it stands behind the last one, and to none between.
//! So no record comes twice, whenever the two parts are read.

mod begin;
mod end;

pub(super) use end::Cut;

use super::{Joiner, Slice};
use crate::record::Identity;
use crate::scan::Consistency;
use crate::scan::part::{Anchor, Piece};
use crate::scan::position::{Position, Recent};
use crate::scan::sight::Sight;
use begin::{Begin, Search};
use end::End;
use std::collections::HashMap;

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

    /// How far reading ahead makes sense in a list of this total.
    pub(crate) fn read_ahead_to(&self, total: u64) -> u64 {
        self.end().map_or(total, |end| {
            let expected = end.found.anchor.expected(total);
            total.min(expected.saturating_add(self.granted / 2))
        })
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
}
