//! The client rule of the service document (section 8.3), taken literally, and a back-off for cases without a figure in
//! it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::headers::RateHeaders;
use super::{Endpoint, TOO_MANY_REQUESTS, Ticket, Time, WINDOW, back_off};

/// First and longest back-off in seconds after a refusal that names a time, which the server knows better.
const BACKOFF_WITH_HINT: (f64, f64) = (0.25, 16.0);
/// First and longest back-off in seconds after a refusal without a time. The first is the window of the documented
/// limit.
const BACKOFF_WITHOUT_HINT: (f64, f64) = (1.0, 16.0);
/// First and longest back-off in seconds after a 503. If the service keeps failing, `outage` decides.
const BACKOFF_503: (f64, f64) = (0.1, 1.6);
/// Time without a refusal, after the pause for the last one, that resets the back-off.
const RESET_BACKOFF_AFTER: Duration = Duration::from_secs(2);
/// The status of a service that cannot respond now (RFC 9110, section 15.6.4).
const UNAVAILABLE: u16 = 503;

/// The rule for all requests, and for those under a limit that only the token endpoint has.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Rules {
    common: ClientRule,
    token: ClientRule,
}

/// The time at which the documented rule admits the next request.
#[derive(Debug, Default, Serialize, Deserialize)]
struct ClientRule {
    until: Time,
    refusals_in_a_row: u32,
    /// The end of the pause after the last refusal.
    refused_until: Time,
}

impl Rules {
    /// Returns the time before which no request may be sent to this endpoint.
    pub(crate) fn until(&self, endpoint: Endpoint) -> Time {
        match endpoint {
            Endpoint::Token => self.common.until.max(self.token.until),
            Endpoint::Api => self.common.until,
        }
    }

    /// Extends the pause to `earliest` and limits it to `latest`.
    pub(super) fn clamp_pauses(&mut self, earliest: Time, latest: Time) {
        self.common.until = self.common.until.max(earliest);
        for rule in [&mut self.common, &mut self.token] {
            rule.until = rule.until.min(latest);
            rule.refused_until = rule.refused_until.min(latest);
        }
    }

    /// Applies the rule to a response. `limit` is the limit of all requests. Returns whether the response is about that
    /// limit, and whether we must wait.
    pub(crate) fn response(
        &mut self,
        now: Time,
        ticket: Ticket,
        status: u16,
        headers: &RateHeaders,
        limit: u32,
    ) -> (bool, bool) {
        let differs = |named| (named, headers.window.unwrap_or(WINDOW)) != (limit, WINDOW);
        let is_own = ticket.endpoint == Endpoint::Token && headers.limit.is_some_and(differs);
        let rule = if is_own {
            &mut self.token
        } else {
            &mut self.common
        };
        let named = headers.retry_after.or(headers.reset);
        let base = match status {
            TOO_MANY_REQUESTS if named.is_some() => Some(BACKOFF_WITH_HINT),
            TOO_MANY_REQUESTS => Some(BACKOFF_WITHOUT_HINT),
            // Some gateways respond with 503 in place of 429, and without the service's headers. A 503 may also be a
            // fault that passes at once.
            UNAVAILABLE if headers.remaining.is_none() => Some(BACKOFF_503),
            _ => None,
        };
        let must_wait = base.is_some() || headers.remaining == Some(0);
        let is_vague = headers.retry_after.is_none() && headers.reset_is_integer;
        let mut wait = match named {
            // A reset of 0 whole seconds may still be almost a second away.
            Some(Duration::ZERO) if is_vague => WINDOW,
            None if base == Some(BACKOFF_503) => Duration::ZERO,
            named => named.unwrap_or(WINDOW),
        };
        if let Some((base, longest)) = base {
            // The back-off grows only with refusals of requests that were sent after the last pause. Requests in flight
            // during the pause are no new evidence.
            if ticket.sent >= rule.refused_until {
                rule.refusals_in_a_row = rule.refusals_in_a_row.saturating_add(1);
            }
            let doublings = rule.refusals_in_a_row.saturating_sub(1);
            wait = wait.max(back_off(base, doublings, longest, ticket.sent));
            rule.refused_until = rule.refused_until.max(now.saturating_add(wait));
        } else if ticket.sent > rule.refused_until.saturating_add(RESET_BACKOFF_AFTER) {
            rule.refusals_in_a_row = 0;
        }
        if must_wait {
            rule.until = rule.until.max(now.saturating_add(wait));
        }
        (!is_own, must_wait)
    }
}
