//! A limit that the server counts over a longer window than the one paced by, such as 1,000 requests a day.
//!
//! It is spent at the usual pace. Only when little of it is left are the rest of the requests spread over the time
//! until the reset, and never so thinly that a caller has to wait long for a request that the server would serve.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Time;
use super::ledger::Ledger;

/// From this part of the limit on, what is left is spread.
const LITTLE: f64 = 0.2;
/// The window is divided into so many parts, in each of which our own requests are only counted.
const PARTS: u32 = 64;

/// The limit and what is known to be left of it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Quota {
    limit: u32,
    /// Our part of it.
    budget: u32,
    window: Duration,
    /// The longest gap that spreading may make.
    longest_gap: Duration,
    /// Our own requests: the last one of each part of the window, and how many there were in it.
    own: VecDeque<(Time, u32)>,
    shown: Option<Shown>,
}

/// The newest count that the server has shown.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Shown {
    /// When its request was sent.
    sent: Time,
    remaining: u64,
    /// Requests that were sent after it.
    since: u64,
    resets_at: Option<Time>,
}

impl Quota {
    /// A quota of which the requests in the ledger have been spent.
    pub(super) fn new(
        limit: u32,
        budget: u32,
        window: Duration,
        longest_gap: Duration,
        ledger: &Ledger,
    ) -> Self {
        let mut quota = Self {
            limit,
            budget,
            window,
            longest_gap,
            own: VecDeque::new(),
            shown: None,
        };
        ledger.entries().for_each(|entry| quota.sent(entry.sent));
        quota
    }

    /// Whether this is a quota of `limit` requests in `window`.
    pub(super) fn is(&self, limit: u32, window: Duration) -> bool {
        (self.limit, self.window) == (limit, window)
    }

    /// Makes no larger gaps than this from now on.
    pub(super) fn spread_at_most(&mut self, gap: Duration) {
        self.longest_gap = gap;
    }

    /// Whether none of our own requests is within the window any more.
    pub(super) fn is_over(&self, now: Time) -> bool {
        self.own
            .back()
            .is_none_or(|(last, _)| *last + self.window <= now)
    }

    pub(super) fn sent(&mut self, now: Time) {
        while self
            .own
            .front()
            .is_some_and(|(last, _)| *last + self.window <= now)
        {
            self.own.pop_front();
        }
        match self.own.back_mut() {
            Some((last, count)) if *last + self.window / PARTS > now => {
                // Counted at the last of them, so that none is forgotten too early.
                *last = now;
                *count += 1;
            }
            _ => self.own.push_back((now, 1)),
        }
        if let Some(shown) = &mut self.shown {
            shown.since += 1;
        }
    }

    /// The request that was sent last was not sent after all.
    pub(super) fn unsent(&mut self) {
        if let Some((_, count)) = self.own.back_mut() {
            *count = count.saturating_sub(1);
        }
        if let Some(shown) = &mut self.shown {
            shown.since = shown.since.saturating_sub(1);
        }
    }

    /// A response to a request sent at `sent` shows what is left.
    pub(super) fn seen(
        &mut self,
        now: Time,
        sent: Time,
        remaining: u64,
        reset: Option<Duration>,
        ledger: &Ledger,
    ) {
        if self.shown.is_some_and(|shown| sent < shown.sent) {
            return;
        }
        if self.shown.is_some_and(|shown| remaining > shown.remaining) {
            // The server has given some back. Its count is the better one, as long as it counts at all.
            self.own.clear();
        }
        self.shown = Some(Shown {
            sent,
            remaining,
            since: ledger.sent_between(sent, Time::MAX) as u64,
            resets_at: reset.map(|reset| now + reset),
        });
    }

    /// Whether the requests under way may be all that is left.
    pub(super) fn is_taken(&self, now: Time) -> bool {
        self.left(now).is_some_and(|left| left == 0)
    }

    /// When the next request may go.
    pub(super) fn next(&self, now: Time, ledger: &Ledger) -> Time {
        self.own_bound(now).max(self.spread(now, ledger))
    }

    /// Never more of our own requests than our part of the limit in any window.
    fn own_bound(&self, now: Time) -> Time {
        let live = |entry: &&(Time, u32)| entry.0 + self.window > now;
        let own: u32 = self.own.iter().filter(live).map(|(_, count)| count).sum();
        let oldest = self.own.iter().find(live);
        match oldest {
            Some((last, _)) if own >= self.budget => *last + self.window,
            _ => Time::ZERO,
        }
    }

    fn spread(&self, now: Time, ledger: &Ledger) -> Time {
        let (Some(left), Some(last)) = (self.left(now), ledger.last_sent()) else {
            return Time::ZERO;
        };
        if left == 0 || left as f64 > f64::from(self.limit) * LITTLE {
            return Time::ZERO;
        }
        let resets_at = self.shown.and_then(|shown| shown.resets_at);
        let rest = resets_at.map_or(self.window, |at| at.saturating_sub(last));
        last + rest.div_f64(left as f64).min(self.longest_gap)
    }

    /// How many requests are left; none where the server does not show it, or where its window is over.
    fn left(&self, now: Time) -> Option<u64> {
        let shown = self.shown?;
        let over = shown.resets_at.is_some_and(|at| at <= now);
        (!over).then(|| shown.remaining.saturating_sub(shown.since))
    }
}
