//! Others who spend from the same budget: how much they take, and when a request of ours would still leave enough.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Time;
use super::ledger::Ledger;
use super::model::{Count, Plan};
use super::slots::LEFT_ALONE;
use super::windows::Edge;

/// Weight of one response in the estimate.
const WEIGHT: f64 = 0.06;
/// A count says something about the pace of others when this part of its window is over.
const TELLING: f64 = 0.3;
/// Fewer requests a window than this cannot be told from jitter.
pub(super) const NOTICED: f64 = 1.5;
/// This many times the variance of what others take is left to them, under the root: two and a half deviations.
const DEVIATIONS: f64 = 6.0;
/// What others do is not seen for the round trip, and for this much longer: a request of ours apart.
const UNSEEN: Duration = Duration::from_millis(30);

/// The estimate, and the newest count it rests on.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Others {
    /// Requests a window.
    pub(super) spent: f64,
    newest_sent: Time,
    received: Time,
    remaining: u32,
}

impl Others {
    /// Takes in a count; of fixed windows it is known when that of the count has begun.
    pub(super) fn seen(&mut self, count: &Count, begun: Option<Edge>, ledger: &Ledger, plan: Plan) {
        let (own, part) = match begun {
            Some(Edge { earliest, .. }) => {
                let elapsed = count.sent.saturating_sub(earliest);
                let own = ledger.sent_between(earliest, count.sent);
                (own, elapsed.div_duration_f64(plan.window))
            }
            None => (count.own, 1.0),
        };
        if part >= TELLING {
            let others = f64::from(plan.limit.saturating_sub(count.remaining + own)) / part;
            self.spent += WEIGHT * (others - self.spent);
        }
        if count.sent >= self.newest_sent {
            (self.newest_sent, self.received) = (count.sent, count.received);
            self.remaining = count.remaining;
        }
    }

    /// What they are expected to take while it is not seen.
    pub(super) fn unseen(spent: f64, ledger: &Ledger, plan: Plan) -> f64 {
        spent * (ledger.mean() + UNSEEN).div_duration_f64(plan.window)
    }

    /// When the request of the newest count was sent.
    pub(super) fn newest_sent(&self) -> Time {
        self.newest_sent
    }

    /// When a request is expected to leave the others what they take meanwhile, and more than the usual deviation from
    /// it; at the latest a window after the newest count, which by then says nothing. `begun` is when the window of
    /// that count began, where windows are fixed.
    pub(super) fn clear_at(&self, ledger: &Ledger, begun: Option<Edge>, plan: Plan) -> Time {
        let spent = self.spent;
        if spent < NOTICED {
            return Time::ZERO;
        }
        let window = plan.window;
        let variance = Self::unseen(spent - NOTICED, ledger, plan);
        let need = LEFT_ALONE + (DEVIATIONS * variance).sqrt();
        let since = ledger.sent_between(self.newest_sent, Time::MAX);
        let missing = need - (f64::from(self.remaining) - f64::from(since) - 1.0);
        let latest = self.received + window;
        if let Some(begun) = begun {
            // Nothing comes back before the end, and until then the others go on taking theirs.
            let end = latest.min(begun.latest + window);
            let theirs = (-missing).max(0.0) / spent;
            return end.saturating_sub(window.mul_f64(theirs));
        }
        if missing <= 0.0 {
            return Time::ZERO;
        }
        // Each request of ours that drops out of the window gives one back.
        let sent = ledger.entries().map(|entry| entry.ticket.sent);
        let mut leaving =
            sent.filter(|sent| *sent <= self.newest_sent && *sent + window > self.newest_sent);
        let enough = leaving.nth(missing.ceil() as usize - 1);
        enough.map_or(latest, |sent| (sent + window).min(latest))
    }
}
