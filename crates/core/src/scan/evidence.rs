//! What a scan has seen that speaks for or against its completeness.

use super::Doubt;
use serde::{Deserialize, Serialize};

/// So many totals of before are kept to recognise one that returns.
const MOST_LEVELS: usize = 8;

/// The observations of a scan, from its first run on if it was resumed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Evidence {
    /// The total that the last joined page reported, and the one that the frontier was reached with.
    total: Option<u64>,
    frontier_total: Option<u64>,
    /// The total that arrived last, and those before it rose or fell by more than a page.
    arrived_total: Option<u64>,
    levels: Vec<u64>,
    /// Whether the total has ever differed from page to page.
    total_changed: bool,
    /// Whether totals contradict the records that came with them.
    total_wrong: bool,
    /// Records delivered.
    pub(super) delivered: u64,
    doubts: Vec<Doubt>,
}

impl Evidence {
    /// Begins behind so many records of a list that had this total.
    pub(super) fn begin_with(&mut self, total: u64, before: u64) {
        (self.total, self.frontier_total) = (Some(total), Some(total));
        self.delivered = before;
    }

    /// Notes the total of a page as it arrives; `granted` is the most records that a page has held.
    pub(super) fn note_arrival(&mut self, total: u64, granted: u64) {
        let before = self.arrived_total.replace(total).unwrap_or(total);
        self.total_changed |= before != total;
        if before.abs_diff(total) <= granted {
            return;
        }
        // A list that has changed by more than a page and is suddenly as it was is read from several copies.
        let returned = self
            .levels
            .iter()
            .any(|level| level.abs_diff(total) <= granted / 4);
        if returned {
            self.doubt(Doubt::StaleReads);
        }
        self.levels.push(before);
        if self.levels.len() > MOST_LEVELS {
            self.levels.remove(0);
        }
    }

    /// Notes the total of a page that joins, which ends at this offset.
    pub(super) fn note_total(&mut self, total: u64, end: u64, records: u64, granted: u64) {
        // The count may be a moment older than the page; a list that reports none at all is another matter.
        if records > 0 && (total == 0 || total.saturating_add(granted) <= end) {
            self.total_wrong = true;
            self.doubt(Doubt::WrongTotal);
        }
        self.total = Some(total);
    }

    /// Notes that the frontier was reached with the page joined last; `newer`: it was asked for after all
    /// joined before had arrived. An older one may hold what has been removed in the meantime.
    pub(super) fn note_frontier(&mut self, newer: bool) {
        self.frontier_total = match newer {
            true => self.total,
            false => self.total.max(self.frontier_total),
        };
    }

    /// The total reported last, if totals can be believed.
    pub(super) fn total(&self) -> Option<u64> {
        self.total.filter(|_| !self.total_wrong)
    }

    /// By how much the list has shrunk since the frontier was reached, as far as the totals say.
    pub(super) fn shrunk_to(&self, total: u64) -> u64 {
        let before = self.frontier_total.filter(|_| !self.total_wrong);
        before.map_or(0, |before| before.saturating_sub(total))
    }

    /// By how much the total differs from that of the last joined page; none while totals say nothing.
    pub(super) fn change_of_total(&self, total: u64) -> Option<i64> {
        let before = i64::try_from(self.total()?).ok()?;
        i64::try_from(total).ok()?.checked_sub(before)
    }

    /// Whether the size of the list has ever changed by more than a page at once.
    pub(super) fn has_jumped(&self) -> bool {
        !self.levels.is_empty()
    }

    pub(super) fn has(&self, doubt: Doubt) -> bool {
        self.doubts.contains(&doubt)
    }

    pub(super) fn doubt(&mut self, doubt: Doubt) {
        if !self.has(doubt) {
            self.doubts.push(doubt);
        }
    }

    pub(super) fn doubts(&self) -> &[Doubt] {
        &self.doubts
    }

    /// Whether as many distinct records came as a list that never changed its size holds.
    pub(super) fn is_counted(&self) -> bool {
        !self.total_changed && self.total() == Some(self.delivered)
    }

    /// Weighs the whole, once the end of the list is reached.
    pub(super) fn conclude(&mut self) {
        let Some(total) = self.total().filter(|_| !self.total_changed) else {
            return;
        };
        // Records that moved across the frontier have come twice or not at all.
        if self.delivered != total {
            self.doubt(Doubt::CountDiffers);
        }
    }
}
