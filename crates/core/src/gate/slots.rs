//! The time of the next request under any policy: evenly paced, and no more at once than there are slots.
//!
//! A slot is free again when its request and the next one cannot be counted in the same window any more. With one slot
//! less than the limit this alone keeps every server that counts in windows or in a log from showing 0, however long
//! the way to it is; the even pace does the same for sliding counters, and is what others next to us can live with.
//!
//! How many requests may share a window is found out from the remaining counts. A count of 0 means one of two things. We
//! spent the budget alone: then the server counts more strictly than it seemed, and one slot goes. Others spent from it
//! too: then a part of the slots goes. Whatever went comes back as long as the counts leave room.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Time;
use super::ledger::{Entry, Ledger, State};
use super::model::{Count, Plan};

/// Our own request must not be the one that sees 0 left, which the rule turns into a pause of a window.
pub(super) const LEFT_ALONE: f64 = 1.0;
/// Slots given up at the start: a sliding counter leaves no more, and other servers show within seconds that they do.
const CAUTION: f64 = 1.0;
/// With fewer slots nothing would be learned any more.
const MIN: f64 = 2.0;
/// The part of a window by which a request may be counted later than the fastest.
const MARGIN: f64 = 0.07;
/// The pace is this much denser than the slots allow, so that a late request does not cost its place.
const CATCH_UP: f64 = 0.97;
/// Windows that must agree before slots grow.
const AGREEING: usize = 3;
/// The part of the room seen that is taken at a time, and the least and the most of it.
const GROWTH: f64 = 0.4;
const GROWTH_BOUNDS: (f64, f64) = (0.5, 6.0);
/// Where no counts are shown: slots that come back each window without a refusal; by how many they stay below those that
/// were too much, and for how long.
const UNSHOWN_GROWTH: f64 = 1.0;
const UNSHOWN_MARGIN: f64 = 2.0;
const UNSHOWN_HOLD: Duration = Duration::from_secs(20);
/// What is left of the slots, at least, when others spend as well.
const BACK_OFF: f64 = 0.8;
/// Part of the limit that, when spent by ourselves alone, rules out that others spent the rest.
const OWN_PART: f64 = 0.82;
/// A number of slots that has failed is not tried again for this long.
const HOLD: Duration = Duration::from_secs(60);

/// The number of slots, and what it was learned from.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Slots {
    pub(super) slots: f64,
    last_overshoot: Time,
    /// The slots there were at the last overshoot.
    before: f64,
    /// A number of slots that was too many for ourselves alone, and until when it is not tried again.
    failed: (u32, Time),
    /// The current stretch of one window's length: when it began, how many counts it has shown, and the least.
    span: (Time, u32, u32),
    /// The least counts of the last spans, newest first; none left where there was no such span.
    least: [u32; AGREEING],
}

/// The most slots, all of which are used when the server is known to leave us so many.
fn max(plan: Plan) -> f64 {
    (f64::from(plan.limit) - LEFT_ALONE).max(1.0)
}

impl Slots {
    pub(super) fn new(plan: Plan) -> Self {
        Self {
            slots: (max(plan) - CAUTION).max(1.0),
            last_overshoot: Time::ZERO,
            before: max(plan),
            failed: (0, Time::ZERO),
            span: (Time::ZERO, 0, 0),
            least: [0; AGREEING],
        }
    }

    /// When the next request may go.
    pub(super) fn next(&self, plan: Plan, ledger: &Ledger) -> Time {
        let Some(last) = ledger.sent().next_back() else {
            return Time::ZERO;
        };
        let even = plan.window.div_f64(self.slots.max(1.0)).mul_f64(CATCH_UP);
        (last + even).max(self.slot_free(plan, ledger))
    }

    /// When the oldest of as many requests as there are slots gives up its own. A response shows that its request was
    /// counted, at the latest, the shortest way back ago; without one, all but the slowest were counted within the margin.
    fn slot_free(&self, plan: Plan, ledger: &Ledger) -> Time {
        let (margin, floor) = (plan.window.mul_f64(MARGIN), ledger.floor());
        let counted_by = |entry: &Entry| {
            let latest = entry.ticket.sent + margin;
            match entry.state {
                State::Answered(at) => at.saturating_sub(floor).min(latest),
                State::InFlight | State::Lost => latest,
            }
        };
        let mut counted_by: Vec<Time> = ledger.entries.iter().map(counted_by).collect();
        let slots = self.slots.ceil() as usize;
        if slots == 0 || counted_by.len() < slots {
            return Time::ZERO;
        }
        let (_, oldest, _) = counted_by.select_nth_unstable_by(slots - 1, |a, b| b.cmp(a));
        *oldest + plan.window
    }

    /// The server counts in fixed windows, which leave us all slots.
    pub(super) fn take_all(&mut self, plan: Plan) {
        self.slots = max(plan);
    }

    /// A request sent at `sent` saw the budget used up, or was refused; `own` requests were ours within the window.
    pub(super) fn overshoot(&mut self, now: Time, sent: Time, own: u32, plan: Plan) {
        if sent <= self.last_overshoot {
            return; // seen before, by a request that was under way together with this one
        }
        (self.last_overshoot, self.before) = (now, self.slots);
        let own = f64::from(own) - LEFT_ALONE;
        let alone = OWN_PART * f64::from(plan.limit);
        self.slots = if own >= alone {
            let failed = self.slots.ceil();
            self.failed = (failed as u32, now + HOLD);
            (failed - 1.0).max(alone)
        } else {
            own.min(self.slots - 1.0).max(self.slots * BACK_OFF)
        };
        self.keep_in_bounds(plan);
    }

    /// A response showed a count; once a window's length the slots are reconsidered.
    pub(super) fn seen(&mut self, count: &Count, plan: Plan) {
        let (begun, counts, least) = self.span;
        if count.received >= begun + plan.window {
            if counts > 0 {
                self.least.rotate_right(1);
                self.least[0] = least;
                self.grow(count.received, plan);
            }
            self.span = (count.received, 0, plan.limit);
        }
        // A window that we have not filled, as far as the margin lets, says nothing about one that we have.
        if f64::from(count.own) >= ((self.slots - 1.0) / (1.0 + MARGIN)).floor() {
            let (_, counts, least) = &mut self.span;
            (*counts, *least) = (counts.saturating_add(1), (*least).min(count.remaining));
        }
    }

    fn grow(&mut self, now: Time, plan: Plan) {
        // Where others took the slots away, what they leave at once may be used.
        let others_took = self.slots < OWN_PART * f64::from(plan.limit);
        let recent = &self.least[..if others_took { 1 } else { AGREEING }];
        let room = f64::from(recent.iter().copied().min().unwrap_or(0)) - LEFT_ALONE;
        let held = now < self.failed.1 && self.slots + 1.0 >= f64::from(self.failed.0);
        if room >= 1.0 && !held {
            self.slots += (GROWTH * room).clamp(GROWTH_BOUNDS.0, GROWTH_BOUNDS.1);
            self.keep_in_bounds(plan);
        }
    }

    /// A request was served that says nothing of what is left. Once a window's length some slots come back: up to what
    /// was too much the last time, and only after a while beyond it.
    pub(super) fn served(&mut self, now: Time, plan: Plan) {
        if now < self.span.0 + plan.window || now < self.last_overshoot + plan.window {
            return;
        }
        self.span.0 = now;
        // The caution of the beginning stays, for nothing would show that it was not needed.
        let mut most = max(plan) - CAUTION;
        if now < self.last_overshoot + UNSHOWN_HOLD {
            most = most.min(self.before - UNSHOWN_MARGIN);
        }
        self.slots = (self.slots + UNSHOWN_GROWTH).min(most).max(self.slots);
        self.keep_in_bounds(plan);
    }

    fn keep_in_bounds(&mut self, plan: Plan) {
        self.slots = self.slots.max(MIN).min(max(plan));
    }
}
