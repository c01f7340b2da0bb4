//! How many requests may share a window, found out from the remaining counts.
//!
//! A count of 0 means one of two things. We spent the budget alone: then the server counts more strictly than it seemed,
//! or latency varies more, and one slot goes and the margin grows. Others spent from it too: then a part of the slots
//! goes. Whatever went comes back as long as the counts leave room.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::jitter_margin::JitterMargin;
use super::{Count, Time};

/// Our own request must not be the one that sees 0 left, which the rule turns into a pause of a window.
pub(super) const LEFT_ALONE: f64 = 1.0;
/// Slots given up at the start: a sliding counter leaves no more, and other servers show within seconds that they do.
const CAUTION: f64 = 1.0;
/// With fewer slots nothing would be learned any more.
const FEWEST: f64 = 2.0;
/// Of the first count we plan with what is left, but not with less than this.
const FEWEST_FIRST: f64 = 4.0;
/// Counts for less than this part of the slots say nothing about the rest.
const TELLING: f64 = 0.1;
/// Where no counts are shown, slots that come back each window without a refusal.
const UNSHOWN_GROWTH: f64 = 0.5;
/// Or this part of those that the last refusal cost, if that is more.
const UNSHOWN_RETURN: f64 = 0.15;
/// But not as many as were too much then, by this many,
const UNSHOWN_MARGIN: f64 = 2.0;
/// until so long has passed, doubled each time that it was too much again.
const UNSHOWN_HOLD: Duration = Duration::from_secs(8);
/// Doublings of that, at most.
const MOST_TRIES: u32 = 3;
/// Windows that must agree before slots grow.
const AGREEING: usize = 3;
/// The part of the room seen that is taken at a time.
const GROWTH: f64 = 0.4;
/// The least and the most slots taken at a time.
const GROWTH_BOUNDS: (f64, f64) = (0.5, 6.0);
/// What is left of the slots, at least, when others spend as well.
const BACK_OFF: f64 = 0.8;
/// Part of the limit that, when spent by ourselves alone, rules out that others spent the rest.
const OWN_PART: f64 = 0.82;
/// A number of slots that has failed is not tried again for this long, doubled each time.
const FIRST_HOLD: Duration = Duration::from_secs(30);
/// Doublings of that, at most.
const MOST_DOUBLINGS: u32 = 5;

/// The number of slots, and what it was learned from.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Slots {
    limit: f64,
    most: f64,
    slots: f64,
    margin: JitterMargin,
    last_overshoot: Time,
    failed_at: f64,
    /// The slots there were at the last overshoot.
    before: f64,
    /// How often in a row more was tried without success.
    tries: u32,
    failures: u32,
    held_until: Time,
    current: Span,
    /// The least counts of the last spans, newest first; none left where there was no such span.
    least: [f64; AGREEING],
}

/// The counts of the current stretch of one window's length.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Span {
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
            margin: JitterMargin::default(),
            last_overshoot: Time::ZERO,
            failed_at: f64::INFINITY,
            before: most,
            tries: 0,
            failures: 0,
            held_until: Time::ZERO,
            current: Span::default(),
            least: [0.0; AGREEING],
        }
    }

    /// Whether values that were read can be: at least one slot, and no more than the limit.
    pub(super) fn is_valid(&self) -> bool {
        let counts = [self.limit, self.most, self.slots, self.before];
        let least = self.least.iter().chain([&self.current.least]);
        counts.iter().all(|count| (1.0..=1e9).contains(count))
            && least.chain([&self.failed_at]).all(|count| *count >= 0.0)
            && self.slots <= self.most
            && self.margin.is_valid()
    }

    pub(super) fn slots(&self) -> f64 {
        self.slots
    }

    /// Seconds by which a request may be counted later than the fastest, while round trips vary by `spread`.
    pub(super) fn margin(&self, spread: f64) -> f64 {
        self.margin.of(spread)
    }

    /// The first count ever seen: what others have taken is not ours to plan with.
    pub(super) fn first(&mut self, remaining: f64) {
        self.slots = self.slots.min(remaining.max(FEWEST_FIRST));
    }

    /// The server counts in fixed windows, which leave us all slots.
    pub(super) fn take_all(&mut self) {
        self.slots = self.most;
    }

    /// A request sent at `sent` saw the budget used up, or was refused; `own` requests were ours within the window.
    pub(super) fn overshoot(&mut self, now: Time, sent: Time, own: f64, spread: f64) {
        if sent <= self.last_overshoot {
            return; // seen before, by a request that was under way together with this one
        }
        if now >= self.tried_again_at() {
            self.tries += 1;
        }
        self.last_overshoot = now;
        self.before = self.slots;
        let own = own - LEFT_ALONE;
        let alone = OWN_PART * self.limit;
        if own >= alone {
            self.margin.increase(now, spread);
            self.failed_at = self.slots.ceil();
            self.held_until = now + FIRST_HOLD * (1 << self.failures.min(MOST_DOUBLINGS));
            self.failures += 1;
            self.slots = (self.failed_at - 1.0).max(alone);
        } else {
            self.slots = own.min(self.slots - 1.0).max(self.slots * BACK_OFF);
        }
        self.keep_in_bounds();
    }

    /// A response showed a count; once a window's length the slots are reconsidered.
    pub(super) fn seen(&mut self, count: &Count, window: Duration, spread: f64) {
        if count.received >= self.current.begun + window {
            if f64::from(self.current.counts) >= TELLING * self.slots {
                self.least.rotate_right(1);
                self.least[0] = self.current.least;
                self.grow(count.received, spread, window);
            }
            self.current = Span {
                begun: count.received,
                counts: 0,
                least: f64::INFINITY,
            };
        }
        // A window that we have not filled, as far as the margin lets, says nothing about one that we have.
        let window = window.as_secs_f64();
        let filled = (self.slots - 1.0) * window / (window + self.margin.of(spread));
        if count.own >= filled.floor() {
            self.current.counts += 1;
            self.current.least = self.current.least.min(count.remaining);
        }
    }

    /// A request was served that says nothing of what is left. Once a window's length some slots come back: up to what
    /// was too much the last time, and only after a while beyond it.
    pub(super) fn served(&mut self, now: Time, window: Duration) {
        if now < self.current.begun + window || now < self.last_overshoot + window {
            return;
        }
        self.current.begun = now;
        // The caution of the beginning stays, for nothing would show that it was not needed.
        let caution = self.most - CAUTION;
        let most = match now < self.tried_again_at() {
            true => caution.min(self.before - UNSHOWN_MARGIN),
            false => caution,
        };
        if self.slots > self.before + UNSHOWN_MARGIN {
            self.tries = 0;
        }
        let growth = UNSHOWN_GROWTH.max(UNSHOWN_RETURN * (self.before - self.slots));
        self.slots = (self.slots + growth).min(most).max(self.slots);
        self.keep_in_bounds();
    }

    /// When more slots are tried than were too much the last time, where no counts are shown.
    fn tried_again_at(&self) -> Time {
        self.last_overshoot + UNSHOWN_HOLD * (1 << self.tries.min(MOST_TRIES))
    }

    fn grow(&mut self, now: Time, spread: f64, window: Duration) {
        // Where others took the slots away, what they leave at once may be used.
        let spans = if self.slots < OWN_PART * self.limit {
            1
        } else {
            AGREEING
        };
        let recent = self.least.iter().take(spans).copied();
        let room = recent.fold(f64::INFINITY, f64::min) - LEFT_ALONE;
        let held = now < self.held_until && self.slots + 1.0 >= self.failed_at;
        if room < 1.0 || held {
            return;
        }
        if self.slots >= self.most {
            self.margin.decay(now, spread, window);
        }
        self.slots += (GROWTH * room).clamp(GROWTH_BOUNDS.0, GROWTH_BOUNDS.1);
        self.keep_in_bounds();
    }

    fn keep_in_bounds(&mut self) {
        self.slots = self.slots.max(FEWEST).min(self.most);
    }
}
