//! Tells a budget that refills all the time, such as a token bucket, from one that is counted in windows, and spends it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ledger::Ledger;
use super::{Count, Time};

/// A window policy shows the sum of what is left and what we took to be about the limit for the last quarter of each
/// window; this part of a window without it is proof.
const PROOF: f64 = 0.95;
/// The sum has to lie above this many times the limit.
const ABOVE: f64 = 1.25;
/// Under this part of the limit the bucket may run dry before the next response.
const DRY: f64 = 0.3;
/// The pace is this much denser than the limit, which is kept anyway, so that a late request does not cost its place.
const CATCH_UP: f64 = 0.92;

/// Whether the budget refills.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Refill {
    since: Option<Time>,
    proven: bool,
}

impl Refill {
    pub(super) fn is_proven(&self) -> bool {
        self.proven
    }

    pub(super) fn seen(&mut self, count: &Count, window: Duration) {
        if count.remaining < DRY * count.limit {
            *self = Self::default();
        } else if count.remaining + count.own < ABOVE * count.limit {
            self.since = None;
        } else {
            let since = *self.since.get_or_insert(count.received);
            self.proven |= count.received >= since + window.mul_f64(PROOF);
        }
    }

    /// When the next request may go, if the budget of ours is `budget`.
    pub(super) fn next(ledger: &Ledger, window: Duration, budget: u32) -> Time {
        let gap = (window / budget).mul_f64(CATCH_UP);
        ledger.last_sent().map_or(Time::ZERO, |sent| sent + gap)
    }
}
