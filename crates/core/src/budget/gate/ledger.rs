//! The requests that still matter, and the round-trip times. A request matters while it is in flight, and while it may
//! share a window with the next one. Times are in seconds, and a window is one second.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::Ticket;

/// The time for which a finished request is remembered: one window for the budget, one more for late responses.
const KEEP_FOR: f64 = 2.0;
/// The part of its distance to the mean by which the shortest round trip rises with each sample, so that it follows a
/// changed route.
const FLOOR_RISE: f64 = 0.0005;
/// The number of samples below which the true floor may be far below the shortest round trip seen.
const FEW_SAMPLES: u32 = 30;
/// The part of the shortest round trip that counts while there are few samples.
const EARLY_FLOOR_PART: f64 = 0.8;
/// The number of samples in the mean.
const MEAN_SAMPLES: f64 = 32.0;
/// The part of a window by which a request may be counted later than the fastest.
pub(super) const COUNT_MARGIN: f64 = 0.07;
/// The number of requests that are left unused: no request of ours may see 0 left, because the rule then demands a
/// pause of a window.
pub(super) const RESERVED: f64 = 1.0;
/// Fewer requests a window than this cannot be distinguished from jitter.
pub(super) const NOISE_FLOOR: f64 = 1.5;
/// The time in addition to a round trip for which requests of other clients stay invisible: the interval of our
/// requests.
const UNSEEN_EXTRA_S: f64 = 0.03;

/// A request that was sent.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct SentRequest {
    pub(super) ticket: Ticket,
    pub(super) member: u64,
    /// True while a response may still arrive. Even if it is false, the server may have counted the request.
    pub(super) in_flight: bool,
    /// The latest time at which it is counted.
    pub(super) counted_by: f64,
    /// The number of requests that were sent within the window that ended with this one.
    pub(super) own: u32,
    /// The number of requests that were left after it, if the response shows it.
    pub(super) remaining: Option<f64>,
}

impl SentRequest {
    pub(super) fn sent(&self) -> f64 {
        self.ticket.sent.as_secs_f64()
    }
}

/// Requests in the order of sending, and the round trips of the answered ones.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Ledger {
    pub(super) entries: VecDeque<SentRequest>,
    samples: u32,
    least: f64,
    /// The usual round trip.
    pub(super) mean: f64,
    /// The send time of the newest request that has a response.
    newest_answered: f64,
}

impl Ledger {
    /// Adds a request that a member sends now.
    pub(super) fn send(&mut self, ticket: Ticket, member: u64) {
        let sent = ticket.sent.as_secs_f64();
        let matters = |entry: &SentRequest| entry.in_flight || entry.sent() + KEEP_FOR >= sent;
        self.entries.retain(matters);
        self.entries.push_back(SentRequest {
            ticket,
            member,
            in_flight: true,
            counted_by: sent + COUNT_MARGIN,
            own: self.sent_between(sent - 1.0, sent) as u32 + 1,
            remaining: None,
        });
    }

    /// Removes a request that was not sent after all.
    pub(super) fn unsend(&mut self, ticket: Ticket) {
        self.entries
            .retain(|entry| entry.ticket != ticket || !entry.in_flight);
    }

    /// Marks a request as no longer in flight, and returns it. A ticket of another ledger may have the same number.
    pub(super) fn settle(&mut self, ticket: Ticket) -> Option<&mut SentRequest> {
        let own = |entry: &&mut SentRequest| entry.ticket == ticket && entry.in_flight;
        let entry = self.entries.iter_mut().find(own)?;
        entry.in_flight = false;
        Some(entry)
    }

    /// Records the response to a request in flight, which may show the number of requests left.
    pub(super) fn answer(
        &mut self,
        now: f64,
        ticket: Ticket,
        remaining: Option<f64>,
    ) -> Option<SentRequest> {
        let sent = self.settle(ticket)?.sent();
        self.newest_answered = self.newest_answered.max(sent);
        let round_trip = (now - sent).max(0.0);
        self.samples = self.samples.saturating_add(1);
        self.mean += (round_trip - self.mean) / f64::from(self.samples).min(MEAN_SAMPLES);
        self.least += FLOOR_RISE * (self.mean - self.least);
        if self.samples == 1 || round_trip < self.least {
            self.least = round_trip;
        }
        let floor = self.floor();
        let entry = self.entries.iter_mut().find(|it| it.ticket == ticket)?;
        // At the latest, the request was counted one shortest round trip ago.
        entry.counted_by = entry.counted_by.min(now - floor);
        entry.remaining = remaining;
        Some(*entry)
    }

    /// Returns the number of requests that other clients send before we see them, at `rate` requests a window.
    pub(super) fn unseen(&self, rate: f64) -> f64 {
        rate * (self.mean + UNSEEN_EXTRA_S)
    }

    /// Returns the shortest round trip to expect.
    pub(super) fn floor(&self) -> f64 {
        if self.samples < FEW_SAMPLES {
            self.least * EARLY_FLOOR_PART
        } else {
            self.least
        }
    }

    /// Returns the number of requests in flight that are newer than all requests with a response.
    pub(super) fn unanswered_since_last_response(&self) -> usize {
        let is_newer = |entry: &&SentRequest| entry.sent() >= self.newest_answered;
        self.in_flight().filter(is_newer).count()
    }

    pub(super) fn in_flight(&self) -> impl Iterator<Item = &SentRequest> {
        self.entries.iter().filter(|entry| entry.in_flight)
    }

    /// Returns the requests whose responses have shown counts, each with its count, newest first.
    pub(super) fn shown(&self) -> impl Iterator<Item = (&SentRequest, f64)> {
        let newest_first = self.entries.iter().rev();
        newest_first.filter_map(|entry| Some((entry, entry.remaining?)))
    }

    /// Returns the send time of the `n`th request, newest first.
    pub(super) fn nth_last_sent(&self, n: usize) -> f64 {
        let nth = self.entries.iter().nth_back(n.saturating_sub(1));
        nth.map_or(f64::NEG_INFINITY, SentRequest::sent)
    }

    /// Returns the number of requests that were sent after `from` and not after `to`.
    pub(super) fn sent_between(&self, from: f64, to: f64) -> f64 {
        let sent = self.entries.iter().map(SentRequest::sent);
        sent.filter(|sent| *sent > from && *sent <= to).count() as f64
    }
}
