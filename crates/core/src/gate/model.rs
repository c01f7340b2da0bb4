//! What is believed about the server's way of counting, and the mode of sending that follows from it: the even pace until
//! something better is known, the whole limit where the budget refills all the time, alignment with windows that follow a
//! clock. And how much others take from the same budget, who are left theirs.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Time;
use super::ledger::Ledger;
use super::slots::{LEFT_ALONE, Slots};
use super::windows::{Alignment, Edge, Windows};

/// An alignment that was wrong is not tried again for this long.
const BARRED: Duration = Duration::from_secs(15);
/// A window policy shows the sum of what is left and what we took to be about the limit for the last quarter of each
/// window; so many times the limit for this part of a window proves that the budget refills.
const ABOVE: f64 = 1.25;
const PROOF: f64 = 0.95;
/// Under this part of the limit a bucket may run dry before the next response.
const DRY: f64 = 0.3;
/// The pace of a bucket is this much denser than the limit, which is kept anyway, so that a late request does not cost its
/// place.
const CATCH_UP: f64 = 0.92;

/// Weight of one response in the estimate of what others take.
const WEIGHT: f64 = 0.06;
/// A count says something about the pace of others when this part of its window is over.
const TELLING: f64 = 0.3;
/// Fewer requests a window than this cannot be distinguished from jitter.
pub(super) const NOTICED: f64 = 1.5;
/// This many times the variance of what others take is left to them, under the root: two and a half deviations.
const DEVIATIONS: f64 = 6.0;
/// What others do is not seen for the round trip, and for this much longer: a request of ours apart.
const UNSEEN: Duration = Duration::from_millis(30);

/// The limit in force.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Plan {
    /// Requests in each window; at least 1.
    pub(super) limit: u32,
    pub(super) window: Duration,
}

impl Plan {
    /// What others take while it is not seen, at so many requests a window.
    pub(super) fn unseen(self, others: f64, ledger: &Ledger) -> f64 {
        others * (ledger.mean + UNSEEN).div_duration_f64(self.window)
    }
}

/// What one response shows of the budget, next to what we know of our own requests.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Count {
    pub(super) received: Time,
    pub(super) sent: Time,
    /// At most the limit.
    pub(super) remaining: u32,
    /// Our own requests within the window that ended with this one, by send time.
    pub(super) own: u32,
    /// The server has said to a part of a second when its window ends.
    pub(super) is_exact: bool,
}

/// Beliefs about one server with one limit.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Model {
    pub(super) plan: Plan,
    pub(super) slots: Slots,
    /// The count of the request that was sent last of those that were responded to.
    newest: Option<Count>,
    /// What others take, in requests a window.
    others: f64,
    /// Since when counts have been as high as only those of a bucket are, and whether that is proof.
    refill: (Option<Time>, bool),
    windows: Windows,
    /// An edge has been seen, so that there are fixed windows of one kind or the other.
    fixed: bool,
    alignment: Option<Alignment>,
    barred_until: Time,
}

impl Model {
    /// For a server that counts to `limit` in each window.
    pub(super) fn new(limit: u32, window: Duration) -> Self {
        let limit = limit.max(1);
        let plan = Plan { limit, window };
        Self {
            plan,
            slots: Slots::new(plan),
            newest: None,
            others: 0.0,
            refill: (None, false),
            windows: Windows::default(),
            fixed: false,
            alignment: None,
            barred_until: Time::ZERO,
        }
    }

    pub(super) fn mode(&self) -> &'static str {
        match self.alignment {
            _ if self.refill.1 => "refill",
            Some(_) => "aligned",
            None => "universal",
        }
    }

    /// Requests per window that are aimed at.
    pub(super) fn aim(&self) -> f64 {
        match self.refill.1 {
            true => f64::from(self.plan.limit),
            false => self.slots.slots,
        }
    }

    /// When the next request may go.
    pub(super) fn next(&mut self, now: Time, ledger: &Ledger) -> Time {
        let plan = self.plan;
        if self.refill.1 {
            return ledger.last_sent() + (plan.window / plan.limit).mul_f64(CATCH_UP);
        }
        if let Some(alignment) = &mut self.alignment {
            alignment.roll(now, plan);
            return alignment.next(ledger, plan);
        }
        self.slots.next(plan, ledger).max(self.clear_at(ledger))
    }

    /// A request sent at `sent` saw the budget used up, or was refused; `own` requests were ours within the window.
    pub(super) fn overshoot(&mut self, now: Time, sent: Time, own: u32) {
        if self.alignment.is_none() {
            self.slots.overshoot(now, sent, own, self.plan);
        }
    }

    /// A response shows a count.
    pub(super) fn seen(&mut self, count: &Count, ledger: &Ledger) {
        let (plan, now, floor) = (self.plan, count.received, ledger.floor());
        self.seek_refill(count);
        if let Some(alignment) = &mut self.alignment {
            alignment.roll(now, plan);
            let right = alignment.seen(count, ledger);
            if !right {
                self.barred_until = now + BARRED;
            }
            if !right || self.refill.1 {
                self.alignment = None;
                self.windows = Windows::default();
            }
        }
        // One that was overtaken by a later request says nothing about an edge.
        let before = self.newest.filter(|newest| count.sent > newest.sent);
        if self.newest.is_none() || before.is_some() {
            self.newest = Some(*count);
        }
        let before = before.filter(|_| self.alignment.is_none());
        let has_jumped = before.is_some_and(|it| self.windows.seen(count, &it, plan, floor));
        self.estimate_others(count, ledger);
        self.slots.seen(count, plan);
        if has_jumped && !self.fixed {
            self.fixed = true;
            self.slots.take_all(plan);
        }
        if has_jumped && now >= self.barred_until {
            let edge = self.windows.clock();
            self.alignment = edge.map(|edge| Alignment::new(count, edge, plan.window, floor));
        }
    }

    /// Distinguishes a budget that refills all the time, such as a token bucket, from one that is counted in windows.
    fn seek_refill(&mut self, count: &Count) {
        let limit = f64::from(self.plan.limit);
        if f64::from(count.remaining) < DRY * limit {
            self.refill = (None, false);
        } else if f64::from(count.remaining + count.own) < ABOVE * limit {
            self.refill.0 = None;
        } else {
            let since = *self.refill.0.get_or_insert(count.received);
            self.refill.1 |= count.received >= since + self.plan.window.mul_f64(PROOF);
        }
    }

    /// When the window began in which a request was sent, where that is known.
    fn begun(&self, sent: Time) -> Option<Edge> {
        let last = self.windows.last.filter(|_| self.fixed)?;
        (sent < last.latest + self.plan.window).then_some(last)
    }

    fn estimate_others(&mut self, count: &Count, ledger: &Ledger) {
        let (own, part) = match self.begun(count.sent) {
            Some(Edge { earliest, .. }) => {
                let elapsed = count.sent.saturating_sub(earliest);
                let own = ledger.sent_between(earliest, count.sent);
                (own, elapsed.div_duration_f64(self.plan.window))
            }
            None => (count.own, 1.0),
        };
        if part >= TELLING {
            let limit = self.plan.limit;
            let others = f64::from(limit.saturating_sub(count.remaining + own)) / part;
            self.others += WEIGHT * (others - self.others);
        }
    }

    /// When a request is expected to leave the others what they take meanwhile, and more than the usual deviation from
    /// it; at the latest a window after the newest count, which by then says nothing.
    fn clear_at(&self, ledger: &Ledger) -> Time {
        let (others, plan) = (self.others, self.plan);
        let Some(newest) = self.newest.filter(|_| others >= NOTICED) else {
            return Time::ZERO;
        };
        let variance = plan.unseen(others - NOTICED, ledger);
        let need = LEFT_ALONE + (DEVIATIONS * variance).sqrt();
        let since = ledger.sent_between(newest.sent, Time::MAX);
        let missing = need - (f64::from(newest.remaining) - f64::from(since) - 1.0);
        let latest = newest.received + plan.window;
        if let Some(begun) = self.begun(newest.sent) {
            // Nothing comes back before the end, and until then the others go on taking theirs.
            let end = latest.min(begun.latest + plan.window);
            let theirs = (-missing).max(0.0) / others;
            return end.saturating_sub(plan.window.mul_f64(theirs));
        }
        if missing <= 0.0 {
            return Time::ZERO;
        }
        // Each request of ours that drops out of the window gives one back.
        let counted = |sent: &Time| *sent <= newest.sent && *sent + plan.window > newest.sent;
        let enough = ledger
            .sent()
            .filter(counted)
            .nth(missing.ceil() as usize - 1);
        enough.map_or(latest, |sent| (sent + plan.window).min(latest))
    }
}
