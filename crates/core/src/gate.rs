//! Decides when the next request may be sent, so that almost the whole budget is used and none is refused.
//!
//! Three layers, each only ever later than the one before:
//!
//! 1. `rule` is the client rule of the service document (section 8.3), literally: after a 429, or a count below 1, nothing
//!    is sent until the reset has elapsed. It binds tighter than the limit itself, for a reset in whole seconds makes
//!    every 0 we see cost as much as forty requests. So the other layers leave one request of the budget alone: 39 of 40,
//!    97.5 %, is the most that a server with windows gives, unless it tells the end of a window to a part of a second.
//! 2. Never more requests than the limit in any window of send times, and never more than 128 unanswered.
//! 3. `model` finds out how the server counts, from nothing but what it shows, and paces accordingly: `universal` until
//!    something better is known, `refill` for buckets, `phase_lock` for windows that follow a clock.
//!
//! Simpler than it could be, where the difference was measured to be small: windows that open with a request have no
//! mode of their own; the number of requests in flight is bounded, but not controlled; and others are yielded to only
//! by what they leave.

mod count;
mod headers;
mod jitter_margin;
mod last_minute;
mod latency;
mod ledger;
mod model;
mod other_clients;
mod outage;
mod phase_lock;
mod quota;
mod refill;
mod rule;
mod settings;
mod shared;
mod slots;
mod stats;
mod turns;
mod universal;
mod windows;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use count::Count;
pub use headers::RateHeaders;
pub(crate) use last_minute::LastMinute;
use latency::Latency;
use ledger::{Ledger, Outcome};
use model::Model;
pub use outage::Failures;
pub(crate) use outage::{Outage, is_failure};
use quota::Quota;
use rule::{Refusal, Rule};
pub use settings::{GateSettings, LONGEST_GAP};
pub use shared::{MemberStats, SharedGate, Turn};
pub use stats::{GateStats, Mode};
pub use turns::{Asker, Lane};

type Time = Duration;

/// The status of a refused request (service document, section 8).
const TOO_MANY_REQUESTS: u16 = 429;
/// Unanswered requests before the first response: enough to keep pace, few enough to find out by.
const PROBES: usize = 4;
/// With so many unanswered requests, others wait where no response has come for so many usual round trips, and at least for
/// so long: the service may have stopped responding.
const STALLED: (usize, u32, Duration) = (6, 8, Duration::from_millis(150));
/// Unanswered requests at any time: three seconds at full pace, after which the service is not keeping up.
const MOST_IN_FLIGHT: usize = 128;

/// When the next request may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ready {
    /// At once.
    Now,
    /// At this time, unless a response changes it.
    At(Duration),
    /// Not before a response has arrived, or a request is lost.
    AfterResponse,
}

/// A request that was sent, to be handed back with its outcome.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ticket {
    id: u64,
    sent: Time,
}

/// The state of one company's budget, as one process sees it, or several that share it.
///
/// A pure function of what it is told: it reads no clock and never waits. All times are those of one monotonic clock
/// of the caller, from any epoch, and must not go back.
#[derive(Debug, Serialize, Deserialize)]
pub struct Gate {
    settings: GateSettings,
    ledger: Ledger,
    latency: Latency,
    rule: Rule,
    model: Model,
    /// A limit of a longer window, where the server has one.
    quota: Option<Quota>,
    outage: Outage,
    /// When a request was last responded to, or has failed.
    heard: Time,
    sends: u64,
    responses: u64,
    lost: u64,
    refused: u64,
}

impl Gate {
    /// A gate that has seen nothing yet.
    #[must_use]
    pub fn new(settings: GateSettings) -> Self {
        Self {
            settings,
            ledger: Ledger::default(),
            latency: Latency::default(),
            rule: Rule::new(settings.seed),
            model: settings.model(settings.limit),
            quota: None,
            outage: Outage::new(settings.seed),
            heard: Time::ZERO,
            sends: 0,
            responses: 0,
            lost: 0,
            refused: 0,
        }
    }

    /// When the next request may be sent. Asked again later, with nothing having happened in between, it never names an
    /// earlier time.
    pub fn ready(&mut self, now: Duration) -> Ready {
        if self.outage.is_probed() {
            return Ready::AfterResponse;
        }
        if !self.settings.paced {
            let until = self.rule.until().max(self.outage.probe_at());
            return if until <= now {
                Ready::Now
            } else {
                Ready::At(until)
            };
        }
        let most = match self.responses {
            0 => PROBES,
            _ => MOST_IN_FLIGHT,
        };
        let quota = self.quota.as_ref();
        let taken = self.ledger.in_flight() > 0 && quota.is_some_and(|quota| quota.is_taken(now));
        if self.ledger.in_flight() >= most || taken || self.is_stalled(now) {
            return Ready::AfterResponse;
        }
        let spread = quota.map_or(Time::ZERO, |quota| quota.next(now, &self.ledger));
        let paced = self.model.next(now, &self.ledger, &self.latency);
        let bounds = [self.rolling(), paced, spread, self.outage.probe_at()];
        let at = bounds.into_iter().fold(self.rule.until(), Time::max);
        if at <= now { Ready::Now } else { Ready::At(at) }
    }

    /// A request is being sent.
    pub fn send(&mut self, now: Duration) -> Ticket {
        self.sends += 1;
        if !self.settings.paced {
            let ticket = Ticket {
                id: self.sends,
                sent: now,
            };
            self.outage.sent(ticket);
            return ticket;
        }
        self.model.sent(now);
        if let Some(quota) = &mut self.quota {
            quota.sent(now);
        }
        let id = self.ledger.send(now, self.settings.window);
        let ticket = Ticket { id, sent: now };
        self.outage.sent(ticket);
        ticket
    }

    /// The request was not sent after all.
    pub fn unsend(&mut self, ticket: Ticket) {
        self.outage.unsent(ticket);
        let unsent = self.ledger.unsend(ticket);
        self.sends -= u64::from(unsent);
        if let Some(quota) = self.quota.as_mut().filter(|_| unsent) {
            quota.unsent();
        }
    }

    /// The request failed, with no response or with one that broke off. `sent` is whether the server may have counted it;
    /// where no connection was made, its turn is given back.
    pub fn failed(&mut self, now: Duration, ticket: Ticket, sent: bool) {
        self.heard = now;
        self.outage.failed(now, ticket);
        match sent {
            true => self.lost(now, ticket),
            false => self.unsend(ticket),
        }
    }

    /// The failures since the last success, where there are any.
    #[must_use]
    pub fn failures(&self) -> Option<Failures> {
        self.outage.failures()
    }

    /// The caller waits for no response any more, though the server may have counted the request.
    pub fn lost(&mut self, now: Duration, ticket: Ticket) {
        self.outage.lost(now, ticket);
        let settled = self.ledger.settle(ticket, Outcome::Lost);
        self.lost += u64::from(settled.is_some());
    }

    /// A response has arrived.
    pub fn response(&mut self, now: Duration, ticket: Ticket, status: u16, headers: &RateHeaders) {
        let settled = self.ledger.settle(ticket, Outcome::Answered(now));
        let sent = ticket.sent;
        self.heard = now;
        match is_failure(status, headers) {
            true => self.outage.failed(now, ticket),
            false => self.outage.succeeded(now, ticket),
        }
        self.responses += 1;
        self.refused += u64::from(status == TOO_MANY_REQUESTS);
        let default_wait = self.settings.window;
        let refusal = Refusal::of(status, headers);
        let told_to_wait = self
            .rule
            .response(now, sent, refusal, headers, default_wait);
        // Of a request that was given up, only what the rule says counts.
        if !self.settings.paced || settled.is_none() {
            return;
        }
        self.latency.add(now, now.saturating_sub(sent));
        self.adopt_limit(headers);
        let from = sent.saturating_sub(self.settings.window);
        let own = self.ledger.sent_between(from, sent) as f64;
        if let (Some(quota), Some(remaining)) = (&mut self.quota, headers.remaining) {
            quota.seen(now, sent, remaining, headers.reset, &self.ledger);
        }
        // What is left of a longer window says nothing about the pace.
        let shown = headers.remaining.filter(|_| self.quota.is_none());
        let used_up = self.quota.is_some() && headers.remaining == Some(0);
        if told_to_wait && !used_up {
            self.model.shortage(now, sent, own, &self.latency);
        }
        if let Some(remaining) = shown {
            let limit = f64::from(self.model.limit());
            let count = Count {
                received: now,
                sent,
                limit,
                remaining: (remaining as f64).min(limit),
                own,
                rest: headers.reset.filter(|_| !headers.reset_is_integer),
                refused: status == TOO_MANY_REQUESTS,
            };
            self.model.seen(&count, &self.ledger, &self.latency);
        } else if refusal.is_none() {
            self.model.served(now);
        }
    }

    /// Figures for a receipt.
    #[must_use]
    pub fn stats(&self) -> GateStats {
        let (paused_exhausted, paused_refused) = self.rule.paused();
        GateStats {
            sends: self.sends,
            responses: self.responses,
            lost: self.lost,
            refused: self.refused,
            paused_exhausted,
            paused_refused,
            mode: self.model.mode(),
            target_rate: self.model.aim() / self.settings.window.as_secs_f64(),
        }
    }

    /// The usual gap between two requests, at the present pace.
    fn gap(&self) -> Duration {
        self.settings.window.div_f64(self.model.aim().max(1.0))
    }

    /// Spreads what is left of a long window by no larger gaps than this.
    fn spread_at_most(&mut self, gap: Duration) {
        self.settings.longest_gap = gap;
        if let Some(quota) = &mut self.quota {
            quota.spread_at_most(gap);
        }
    }

    /// Whether no pause and no long window binds any more.
    fn is_over(&self, now: Time) -> bool {
        let quota = self.quota.as_ref();
        self.rule.until() <= now && quota.is_none_or(|quota| quota.is_over(now))
    }

    /// Whether the service seems to have stopped responding, with many requests under way.
    fn is_stalled(&self, now: Time) -> bool {
        let (many, round_trips, least) = STALLED;
        let usual = Duration::from_secs_f64(self.latency.mean()) * round_trips;
        let oldest = self
            .ledger
            .entries()
            .find(|entry| entry.outcome == Outcome::InFlight);
        self.responses > 0
            && self.ledger.in_flight() >= many
            && oldest.is_some_and(|oldest| oldest.sent.max(self.heard) + usual.max(least) < now)
    }

    /// Never more than our budget in any window of send times, whatever the mode.
    fn rolling(&self) -> Time {
        let oldest = self.ledger.nth_last_sent(self.model.budget() as usize);
        oldest.map_or(Time::ZERO, |sent| sent + self.settings.window)
    }

    /// Takes on the limit that the server names where it is lower than the configured one: so many requests as our
    /// window has of it. A longer window is a quota besides, which bounds the pace by no more than its whole limit.
    /// What was learned under another limit is forgotten.
    fn adopt_limit(&mut self, headers: &RateHeaders) {
        let Some(named) = headers.limit else { return };
        if named == 0 && headers.remaining.is_some_and(|left| left > 0) {
            // Some gateways write 0 for "no limit"; what is left says that it is not a limit of none.
            return;
        }
        // To keep a limit of none we could never ask again, not even whether it is still none.
        let named = named.max(1);
        let ours = self.settings.window;
        let theirs = headers.window.unwrap_or(ours);
        if theirs <= ours {
            self.quota = None;
        } else if !self
            .quota
            .as_ref()
            .is_some_and(|quota| quota.is(named, theirs))
        {
            let (budget, gap) = (self.settings.budget(named), self.settings.longest_gap);
            self.quota = Some(Quota::new(named, budget, theirs, gap, &self.ledger));
        }
        // A cast from a float saturates.
        let per_window =
            (f64::from(named) * ours.as_secs_f64() / theirs.min(ours).as_secs_f64()) as u32;
        let limit = per_window.min(self.settings.limit).max(1);
        if limit != self.model.limit() {
            self.model = self.settings.model(limit);
        }
    }
}
