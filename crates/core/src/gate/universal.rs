//! The time of the next request under any policy: evenly paced, and no more at once than there are slots.
//!
//! A slot is free again when its request and the next one cannot be counted in the same window any more. With one slot
//! less than the limit this alone keeps every server that counts in windows or in a log from showing 0, however long
//! the way to it is; the even pace does the same for sliding counters, and is what others next to us can live with.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::latency::Latency;
use super::ledger::{Ledger, Outcome};
use super::other_clients::OtherClients;
use super::slots::Slots;
use super::windows::Windows;
use super::{Count, Time};

/// What timers and schedulers add to the spread of round trips, in seconds.
const TIMERS: f64 = 0.002;
/// The pace is this much denser than the slots allow, so that a late request does not cost its place.
const CATCH_UP: f64 = 0.97;

/// The universal mode.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Universal {
    window: Duration,
    slots: Slots,
    other_clients: OtherClients,
    begun: bool,
}

impl Universal {
    pub(super) fn new(limit: u32, budget: u32, window: Duration) -> Self {
        Self {
            window,
            slots: Slots::new(limit, budget),
            other_clients: OtherClients::default(),
            begun: false,
        }
    }

    /// Requests per window that are aimed at.
    pub(super) fn aim(&self) -> f64 {
        self.slots.slots()
    }

    pub(super) fn is_valid(&self) -> bool {
        self.slots.is_valid() && self.other_clients.is_valid()
    }

    /// Takes in a count; `windows` where they are known to be fixed.
    pub(super) fn seen(
        &mut self,
        count: &Count,
        windows: Option<&Windows>,
        ledger: &Ledger,
        latency: &Latency,
    ) {
        if !self.begun {
            self.begun = true;
            self.slots.first(count.remaining);
        }
        let begun = windows.and_then(|windows| windows.begun(count.sent, self.window));
        self.other_clients.seen(count, begun, ledger, self.window);
        self.slots.seen(count, self.window, latency.spread());
    }

    /// A request was served, and nothing said about what is left.
    pub(super) fn served(&mut self, now: Time) {
        self.slots.served(now, self.window);
    }

    /// The server counts in fixed windows.
    pub(super) fn fixed_windows(&mut self) {
        self.slots.take_all();
    }

    pub(super) fn overshoot(&mut self, now: Time, sent: Time, own: f64, latency: &Latency) {
        self.slots.overshoot(now, sent, own, latency.spread());
    }

    /// When the next request may go.
    pub(super) fn next(
        &self,
        ledger: &Ledger,
        windows: Option<&Windows>,
        latency: &Latency,
    ) -> Time {
        let gap = self.window.div_f64(self.slots.slots()).mul_f64(CATCH_UP);
        let even = ledger.last_sent().map_or(Time::ZERO, |sent| sent + gap);
        let begun = windows
            .and_then(|windows| windows.begun(self.other_clients.newest_sent(), self.window));
        let clear = self
            .other_clients
            .clear_at(ledger, begun, self.window, latency.mean());
        even.max(clear).max(self.slot_free(ledger, latency))
    }

    /// When the oldest of as many requests as there are slots gives up its own. A response tells that its request was
    /// counted, at the latest, the shortest way back ago; without one, all but the slowest were counted within the
    /// spread of round trips.
    fn slot_free(&self, ledger: &Ledger, latency: &Latency) -> Time {
        let margin = Duration::from_secs_f64(self.slots.margin(latency.spread()) + TIMERS);
        let floor = Duration::from_secs_f64(latency.floor());
        // Requests that gave up their slot before the last one was sent are no matter.
        let free = ledger
            .last_sent()
            .unwrap_or_default()
            .saturating_sub(self.window);
        let mut counted_by: Vec<Time> = ledger
            .entries()
            .map(|entry| match entry.outcome {
                Outcome::Answered(at) => at.saturating_sub(floor).min(entry.sent + margin),
                Outcome::InFlight | Outcome::Lost => entry.sent + margin,
            })
            .filter(|at| *at > free)
            .collect();
        let slots = self.slots.slots().ceil() as usize;
        if counted_by.len() < slots {
            return Time::ZERO;
        }
        let (_, oldest, _) = counted_by.select_nth_unstable_by(slots - 1, |a, b| b.cmp(a));
        *oldest + self.window
    }
}
