//! What a member has seen and not told the server yet.

use crate::clock::Time;
use crate::gate::RateHeaders;
use std::time::Duration;

/// The news since the last question; times are those of this process.
#[derive(Debug, Default)]
pub(super) struct Observed {
    /// The newest count: when its request was sent, the limit in requests a second, what was left.
    pub(super) count: Option<(Time, f64, f64)>,
    /// When the newest request was sent that saw nothing left, or was refused.
    pub(super) used_up: Option<Time>,
    /// Until when the rule lets nothing be sent.
    pub(super) pause: Option<Time>,
}

impl Observed {
    /// Takes in a response to a request sent at `sent`, after which the rule lets nothing go before `until`.
    pub(super) fn response(
        &mut self,
        now: Time,
        sent: Time,
        until: Time,
        headers: &RateHeaders,
        window: Duration,
    ) {
        if until > now {
            self.pause = Some(until);
            self.used_up = self.used_up.max(Some(sent));
        }
        let (Some(limit), Some(remaining)) = (headers.limit, headers.remaining) else {
            return;
        };
        let theirs = headers.window.unwrap_or(window);
        // What is left of a longer window says nothing about the pace; and 0 is how some gateways write "no limit".
        if theirs > window || limit == 0 || self.count.is_some_and(|(newest, ..)| newest > sent) {
            return;
        }
        let per_second = f64::from(limit) / theirs.as_secs_f64().max(f64::MIN_POSITIVE);
        let scale = per_second / f64::from(limit);
        self.count = Some((sent, per_second, remaining as f64 * scale));
    }

    /// Whether the others have to know at once.
    pub(super) fn is_urgent(&self) -> bool {
        self.pause.is_some()
    }
}
