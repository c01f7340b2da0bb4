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
mod long_window;
mod model;
mod other_clients;
mod phase_lock;
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
use long_window::LongWindow;
use model::Model;
use rule::{Refusal, Rule};
pub use settings::GateSettings;
pub use shared::{MemberStats, SharedGate, Turn};
pub use stats::{GateStats, Mode};
pub use turns::{Requester, PriorityClass};

type Time = Duration;

/// The status of a refused request (service document, section 8).
const TOO_MANY_REQUESTS: u16 = 429;
/// Unanswered requests before the first response: enough to keep pace, few enough to find out by.
const PROBES: usize = 4;
/// Unanswered requests at any time: three seconds at full pace, after which the service is not keeping up.
const MAX_IN_FLIGHT: usize = 128;
/// A higher limit is taken on again when no response has named the lower one for this long: endpoints may name several.
const LIMIT_LASTS: Duration = Duration::from_secs(10);

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
    latency: Latency,
    rule: Rule,
    /// The rule under a limit that only the token endpoint has.
    token_rule: Rule,
    model: Model,
    /// When the present limit was named last.
    limit_named: Time,
    long_window: Option<LongWindow>,
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
            token_rule: Rule::new(settings.seed),
            model: settings.model(settings.limit),
            limit_named: Time::ZERO,
            long_window: None,
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
        let mut at = match endpoint {
            Endpoint::Token => self.rule.until().max(self.token_rule.until()),
            Endpoint::Api => self.rule.until(),
        };
        if self.settings.paced {
            let max = match self.responses {
                0 => PROBES,
                _ => MAX_IN_FLIGHT,
            };
            let in_flight = self.ledger.in_flight();
            let long_window = self.long_window.as_ref();
            let all_taken = long_window.is_some_and(|window| window.left(&self.ledger) == 0);
            if in_flight >= max || in_flight > 0 && all_taken {
                return Ready::AfterResponse;
            }
            let paced = self.model.next(now, &self.ledger, &self.latency);
            at = at.max(self.rolling()).max(paced);
        }
        if at <= now { Ready::Now } else { Ready::At(at) }
    }

    /// A request is being sent.
    pub fn send(&mut self, now: Duration) -> Ticket {
        self.send_to(now, Endpoint::Api)
    }

    /// A request to this endpoint is being sent.
    pub fn send_to(&mut self, now: Duration, endpoint: Endpoint) -> Ticket {
        self.sends += 1;
        let id = match self.settings.paced {
            true => {
                self.model.sent(now);
                self.ledger.send(now, self.settings.window)
            }
            false => self.sends,
        };
        Ticket {
            id,
            sent: now,
            endpoint,
        }
    }

    /// The request was not sent after all.
    pub fn unsend(&mut self, ticket: Ticket) {
        let unsent = self.ledger.unsend(ticket);
        self.sends = self.sends.saturating_sub(u64::from(unsent));
    }

    /// No response will come, though the server may have counted the request.
    pub fn lost(&mut self, _now: Duration, ticket: Ticket) {
        let settled = self.ledger.settle(ticket, Outcome::Lost);
        self.lost += u64::from(settled.is_some());
    }

    /// A response has arrived.
    pub fn response(&mut self, now: Duration, ticket: Ticket, status: u16, headers: &RateHeaders) {
        let settled = self.ledger.settle(ticket, Outcome::Answered(now));
        let sent = ticket.sent;
        self.responses += 1;
        self.refused += u64::from(status == TOO_MANY_REQUESTS);
        let default_wait = self.settings.window;
        let refusal = Refusal::of(status, headers);
        let own_limit = self.is_own_limit(ticket, headers);
        let rule = match own_limit {
            true => &mut self.token_rule,
            false => &mut self.rule,
        };
        let must_wait = rule.response(now, sent, refusal, headers, default_wait);
        // Of a request that was given up, only what the rule says counts.
        if !self.settings.paced || settled.is_none() {
            return;
        }
        self.latency.add(now, now.saturating_sub(sent));
        if own_limit {
            return;
        }
        self.adopt_limit(now, headers);
        let from = sent.saturating_sub(self.settings.window);
        let own = self.ledger.sent_between(from, sent) as f64;
        if let (Some(window), Some(remaining)) = (&mut self.long_window, headers.remaining) {
            window.seen(sent, remaining);
        }
        // What is left of a longer window says nothing about the pace.
        let shown = headers.remaining.filter(|_| self.long_window.is_none());
        let used_up = self.long_window.is_some() && headers.remaining == Some(0);
        if must_wait && !used_up {
            self.model.overshoot(now, sent, own, &self.latency);
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

    /// Whether the service has named a limit to the token endpoint that is not the one of all others.
    pub(crate) fn is_own_limit(&self, ticket: Ticket, headers: &RateHeaders) -> bool {
        let differs = headers.limit.is_some_and(|named| {
            let window = headers.window.unwrap_or(self.settings.window);
            (named, window) != (self.model.limit(), self.settings.window)
        });
        ticket.endpoint == Endpoint::Token && differs
    }

    /// Never more than our budget in any window of send times, whatever the mode.
    fn rolling(&self) -> Time {
        let oldest = self.ledger.nth_last_sent(self.model.budget() as usize);
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
        if theirs <= ours {
            self.long_window = None;
        } else {
            let known = self.long_window.take();
            let same = known.filter(|known| known.is(named, theirs));
            self.long_window = Some(same.unwrap_or_else(|| LongWindow::new(named, theirs)));
        }
        // A cast from a float saturates.
        let per_window =
            (f64::from(named) * ours.as_secs_f64() / theirs.min(ours).as_secs_f64()) as u32;
        let limit = per_window.min(self.settings.limit).max(1);
        let present = self.model.limit();
        if limit > present && now < self.limit_named.saturating_add(LIMIT_LASTS) {
            return;
        }
        if limit != present {
            self.model = self.settings.model(limit);
        }
        self.limit_named = now;
    }
}
