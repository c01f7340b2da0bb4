//! How many requests may share a window, and how much jitter is allowed for, found out from the remaining counts.
//!
//! Three things can bring a count of 0. Jitter squeezed our requests together: then the guard goes back to the whole
//! spread of round trips. The server counts more strictly than a log would: then one slot goes. Others spend from the
//! same budget: then many slots go. Whatever went comes back as long as the counts leave room.

use std::time::Duration;

use super::{Count, Time};

/// Our own request must not be the one that sees 0 left, which the rule turns into a pause of a window.
pub(super) const LEFT_ALONE: f64 = 1.0;
/// Slots given up at the start: a sliding counter leaves no more, and other servers show within seconds that they do.
const CAUTION: f64 = 1.0;
/// With fewer slots nothing would be learned any more.
const FEWEST: f64 = 2.0;
/// Of the first count we plan with what is left, but not with less than this.
const FEWEST_FIRST: f64 = 4.0;
/// A second with fewer responses from filled windows says nothing about the budget.
const TELLING: u32 = 4;
/// Seconds that must agree before anything grows.
const AGREEING: usize = 3;
/// The part of the room seen that is taken each second, and its least and most.
const GROWTH: f64 = 0.4;
const LEAST_GROWTH: f64 = 0.5;
const MOST_GROWTH: f64 = 6.0;
/// Growth towards a number of slots that has failed lately.
const WARY_GROWTH: f64 = 0.04;
/// What is left of the slots when others spend as well.
const BACK_OFF: f64 = 0.8;
/// Part of the limit that, when spent by ourselves alone, rules out that others spent the rest.
const OWN_PART: f64 = 0.82;
/// What is left of the guard after a second without a shortage.
const GUARD_DECAY: f64 = 0.97;
/// The guard is never less than this part of the spread of round trips: latency always varies a little.
const LEAST_GUARD: f64 = 0.02;
/// The guard between fixed windows: requests next to an edge are few, and seldom far apart in latency.
const WINDOW_GUARD: f64 = 0.8;
/// What has failed is left alone for this long, doubled each time.
const FIRST_HOLD: Duration = Duration::from_secs(15);
/// Doublings of that, at most.
const MOST_DOUBLINGS: u32 = 5;

/// The controller of the universal mode.
#[derive(Debug)]
pub(super) struct Slots {
    limit: f64,
    most: f64,
    slots: f64,
    guard: f64,
    last_shortage: Time,
    failed_at: f64,
    failures: u32,
    held_until: Time,
    second: Second,
    /// The least counts of the last seconds, newest first; none left where there was no such second.
    least: [f64; AGREEING],
}

/// The counts of the current second, as far as they came from windows that we had filled.
#[derive(Debug, Default)]
struct Second {
    begun: Time,
    counts: u32,
    least: f64,
}

impl Slots {
    /// For a server that counts to `limit`, of which `budget` is ours.
    pub(super) fn new(limit: u32, budget: u32) -> Self {
        let limit = f64::from(limit);
        let most = (limit - LEFT_ALONE).min(f64::from(budget)).max(1.0);
        Self {
            limit,
            most,
            slots: (most - CAUTION).max(1.0),
            guard: 1.0,
            last_shortage: Time::ZERO,
            failed_at: f64::INFINITY,
            failures: 0,
            held_until: Time::ZERO,
            second: Second::default(),
            least: [0.0; AGREEING],
        }
    }

    pub(super) fn slots(&self) -> f64 {
        self.slots
    }

    /// The guard, as a multiple of the spread of round trips.
    pub(super) fn guard(&self) -> f64 {
        self.guard
    }

    /// The first count ever seen: what others have taken is not ours to plan with.
    pub(super) fn first(&mut self, remaining: f64) {
        self.slots = self
            .slots
            .min((remaining + 1.0 - LEFT_ALONE).max(FEWEST_FIRST));
    }

    /// The server counts in fixed windows, which leave us all slots, and where jitter matters only at the edges.
    pub(super) fn fixed_windows(&mut self) {
        self.slots = self.most;
        self.guard = self.guard.min(WINDOW_GUARD);
    }

    /// A request sent at `sent` saw the budget used up, or was refused; `own` requests were ours within the window.
    pub(super) fn shortage(&mut self, now: Time, sent: Time, own: f64) {
        if sent <= self.last_shortage {
            return; // seen before, by a request that was under way together with this one
        }
        self.last_shortage = now;
        let own = own - LEFT_ALONE;
        if own < OWN_PART * self.limit {
            self.slots = (self.slots * BACK_OFF).min(self.slots - 1.0).min(own);
        } else {
            self.held_until = now + FIRST_HOLD * (1 << self.failures.min(MOST_DOUBLINGS));
            self.failures += 1;
            if self.guard < 1.0 {
                self.guard = 1.0;
            } else {
                self.failed_at = self.slots.ceil();
                self.slots = (self.failed_at - 1.0).max(OWN_PART * self.limit);
            }
        }
        self.keep_in_bounds();
    }

    /// A response showed a count; once a second slots and guard are reconsidered.
    pub(super) fn seen(&mut self, count: &Count, window: Duration) {
        if count.received >= self.second.begun + window {
            if self.second.counts >= TELLING {
                self.least.rotate_right(1);
                self.least[0] = self.second.least;
                self.reconsider(count.received);
            }
            self.second = Second {
                begun: count.received,
                counts: 0,
                least: f64::INFINITY,
            };
        }
        // A window that we have not filled says nothing about one that we have.
        if count.own >= (self.slots - 1.0).floor() {
            self.second.counts += 1;
            self.second.least = self.second.least.min(count.remaining);
        }
    }

    fn reconsider(&mut self, now: Time) {
        let room = self.least.iter().copied().fold(f64::INFINITY, f64::min) - LEFT_ALONE;
        let held = now < self.held_until;
        if self.slots < self.most && room >= 1.0 {
            self.slots += if held && self.slots + 1.0 >= self.failed_at {
                WARY_GROWTH
            } else {
                (GROWTH * room).clamp(LEAST_GROWTH, MOST_GROWTH)
            };
        } else if self.slots >= self.most && room >= 0.0 && !held {
            self.guard = (self.guard * GUARD_DECAY).max(LEAST_GUARD);
        }
        self.keep_in_bounds();
    }

    fn keep_in_bounds(&mut self) {
        self.slots = self.slots.max(FEWEST).min(self.most);
    }
}
