//! A limit that the server counts over a longer window than the one paced by, such as 1,000 requests a day. It is spent at
//! the usual pace; when it is used up, the client rule pauses until the reset.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ledger::Ledger;
use super::{RateHeaders, Time};

/// The limit, and the newest count of what is left of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LongWindow {
    pub(crate) limit: u32,
    pub(crate) window: Duration,
    sent: Time,
    remaining: u64,
}

impl LongWindow {
    /// The longer window of a response, if that is what it shows; `known` is the one before.
    pub(crate) fn shown(known: Option<Self>, limit: u32, window: Duration) -> Self {
        let is_same = |known: &Self| (known.limit, known.window) == (limit, window);
        known.filter(is_same).unwrap_or(Self {
            limit,
            window,
            sent: Time::ZERO,
            remaining: u64::MAX,
        })
    }

    /// A response to a request sent at `sent` shows what is left.
    pub(super) fn seen(&mut self, sent: Time, remaining: u64) {
        if sent >= self.sent {
            (self.sent, self.remaining) = (sent, remaining);
        }
    }

    /// Whether nothing is left after the requests that are in flight.
    pub(super) fn is_spent(&self, ledger: &Ledger) -> bool {
        self.remaining <= u64::from(ledger.sent_between(self.sent, Time::MAX))
    }
}

/// What a client that may use a part of each limit has sent within a longer window.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Part {
    pub(crate) until: Time,
    spent: u32,
    /// The service has said when the window ends.
    is_aligned: bool,
}

impl Part {
    pub(crate) fn send(&mut self, now: Time, window: Duration) {
        if now >= self.until {
            *self = Self {
                until: now.saturating_add(window),
                ..Self::default()
            };
        }
        self.spent = self.spent.saturating_add(1);
    }

    /// A response has come; the first one says when the window ends.
    pub(crate) fn seen(&mut self, now: Time, headers: &RateHeaders) {
        if let (false, Some(reset)) = (self.is_aligned, headers.reset) {
            (self.is_aligned, self.until) = (true, now.saturating_add(reset));
        }
    }

    /// When the next request may be sent by one whose part of the limit is `share`.
    pub(crate) fn allows(&self, limit: u32, share: f64) -> Time {
        let part = (f64::from(limit) * share).max(1.0);
        match f64::from(self.spent) >= part.floor() {
            true => self.until,
            false => Time::ZERO,
        }
    }
}
