//! The requests that still matter, and the round-trip times: those in flight, and those recent enough to share a window
//! with the next one.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Ticket, Time};

/// How many windows a finished request is remembered: one for the budget, one more for responses that come late.
const WINDOWS_KEPT: u32 = 2;
/// The least round trip is that of the current span and the one before, so that it follows a changed route.
const FLOOR_SPAN: Duration = Duration::from_secs(15);
/// Below this many samples the true floor may be far lower than the least seen: this part of it is believed.
const FEW_SAMPLES: u32 = 30;
const TRUST_EARLY: f64 = 0.8;
/// Samples that the mean is taken over.
const MEAN_OVER: u32 = 32;

/// What has become of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Outcome {
    InFlight,
    Answered(Time),
    /// No response will come; the server may have counted it all the same.
    Lost,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) ticket: Ticket,
    pub(super) member: u64,
    pub(super) outcome: Outcome,
}

/// Requests in the order they were sent, and the round trips of those that were responded to.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Ledger {
    entries: VecDeque<Entry>,
    next_id: u64,
    samples: u32,
    span_began: Time,
    least: [Duration; 2],
    mean: Duration,
}

impl Ledger {
    /// Notes a request that is sent now. With `window`, it is remembered as long as it matters to windows of that length.
    pub(super) fn send(&mut self, ticket: Ticket, member: u64, window: Duration) {
        let keep = window.saturating_mul(WINDOWS_KEPT);
        self.entries.retain(|entry| {
            entry.outcome == Outcome::InFlight || entry.ticket.sent + keep >= ticket.sent
        });
        self.entries.push_back(Entry {
            ticket,
            member,
            outcome: Outcome::InFlight,
        });
    }

    pub(super) fn new_id(&mut self) -> u64 {
        self.next_id = self.next_id.wrapping_add(1);
        self.next_id
    }

    /// Forgets a request that was never sent after all.
    pub(super) fn unsend(&mut self, ticket: Ticket) -> bool {
        let found = self.position(ticket);
        found.is_some_and(|index| self.entries.remove(index).is_some())
    }

    /// Settles a request that is in flight; false where it is not.
    pub(super) fn settle(&mut self, ticket: Ticket, outcome: Outcome) -> bool {
        let found = self.position(ticket);
        let Some(entry) = found.and_then(|index| self.entries.get_mut(index)) else {
            return false;
        };
        entry.outcome = outcome;
        if let Outcome::Answered(now) = outcome {
            self.sample(now, now.saturating_sub(ticket.sent));
        }
        true
    }

    /// Where the request is, if it is in flight. A ticket of another ledger may have the same number.
    fn position(&self, ticket: Ticket) -> Option<usize> {
        self.entries
            .iter()
            .position(|entry| entry.ticket == ticket && entry.outcome == Outcome::InFlight)
    }

    fn sample(&mut self, now: Time, round_trip: Duration) {
        if self.samples == 0 {
            (self.span_began, self.least, self.mean) = (now, [round_trip; 2], round_trip);
        } else if now > self.span_began + FLOOR_SPAN {
            (self.span_began, self.least) = (now, [round_trip, self.least[0]]);
        }
        self.samples = self.samples.saturating_add(1);
        self.least[0] = self.least[0].min(round_trip);
        let weight = self.samples.min(MEAN_OVER);
        self.mean = (self.mean * (weight - 1) + round_trip) / weight;
    }

    /// A round trip is never believed to be shorter than this.
    pub(super) fn floor(&self) -> Duration {
        let least = self.least[0].min(self.least[1]);
        match self.samples < FEW_SAMPLES {
            true => least.mul_f64(TRUST_EARLY),
            false => least,
        }
    }

    /// The usual round trip.
    pub(super) fn mean(&self) -> Duration {
        self.mean
    }

    pub(super) fn in_flight(&self) -> impl Iterator<Item = &Entry> {
        let in_flight = |entry: &&Entry| entry.outcome == Outcome::InFlight;
        self.entries.iter().filter(in_flight)
    }

    pub(super) fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.iter()
    }

    pub(super) fn last_sent(&self) -> Time {
        self.nth_last_sent(1).unwrap_or_default()
    }

    /// When the `n`th request from the end was sent; `n` counts from 1.
    pub(super) fn nth_last_sent(&self, n: usize) -> Option<Time> {
        let index = self.entries.len().checked_sub(n)?;
        self.entries.get(index).map(|entry| entry.ticket.sent)
    }

    /// How many requests were sent after `from` and not after `to`.
    pub(super) fn sent_between(&self, from: Time, to: Time) -> u32 {
        let sent = self.entries.iter().map(|entry| entry.ticket.sent);
        sent.filter(|sent| *sent > from && *sent <= to).count() as u32
    }
}
