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

/// The state of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum State {
    InFlight,
    Answered(Time),
    /// No response will come; the server may have counted it all the same.
    Lost,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) ticket: Ticket,
    pub(super) member: u64,
    pub(super) state: State,
}

/// Requests in the order they were sent, and the round trips of those that were responded to.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Ledger {
    pub(super) entries: VecDeque<Entry>,
    samples: u32,
    span_began: Time,
    least: [Duration; 2],
    /// The usual round trip.
    pub(super) mean: Duration,
}

impl Ledger {
    /// Notes a request of a member that is sent now, and remembers it as long as it matters to windows of this length.
    pub(super) fn send(&mut self, ticket: Ticket, member: u64, window: Duration) {
        let keep = window.saturating_mul(WINDOWS_KEPT);
        self.entries.retain(|entry| {
            entry.state == State::InFlight || entry.ticket.sent + keep >= ticket.sent
        });
        let state = State::InFlight;
        self.entries.push_back(Entry {
            ticket,
            member,
            state,
        });
    }

    /// Forgets a request that was never sent after all.
    pub(super) fn unsend(&mut self, ticket: Ticket) {
        let unsent = |entry: &Entry| entry.ticket == ticket && entry.state == State::InFlight;
        self.entries.retain(|entry| !unsent(entry));
    }

    /// Settles a request that is in flight; false where it is not.
    pub(super) fn settle(&mut self, ticket: Ticket, state: State) -> bool {
        // A ticket of another ledger may have the same number.
        let own = |entry: &&mut Entry| entry.ticket == ticket && entry.state == State::InFlight;
        let Some(entry) = self.entries.iter_mut().find(own) else {
            return false;
        };
        entry.state = state;
        if let State::Answered(now) = state {
            self.sample(now, now.saturating_sub(ticket.sent));
        }
        true
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

    /// Whether no response has come yet.
    pub(super) fn is_unanswered(&self) -> bool {
        self.samples == 0
    }

    /// A round trip is never believed to be shorter than this.
    pub(super) fn floor(&self) -> Duration {
        let least = self.least[0].min(self.least[1]);
        match self.samples < FEW_SAMPLES {
            true => least.mul_f64(TRUST_EARLY),
            false => least,
        }
    }

    pub(super) fn in_flight(&self) -> impl Iterator<Item = &Entry> {
        let in_flight = |entry: &&Entry| entry.state == State::InFlight;
        self.entries.iter().filter(in_flight)
    }

    /// When the requests were sent, in order.
    pub(super) fn sent(&self) -> impl DoubleEndedIterator<Item = Time> {
        self.entries.iter().map(|entry| entry.ticket.sent)
    }

    pub(super) fn last_sent(&self) -> Time {
        self.sent().next_back().unwrap_or_default()
    }

    /// How many requests were sent after `from` and not after `to`.
    pub(super) fn sent_between(&self, from: Time, to: Time) -> u32 {
        self.sent()
            .filter(|sent| *sent > from && *sent <= to)
            .count() as u32
    }
}
