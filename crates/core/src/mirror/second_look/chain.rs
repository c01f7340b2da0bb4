//! Pages that follow each other without a gap.
//!
//! If a page begins with a record of the one before, whatever was in the list while both were read, and stood behind
//! what the first one begins with, is on one of them or behind the second: it stands before the shared record, and is
//! on the first page, or behind it.

use super::Shown;
use std::collections::HashMap;

/// The pages joined last.
#[derive(Default)]
pub(super) struct Chain {
    /// Which chain it is: a page that does not join begins another.
    number: u32,
    /// What is on its last page.
    last: Vec<u128>,
    begin: u64,
    end: u64,
    /// How many records the list had then.
    total: u64,
    /// By how many records the next page is to overlap, less one.
    more: u64,
}

impl Chain {
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// Whether it is the one of this number.
    pub(super) fn is(&self, number: u32) -> bool {
        self.number == number && number > 0
    }

    /// Where the page behind it begins that joins it, if the list stands still.
    pub(super) fn next(&self) -> u64 {
        let overlap = self.more + 1;
        self.end.saturating_sub(overlap).max(self.begin)
    }

    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Whether a page begins with a record of its last one, and what they share is in the same order: a record
    /// that has moved joins nothing.
    pub(super) fn joins(&self, page: &Shown) -> bool {
        let places: HashMap<u128, usize> = self.last.iter().copied().zip(0..).collect();
        let first = page.identities.first();
        let shared = page.identities.iter().filter_map(|id| places.get(id));
        first.is_some_and(|id| places.contains_key(id)) && shared.is_sorted()
    }

    /// Takes a page, which joins or begins another chain.
    pub(super) fn take(&mut self, page: &Shown, joins: bool) {
        self.number += u32::from(!joins);
        self.last.clone_from(&page.identities);
        (self.begin, self.end) = (page.offset, page.end());
        self.total = page.total;
    }

    /// Nothing joins it any more.
    pub(super) fn abandon(&mut self) {
        self.number += 1;
        self.last.clear();
    }

    /// By how many records the list has grown or shrunk since, as a page says.
    pub(super) fn shift_to(&self, page: &Shown) -> i64 {
        page.total as i64 - self.total as i64
    }

    /// The list moves: the next pages overlap by more.
    pub(super) fn widen(&mut self, page_size: u64) {
        self.more = (4 * self.more + 3).min(page_size / 2);
    }
}
