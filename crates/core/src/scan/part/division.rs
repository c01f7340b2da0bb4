//! Divides a list by anchor pages. Pure: it asks for offsets and sees identities.

use super::Anchor;
use crate::record::Identity;
use crate::scan::Doubt;
use crate::scan::sight::has_equals;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// A piece of a list: between two anchors, or between an anchor and an end of the list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Piece {
    /// Where it begins; none at the beginning of the list.
    pub(crate) begin: Option<Anchor>,
    /// Where it ends; none at the end of the list.
    pub(crate) end: Option<Anchor>,
    /// What the plan has seen that speaks against an order or identities that last.
    pub(crate) doubts: Vec<Doubt>,
}

impl Piece {
    /// How many records it has in a list of this total, if no record was moved by others.
    pub(crate) fn records(&self, total: u64) -> u64 {
        let begin = self.begin.as_ref().map_or(0, Anchor::cut);
        let end = self.end.as_ref().map_or(total, Anchor::cut);
        end.saturating_sub(begin)
    }
}

/// A plan in the making.
pub(crate) struct Division {
    total: u64,
    /// Most records that a page has held.
    granted: u64,
    parts: u64,
    anchors: Vec<Anchor>,
    /// The lowest and the highest total that was seen.
    pub(crate) totals: (u64, u64),
    doubts: Vec<Doubt>,
}

impl Division {
    /// Divides a list whose first page had so many records and reported this total, into at most `parts` parts.
    pub(crate) fn new(total: u64, granted: u64, has_more: bool, parts: u64) -> Self {
        let pages = match has_more {
            true => total.checked_div(granted).unwrap_or(1),
            false => 1,
        };
        Division {
            total,
            granted,
            parts: parts.min(pages).max(1),
            anchors: Vec::new(),
            totals: (total, total),
            doubts: Vec::new(),
        }
    }

    /// Where the anchor pages begin.
    pub(crate) fn offsets(&self) -> Vec<u64> {
        let (total, parts) = (u128::from(self.total), u128::from(self.parts));
        let cuts = (1..parts).map(|boundary| total * boundary / parts);
        let cuts = cuts.map(|cut| u64::try_from(cut).unwrap_or(u64::MAX));
        cuts.map(|cut| cut.saturating_sub(self.granted / 2))
            .collect()
    }

    /// Takes an anchor page, unless another one has some of its records: the list moves too fast for so many parts.
    pub(crate) fn take(&mut self, offset: u64, total: u64, ids: Vec<Identity>) {
        self.totals = (self.totals.0.min(total), self.totals.1.max(total));
        if has_equals(&ids) {
            let doubt = match ids.iter().all(|id| id.by_id()) {
                true => Doubt::RepeatedId,
                false => Doubt::EqualRecords,
            };
            if !self.doubts.contains(&doubt) {
                self.doubts.push(doubt);
            }
        }
        let of_page: HashSet<u64> = ids.iter().map(|id| id.short()).collect();
        let mut before = self.anchors.iter().rev().take(1).flat_map(|last| &last.ids);
        if before.any(|id| of_page.contains(&id.short())) {
            return;
        }
        self.anchors.extend(Anchor::new(offset, total, ids));
    }

    /// The pieces, in order.
    pub(crate) fn pieces(&self) -> Vec<Piece> {
        let anchors = || self.anchors.iter().cloned().map(Some);
        let begins = std::iter::once(None).chain(anchors());
        let ends = anchors().chain([None]);
        let piece = |(begin, end)| Piece {
            begin,
            end,
            doubts: self.doubts.clone(),
        };
        begins.zip(ends).map(piece).collect()
    }
}
