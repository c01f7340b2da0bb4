//! The time of the next request under any policy: evenly paced, and no more at once than there are slots.

use std::time::Duration;

use super::ledger::Fate;
use super::{Gate, Time};

/// The guard is never shorter, for timers and schedulers vary, in seconds.
const LEAST_GUARD: f64 = 0.002;
/// Pacing is this much denser than the slots allow, so that a late request does not cost its place.
const CATCH_UP: f64 = 0.97;
/// The same in refill mode, where the limit itself is the only bound.
const REFILL_CATCH_UP: f64 = 0.98;

impl Gate {
    /// When pacing and slots let the next request go.
    pub(super) fn paced(&self) -> Time {
        let gap = if self.refill.is_proven() {
            REFILL_CATCH_UP * self.gap()
        } else {
            CATCH_UP * self.gap()
        };
        let last = self.ledger.last_sent();
        let even = last.map_or(Time::ZERO, |sent| sent + Duration::from_secs_f64(gap));
        if self.refill.is_proven() {
            return even;
        }
        let window = self.settings.window;
        let clear = self.neighbour.clear_at(
            &self.ledger,
            window,
            self.latency.mean(),
            super::slots::LEFT_ALONE,
        );
        even.max(clear).max(self.slot_free())
    }

    /// Seconds between two requests at an even pace.
    pub(super) fn gap(&self) -> f64 {
        let window = self.settings.window.as_secs_f64();
        let whole = window / f64::from(self.settings.budget(self.limit));
        if self.refill.is_proven() {
            return whole;
        }
        whole.max(window / self.slots.slots())
    }

    /// Seconds for which a request may lag behind the next one's way to the server.
    fn guard(&self) -> f64 {
        self.slots.guard() * self.latency.spread() + LEAST_GUARD
    }

    /// When the oldest of as many requests as there are slots can no longer share a window with the next one: a window
    /// and the guard after it was sent, or a window after it must have been counted, if an answer tells.
    fn slot_free(&self) -> Time {
        let window = self.settings.window;
        let by_guard = window + Duration::from_secs_f64(self.guard());
        let floor = Duration::from_secs_f64(self.latency.floor());
        let mut held: Vec<Time> = self
            .ledger
            .entries()
            .map(|entry| match entry.fate {
                Fate::Answered(at) => (at + window)
                    .saturating_sub(floor)
                    .min(entry.sent + by_guard),
                Fate::InFlight | Fate::Lost => entry.sent + by_guard,
            })
            .collect();
        held.sort_unstable_by(|a, b| b.cmp(a));
        let slots = self.slots.slots().ceil() as usize;
        held.get(slots - 1).copied().unwrap_or(Time::ZERO)
    }
}
