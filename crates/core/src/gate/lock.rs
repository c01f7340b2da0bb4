//! Sending within windows whose edges are known: the budget of each is spread over the part of it that is safe.
//!
//! Neither latency nor jitter costs anything here, as long as all requests fit between the edges. Only windows that
//! follow a clock are locked on to. Those that open with a request are left to the universal mode, which is within
//! two points of the best on them; they betray themselves by counting a request in the window before.

use std::time::Duration;

use super::latency::Latency;
use super::ledger::Ledger;
use super::slots::LEFT_ALONE;
use super::windows::Edge;
use super::{Count, Time};

/// A lock is given up and found anew after this long, so that clocks cannot drift out of it.
const LASTS: Duration = Duration::from_secs(60);
/// How far clocks drift meanwhile, at 50 millionths.
const DRIFT: Duration = Duration::from_millis(3);
/// A request may be faster than any before it, by this part of the least round trip; if it is the first of a window,
/// it would fall into the one before.
const SURPRISE: f64 = 0.3;
/// Windows for which the first request goes alone and one less is sent: should windows open with a request after all,
/// a first request that is faster than those before it falls into the window before, and is the only one to.
const TRIAL: u32 = 4;
/// The part of the round trips' spread that a request may be late at the end of a window, half being the way out.
const LATE: f64 = 0.5;
/// And timers, in seconds.
const TIMER: f64 = 0.003;
/// At least this part of a window is used, whatever the spread.
const LEAST_PART: f64 = 0.45;
/// Requests are no closer than this part of an even pace.
const CLOSEST: f64 = 0.3;
/// A first count this low cannot belong to a window that has just begun.
const LOW: f64 = 3.0;
/// Requests into a window that count as first.
const FIRST: usize = 4;
/// Weight of one window in the estimate of what others take.
const WEIGHT: f64 = 0.25;
/// Fewer requests a window than this are not held to be others.
const NOTICED: f64 = 1.5;
/// Others are unknown for the round trip, and for this much longer, in seconds.
const UNSEEN: f64 = 0.03;
/// Most requests left for others to take unseen.
const MOST_UNSEEN: f64 = 8.0;
/// Reserve added by a shortage, taken back over six windows, and its most.
const RESERVE: (f64, f64, f64) = (0.5, 0.08, 3.0);

/// A lock on the server's windows.
#[derive(Debug)]
pub(super) struct Lock {
    limit: f64,
    budget: f64,
    window: Duration,
    since: Time,
    edge: Edge,
    trial: u32,
    members: f64,
    least: f64,
    others: f64,
    reserve: f64,
}

impl Lock {
    /// Begins in the window whose first count is `count`.
    pub(super) fn new(
        count: &Count,
        edge: Edge,
        window: Duration,
        floor: Duration,
        budget: u32,
    ) -> Self {
        let limit = count.limit;
        Self {
            limit,
            budget: (limit - LEFT_ALONE).min(f64::from(budget)).max(1.0),
            window,
            since: count.received,
            edge: Edge {
                earliest: edge.earliest.saturating_sub(DRIFT),
                latest: edge.latest + DRIFT + floor.mul_f64(SURPRISE),
            },
            trial: TRIAL,
            members: 1.0,
            least: count.remaining,
            others: 0.0,
            reserve: 0.0,
        }
    }

    /// Moves on to the window of `now`; false when the lock has lasted long enough.
    pub(super) fn roll(&mut self, now: Time) -> bool {
        if now < self.edge.latest + self.window {
            return true;
        }
        let passed = (now - self.edge.latest).as_nanos() / self.window.as_nanos().max(1);
        let passed = self.window * u32::try_from(passed).unwrap_or(u32::MAX);
        self.edge.earliest += passed;
        self.edge.latest += passed;
        if self.members > 0.0 {
            let others = (self.limit - self.least - self.members).max(0.0);
            self.others += WEIGHT * (others - self.others);
            self.trial = self.trial.saturating_sub(1);
        }
        self.reserve = (self.reserve - RESERVE.1).max(0.0);
        (self.members, self.least) = (0.0, self.limit);
        now < self.since + LASTS
    }

    /// Takes in a count; false when it cannot be, so that the lock is wrong.
    pub(super) fn seen(&mut self, count: &Count, ledger: &Ledger) -> bool {
        if count.remaining < 1.0 {
            self.reserve = (self.reserve + RESERVE.0).min(RESERVE.2);
        }
        if count.sent < self.edge.latest {
            return true;
        }
        self.members += 1.0;
        self.least = self.least.min(count.remaining);
        let before = ledger.sent_between(self.before(), count.sent);
        before > FIRST || count.remaining > LOW
    }

    /// When the next request may go.
    pub(super) fn next(&self, ledger: &Ledger, latency: &Latency) -> Time {
        let edge = self.edge;
        let last = ledger.last_sent().unwrap_or_default();
        if last < edge.latest {
            return edge.latest; // one request a window goes whatever the others do, to see what is left
        }
        let sent = ledger.sent_between(self.before(), Time::MAX) as f64;
        let others = if self.others < NOTICED {
            0.0
        } else {
            self.others
        };
        let unseen = (1.2 * others * (latency.mean() + UNSEEN)).min(MOST_UNSEEN);
        let trial = f64::from(u8::from(self.trial > 0));
        let reserve = LEFT_ALONE + self.reserve.floor() + trial;
        let left = self.least - ledger.in_flight() as f64 - reserve - unseen;
        let most = (self.limit - reserve - others).min(self.budget);
        let scouting = self.trial > 0 && self.members < 1.0;
        if scouting || left < 1.0 || most - sent < 1.0 {
            return edge.latest + self.window;
        }
        let late = Duration::from_secs_f64(LATE * latency.spread() + TIMER);
        let middle = edge.earliest + edge.latest.saturating_sub(edge.earliest) / 2;
        let end = (middle + self.window).saturating_sub(late);
        let end = end.max(edge.latest + self.window.mul_f64(LEAST_PART));
        let even = end.saturating_sub(last).div_f64(most - sent + 0.6);
        let next = last + even.max(self.window.div_f64(self.limit).mul_f64(CLOSEST));
        next.min(edge.latest + self.window)
    }

    fn before(&self) -> Time {
        self.edge.latest.saturating_sub(Duration::from_nanos(1))
    }
}
