//! A limit that the server counts over a longer window than the one paced by, such as 1,000 requests a day. It is spent at
//! the usual pace; when it is used up, the client rule pauses until the reset.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Time;
use super::ledger::Ledger;

/// The limit, and the newest count of what is left of it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LongWindow {
    limit: u32,
    window: Duration,
    sent: Time,
    remaining: u64,
}

impl LongWindow {
    pub(super) fn new(limit: u32, window: Duration) -> Self {
        Self {
            limit,
            window,
            sent: Time::ZERO,
            remaining: u64::MAX,
        }
    }

    /// Whether this is the limit of so many requests in `window`.
    pub(super) fn is(&self, limit: u32, window: Duration) -> bool {
        (self.limit, self.window) == (limit, window)
    }

    /// A response to a request sent at `sent` shows what is left.
    pub(super) fn seen(&mut self, sent: Time, remaining: u64) {
        if sent >= self.sent {
            (self.sent, self.remaining) = (sent, remaining);
        }
    }

    /// How many requests are left after those that are in flight.
    pub(super) fn left(&self, ledger: &Ledger) -> u64 {
        let since = ledger.sent_between(self.sent, Time::MAX) as u64;
        self.remaining.saturating_sub(since)
    }
}
