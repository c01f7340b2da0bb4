//! Tells a budget that refills all the time, such as a token bucket, from one that is counted in windows.

use std::time::Duration;

use super::Time;

/// A window policy shows the sum of what is left and what we took to be the limit at least once a window; this many
/// windows without it are proof.
const PROOF: f64 = 1.1;
/// The sum has to lie above this many times the limit.
const ABOVE: f64 = 1.25;
/// Under this part of the limit the bucket may run dry before the next answer.
const DRY: f64 = 0.3;

/// Whether the budget refills.
#[derive(Debug, Default)]
pub(super) struct Refill {
    since: Option<Time>,
    proven: bool,
}

impl Refill {
    pub(super) fn is_proven(&self) -> bool {
        self.proven
    }

    /// A response left `remaining` of `limit`, when `own` requests were ours within the window.
    pub(super) fn seen(
        &mut self,
        now: Time,
        window: Duration,
        limit: f64,
        remaining: f64,
        own: f64,
    ) {
        if remaining < DRY * limit {
            *self = Self::default();
        } else if remaining + own < ABOVE * limit {
            self.since = None;
        } else {
            let since = *self.since.get_or_insert(now);
            self.proven |= now >= since + window.mul_f64(PROOF);
        }
    }
}
