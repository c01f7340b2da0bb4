//! The client rule of the service document (section 8.3), taken literally, and the back-off where it has no figure.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use fastrand::Rng;

use super::headers::RateHeaders;
use super::{Endpoint, Ticket, Time};

/// Base of the back-off when a refusal names no time: the window of the documented limit.
const BLIND_BASE: f64 = 1.0;
/// Base of the back-off where a time is named, for the server knows better.
const TOLD_BASE: f64 = 0.25;
/// Base of the back-off after a 503, and the longest one: if that goes on, `outage` decides.
const UNAVAILABLE_BASE: f64 = 0.1;
const LONGEST_UNAVAILABLE: f64 = 1.6;
/// No back-off of our own is longer, in seconds.
const LONGEST_BACKOFF: f64 = 16.0;
/// The service is at ease again when this long after the pause for a refusal it has refused nothing more: a call that it
/// refuses again and again then waits longer each time, whatever becomes of others meanwhile.
const CALM: Duration = Duration::from_secs(2);
/// The status of a service that cannot respond now (RFC 9110, section 15.6.4).
const UNAVAILABLE: u16 = 503;
/// Steps after which the back-off has reached its longest anyway.
const MOST_STEPS: i32 = 10;

/// Why sending is paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// The budget of the window is used up.
    Exhausted,
    /// The server refused a request.
    Refused,
}

/// With what the server refused a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The status that the service document names.
    TooMany,
    /// Some gateways respond with 503 in its place, then without the service's headers. It may as well be a fault that
    /// passes at once.
    Unavailable,
}

impl Refusal {
    pub(super) fn of(status: u16, headers: &RateHeaders) -> Option<Self> {
        match status {
            super::TOO_MANY_REQUESTS => Some(Self::TooMany),
            UNAVAILABLE if headers.remaining.is_none() => Some(Self::Unavailable),
            _ => None,
        }
    }
}

/// The rule for all requests, and for those under a limit that only the token endpoint has.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Rules {
    pub(super) common: Rule,
    pub(super) token: Rule,
}

impl Rules {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            common: Rule::new(seed),
            token: Rule::new(seed),
        }
    }

    /// Nothing may be sent to this endpoint before this time.
    pub(crate) fn until(&self, endpoint: Endpoint) -> Time {
        match endpoint {
            Endpoint::Token => self.common.until.max(self.token.until),
            Endpoint::Api => self.common.until,
        }
    }

    /// Lets nothing be sent before `told`, and does not wait beyond `latest`.
    pub(super) fn correct(&mut self, told: Time, latest: Time) {
        self.common.until = self.common.until.max(told);
        for rule in [&mut self.common, &mut self.token] {
            rule.until = rule.until.min(latest);
            rule.refused_until = rule.refused_until.min(latest);
        }
    }

    /// Applies the rule to a response; `limit` and `window` are those of all requests. Whether it is about that limit, and
    /// whether we must wait.
    pub(crate) fn response(
        &mut self,
        now: Time,
        ticket: Ticket,
        status: u16,
        headers: &RateHeaders,
        (limit, window): (u32, Duration),
    ) -> (bool, bool) {
        let differs = |named| (named, headers.window.unwrap_or(window)) != (limit, window);
        let is_own = ticket.endpoint == Endpoint::Token && headers.limit.is_some_and(differs);
        let rule = match is_own {
            true => &mut self.token,
            false => &mut self.common,
        };
        let refusal = Refusal::of(status, headers);
        let must_wait = rule.response(now, ticket.sent, refusal, headers, window);
        (!is_own, must_wait)
    }
}

/// When the documented rule lets the next request go.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Rule {
    until: Time,
    /// Of the jitter that is drawn next.
    seed: u64,
    refusals_in_a_row: i32,
    last_refusal: Time,
    /// When the pause for it ends.
    refused_until: Time,
    exhausted: Duration,
    refused: Duration,
}

impl Rule {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            until: Time::ZERO,
            seed,
            refusals_in_a_row: 0,
            last_refusal: Time::ZERO,
            refused_until: Time::ZERO,
            exhausted: Duration::ZERO,
            refused: Duration::ZERO,
        }
    }

    /// Lets nothing be sent before this time.
    pub(super) fn wait_until(&mut self, until: Time) {
        self.until = self.until.max(until);
    }

    /// Time paused so far because the budget was used up, and because of refusals.
    pub(super) fn paused(&self) -> (Duration, Duration) {
        (self.exhausted, self.refused)
    }

    /// Applies the rule to the response received `now` to a request that left at `sent`. `default_wait` is the wait meant by
    /// a reset of 0 in whole seconds, and by none at all. Whether we are told to wait.
    pub(super) fn response(
        &mut self,
        now: Time,
        sent: Time,
        refusal: Option<Refusal>,
        headers: &RateHeaders,
        default_wait: Duration,
    ) -> bool {
        let told = headers.retry_after.or(headers.reset);
        if refusal.is_none() && sent > self.refused_until.saturating_add(CALM) {
            self.refusals_in_a_row = 0;
        }
        let cause = match headers.remaining {
            _ if refusal.is_some() => Cause::Refused,
            Some(0) => Cause::Exhausted,
            _ => return false,
        };
        let vague = headers.retry_after.is_none() && headers.reset_is_integer;
        let wait = match told {
            Some(wait) if wait.is_zero() && vague => default_wait,
            Some(wait) => wait,
            None if refusal == Some(Refusal::Unavailable) => Duration::ZERO,
            None => default_wait,
        };
        let wait = match cause {
            Cause::Exhausted => wait,
            Cause::Refused => {
                let (base, longest) = match refusal {
                    Some(Refusal::Unavailable) => (UNAVAILABLE_BASE, LONGEST_UNAVAILABLE),
                    _ if told.is_some() => (TOLD_BASE, LONGEST_BACKOFF),
                    _ => (BLIND_BASE, LONGEST_BACKOFF),
                };
                let wait = wait.max(self.back_off(now, sent, base, longest));
                self.refused_until = self.refused_until.max(now.saturating_add(wait));
                wait
            }
        };
        self.pause(now, wait, cause);
        true
    }

    /// Grows with each refusal of a request sent after the one before: those already under way say nothing new.
    fn back_off(&mut self, now: Time, sent: Time, base: f64, longest: f64) -> Duration {
        if self.refusals_in_a_row == 0 || sent > self.last_refusal {
            self.refusals_in_a_row = (self.refusals_in_a_row + 1).min(MOST_STEPS);
            self.last_refusal = now;
        }
        let doubled = base * 2_f64.powi(self.refusals_in_a_row - 1);
        let mut rng = Rng::with_seed(self.seed);
        let jitter = 0.5 + 0.5 * rng.f64();
        self.seed = rng.get_seed();
        Duration::from_secs_f64(doubled.min(longest) * jitter)
    }

    fn pause(&mut self, now: Time, wait: Duration, cause: Cause) {
        let until = now.saturating_add(wait);
        let longer = until.saturating_sub(self.until.max(now));
        match cause {
            Cause::Exhausted => self.exhausted += longer,
            Cause::Refused => self.refused += longer,
        }
        self.until = self.until.max(until);
    }
}
