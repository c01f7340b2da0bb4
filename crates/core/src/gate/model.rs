//! What is believed about the server's way of counting, and the mode of sending that follows from it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::latency::Latency;
use super::ledger::Ledger;
use super::phase_lock::PhaseLock;
use super::refill::Refill;
use super::settings::GateSettings;
use super::stats::Mode;
use super::universal::Universal;
use super::windows::{Sign, Windows};
use super::{Count, Time};

/// A lock that was wrong is not tried again for this long, doubled each time.
const FIRST_BAR: Duration = Duration::from_secs(15);
/// Doublings of that, at most: an hour.
const MOST_DOUBLINGS: u32 = 8;

/// Beliefs about one server with one limit.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Model {
    limit: u32,
    budget: u32,
    window: Duration,
    universal: Universal,
    refill: Refill,
    windows: Windows,
    /// An edge has been seen, so that there are fixed windows of one kind or the other.
    fixed: bool,
    lock: Option<PhaseLock>,
    wrong_locks: u32,
    barred_until: Time,
}

impl Model {
    /// For a server that counts to `limit` a window, of which `budget` is ours.
    pub(super) fn new(limit: u32, budget: u32, window: Duration) -> Self {
        Self {
            limit,
            budget,
            window,
            universal: Universal::new(limit, budget, window),
            refill: Refill::default(),
            windows: Windows::default(),
            fixed: false,
            lock: None,
            wrong_locks: 0,
            barred_until: Time::ZERO,
        }
    }

    /// Whether values that were read can be, under these settings.
    pub(super) fn is_valid(&self, settings: &GateSettings) -> bool {
        (1..=settings.limit).contains(&self.limit)
            && self.budget == settings.budget(self.limit)
            && self.window == settings.window
            && self.universal.is_valid()
            && self.windows.is_valid()
            && self
                .lock
                .as_ref()
                .is_none_or(|lock| lock.is_valid(self.window))
    }

    pub(super) fn limit(&self) -> u32 {
        self.limit
    }

    /// Our part of the limit, which no mode may exceed in any window of send times.
    pub(super) fn budget(&self) -> u32 {
        self.budget
    }

    pub(super) fn mode(&self) -> Mode {
        if self.refill.is_proven() {
            Mode::Refill
        } else if self.lock.is_some() {
            Mode::Locked
        } else {
            Mode::Universal
        }
    }

    /// Requests per window that are aimed at.
    pub(super) fn aim(&self) -> f64 {
        match self.mode() {
            Mode::Refill => f64::from(self.budget),
            Mode::Locked | Mode::Universal => self.universal.aim(),
        }
    }

    /// When the next request may go.
    pub(super) fn next(&mut self, now: Time, ledger: &Ledger, latency: &Latency) -> Time {
        if self.refill.is_proven() {
            return Refill::next(ledger, self.window, self.budget);
        }
        match &mut self.lock {
            Some(lock) => {
                lock.roll(now);
                lock.next(ledger, latency)
            }
            None => {
                let windows = self.fixed.then_some(&self.windows);
                self.universal.next(ledger, windows, latency)
            }
        }
    }

    /// A request is sent; where it may have been long since the last, a lock is no longer relied on.
    pub(super) fn sent(&mut self, now: Time) {
        if self.lock.as_ref().is_some_and(|lock| lock.is_stale(now)) {
            self.unlock();
        }
    }

    fn unlock(&mut self) {
        self.lock = None;
        self.windows = Windows::default();
    }

    /// A request sent at `sent` saw the budget used up, or was refused; `own` requests were ours within the window.
    pub(super) fn overshoot(&mut self, now: Time, sent: Time, own: f64, latency: &Latency) {
        if self.lock.is_none() {
            self.universal.overshoot(now, sent, own, latency);
        }
    }

    /// A request was served, and nothing said about what is left.
    pub(super) fn served(&mut self, now: Time) {
        self.universal.served(now);
    }

    pub(super) fn seen(&mut self, count: &Count, ledger: &Ledger, latency: &Latency) {
        self.refill.seen(count, self.window);
        let now = count.received;
        let floor = Duration::from_secs_f64(latency.floor());
        let sign = match self.lock {
            Some(_) => Sign::None,
            None => self.windows.seen(count, self.window, floor),
        };
        let windows = self.fixed.then_some(&self.windows);
        self.universal.seen(count, windows, ledger, latency);
        if let Some(lock) = &mut self.lock {
            lock.roll(now);
            let right = lock.seen(count, ledger);
            if !right {
                self.barred_until = now + FIRST_BAR * (1 << self.wrong_locks.min(MOST_DOUBLINGS));
                self.wrong_locks += 1;
            }
            if !right || self.refill.is_proven() {
                self.unlock();
            }
            return;
        }
        if !matches!(sign, Sign::None) && !self.fixed {
            self.fixed = true;
            self.universal.fixed_windows();
        }
        if let Sign::Clock(edge) = sign
            && now >= self.barred_until
        {
            self.lock = Some(PhaseLock::new(count, edge, self.window, floor, self.budget));
        }
    }
}
