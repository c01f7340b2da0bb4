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
//!    something better is known, `refill` for buckets, `lock` for windows that follow a clock.
//!
//! Simpler than it could be, where the difference was measured to be small: windows that open with a request have no
//! mode of their own; the number of requests in flight is bounded, but not controlled; and others are yielded to only
//! by what they leave.

mod guard;
mod headers;
mod latency;
mod ledger;
mod lock;
mod model;
mod neighbour;
mod refill;
mod rule;
mod slots;
mod stats;
mod universal;
mod windows;

use std::time::Duration;

pub use headers::RateHeaders;
use latency::Latency;
use ledger::{Fate, Ledger};
use model::Model;
use rule::{Refusal, Rule};
pub use stats::{GateStats, Mode};

type Time = Duration;

/// The status of a refused request (service document, section 8).
const TOO_MANY_REQUESTS: u16 = 429;
/// Unanswered requests before the first response: enough to keep pace, few enough to find out by.
const PROBES: usize = 4;
/// Unanswered requests at any time: three seconds at full pace, after which the service is not keeping up.
const MOST_IN_FLIGHT: usize = 128;

/// What one response tells about the budget.
#[derive(Debug, Clone, Copy)]
struct Count {
    received: Time,
    sent: Time,
    limit: f64,
    remaining: f64,
    /// Our own requests within the window that ended with this one, by send time.
    own: f64,
    /// How long the server's window still lasts, where it tells parts of a second.
    rest: Option<Duration>,
    refused: bool,
}

/// What the gate has to know before the first response.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GateSettings {
    /// Requests per window (service document, section 8.1). Headers can lower it, never raise it.
    pub limit: u32,
    /// The window of the limit.
    pub window: Duration,
    /// The part of the limit that is ours, above 0 and at most 1, where several processes share one.
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

impl GateSettings {
    /// What is believed at first about a server that counts to `limit` a `window`.
    fn model(&self, limit: u32, window: Duration) -> Model {
        let limit = limit.max(1);
        // A cast from a float saturates, and so keeps a senseless share within the limit.
        let budget = ((f64::from(limit) * self.share) as u32).clamp(1, limit);
        Model::new(limit, budget, window)
    }
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ticket {
    id: u64,
    sent: Time,
}

/// The state of one company's budget as one process sees it.
///
/// A pure function of what it is told: it reads no clock and never waits. All times are those of one monotonic clock
/// of the caller, from any epoch, and must not go back.
#[derive(Debug)]
pub struct Gate {
    settings: GateSettings,
    /// The window that is paced by: that of the settings, or a longer one for less than one request in it.
    window: Duration,
    ledger: Ledger,
    latency: Latency,
    rule: Rule,
    model: Model,
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
            window: settings.window,
            ledger: Ledger::default(),
            latency: Latency::default(),
            rule: Rule::new(settings.seed),
            model: settings.model(settings.limit, settings.window),
            sends: 0,
            responses: 0,
            lost: 0,
            refused: 0,
        }
    }

    /// When the next request may be sent. Asked again later, with nothing having happened in between, it never names an
    /// earlier time.
    pub fn ready(&mut self, now: Duration) -> Ready {
        if !self.settings.paced {
            let until = self.rule.until();
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
        if self.ledger.in_flight() >= most {
            return Ready::AfterResponse;
        }
        let paced = self.model.next(now, &self.ledger, &self.latency);
        let at = self.rule.until().max(self.rolling()).max(paced);
        if at <= now { Ready::Now } else { Ready::At(at) }
    }

    /// A request is being sent.
    pub fn send(&mut self, now: Duration) -> Ticket {
        self.sends += 1;
        if !self.settings.paced {
            return Ticket {
                id: self.sends,
                sent: now,
            };
        }
        self.model.sent(now);
        let id = self.ledger.send(now, self.window);
        Ticket { id, sent: now }
    }

    /// The request was not sent after all.
    pub fn unsend(&mut self, ticket: Ticket) {
        self.sends -= u64::from(self.ledger.unsend(ticket.id));
    }

    /// No response will come, though the server may have counted the request.
    pub fn lost(&mut self, _now: Duration, ticket: Ticket) {
        let settled = self.ledger.settle(ticket.id, Fate::Lost);
        self.lost += u64::from(settled.is_some());
    }

    /// A response has arrived.
    pub fn response(&mut self, now: Duration, ticket: Ticket, status: u16, headers: &RateHeaders) {
        let settled = self.ledger.settle(ticket.id, Fate::Answered(now));
        if settled.is_none() && self.settings.paced {
            return;
        }
        let sent = ticket.sent;
        self.responses += 1;
        self.refused += u64::from(status == TOO_MANY_REQUESTS);
        let nought = self.settings.window;
        let refusal = Refusal::of(status, headers);
        let told_to_wait = self.rule.response(now, sent, refusal, headers, nought);
        if !self.settings.paced {
            return;
        }
        self.latency.add(now, now.saturating_sub(sent));
        self.adopt_limit(headers);
        let from = sent.saturating_sub(self.window);
        let own = self.ledger.sent_between(from, sent) as f64;
        if told_to_wait {
            self.model.shortage(now, sent, own, &self.latency);
        }
        if let Some(remaining) = headers.remaining {
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
            target_rate: self.model.aim() / self.window.as_secs_f64(),
        }
    }

    /// Never more than our budget in any window of send times, whatever the mode.
    fn rolling(&self) -> Time {
        let oldest = self.ledger.nth_last_sent(self.model.budget() as usize);
        oldest.map_or(Time::ZERO, |sent| sent + self.window)
    }

    /// Takes on the limit that the server names where it is lower than the configured one: so many requests as our
    /// window has of it, or where that is less than one, a window as long as one request takes. Parts of requests are
    /// left unused. What was learned under another limit is forgotten.
    fn adopt_limit(&mut self, headers: &RateHeaders) {
        let Some(named) = headers.limit else { return };
        // To keep a limit of none we could never ask again, not even whether it is still none.
        let named = named.max(1);
        let ours = self.settings.window;
        let theirs = headers.window.unwrap_or(ours);
        // A cast from a float saturates.
        let limit = (f64::from(named) * ours.as_secs_f64() / theirs.as_secs_f64()) as u32;
        let limit = limit.min(self.settings.limit).max(1);
        let window = ours.max(theirs / named);
        if (limit, window) != (self.model.limit(), self.window) {
            self.model = self.settings.model(limit, window);
            self.window = window;
        }
    }
}
