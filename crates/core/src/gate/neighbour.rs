//! Others who spend from the same budget: how much they take, and when a request of ours would still leave enough.

use std::time::Duration;

use super::ledger::Ledger;
use super::slots::LEFT_ALONE;
use super::{Count, Time};

/// Weight of one response in the estimate.
const WEIGHT: f64 = 0.06;
/// Fewer requests a window than this cannot be told from jitter.
pub(super) const NOTICED: f64 = 1.5;
/// What others do is not seen for the round trip, and for this much longer, in seconds: a request of ours apart.
pub(super) const UNSEEN: f64 = 0.03;

/// The estimate, and the newest count it rests on.
#[derive(Debug, Default)]
pub(super) struct Neighbour {
    spent: f64,
    newest_sent: Time,
    remaining: f64,
    received: Time,
}

impl Neighbour {
    pub(super) fn seen(&mut self, count: &Count) {
        let others = (count.limit - count.remaining - count.own).max(0.0);
        self.spent += WEIGHT * (others - self.spent);
        if count.sent >= self.newest_sent {
            self.newest_sent = count.sent;
            self.received = count.received;
            self.remaining = count.remaining;
        }
    }

    /// When a request would be expected to leave the others what they take meanwhile, and the usual deviation from it;
    /// at the latest a window after the newest count, which by then says nothing.
    pub(super) fn clear_at(&self, ledger: &Ledger, window: Duration, round_trip: f64) -> Time {
        if self.spent < NOTICED {
            return Time::ZERO;
        }
        let need = LEFT_ALONE + (2.0 * self.spent * (round_trip + UNSEEN)).sqrt();
        let since = ledger.sent_between(self.newest_sent, Time::MAX);
        let missing = need - (self.remaining - since as f64 - 1.0);
        if missing <= 0.0 {
            return Time::ZERO;
        }
        // Each request of ours that drops out of the window gives one back.
        let mut leaving = ledger
            .entries()
            .map(|entry| entry.sent)
            .filter(|sent| *sent <= self.newest_sent && *sent + window > self.newest_sent);
        let enough = leaving.nth(missing.ceil() as usize - 1);
        let latest = self.received + window;
        enough.map_or(latest, |sent| (sent + window).min(latest))
    }
}
