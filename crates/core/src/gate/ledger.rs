//! The requests that still matter: those in flight, and those recent enough to share a window with the next one.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Ticket, Time};

/// How many windows a finished request is remembered: one for the budget, one more for answers that come late.
const WINDOWS_KEPT: u32 = 2;

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
    id: u64,
    pub(super) sent: Time,
    pub(super) outcome: Outcome,
}

/// Requests in the order they were sent.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Ledger {
    entries: VecDeque<Entry>,
    in_flight: usize,
    next_id: u64,
}

impl Ledger {
    pub(super) fn send(&mut self, now: Time, window: Duration) -> u64 {
        let keep = window.saturating_mul(WINDOWS_KEPT);
        self.entries
            .retain(|entry| entry.outcome == Outcome::InFlight || entry.sent + keep >= now);
        let id = self.next_id;
        self.next_id += 1;
        self.in_flight += 1;
        self.entries.push_back(Entry {
            id,
            sent: now,
            outcome: Outcome::InFlight,
        });
        id
    }

    /// Forgets a request that was never sent after all.
    pub(super) fn unsend(&mut self, ticket: Ticket) -> bool {
        let found = self.position(ticket);
        if let Some(index) = found {
            self.entries.remove(index);
            self.in_flight -= 1;
        }
        found.is_some()
    }

    /// Settles a request that is in flight, and tells when it was sent.
    pub(super) fn settle(&mut self, ticket: Ticket, outcome: Outcome) -> Option<Time> {
        let index = self.position(ticket)?;
        let entry = self.entries.get_mut(index)?;
        entry.outcome = outcome;
        self.in_flight -= 1;
        Some(entry.sent)
    }

    /// Where the request is, if it is in flight. A ticket of another ledger may have the same number.
    fn position(&self, ticket: Ticket) -> Option<usize> {
        let is_it = |entry: &Entry| {
            (entry.id, entry.sent) == (ticket.id, ticket.sent) && entry.outcome == Outcome::InFlight
        };
        self.entries.iter().position(is_it)
    }

    /// Whether values that were read can be: in the order of time, and counted.
    pub(super) fn is_valid(&self) -> bool {
        let in_flight = |entry: &&Entry| entry.outcome == Outcome::InFlight;
        self.entries.iter().filter(in_flight).count() == self.in_flight
            && self.entries.iter().map(|entry| entry.sent).is_sorted()
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub(super) fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.iter()
    }

    pub(super) fn last_sent(&self) -> Option<Time> {
        self.nth_last_sent(1)
    }

    /// When the `n`th request from the end was sent; `n` counts from 1.
    pub(super) fn nth_last_sent(&self, n: usize) -> Option<Time> {
        let index = self.entries.len().checked_sub(n)?;
        self.entries.get(index).map(|entry| entry.sent)
    }

    /// How many requests were sent after `from` and not after `to`.
    pub(super) fn sent_between(&self, from: Time, to: Time) -> usize {
        let after = self.entries.partition_point(|entry| entry.sent <= from);
        let until = self.entries.partition_point(|entry| entry.sent <= to);
        until.saturating_sub(after)
    }
}
