//! Decides when the next request may be sent, so that almost the whole budget is used and none is refused.
//!
//! Three layers, each only ever later than the one before:
//!
//! 1. `rule` is the client rule of the service document (section 8.3), literally: after a 429, or a count below 1, nothing
//!    is sent until the reset has elapsed. It binds tighter than the limit itself, for a reset in whole seconds makes
//!    every 0 we see cost as much as forty requests. So the other layers leave one request of the budget alone: 39 of 40,
//!    97.5 %, is the most that a server with windows gives.
//! 2. Never more requests than the limit in any window of send times, and never more than 128 unanswered.
//! 3. `model` finds out how the server counts, from nothing but what it shows, and paces accordingly.
//!
//! Simpler than it could be, where the difference was measured to be small: windows that open with a request have no
//! mode of their own; the margin for jitter is a fixed part of the window; the number of requests in flight is bounded,
//! but not controlled; and others are yielded to only by what they leave.

mod headers;
mod ledger;
mod long_window;
mod model;
mod others;
mod outage;
mod rule;
mod shared;
mod slots;
mod turns;
mod windows;

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use headers::RateHeaders;
use ledger::{Ledger, Outcome};
pub(crate) use long_window::{LongWindow, Part};
use model::{Count, Model};
pub use outage::Failures;
pub(crate) use outage::{Outage, is_failure};
use rule::Refusal;
pub(crate) use rule::Rules;
pub use shared::{MemberStats, Pauses, SharedGate, Turn};
pub(crate) use turns::LastMinute;
pub use turns::{PriorityClass, Requester};

type Time = Duration;

/// The status of a refused request (service document, section 8).
const TOO_MANY_REQUESTS: u16 = 429;
/// Unanswered requests before the first response: enough to keep pace, few enough to find out by.
const PROBES: usize = 4;
/// With so many unanswered requests, others wait where no response has come for so many usual round trips, and at least for
/// so long: the service may have stopped responding.
const STALLED: (usize, u32, Duration) = (6, 8, Duration::from_millis(150));
/// Unanswered requests at any time: three seconds at full pace, after which the service is not keeping up.
const MAX_IN_FLIGHT: usize = 128;
/// A higher limit is taken on again when no response has named the lower one for this long: endpoints may name several.
const LIMIT_LASTS: Duration = Duration::from_secs(10);

/// What the gate has to know before the first response.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GateSettings {
    /// Requests per window (service document, section 8.1). Headers can lower it, never raise it.
    pub limit: u32,
    /// The window of the limit.
    pub window: Duration,
    /// The part of the limit that one client may use, above 0 and at most 1.
    pub share: f64,
    /// Whether to keep to the limit. Without, only the rule is kept: for a service that counts nothing.
    pub paced: bool,
    /// Seed of the jitter in the back-off.
    pub seed: u64,
}

impl Default for GateSettings {
    fn default() -> Self {
        Self {
            limit: 40,
            window: Duration::from_secs(1),
            share: 1.0,
            paced: true,
            seed: 0,
        }
    }
}

/// How the gate currently finds the time of the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Even pacing, so that no window of any kind can overflow; right under every policy.
    Universal,
    /// The budget refills faster than it is spent, as a bucket does: the whole limit is used.
    Refill,
    /// The server counts in fixed windows and their edges are known.
    Locked,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Universal => "universal",
            Self::Refill => "refill",
            Self::Locked => "aligned",
        })
    }
}

/// Figures of one gate since it was made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GateStats {
    /// Requests sent, refused ones and retries included.
    pub sends: u64,
    /// Responses received, of any status.
    pub responses: u64,
    /// Requests that were given up without a response.
    pub lost: u64,
    /// Responses with status 429.
    pub refused: u64,
    /// Time paused because a response showed no request remaining (service document, section 8.3).
    pub paused_exhausted: Duration,
    /// Time paused because a request was refused (service document, sections 8.3 and 8.4).
    pub paused_refused: Duration,
    /// The current mode.
    pub mode: Mode,
    /// Requests per second the gate aims at now.
    pub target_rate: f64,
}

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
    endpoint: Endpoint,
}

impl Ticket {
    pub(crate) fn new(id: u64, sent: Time, endpoint: Endpoint) -> Self {
        Self { id, sent, endpoint }
    }

    /// How long ago it was sent.
    pub(crate) fn age(&self, now: Time) -> Duration {
        now.saturating_sub(self.sent)
    }
}

/// What a request is for. Limits are learned by endpoint class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Endpoint {
    /// The token endpoint, which may have a limit of its own.
    Token,
    /// All others.
    Api,
}

/// The state of one company's budget, as one process sees it, or several that share it.
///
/// A pure function of what it is told: it reads no clock and never waits. All times are those of one monotonic clock
/// of the caller, from any epoch, and must not go back.
#[derive(Debug, Serialize, Deserialize)]
pub struct Gate {
    settings: GateSettings,
    ledger: Ledger,
    rules: Rules,
    model: Model,
    /// When the present limit was named last.
    limit_named: Time,
    long_window: Option<LongWindow>,
    outage: Outage,
    /// When a request was last responded to, or has failed.
    last_outcome: Time,
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
            rules: Rules::new(settings.seed),
            model: Model::new(settings.limit, settings.window),
            limit_named: Time::ZERO,
            long_window: None,
            outage: Outage::new(settings.seed),
            last_outcome: Time::ZERO,
            sends: 0,
            responses: 0,
            lost: 0,
            refused: 0,
        }
    }

    /// When the next request may be sent. Asked again later, with nothing having happened in between, it never names an
    /// earlier time.
    pub fn ready(&mut self, now: Duration) -> Ready {
        self.ready_for(now, Endpoint::Api)
    }

    /// When the next request to this endpoint may be sent.
    pub fn ready_for(&mut self, now: Duration, endpoint: Endpoint) -> Ready {
        if self.outage.is_probed(now) {
            return Ready::AfterResponse;
        }
        let mut at = self.rules.until(endpoint).max(self.outage.probe_at());
        if self.settings.paced {
            let max = match self.responses {
                0 => PROBES,
                _ => MAX_IN_FLIGHT,
            };
            let in_flight = self.ledger.in_flight().count();
            let long_window = self.long_window.as_ref();
            let all_taken = long_window.is_some_and(|window| window.is_spent(&self.ledger));
            if in_flight >= max || in_flight > 0 && all_taken || self.is_stalled(now, in_flight) {
                return Ready::AfterResponse;
            }
            let paced = self.model.next(now, &self.ledger).max(self.rolling());
            // Whatever was learned, and from whomever: only the service makes us wait longer than a window.
            at = at.max(paced.min(now.saturating_add(self.settings.window)));
        }
        if at <= now { Ready::Now } else { Ready::At(at) }
    }

    /// A request is being sent.
    pub fn send(&mut self, now: Duration) -> Ticket {
        self.send_to(now, Endpoint::Api)
    }

    /// A request to this endpoint is being sent.
    pub fn send_to(&mut self, now: Duration, endpoint: Endpoint) -> Ticket {
        self.send_as(now, endpoint, 0)
    }

    fn send_as(&mut self, now: Time, endpoint: Endpoint, member: u64) -> Ticket {
        self.sends = self.sends.saturating_add(1);
        let ticket = Ticket::new(self.ledger.new_id(), now, endpoint);
        if self.settings.paced {
            self.model.sent(now);
            self.ledger.send(ticket, member, self.settings.window);
        }
        self.outage.sent(ticket);
        ticket
    }

    /// The request was not sent after all.
    pub fn unsend(&mut self, ticket: Ticket) {
        self.outage.unsent(ticket);
        let unsent = self.ledger.unsend(ticket);
        self.sends = self.sends.saturating_sub(u64::from(unsent));
    }

    /// The request failed, with no response or with one that broke off. `sent` is whether the server may have counted it;
    /// where no connection was made, its turn is given back.
    pub fn failed(&mut self, now: Duration, ticket: Ticket, sent: bool) {
        self.last_outcome = now;
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
        self.lost += u64::from(self.ledger.settle(ticket, Outcome::Lost));
    }

    /// A response has arrived.
    pub fn response(&mut self, now: Duration, ticket: Ticket, status: u16, headers: &RateHeaders) {
        let settled = self.ledger.settle(ticket, Outcome::Answered(now));
        let sent = ticket.sent;
        self.last_outcome = now;
        match is_failure(status, headers) {
            true => self.outage.failed(now, ticket),
            false => self.outage.succeeded(now, ticket),
        }
        self.responses += 1;
        self.refused += u64::from(status == TOO_MANY_REQUESTS);
        let refusal = Refusal::of(status, headers);
        let plan = (self.model.plan().limit, self.settings.window);
        let (is_common, must_wait) = self.rules.response(now, ticket, status, headers, plan);
        // Of a request that was given up, only what the rule says counts.
        if !self.settings.paced || !settled || !is_common {
            return;
        }
        self.adopt_limit(now, headers);
        let from = sent.saturating_sub(self.settings.window);
        let own = self.ledger.sent_between(from, sent);
        if let (Some(window), Some(remaining)) = (&mut self.long_window, headers.remaining) {
            window.seen(sent, remaining);
        }
        // What is left of a longer window says nothing about the pace.
        let shown = headers.remaining.filter(|_| self.long_window.is_none());
        let used_up = self.long_window.is_some() && headers.remaining == Some(0);
        if must_wait && !used_up {
            self.model.overshoot(now, sent, own);
        }
        if let Some(remaining) = shown {
            let limit = self.model.plan().limit;
            let count = Count {
                received: now,
                sent,
                remaining: remaining.min(limit.into()) as u32,
                own,
                rest: headers.reset.filter(|_| !headers.reset_is_integer),
                refused: status == TOO_MANY_REQUESTS,
            };
            self.model.seen(&count, &self.ledger);
        } else if refusal.is_none() {
            self.model.served(now);
        }
    }

    /// Figures for a receipt.
    #[must_use]
    pub fn stats(&self) -> GateStats {
        let (paused_exhausted, paused_refused) = self.rules.common.paused();
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

    /// Whether the service seems to have stopped responding, with many requests under way.
    fn is_stalled(&self, now: Time, in_flight: usize) -> bool {
        let (many, round_trips, least) = STALLED;
        let usual = self.ledger.mean() * round_trips;
        let oldest = self.ledger.in_flight().next();
        let since = oldest.map_or(now, |oldest| oldest.ticket.sent.max(self.last_outcome));
        self.responses > 0 && in_flight >= many && since + usual.max(least) < now
    }

    /// Never more than the limit in any window of send times, whatever the mode.
    fn rolling(&self) -> Time {
        let oldest = self.ledger.nth_last_sent(self.model.plan().limit as usize);
        oldest.map_or(Time::ZERO, |sent| sent + self.settings.window)
    }

    /// Takes on the limit that the server names where it is lower than the configured one: so many requests as our
    /// window has of it. A longer window is obeyed besides, and bounds the pace by no more than its whole limit.
    /// What was learned under another limit is forgotten.
    fn adopt_limit(&mut self, now: Time, headers: &RateHeaders) {
        let Some(named) = headers.limit else { return };
        if named == 0 && headers.remaining.is_some_and(|left| left > 0) {
            // Some gateways write 0 for "no limit"; what is left says that it is not a limit of none.
            return;
        }
        // To keep a limit of none we could never ask again, not even whether it is still none.
        let named = named.max(1);
        let ours = self.settings.window;
        let theirs = headers.window.unwrap_or(ours);
        let known = self.long_window.take();
        self.long_window = (theirs > ours).then(|| LongWindow::shown(known, named, theirs));
        // A cast from a float saturates.
        let per_window =
            (f64::from(named) * ours.as_secs_f64() / theirs.min(ours).as_secs_f64()) as u32;
        let limit = per_window.min(self.settings.limit).max(1);
        let present = self.model.plan().limit;
        if limit > present && now < self.limit_named.saturating_add(LIMIT_LASTS) {
            return;
        }
        if limit != present {
            self.model = Model::new(limit, ours);
        }
        self.limit_named = now;
    }
}
