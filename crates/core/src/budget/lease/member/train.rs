//! Slots of a member that has lost contact: as far apart as its part of the rate asks for, on from its last leased slot.
//!
//! All members that lose contact at the same time so stay in the order in which they took turns, evenly spaced, as long as
//! none of them is paused.

use crate::clock::Time;
use std::time::Duration;

/// After nothing was left, the slots are further apart by this factor.
const SLOWER: f64 = 1.05;

/// The slots.
#[derive(Debug)]
pub(super) struct Train {
    interval: Duration,
    next: Time,
    slowed: Time,
}

impl Train {
    /// Slots of so many `requests` a second, the first no sooner than `now`.
    pub(super) fn new(now: Time, last_slot: Time, requests: f64) -> Self {
        let interval = Duration::from_secs_f64(1.0 / requests.max(0.01));
        Train {
            interval,
            next: (last_slot + interval).max(now),
            slowed: Time::ZERO,
        }
    }

    /// When the next request may go.
    pub(super) fn next(&self) -> Time {
        self.next
    }

    /// A request is sent; slots that nobody used are lost.
    pub(super) fn send(&mut self, now: Time) {
        self.next = (self.next + self.interval).max(now + self.interval / 2);
    }

    /// Nothing was left: so it is for the others.
    pub(super) fn slow_down(&mut self, now: Time) {
        if now >= self.slowed + Duration::from_secs(1) {
            self.slowed = now;
            self.interval = self.interval.mul_f64(SLOWER);
        }
    }
}
