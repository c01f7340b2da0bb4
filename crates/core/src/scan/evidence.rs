//! The evidence for and against the completeness of a scan: totals and doubts.

use super::receipt::Doubt;
use super::slice::Slice;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Limits the change of a total with each response, and back, that is no doubt.
const SMALL_STEP: i64 = 3;
/// Limits the steps of the total that are remembered.
const MAX_STEPS: usize = 1000;

/// The observations of a scan, from its first run on if it was resumed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Evidence {
    /// The total of the first response.
    total: Option<u64>,
    /// Whether another response had another total, or any had none.
    pub(super) total_changed: bool,
    /// The large steps by which the total rose or fell from one response to the next.
    steps: BTreeSet<i64>,
    /// The number of delivered records.
    pub(super) delivered: u64,
    /// Whether a page had to be read again.
    pub(super) repaired: bool,
    pub(super) doubts: Vec<Doubt>,
    /// The total and the arrival of the last response whose request was sent after the response before had arrived.
    /// In between, responses may overtake each other.
    #[serde(skip)]
    tip: Option<(u64, u64)>,
    /// The number of responses since then.
    #[serde(skip)]
    since: i64,
}

impl Evidence {
    /// Notes the total of a page as it arrives.
    pub(super) fn note_total(&mut self, page: &Slice) {
        self.since += 1;
        let Some(total) = page.total else {
            self.total_changed = true;
            return;
        };
        self.total_changed |= *self.total.get_or_insert(total) != total;
        if let Some((before, arrived)) = self.tip {
            if page.sent <= arrived {
                return;
            }
            let step = signed(total).saturating_sub(signed(before));
            // A list that has changed by much and is suddenly as it was is read from several copies.
            if step.abs() > SMALL_STEP * self.since {
                if self.steps.contains(&-step) {
                    self.doubt(Doubt::StaleReads);
                }
                if self.steps.len() < MAX_STEPS {
                    self.steps.insert(step);
                }
            }
        }
        (self.tip, self.since) = (Some((total, page.arrived)), 0);
    }

    /// Notes a doubt if a page reaches behind its total.
    pub(super) fn compare_total(&mut self, page: &Slice) {
        if !page.ids.is_empty() && page.total.is_some_and(|total| page.end() > total) {
            self.doubt(Doubt::WrongTotal);
        }
    }

    pub(super) fn doubt(&mut self, doubt: Doubt) {
        if !self.doubts.contains(&doubt) {
            self.doubts.push(doubt);
        }
    }

    /// Returns whether the total never changed, exactly that many records were delivered, and no page had to be read
    /// again.
    pub(super) fn is_counted(&self) -> bool {
        !self.total_changed && self.total == Some(self.delivered) && !self.repaired
    }

    /// Weighs the whole, once the end of the list is reached.
    pub(super) fn conclude(&mut self) {
        // Records that moved across the frontier have not come at all.
        let differs = self.total.is_some_and(|total| total != self.delivered);
        if differs && !self.total_changed && !self.doubts.contains(&Doubt::WrongTotal) {
            self.doubt(Doubt::CountDiffers);
        }
    }
}

fn signed(total: u64) -> i64 {
    i64::try_from(total).unwrap_or(i64::MAX)
}
