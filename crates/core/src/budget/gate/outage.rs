//! Outages: while requests fail in a row, one at a time probes the service, and all others wait.
//!
//! Each failed probe doubles the time until the next one. The state is part of the gate, so all processes that share a
//! budget share its probes, and their number does not make an outage worse.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{RateHeaders, RequestOutcome, Ticket, Time, back_off};
use crate::error::failure::{Course, of_status};

/// The number of failures in a row that make an outage. A single failure happens to healthy services as well.
const MIN_FAILURES_OF_OUTAGE: u32 = 2;
/// The time until the first probe, in seconds. It doubles with each failed probe, and half of it is random.
const FIRST_PROBE_S: f64 = 0.5;
/// The longest time between two probes, in seconds.
const MAX_PROBE_INTERVAL_S: f64 = 8.0;

/// A series of failed requests without a success in between.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failures {
    /// The number of failures.
    pub count: u32,
    /// The send time of the first failure, or of the last success if that was later.
    pub since: Duration,
}

impl Failures {
    /// Returns whether the failures are an outage.
    pub(crate) fn is_outage(&self) -> bool {
        self.count >= MIN_FAILURES_OF_OUTAGE
    }
}

/// The failures of the service in a row, and the next time to probe it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Outage {
    failures: Failures,
    /// The number of times the back-off has doubled.
    steps: u32,
    last_success: Time,
    /// The failures that the latest success ended. They count again if the body of that response breaks off.
    ended: Option<(Ticket, Failures, u32)>,
    probe: Option<Ticket>,
    /// The time before which no probe is sent.
    pub(crate) probe_at: Time,
}

/// Returns whether a response says that the service is down. A 503 that shows an exhausted budget is about the rate
/// limit.
pub(crate) fn is_failure(status: u16, headers: &RateHeaders) -> bool {
    let is_limit = status == 503 && headers.remaining == Some(0);
    !is_limit && of_status(status).is_some_and(|failure| failure.course == Course::Outage)
}

impl Outage {
    /// Returns the failures so far, or `None` if there are none.
    pub(crate) fn failures(&self) -> Option<Failures> {
        (self.failures.count > 0).then_some(self.failures)
    }

    /// Returns whether all requests wait for the outcome of a probe. A probe that takes too long no longer counts.
    pub(crate) fn is_probed(&self, now: Time) -> bool {
        let lasts = |probe: Ticket| {
            probe.sent <= now && (now - probe.sent).as_secs_f64() < MAX_PROBE_INTERVAL_S
        };
        self.failures.is_outage() && self.probe.is_some_and(lasts)
    }

    /// Records that a request is sent. During an outage it is the probe.
    pub(crate) fn sent(&mut self, ticket: Ticket) {
        if self.failures.is_outage() {
            self.probe = Some(ticket);
        }
    }

    /// Records the outcome of a request.
    pub(crate) fn complete(&mut self, now: Time, ticket: Ticket, outcome: &RequestOutcome) {
        match outcome {
            RequestOutcome::Unsent => self.probe = self.probe.filter(|probe| *probe != ticket),
            RequestOutcome::Lost => self.lost(now, ticket),
            RequestOutcome::Answered(status, headers) if !is_failure(*status, headers) => {
                self.succeeded(now, ticket);
            }
            RequestOutcome::Answered(..) | RequestOutcome::Failed { .. } => {
                self.failed(now, ticket)
            }
        }
    }

    /// Records that a request was abandoned. This says nothing about the service, and does not make probes more
    /// frequent.
    pub(crate) fn lost(&mut self, now: Time, ticket: Ticket) {
        if self.probe.take_if(|probe| *probe == ticket).is_some() {
            self.back_off(now, ticket);
        }
    }

    /// Records a response which shows that the service is not down.
    pub(crate) fn succeeded(&mut self, now: Time, ticket: Ticket) {
        self.ended = Some((ticket, self.failures, self.steps));
        (self.failures, self.steps) = Default::default();
        self.last_success = now;
        (self.probe, self.probe_at) = Default::default();
    }

    /// Records that a request failed, or that the body of a successful response broke off.
    pub(crate) fn failed(&mut self, now: Time, ticket: Ticket) {
        let mut probed = self.probe.take_if(|probe| *probe == ticket).is_some();
        if let Some((_, failures, steps)) = self.ended.take_if(|(ended, ..)| *ended == ticket)
            && failures.count > self.failures.count
        {
            (self.failures, self.steps) = (failures, steps);
            probed = failures.is_outage();
        }
        let failures = &mut self.failures;
        if failures.count == 0 {
            failures.since = ticket.sent.max(self.last_success).min(now);
        }
        failures.count = failures.count.saturating_add(1);
        // Failures of requests that were sent before the outage began are no new evidence.
        if failures.is_outage() && (probed || self.steps == 0) {
            self.back_off(now, ticket);
        }
    }

    fn back_off(&mut self, now: Time, ticket: Ticket) {
        let wait = back_off(FIRST_PROBE_S, self.steps, MAX_PROBE_INTERVAL_S, ticket.sent);
        self.steps = self.steps.saturating_add(1);
        self.probe_at = now.saturating_add(wait);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Endpoint;
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn ticket(id: u64, sent: Time) -> Ticket {
        let endpoint = Endpoint::Api;
        Ticket { id, sent, endpoint }
    }

    /// Returns an outage that began at 1 s, when two requests failed. The second one was sent at this time.
    fn begun(sent: Time) -> Outage {
        let mut outage = Outage::default();
        for id in 1..=2 {
            outage.failed(1000 * MS, ticket(id, sent));
            assert_eq!(
                outage.probe_at.is_zero(),
                id == 1,
                "one failure is no outage"
            );
        }
        outage
    }

    #[test]
    fn probes_back_off_and_few_are_sent_in_20_s() {
        for nanos in 0..100 {
            let sent = 950 * MS + Duration::from_nanos(nanos);
            let mut outage = begun(sent);
            let (mut now, mut probes) = (1000 * MS, 0);
            for step in 0..40 {
                // Requests that were in flight when the outage began do not delay the probe.
                let at = outage.probe_at;
                outage.failed(now, ticket(3, 990 * MS));
                assert_eq!(outage.probe_at, at);
                let ceiling = Duration::from_secs_f64((0.5 * 2_f64.powi(step)).min(8.0));
                let wait = at - now;
                assert!(wait >= ceiling / 2 && wait <= ceiling, "{step}: {wait:?}");
                now = at;
                probes += u32::from(now < 21_000 * MS);
                let probe = ticket(10 + step as u64, now);
                outage.sent(probe);
                outage.complete(now, probe, &RequestOutcome::Unsent);
                assert_eq!((outage.is_probed(now), outage.probe_at), (false, at));
                outage.sent(probe);
                assert!(outage.is_probed(now));
                // An abandoned probe counts for the back-off as well.
                match step % 3 {
                    0 => outage.lost(now, probe),
                    _ => outage.failed(now, probe),
                }
                assert!(!outage.is_probed(now));
            }
            assert!((5..=8).contains(&probes), "{probes}");
            let failures = outage.failures().unwrap();
            assert_eq!((failures.count, failures.since), (68, sent));
        }
    }

    #[test]
    fn any_success_ends_it_unless_its_body_breaks_off() {
        let mut outage = begun(950 * MS);
        let probe = ticket(3, outage.probe_at);
        let now = probe.sent + 10 * MS;
        outage.sent(probe);
        outage.succeeded(now, probe);
        assert_eq!((outage.failures(), outage.probe_at), (None, Time::ZERO));
        outage.failed(now + MS, probe);
        let failures = outage.failures().unwrap();
        assert_eq!((failures.count, failures.since), (3, 950 * MS));
        assert!(outage.probe_at >= now + 500 * MS);
        outage.succeeded(now + 2 * MS, ticket(5, now));
        outage.failed(now + 3 * MS, ticket(6, now));
        let failures = outage.failures().unwrap();
        assert_eq!((failures.count, failures.since), (1, now + 2 * MS));
    }

    #[test]
    fn a_503_that_shows_an_exhausted_budget_is_about_the_rate_limit() {
        let shown = |remaining| RateHeaders {
            remaining,
            ..RateHeaders::default()
        };
        for (status, remaining, failure) in [
            (500, None, true),
            (503, None, true),
            (503, Some(0), false),
            (504, Some(0), true),
            (429, None, false),
            (501, None, false),
        ] {
            assert_eq!(is_failure(status, &shown(remaining)), failure, "{status}");
        }
    }
}
