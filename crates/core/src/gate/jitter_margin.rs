//! How much later than the fastest a request may be counted: at first all that the round trips vary by, then less.
//!
//! Of the spread of round trips only the part on the way to the server matters, and it cannot be measured: the rest is
//! the server's own time, which may be far greater. So the margin shrinks as long as it keeps us from using what there is.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Time;

/// What is left of the margin after a window in which all slots were open and requests were left over.
const DECAY: f64 = 0.9;
/// The margin shrinks no further than to this part of a window, below which there is little to gain.
const LEAST: f64 = 0.06;
/// What a overshoot makes of the margin.
const GROWTH: f64 = 2.0;
/// After a overshoot the margin does not shrink for this long, doubled each time.
const FIRST_HOLD: Duration = Duration::from_secs(15);
/// Doublings of that, at most.
const MOST_DOUBLINGS: u32 = 5;

/// The margin, in seconds.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct JitterMargin {
    most: f64,
    failures: u32,
    held_until: Time,
}

impl Default for JitterMargin {
    fn default() -> Self {
        Self {
            most: f64::INFINITY,
            failures: 0,
            held_until: Time::ZERO,
        }
    }
}

impl JitterMargin {
    pub(super) fn is_valid(&self) -> bool {
        self.most >= 0.0
    }

    /// The margin while round trips vary by `spread`.
    pub(super) fn of(&self, spread: f64) -> f64 {
        self.most.min(spread)
    }

    /// All slots were open, and requests were left over.
    pub(super) fn decay(&mut self, now: Time, spread: f64, window: Duration) {
        if now >= self.held_until {
            let least = LEAST * window.as_secs_f64();
            self.most = (self.of(spread) * DECAY).max(least);
        }
    }

    /// The budget was exceeded, though only by ourselves: the margin may have become too small.
    pub(super) fn increase(&mut self, now: Time, spread: f64) {
        if self.most < spread {
            self.most *= GROWTH;
            self.held_until = now + FIRST_HOLD * (1 << self.failures.min(MOST_DOUBLINGS));
            self.failures += 1;
        }
    }
}
