//! Sending within windows whose edges are known: the budget of each is spread over the part of it that is safe.
//!
//! Neither latency nor jitter costs anything here, as long as all requests fit between the edges. Only windows that
//! follow a clock are locked on to. Those that open with a request are left to the universal mode, which is within
//! two points of the best on them; they betray themselves by counting a first request in the window before, which each
//! window of a trial makes more likely.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::latency::Latency;
use super::ledger::Ledger;
use super::other_clients::{NOTICED, UNSEEN};
use super::slots::LEFT_ALONE;
use super::windows::Edge;
use super::{Count, Time};

/// A lock is given up and found anew after this long, so that clocks cannot drift out of it.
const LASTS: Duration = Duration::from_secs(200);
/// How far clocks drift meanwhile, at 50 millionths.
const DRIFT: Duration = Duration::from_millis(10);
/// A request may be faster than any before it, by this part of the least round trip; as the first of a window, it
/// would fall into the one before.
const SURPRISE: f64 = 0.3;
/// Windows for which the first request goes alone, and one less is sent: should windows open with a request after all,
/// a first request that is faster than those before it falls into the window before, and is the only one to.
const TRIAL: u32 = 3;
/// The part of the spread of round trips that a request may be late at the end of a window, half being the way out.
const LATE: f64 = 0.5;
/// What timers and schedulers add to that, in seconds.
const TIMERS: f64 = 0.003;
/// Requests are no closer than this part of an even pace, however little time is left.
const CLOSEST: f64 = 0.3;
/// A count this low cannot be among the first of a window.
const LOW: f64 = 3.0;
/// Requests of ours that are among the first.
const FIRST: usize = 4;
/// Weight of one window in the estimate of what others take.
const WEIGHT: f64 = 0.25;
/// What others take while it is not seen, for sure: their mean, and a fifth for its variation.
const FOR_SURE: f64 = 1.2;
/// Most requests left to that.
const MOST_UNSEEN: f64 = 8.0;
/// Part of a step, at that pace, for which the end of a window is kept free.
const SPARE: f64 = 0.6;

/// A lock on the server's windows.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PhaseLock {
    limit: f64,
    budget: f64,
    window: Duration,
    since: Time,
    trial: u32,
    /// Each window of the trial is entered so much sooner than the one before, using up what the edge is late for
    /// caution. A window that opens with our request could follow only if that were slower by as much, each time.
    step: Duration,
    others: f64,
    /// Of the current window: its beginning, our requests known to be counted in it, and the least count.
    edge: Edge,
    members: f64,
    least: f64,
    /// No window has ended later than it should, as far as the server has told, and it has refused nothing.
    punctual: bool,
    /// The server told the last time, to a part of a second, when the window ends.
    told: bool,
}

impl PhaseLock {
    /// Begins in the window whose first count is `count`; `floor` is the least round trip.
    pub(super) fn new(
        count: &Count,
        edge: Edge,
        window: Duration,
        floor: Duration,
        budget: u32,
    ) -> Self {
        let caution = DRIFT + floor.mul_f64(SURPRISE);
        Self {
            limit: count.limit,
            budget: f64::from(budget),
            window,
            since: count.received,
            trial: TRIAL,
            step: caution.min(window / 4) / (TRIAL - 1),
            others: 0.0,
            edge: Edge {
                earliest: edge.earliest.saturating_sub(DRIFT),
                latest: edge.latest + caution,
            },
            members: 1.0,
            least: count.remaining,
            punctual: true,
            told: false,
        }
    }

    /// Whether values that were read can be.
    pub(super) fn is_valid(&self, window: Duration) -> bool {
        let counts = [
            self.limit,
            self.budget,
            self.others,
            self.members,
            self.least,
        ];
        counts.iter().all(|count| (0.0..=1e9).contains(count))
            && self.limit >= 1.0
            && self.window == window
            && self.trial <= TRIAL
            && self.step <= window / 8
            && self.edge.is_valid()
    }

    /// Whether clocks may have drifted so far that the edges have to be found anew.
    pub(super) fn is_stale(&self, now: Time) -> bool {
        now >= self.since + LASTS
    }

    /// Moves on to the window of `now`.
    pub(super) fn roll(&mut self, now: Time) {
        let next = self.next_window();
        if now < next {
            return;
        }
        let skipped = (now - next).as_nanos() / self.window.as_nanos().max(1);
        let skipped = u32::try_from(skipped).unwrap_or(u32::MAX);
        let begin = next.saturating_add(self.window.saturating_mul(skipped));
        self.edge.earliest += begin - self.edge.latest;
        self.edge.latest = begin;
        if self.members > 0.0 {
            let others = (self.limit - self.least - self.members).max(0.0);
            self.others += WEIGHT * (others - self.others);
            self.trial = self.trial.saturating_sub(1);
        }
        (self.members, self.least) = (0.0, self.limit);
    }

    /// When the next window begins.
    fn next_window(&self) -> Time {
        let next = match self.members > 0.0 {
            true => self.trial.saturating_sub(1),
            false => self.trial,
        };
        self.edge.latest + self.window + self.sooner(self.trial) - self.sooner(next)
    }

    /// How much sooner a window is entered, this many windows before the end of the trial.
    fn sooner(&self, trial: u32) -> Duration {
        match trial {
            0 => Duration::ZERO,
            _ => self.step * TRIAL.saturating_sub(trial),
        }
    }

    /// Takes in a count; false when there can be no such count in this window, so that the lock is wrong.
    pub(super) fn seen(&mut self, count: &Count, ledger: &Ledger) -> bool {
        if count.sent < self.edge.latest {
            return true;
        }
        self.told = count.rest.is_some();
        self.punctual &= !count.refused;
        self.punctual &= count.rest.is_none_or(|rest| {
            // Seen from a request, a window ends the sooner the longer the request was on its way. One that opened
            // with our first request, which goes at the latest edge, ends a window later than that.
            let end = count.sent.saturating_add(rest);
            let latest = self.edge.latest + self.sooner(self.trial) + self.window - DRIFT / 2;
            end <= latest || end > latest + self.window / 2 // that of the next window
        });
        self.members += 1.0;
        self.least = self.least.min(count.remaining);
        count.remaining > LOW || self.sent(ledger, count.sent) > FIRST
    }

    /// When the next request may go.
    pub(super) fn next(&self, ledger: &Ledger, latency: &Latency) -> Time {
        let Edge { earliest, latest } = self.edge;
        let last = ledger.last_sent().unwrap_or_default();
        if last < latest {
            return latest; // one request a window goes whatever the others do, to see what is left
        }
        let next_window = self.next_window();
        let on_trial = self.trial > 0;
        let alone = self.others < NOTICED;
        let others = if alone { 0.0 } else { self.others };
        // Whoever finds the budget used up has to wait, but here perhaps no longer than the window lasts anyway.
        let harmless = alone && self.told && self.punctual;
        let spared = if harmless { 0.0 } else { LEFT_ALONE };
        let reserve = spared + f64::from(u8::from(on_trial));
        let unseen = (FOR_SURE * others * (latency.mean() + UNSEEN)).min(MOST_UNSEEN);
        let left = self.least - ledger.in_flight() as f64 - reserve - unseen;
        let ours =
            (self.limit - reserve - others).min(self.budget) - self.sent(ledger, Time::MAX) as f64;
        if left < 1.0 || ours < 1.0 || (on_trial && self.members < 1.0) {
            return next_window;
        }
        let middle = earliest + latest.saturating_sub(earliest) / 2;
        let late = Duration::from_secs_f64(LATE * latency.spread() + TIMERS);
        let end = (middle + self.window).saturating_sub(late);
        let even = end.saturating_sub(last).div_f64(ours + SPARE);
        let closest = self.window.mul_f64(CLOSEST / self.limit);
        (last + even.max(closest)).min(next_window)
    }

    /// Our requests of this window sent until `to`.
    fn sent(&self, ledger: &Ledger, to: Time) -> usize {
        let before = self.edge.latest.saturating_sub(Duration::from_nanos(1));
        ledger.sent_between(before, to)
    }
}
