//! Fixed windows: recognised by their edges, where the remaining count jumps up as no other way of counting allows; and
//! aligned with, where they follow a clock.
//!
//! Within windows whose edges are known neither latency nor jitter costs anything, as long as all requests fit between the
//! edges. Windows that open with a request are left to the even pace, which is within two points of the best on them; they
//! betray themselves by counting a first request in the window before, which each window of a trial makes more likely.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Time;
use super::ledger::Ledger;
use super::model::{Count, NOTICED, Plan};
use super::slots::LEFT_ALONE;

/// Two counts further apart than this, in windows, may have more than one edge between them.
const NEAR: f64 = 0.3;
/// A jump is at least this part of the limit.
const JUMP: f64 = 0.4;
/// And ends this part of the limit above what a sliding window could show. Where windows are known to be fixed, a rise
/// by as much is an edge as well, however long it took.
const BEYOND: f64 = 0.2;
/// Edges this many windows apart are still compared: the next may go unseen during a pause.
const COMPARED: u32 = 4;
/// This many edges that fit one clock are believed.
const AGREEING: u32 = 3;

/// The times between which a window began, taken as send times: a request sent after `latest` is counted in the new
/// window, however fast it travels, and one sent before `earliest` would, as fast, have been counted in the old one.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Edge {
    pub(super) earliest: Time,
    pub(super) latest: Time,
}

impl Edge {
    /// What both edges allow, if they are a few whole windows apart.
    fn agreeing_with(self, older: Self, window: Duration) -> Option<Self> {
        (1..=COMPARED).find_map(|windows| {
            let earliest = self.earliest.max(older.earliest + window * windows);
            let latest = self.latest.min(older.latest + window * windows);
            (earliest <= latest).then_some(Self { earliest, latest })
        })
    }
}

/// The newest edge, and what the edges so far have in common.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Windows {
    /// Between which counts the remaining ones rose last: with fixed windows, an edge.
    pub(super) last: Option<Edge>,
    common: Option<Edge>,
    agreeing: u32,
}

impl Windows {
    /// Compares a count with the newest before it; `floor` is the least round trip. Whether the counts have jumped as only
    /// those of fixed windows do.
    pub(super) fn seen(
        &mut self,
        count: &Count,
        newest: &Count,
        plan: Plan,
        floor: Duration,
    ) -> bool {
        let before = newest.sent;
        let edge = Edge {
            earliest: before,
            latest: count.received.saturating_sub(floor).max(before),
        };
        let (limit, now_left) = (f64::from(plan.limit), f64::from(count.remaining));
        let rise = now_left - f64::from(newest.remaining);
        if rise >= BEYOND * limit {
            self.last = Some(edge);
        }
        let jumped = count.sent <= before + plan.window.mul_f64(NEAR)
            && rise >= JUMP * limit
            && now_left >= limit - f64::from(count.own) + BEYOND * limit;
        if jumped {
            let older = self.common;
            let agreed = older.and_then(|older| edge.agreeing_with(older, plan.window));
            self.agreeing = agreed.map_or(1, |_| self.agreeing.saturating_add(1));
            self.common = agreed.or(Some(edge));
        }
        jumped
    }

    /// The newest edge, where they follow a clock.
    pub(super) fn clock(&self) -> Option<Edge> {
        self.common.filter(|_| self.agreeing >= AGREEING)
    }
}

/// How far clocks may drift before a first request falls into the window before, whereupon the edges are found anew.
const DRIFT: Duration = Duration::from_millis(10);
/// A request may be faster than any before it, by this part of the least round trip; as the first of a window, it
/// would fall into the one before.
const SURPRISE: f64 = 0.3;
/// Windows for which the first request goes alone, and one less is sent: should windows open with a request after all,
/// a first request that is faster than those before it falls into the window before, and is the only one to.
const TRIAL: u32 = 3;
/// So many times what round trips vary by, from the least to the mean, are left free at the end of a window.
const LATE: f64 = 1.5;
/// Requests are no closer than this part of an even pace, however little time is left.
const CLOSEST: f64 = 0.3;
/// A count this low cannot be among the first of a window,
const LOW: u32 = 3;
/// which are so many requests of ours.
const FIRST: u32 = 4;
/// Weight of one window in the estimate of what others take.
const WEIGHT: f64 = 0.25;
/// What others take while it is not seen, for sure: their mean, and a fifth for its variation; but no more than this.
const FOR_SURE: f64 = 1.2;
const MAX_UNSEEN: f64 = 8.0;
/// Part of a step, at that pace, for which the end of a window is kept free.
const SPARE: f64 = 0.6;

/// An alignment with the server's windows.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Alignment {
    trial: u32,
    /// Each window of the trial is entered so much sooner than the one before, using up what the edge is late for
    /// caution. A window that opens with our request could follow only if that were slower by as much, each time.
    step: Duration,
    /// Of the current window: its beginning, our requests known to be counted in it, and the least count.
    edge: Edge,
    members: u32,
    least: u32,
    /// What others take in a window.
    others: f64,
    /// The server said the last time, to a part of a second, when the window ends.
    is_exact: bool,
}

impl Alignment {
    /// Begins in the window whose first count is `count`; `floor` is the least round trip.
    pub(super) fn new(count: &Count, edge: Edge, window: Duration, floor: Duration) -> Self {
        let caution = DRIFT + floor.mul_f64(SURPRISE);
        Self {
            trial: TRIAL,
            step: caution.min(window / 4) / (TRIAL - 1),
            edge: Edge {
                earliest: edge.earliest.saturating_sub(DRIFT),
                latest: edge.latest + caution,
            },
            members: 1,
            least: count.remaining,
            others: 0.0,
            is_exact: false,
        }
    }

    /// Moves on to the window of `now`.
    pub(super) fn roll(&mut self, now: Time, plan: Plan) {
        let next = self.next_window(plan.window);
        if now < next {
            return;
        }
        let skipped = (now - next).as_nanos() / plan.window.as_nanos().max(1);
        let skipped = u32::try_from(skipped).unwrap_or(u32::MAX);
        let begin = next.saturating_add(plan.window.saturating_mul(skipped));
        self.edge.earliest += begin.saturating_sub(self.edge.latest);
        self.edge.latest = begin;
        if self.members > 0 {
            self.trial = self.trial.saturating_sub(1);
            let others = plan.limit.saturating_sub(self.least + self.members);
            self.others += WEIGHT * (f64::from(others) - self.others);
        }
        (self.members, self.least) = (0, plan.limit);
    }

    /// When the next window begins, or is entered. Where nothing was seen in one of the trial, it is tried again.
    fn next_window(&self, window: Duration) -> Time {
        let next = self.edge.latest + window;
        match self.trial {
            1 if self.members > 0 => next + self.step * (TRIAL - 1),
            2.. if self.members > 0 => next.saturating_sub(self.step),
            _ => next,
        }
    }

    /// Takes in a count; false when there can be no such count in this window, so that the alignment is wrong.
    pub(super) fn seen(&mut self, count: &Count, ledger: &Ledger) -> bool {
        if count.sent < self.edge.latest {
            return true;
        }
        self.is_exact = count.is_exact;
        self.members = self.members.saturating_add(1);
        self.least = self.least.min(count.remaining);
        count.remaining > LOW || self.sent(ledger, count.sent) > FIRST
    }

    /// When the next request may go.
    pub(super) fn next(&self, ledger: &Ledger, plan: Plan) -> Time {
        let Edge { earliest, latest } = self.edge;
        let last = ledger.last_sent();
        if last < latest {
            return latest; // one request a window goes whatever the others do, to see what is left
        }
        let next_window = self.next_window(plan.window);
        let on_trial = self.trial > 0;
        let alone = self.others < NOTICED;
        let others = if alone { 0.0 } else { self.others };
        // A request that finds the budget used up makes us wait, but here perhaps no longer than the window lasts anyway.
        let harmless = alone && self.is_exact;
        let spared = if harmless { 0.0 } else { LEFT_ALONE };
        let reserve = spared + f64::from(u8::from(on_trial));
        let unseen = (FOR_SURE * plan.unseen(others, ledger)).min(MAX_UNSEEN);
        let in_flight = ledger.in_flight().count() as f64;
        let left = f64::from(self.least) - in_flight - reserve - unseen;
        let sent = f64::from(self.sent(ledger, Time::MAX));
        let ours = f64::from(plan.limit) - reserve - others - sent;
        if left < 1.0 || ours < 1.0 || (on_trial && self.members < 1) {
            return next_window;
        }
        let middle = earliest + latest.saturating_sub(earliest) / 2;
        let late = ledger.mean.saturating_sub(ledger.floor()).mul_f64(LATE);
        let end = (middle + plan.window).saturating_sub(late);
        let even = end.saturating_sub(last).div_f64(ours + SPARE);
        let closest = plan.window.mul_f64(CLOSEST / f64::from(plan.limit));
        (last + even.max(closest)).min(next_window)
    }

    /// Our requests of this window sent until `to`.
    fn sent(&self, ledger: &Ledger, to: Time) -> u32 {
        let before = self.edge.latest.saturating_sub(Duration::from_nanos(1));
        ledger.sent_between(before, to)
    }
}
