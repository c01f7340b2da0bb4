//! The evidence for and against the completeness of a scan: totals and doubts.

use super::receipt::Doubt;
use super::slice::Slice;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Limits the change of the total per response that is not remembered as a step.
const SMALL_STEP: i64 = 3;
/// Limits the number of steps of the total that are remembered.
const MAX_STEPS: usize = 1000;

/// The observations of a scan. For a resumed scan they begin with its first run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Evidence {
    /// The total of the first response.
    total: Option<u64>,
    /// True if two responses had different totals, or a response had none.
    pub(super) total_changed: bool,
    /// The large steps by which the total changed from one response to the next.
    steps: BTreeSet<i64>,
    /// The number of delivered records.
    pub(super) delivered: u64,
    /// True if a page had to be read again.
    pub(super) repaired: bool,
    pub(super) doubts: Vec<Doubt>,
    /// The total and the arrival time of the last response that was certainly sent after the previous such response,
    /// because its request was sent after that one arrived. Other responses may have overtaken each other.
    #[serde(skip)]
    tip: Option<(u64, u64)>,
    /// The number of responses since the tip.
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
            // If the total makes a large step and later the opposite step, the responses come from different copies of
            // the list.
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

    /// Notes a doubt if a page extends beyond its total.
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

    /// Compares the total with the number of delivered records at the end of the list.
    pub(super) fn conclude(&mut self) {
        // A record that moved from ahead of the frontier to behind it was never delivered.
        let differs = self.total.is_some_and(|total| total != self.delivered);
        if differs && !self.total_changed && !self.doubts.contains(&Doubt::WrongTotal) {
            self.doubt(Doubt::CountDiffers);
        }
    }
}

fn signed(total: u64) -> i64 {
    i64::try_from(total).unwrap_or(i64::MAX)
}
