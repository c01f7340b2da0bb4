//! What is believed about the server's way of counting, and the mode of sending that follows from it: the even pace until
//! something better is known, the whole limit where the budget refills all the time, alignment with windows that follow a
//! clock.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ledger::Ledger;
use super::others::Others;
use super::slots::Slots;
use super::windows::{Alignment, Edge, Sign, Windows};
use super::{Mode, Time};

/// An alignment that was wrong is not tried again for this long, doubled each time, up to an hour.
const FIRST_BAR: Duration = Duration::from_secs(15);
const MOST_DOUBLINGS: u32 = 8;
/// A window policy shows the sum of what is left and what we took to be about the limit for the last quarter of each
/// window; so many times the limit for this part of a window proves that the budget refills.
const ABOVE: f64 = 1.25;
const PROOF: f64 = 0.95;
/// Under this part of the limit a bucket may run dry before the next response.
const DRY: f64 = 0.3;
/// The pace of a bucket is this much denser than the limit, which is kept anyway, so that a late request does not cost its
/// place.
const CATCH_UP: f64 = 0.92;

/// The limit in force.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Plan {
    /// Requests in each window; at least 1.
    pub(super) limit: u32,
    pub(super) window: Duration,
}

/// What one response tells about the budget, next to what we know of our own requests.
#[derive(Debug, Clone, Copy)]
pub(super) struct Count {
    pub(super) received: Time,
    pub(super) sent: Time,
    /// At most the limit.
    pub(super) remaining: u32,
    /// Our own requests within the window that ended with this one, by send time.
    pub(super) own: u32,
    /// How long the server's window still lasts, where it tells parts of a second.
    pub(super) rest: Option<Duration>,
    pub(super) refused: bool,
}

/// Beliefs about one server with one limit.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Model {
    plan: Plan,
    slots: Slots,
    others: Others,
    /// Since when counts have been as high as only those of a bucket are, and whether that is proof.
    refill: (Option<Time>, bool),
    windows: Windows,
    /// An edge has been seen, so that there are fixed windows of one kind or the other.
    fixed: bool,
    alignment: Option<Alignment>,
    wrong_alignments: u32,
    barred_until: Time,
}

impl Model {
    /// For a server that counts to `limit` in each window.
    pub(super) fn new(limit: u32, window: Duration) -> Self {
        let plan = Plan {
            limit: limit.max(1),
            window,
        };
        Self {
            plan,
            slots: Slots::new(plan),
            others: Others::default(),
            refill: (None, false),
            windows: Windows::default(),
            fixed: false,
            alignment: None,
            wrong_alignments: 0,
            barred_until: Time::ZERO,
        }
    }

    pub(super) fn plan(&self) -> Plan {
        self.plan
    }

    /// Numbers that were read may be anything.
    pub(super) fn is_valid(&self) -> bool {
        let aligned = self.alignment.as_ref().map_or(0.0, |lock| lock.others);
        let numbers = [
            self.slots.slots,
            self.slots.before,
            self.others.spent,
            aligned,
        ];
        numbers.iter().all(|number| (0.0..=1e9).contains(number))
            && self.slots.slots >= 1.0
            && self.plan.limit >= 1
    }

    pub(super) fn mode(&self) -> Mode {
        match self.alignment {
            _ if self.refill.1 => Mode::Refill,
            Some(_) => Mode::Locked,
            None => Mode::Universal,
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
        let begun = self.begun(self.others.newest_sent());
        let clear = self.others.clear_at(ledger, begun, plan);
        self.slots.next(plan, ledger).max(clear)
    }

    /// When the window began in which a request was sent, where that is known.
    fn begun(&self, sent: Time) -> Option<Edge> {
        let windows = Some(&self.windows).filter(|_| self.fixed)?;
        windows.begun(sent, self.plan.window)
    }

    /// A request is sent; where it may have been long since the last, an alignment is no longer relied on.
    pub(super) fn sent(&mut self, now: Time) {
        if let Some(alignment) = &self.alignment
            && alignment.is_stale(now)
        {
            self.give_up_alignment();
        }
    }

    fn give_up_alignment(&mut self) {
        self.alignment = None;
        self.windows = Windows::default();
    }

    /// A request sent at `sent` saw the budget used up, or was refused; `own` requests were ours within the window.
    pub(super) fn overshoot(&mut self, now: Time, sent: Time, own: u32) {
        if self.alignment.is_none() {
            self.slots.overshoot(now, sent, own, self.plan);
        }
    }

    /// A request was served, and nothing said about what is left.
    pub(super) fn served(&mut self, now: Time) {
        self.slots.served(now, self.plan);
    }

    pub(super) fn seen(&mut self, count: &Count, ledger: &Ledger) {
        let (plan, now, floor) = (self.plan, count.received, ledger.floor());
        self.seek_refill(count);
        if let Some(alignment) = &mut self.alignment {
            alignment.roll(now, plan);
            let right = alignment.seen(count, ledger, plan);
            if !right {
                let bar = FIRST_BAR * (1 << self.wrong_alignments.min(MOST_DOUBLINGS));
                self.barred_until = now + bar;
                self.wrong_alignments = self.wrong_alignments.saturating_add(1);
            }
            if !right || self.refill.1 {
                self.give_up_alignment();
            }
        }
        let sign = match self.alignment {
            Some(_) => Sign::None,
            None => self.windows.seen(count, plan, floor),
        };
        let begun = self.begun(count.sent);
        self.others.seen(count, begun, ledger, plan);
        self.slots.seen(count, plan);
        if !matches!(sign, Sign::None) && !self.fixed {
            self.fixed = true;
            self.slots.take_all(plan);
        }
        if let Sign::Clock(edge) = sign
            && now >= self.barred_until
        {
            self.alignment = Some(Alignment::new(count, edge, plan.window, floor));
        }
    }

    /// Tells a budget that refills all the time, such as a token bucket, from one that is counted in windows.
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
}
