//! How many requests may share a window, found out from the remaining counts: the slots, their guard and a reserve.
//!
//! Three things can bring a count of 0. Jitter squeezed our requests together: then the guard grows. The server counts
//! more strictly than a log would: then one slot goes. Others spend from the same budget: then many slots go, and come
//! back as far as there is room.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Count, Time};

/// Our own request must not be the one that sees 0 left, which the rule turns into a pause of a window.
pub(super) const LEFT_ALONE: f64 = 1.0;
/// Slots given up at the start: a sliding counter leaves no more, and other servers show within seconds that they do.
const CAUTION: f64 = 1.0;
/// A second of fewer responses says nothing about the budget.
const TELLING: u32 = 4;
/// Seconds that are looked back upon.
const SECONDS_KEPT: usize = 8;
/// Seconds that must agree before slots grow at an even pace.
const SECONDS_AGREEING: usize = 3;
/// Part of the limit that, when spent by ourselves alone, rules out that others spent the rest.
const OWN_PART: f64 = 0.82;
/// The guard is never less than this part of the spread of round trips: latency always varies a little.
const LEAST_GUARD: f64 = 0.02;
/// The guard between fixed windows: requests next to an edge are few, and seldom far apart in latency.
const WINDOW_GUARD: f64 = 0.8;
/// Something that has failed is tried again after this long, doubled each time up to 2^5.
const FIRST_HOLD: Duration = Duration::from_secs(15);
const MOST_DOUBLINGS: u32 = 5;
/// Most requests kept in reserve beyond the one.
const MOST_RESERVE: f64 = 3.0;

/// A value that has failed, and how long it is left alone.
#[derive(Debug, Default)]
struct Hold {
    until: Time,
    times: u32,
}

impl Hold {
    fn again(&mut self, now: Time) {
        self.until = now + FIRST_HOLD * (1 << self.times.min(MOST_DOUBLINGS));
        self.times += 1;
    }
}

/// The least remaining count of one second.
#[derive(Debug)]
struct Second {
    least: f64,
    low: u32,
}

/// The controller of the universal mode.
#[derive(Debug)]
pub(super) struct Slots {
    limit: f64,
    most: f64,
    slots: f64,
    guard: f64,
    reserve: f64,
    failed_at: f64,
    slots_hold: Hold,
    guard_hold: Hold,
    last_edge: Time,
    begun: Time,
    count: u32,
    current: Second,
    past: VecDeque<Second>,
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
            reserve: 0.0,
            failed_at: f64::INFINITY,
            slots_hold: Hold::default(),
            guard_hold: Hold::default(),
            last_edge: Time::ZERO,
            begun: Time::ZERO,
            count: 0,
            current: Second {
                least: f64::INFINITY,
                low: 0,
            },
            past: VecDeque::new(),
        }
    }

    pub(super) fn slots(&self) -> f64 {
        self.slots
    }

    /// The guard, as a multiple of the spread of round trips.
    pub(super) fn guard(&self) -> f64 {
        self.guard
    }

    /// Remaining counts at or under this are too low.
    pub(super) fn threshold(&self) -> f64 {
        LEFT_ALONE + self.reserve.floor()
    }

    /// The first count ever seen: what others have taken is not ours to plan with.
    pub(super) fn first(&mut self, remaining: f64) {
        self.slots = self.slots.min((remaining + 1.0 - LEFT_ALONE).max(4.0));
    }

    /// The server counts in fixed windows, which leave us all slots, and where jitter matters only at the edges.
    pub(super) fn fixed_windows(&mut self) {
        self.slots = self.most;
        self.guard = self.guard.min(WINDOW_GUARD);
    }

    /// A request sent at `sent` saw the budget used up, or was refused; `own` requests were ours within the window.
    pub(super) fn edge(&mut self, now: Time, sent: Time, own: f64) {
        if sent <= self.last_edge {
            return; // the same shortage, seen by a request that was already under way
        }
        self.last_edge = now;
        let own = own - LEFT_ALONE;
        if own < OWN_PART * self.limit {
            self.slots = (self.slots * 0.72).min(self.slots - 1.0).min(own).max(2.0);
            self.reserve = (self.reserve + 0.5).min(MOST_RESERVE);
        } else if self.guard < 1.0 {
            self.guard = 1.0;
            self.guard_hold.again(now);
        } else {
            self.failed_at = self.slots.ceil();
            self.slots = (self.failed_at - 1.0)
                .max(OWN_PART * self.limit)
                .min(self.most);
            self.slots_hold.again(now);
        }
    }

    /// A response showed `remaining`; once a second the slots are reconsidered.
    pub(super) fn seen(&mut self, count: &Count, window: Duration, others: bool) {
        let (now, remaining) = (count.received, count.remaining);
        if now >= self.begun + window {
            if self.count >= TELLING {
                self.reconsider(now, others);
            }
            self.begun = now;
            self.count = 0;
            self.current = Second {
                least: f64::INFINITY,
                low: 0,
            };
        }
        if count.own < (self.slots - 1.0).floor() {
            return; // a window that we have not filled says nothing about one that we have
        }
        self.count += 1;
        self.current.least = self.current.least.min(remaining);
        self.current.low += u32::from(remaining <= self.threshold());
    }

    fn reconsider(&mut self, now: Time, others: bool) {
        let blank = Second {
            least: f64::INFINITY,
            low: 0,
        };
        self.past
            .push_back(std::mem::replace(&mut self.current, blank));
        if self.past.len() > SECONDS_KEPT {
            self.past.pop_front();
        }
        let least = |seconds: usize| {
            let recent = self.past.iter().rev().take(seconds);
            recent
                .map(|second| second.least)
                .fold(f64::INFINITY, f64::min)
        };
        let threshold = self.threshold();
        let room = least(1) - threshold;
        let steady_room = least(SECONDS_AGREEING) - threshold;
        let lasting_room = least(SECONDS_KEPT) - threshold;
        let low: u32 = self.past.iter().map(|second| second.low).sum();
        if self.slots < self.most {
            let wary = now < self.slots_hold.until && self.slots + 1.0 >= self.failed_at;
            if room >= 6.0 && !wary {
                self.slots += 0.35 * room;
            } else if steady_room >= 1.0 && self.past.len() >= SECONDS_AGREEING {
                self.slots += if wary {
                    0.04
                } else {
                    (0.4 * steady_room).clamp(0.5, 6.0)
                };
            } else if room < 0.0 {
                self.slots -= 0.5;
            }
        } else if lasting_room >= 0.0 && low <= 2 && now >= self.guard_hold.until {
            self.guard *= match lasting_room {
                room if room >= 3.0 => 0.75,
                room if room > 0.0 => 0.88,
                _ => 0.97,
            };
            self.guard = self.guard.max(LEAST_GUARD);
        }
        if others && room <= 1.0 {
            self.slots += 0.6 - 0.024 * self.slots;
        }
        self.slots = self.slots.clamp(2.0_f64.min(self.most), self.most);
        self.reserve = (self.reserve - 0.08).max(0.0);
    }
}
