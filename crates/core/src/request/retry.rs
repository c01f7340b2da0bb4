//! Decides whether a call is sent again: its attempts, its deadline, and its patience with a service that is down. The
//! decisions are pure functions of the time and the failures so far. `error/failure.rs` says which status or failure
//! may be sent again, and the gate decides when the next request may be sent.

use super::troubles::Trouble;
use crate::budget::{Admission, Failures, LastMinute, back_off};
use crate::clock::Time;
use crate::error::{Error, ErrorKind, Result};
use crate::settings::Config;
use std::time::Duration;

/// The back-off after the first fault, in seconds. It doubles with each fault. Half of it is random, so that clients do
/// not retry in step.
const FAULT_BASE: f64 = 0.05;
/// The longest back-off, in seconds.
const MAX_BACKOFF_S: f64 = 16.0;
/// The interval between attempts to reach the shared budget.
const UNREACHABLE: Duration = Duration::from_millis(100);
/// The number of tokens, each refused right after it was issued, that ends a call. A service may revoke any number of
/// working tokens, but if it refuses a new one, it will refuse the next ones as well.
const MOST_NEW_REFUSED: u32 = 2;

/// The time by which a call must be done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    time: Time,
    /// True if the time that the call waits for others does not count.
    is_extendable: bool,
}

impl Deadline {
    /// Returns the deadline of a single call that began at `now`.
    pub(crate) fn of_call(now: Time, timeout: Duration) -> Self {
        Deadline {
            time: now.saturating_add(timeout),
            is_extendable: false,
        }
    }

    /// Returns the deadline of a page of a scan. The time that it waits for other pages, for memory or for a service
    /// that is down does not count.
    pub(crate) fn of_page(now: Time, timeout: Duration) -> Self {
        Deadline {
            is_extendable: true,
            ..Self::of_call(now, timeout)
        }
    }

    /// Returns the time by which the call must be done.
    pub(crate) fn time(self) -> Time {
        self.time
    }

    /// Adds the time that a page of a scan waited for others.
    pub(crate) fn extend(&mut self, waited: Duration) {
        if self.is_extendable {
            self.time = self.time.saturating_add(waited);
        }
    }

    fn left(self, now: Time) -> Duration {
        self.time.saturating_sub(now)
    }
}

/// The failures of a call so far, and the decision whether it is sent again. It reads no clock.
pub(crate) struct RetryState<'a> {
    config: &'a Config,
    /// True if the call fetches a page of a scan.
    pub(crate) is_scan: bool,
    began: Time,
    /// The time at which the page last got smaller, until the smaller page is sent.
    smaller_since: Option<Time>,
    /// The number of failures in a row before this call began, in the outage that it waits for.
    failures_before: Option<u32>,
    /// The number of requests sent so far, without those for tokens.
    pub(crate) attempts: u32,
    /// The time at which the last of them was sent.
    pub(super) sent: Time,
    pub(crate) token_requests: u32,
    /// The number of failures that count against `max_attempts`.
    faults: u32,
    /// The number of failures that were not part of an outage.
    failed: u32,
    /// The faults of the service that this call met within the last minute.
    own: LastMinute,
    /// The number of tokens that were refused right after they were issued.
    new_refused: u32,
    /// True until the next attempt if the last one was redirected, or refused for its token or for the rate limit. Such
    /// a page already waited for its turn, so it does not queue with the other scans again. While the service is down,
    /// pages do queue again, so that single calls get to probe it, too.
    pub(crate) is_refused: bool,
    /// True if the next error ends the call.
    pub(crate) is_final: bool,
    last: Option<Error>,
    /// The last failure that was more than a redirect, for the log.
    pub(super) trouble: Option<Trouble>,
    /// The outage that ended the call.
    outage: Option<(Time, Failures)>,
    /// True if others that share the budget reported failures of the outage that the call waits for.
    pub(super) shares_outage: bool,
}

impl<'a> RetryState<'a> {
    /// Returns the state of a call that begins now.
    pub(crate) fn new(config: &'a Config, is_scan: bool, now: Time) -> Self {
        RetryState {
            config,
            is_scan,
            began: now,
            smaller_since: None,
            failures_before: None,
            attempts: 0,
            sent: now,
            token_requests: 0,
            faults: 0,
            failed: 0,
            own: LastMinute::default(),
            new_refused: 0,
            is_refused: false,
            is_final: false,
            last: None,
            trouble: None,
            outage: None,
            shares_outage: false,
        }
    }

    /// Returns the ID of the client, for the log.
    pub(super) fn client(&self) -> Option<&'a str> {
        self.config.client_id.as_deref()
    }

    /// Returns the time until which the call waits for the budget, whose answer is `admission`. `waited` is the time
    /// that the call already waited.
    ///
    /// # Errors
    /// `RateLimited` if the wait is longer than the settings allow; `Timeout` at the deadline; the reason of an outage
    /// that the call no longer waits for. They end the call.
    pub(crate) fn wait(
        &mut self,
        now: Time,
        deadline: Deadline,
        waited: Duration,
        admission: &std::result::Result<Admission, String>,
    ) -> Result<Time> {
        self.is_final = true;
        let until = match admission {
            Ok(Admission::Wait {
                again,
                outage: Some(failures),
                ..
            }) => {
                let ends = self.outage_ends(failures);
                if now >= ends || self.has_seen_enough(failures) {
                    self.outage = Some((now, *failures));
                    let down = || Error::new(ErrorKind::Server, "the service is down");
                    return Err(self.last.take().unwrap_or_else(down));
                }
                (*again).min(ends)
            }
            Ok(Admission::Wait {
                earliest, again, ..
            }) => {
                self.check_wait(deadline.left(now), earliest.saturating_sub(now))?;
                *again
            }
            Err(reason) if waited > self.config.max_wait => {
                let message = format!(
                    "the shared budget could not be reached for {} s (max_wait): {reason}; with on_unreachable=share, calls continue with a part of it",
                    self.config.max_wait.as_secs_f64()
                );
                return Err(Error::new(ErrorKind::RateLimited, message));
            }
            Err(_) => now + UNREACHABLE,
            Ok(Admission::Admitted(_)) => now,
        };
        if now >= deadline.time {
            return Err(self.out_of_time());
        }
        self.is_final = false;
        Ok(until.min(deadline.time))
    }

    /// Returns whether the call waits for a service that is down. Any other call ends after its attempts.
    fn waits_for_outages(&self) -> bool {
        self.is_scan && !self.config.max_outage.is_zero()
    }

    /// Returns the time until which the call waits for a service that is down. The wait of a single call is limited by
    /// failures, not by time. A page that got smaller waits for its turn, because its size may be the cause.
    fn outage_ends(&self, failures: &Failures) -> Time {
        let ends = failures
            .since
            .max(self.began)
            .max(self.smaller_since.unwrap_or_default());
        if self.waits_for_outages() {
            ends.saturating_add(self.config.max_outage)
        } else {
            Time::MAX
        }
    }

    /// Returns whether a call that does not wait for outages saw `max_attempts` failures. One request at a time probes
    /// a service that is down, so the failures of other requests count like its own.
    fn has_seen_enough(&mut self, failures: &Failures) -> bool {
        let before = failures.count.saturating_sub(self.faults);
        let before = self.failures_before.get_or_insert(before);
        // After a success, the count starts again.
        *before = (*before).min(failures.count);
        let seen = failures.count - *before;
        !self.waits_for_outages() && seen >= self.config.max_attempts
    }

    fn check_wait(&self, left: Duration, wait: Duration) -> Result<()> {
        self.is_too_long(left, wait).map_or(Ok(()), |message| {
            Err(Error::new(ErrorKind::RateLimited, message).with_retry_after(Some(wait)))
        })
    }

    /// Returns what to say of a wait that is longer than the settings or the time left allow; `None` if it is not.
    fn is_too_long(&self, left: Duration, wait: Duration) -> Option<String> {
        let (name, limit) = match wait {
            _ if wait > self.config.max_wait => ("max_wait", self.config.max_wait),
            _ if wait > left => ("timeout", self.config.timeout),
            _ => return None,
        };
        Some(format!(
            "the service asks to wait {} s, and {name} is {} s; try again later",
            wait.as_secs_f64().ceil(),
            limit.as_secs_f64()
        ))
    }

    /// Returns whether the call continues with another token after the service refused one. `is_new` is true if the
    /// service never accepted that token. Refused tokens use no attempts, unless something else failed as well.
    pub(crate) fn retry_with_new_token(&mut self, is_new: bool) -> bool {
        self.new_refused += u32::from(is_new);
        self.faults += u32::from(self.faults > 0);
        self.is_refused =
            self.new_refused < MOST_NEW_REFUSED && self.faults < self.config.max_attempts;
        self.is_refused
    }

    /// Returns whether the error of an attempt is a fault of the service. Failures that no repeat can fix, limits and
    /// refused tokens are no faults.
    pub(crate) fn is_fault(&self, error: &Error) -> bool {
        let is_limit = error.kind() == ErrorKind::RateLimited;
        error.is_retryable() && !is_limit && !self.is_refused
    }

    /// Notes a failed attempt, and returns the back-off before the next one. The gate may demand a longer wait.
    /// `failures` are the failures in a row of all recent requests; `recent` is the number of faults within the last
    /// minute, including this one.
    ///
    /// # Errors
    /// The error of the attempt if it is the last one.
    pub(crate) fn failed(
        &mut self,
        now: Time,
        deadline: Deadline,
        error: Error,
        (failures, recent): (Option<Failures>, u32),
    ) -> Result<Duration> {
        if self.is_final {
            return Err(error);
        }
        if error.kind() != ErrorKind::Redirect {
            self.trouble = Some(Trouble {
                time: now,
                reason: error.kind().name(),
                status: error.status(),
            });
        }
        if self.is_refused {
            // A new token is requested, or a redirect is followed, immediately.
            return Ok(Duration::ZERO);
        }
        let is_fault = self.is_fault(&error);
        self.is_refused = error.kind() == ErrorKind::RateLimited;
        let outage = failures.filter(|failures| failures.is_outage() && is_fault);
        let max_attempts = error.max_attempts().min(self.config.max_attempts);
        let told = error.retry_after().unwrap_or_default();
        self.failed += u32::from(is_fault && outage.is_none());
        if is_fault {
            self.own.count(now);
        }
        // A page is abandoned after `max_attempts` failures of its own. While other requests fail as well, it has until
        // its deadline.
        let flaps = is_fault && recent > self.own.sum(now);
        let counts = !self.waits_for_outages() || !flaps && outage.is_none();
        self.faults += u32::from(counts);
        let wait = if outage.is_some() || self.is_refused {
            // The gate decides when.
            Duration::ZERO
        } else {
            let doublings = self.failed.saturating_sub(1);
            back_off(FAULT_BASE, doublings, MAX_BACKOFF_S, now).max(told)
        };
        let has_time = wait.max(told) < deadline.left(now);
        let continues = match &outage {
            Some(failures) if self.waits_for_outages() => now < self.outage_ends(failures),
            _ => self.faults < max_attempts && has_time,
        };
        if continues && told <= self.config.max_wait {
            self.last = Some(error);
            return Ok(wait);
        }
        let is_left = continues || self.faults < max_attempts;
        if let Some(too_long) = self
            .is_too_long(deadline.left(now), told)
            .filter(|_| is_left)
        {
            let message = format!("{}; {too_long}", error.message());
            return Err(error.with_message(message));
        }
        // These failures are all this client's own.
        self.shares_outage = false;
        self.outage = outage.map(|failures| (now, failures));
        Err(error)
    }

    /// Notes that a request of the call is sent.
    pub(crate) fn sends(&mut self, now: Time) {
        (self.sent, self.smaller_since) = (now, None);
        self.attempts += 1;
    }

    /// Returns whether the call no longer waits for an outage with these failures, apart from one last attempt with a
    /// smaller page.
    pub(crate) fn is_late(&self, now: Time, failures: &Failures) -> bool {
        self.waits_for_outages() && failures.is_outage() && now >= self.outage_ends(failures)
    }

    /// Resets the count of failures, because the call now requests a smaller page. If only attempts count, the count is
    /// kept.
    pub(crate) fn restart_for_smaller_page(&mut self, now: Time) {
        if self.waits_for_outages() {
            (self.smaller_since, self.failures_before, self.faults) = (Some(now), None, 0);
        }
    }

    /// Returns the error of a call whose time is up.
    pub(crate) fn out_of_time(&mut self) -> Error {
        // The last failure explains why it took so long, if there is one.
        self.last.take().unwrap_or_else(|| {
            let limit = self.config.timeout.as_secs_f64();
            let message = format!("not done within {limit} s (timeout)");
            Error::new(ErrorKind::Timeout, message)
        })
    }

    /// Adds to the error that ends the call the number of its attempts, and the duration of the outage.
    pub(crate) fn describe(&self, error: Error) -> Error {
        let error = error.with_attempts(self.attempts);
        let Some((now, Failures { count, since })) = self.outage else {
            return error;
        };
        let seconds = now.saturating_sub(since).as_secs_f64();
        let whose = if self.shares_outage {
            " (all processes that share the budget)"
        } else {
            ""
        };
        let mut message = format!(
            "{}; no request has succeeded for {seconds:.1} s, {count} have failed in a row{whose}",
            error.message()
        );
        if self.waits_for_outages() {
            let limit = self.config.max_outage.as_secs_f64();
            message += &format!(" (max_outage is {limit} s)");
        }
        error.with_message(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::open_budget;
    use crate::request::queue::AdmissionQueue;
    use crate::settings::Builder;
    use std::sync::Arc;

    const SECOND: Duration = Duration::from_secs(1);

    /// Returns a call, or a page of a scan, with one setting that is not the default.
    fn call(is_scan: bool, name: &str, value: u32) -> RetryState<'static> {
        let mut builder = Builder::default();
        builder.base_url("https://talent.example").set(name, value);
        let config = Box::leak(Box::new(builder.config().unwrap()));
        RetryState::new(config, is_scan, Time::ZERO)
    }

    fn attempts(is_scan: bool, most: u32) -> RetryState<'static> {
        call(is_scan, "max_attempts", most)
    }

    fn status(status: u16) -> Error {
        Error::new(ErrorKind::Server, "the service failed").with_response(status, None, None)
    }

    fn limited(seconds: u32) -> Error {
        Error::new(ErrorKind::RateLimited, "").with_retry_after(Some(seconds * SECOND))
    }

    /// Returns the deadline of a call that began at 0.
    fn deadline(call: &RetryState<'_>) -> Deadline {
        if call.is_scan {
            Deadline::of_page(Time::ZERO, call.config.timeout)
        } else {
            Deadline::of_call(Time::ZERO, call.config.timeout)
        }
    }

    /// Fails once more, while no other request fails.
    fn fails(call: &mut RetryState<'_>, error: Error) -> Option<Duration> {
        call.failed(Time::ZERO, deadline(call), error, (None, 0))
            .ok()
    }

    #[test]
    fn waits_grow_and_end_with_the_attempts() {
        let mut call = attempts(false, 4);
        for index in 0..3 {
            let ceiling = Duration::from_secs_f64(FAULT_BASE * f64::from(1 << index));
            let wait = fails(&mut call, status(500)).unwrap();
            assert!(wait >= ceiling / 2 && wait <= ceiling, "{index}: {wait:?}");
        }
        assert_eq!(fails(&mut call, status(500)), None);
        // Refused tokens use no attempts, unless something else failed as well.
        let mut call = attempts(false, 3);
        let refused = |call: &mut RetryState<'_>| {
            let continues = call.retry_with_new_token(false);
            assert_eq!(fails(call, status(401)), Some(Duration::ZERO));
            // The next attempt begins.
            call.is_refused = false;
            continues
        };
        assert!((0..10).all(|_| refused(&mut call)));
        assert_eq!(fails(&mut call, limited(1)), Some(Duration::ZERO));
        assert!(refused(&mut call));
        assert_eq!(fails(&mut call, limited(1)), None);
    }

    #[test]
    fn a_page_that_fails_alone_is_abandoned_after_its_attempts() {
        // A scan or not, the number of other requests that failed within the last minute, and the number of attempts.
        for (is_scan, others, sent) in [(true, 0, 4), (true, 1, 100), (false, 1, 4)] {
            let mut call = attempts(is_scan, 4);
            let mut continues = |own: &u32| {
                let failures = (None, own + others);
                call.failed(Time::ZERO, deadline(&call), status(500), failures)
                    .is_ok()
            };
            assert_eq!((1..100).take_while(|own| continues(own)).count() + 1, sent);
        }
    }

    /// None of these counts as a failure of others: a limit that was reached, a token that was refused, and failures in
    /// a row.
    #[test]
    fn a_page_alone_ends_with_its_attempts_after_failures_of_other_kinds() {
        // A 429 is an attempt of the page, too.
        for (before, attempts_left) in [("nothing", 4), ("429", 3), ("401", 4), ("an outage", 4)] {
            let mut page = attempts(true, 4);
            let budget = open_budget(&page.config.budget_options(), &Arc::default());
            let queue = AdmissionQueue::new(budget, Arc::default(), None);
            let mut now = Time::ZERO;
            let mut fails = |page: &mut RetryState<'_>, error: Error, down| {
                now += SECOND;
                let (_, recent) = queue.record_failure(now, page.is_fault(&error));
                let failed = page.failed(now, deadline(page), error, (down, recent));
                // The next attempt begins.
                page.is_refused = false;
                failed.is_ok()
            };
            match before {
                "429" => assert!(fails(&mut page, limited(1), None)),
                "401" => {
                    assert!(page.retry_with_new_token(false));
                    assert!(fails(&mut page, status(401), None));
                }
                "an outage" => {
                    let since = Time::ZERO;
                    let down = |count| Some(Failures { count, since });
                    assert!((2..8).all(|count| fails(&mut page, status(503), down(count))));
                }
                _ => {}
            }
            let sent = 1
                + (1..100)
                    .take_while(|_| fails(&mut page, status(500), None))
                    .count();
            assert_eq!(sent, attempts_left, "{before}");
        }
    }

    #[test]
    fn a_wait_named_by_the_service_is_kept_but_the_deadline_wins() {
        for (error, wait) in [
            (limited(7), 0),
            (status(503).with_retry_after(Some(7 * SECOND)), 7),
        ] {
            let usual = fails(&mut attempts(false, 4), error.clone());
            assert_eq!(usual, Some(wait * SECOND));
            assert_eq!(fails(&mut call(false, "timeout", 7), error), None);
        }
        let mut call = call(true, "timeout", 8);
        let mut limit = deadline(&call);
        let mut wait = |earliest: Time| {
            let again = SECOND * 4;
            let turn = Admission::Wait {
                earliest,
                again,
                outage: None,
            };
            call.wait(SECOND, limit, Duration::ZERO, &Ok(turn))
        };
        assert_eq!(wait(3 * SECOND).unwrap(), 4 * SECOND);
        let error = wait(31 * SECOND).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::RateLimited);
        assert!(error.message().contains("timeout is 8 s"), "{error}");
        for error in [limited(90), status(503).with_retry_after(Some(90 * SECOND))] {
            let mut scan = attempts(true, 4);
            let down = Some(Failures {
                count: 9,
                since: Time::ZERO,
            });
            let over = scan.failed(SECOND, deadline(&scan), error, (down, 0));
            let error = scan.describe(over.unwrap_err());
            let said = "; the service asks to wait 90 s, and max_wait is 60 s; try again later";
            assert!(error.message().ends_with(said), "{error}");
        }
        // Time spent waiting for others does not count.
        limit.extend(60 * SECOND);
        assert_eq!(limit.time(), 68 * SECOND);
    }

    #[test]
    fn a_scan_waits_for_max_outage_and_uses_no_attempts() {
        // The last success was at 5 s.
        let since = 5 * SECOND;
        let down = |count| Some(Failures { count, since });
        let mut scan = attempts(true, 1);
        let limit = deadline(&scan);
        for second in 5..65 {
            let wait = scan.failed(second * SECOND, limit, status(503), (down(second), 0));
            assert_eq!(wait.unwrap(), Duration::ZERO, "{second}");
        }
        let over = scan.failed(65 * SECOND, limit, status(503), (down(70), 0));
        let wanted = "the service failed; no request has succeeded for 60.0 s, 70 have failed in a row (max_outage is 60 s)";
        assert_eq!(scan.describe(over.unwrap_err()).message(), wanted);
        // If other requests succeed, the failure is not an outage. A single call does not wait for one.
        assert!(
            scan.failed(6 * SECOND, limit, status(502), (None, 0))
                .is_err()
        );
        let mut single = attempts(false, 1);
        assert!(
            single
                .failed(6 * SECOND, limit, status(502), (down(4), 0))
                .is_err()
        );
    }

    #[test]
    fn a_page_that_gets_smaller_does_not_prolong_an_outage() {
        let down = |count| {
            Some(Failures {
                count,
                since: Time::ZERO,
            })
        };
        let mut scan = attempts(true, 4);
        let limit = deadline(&scan);
        let mut fails = |second: u32, gets_smaller: bool| {
            scan.sends(second * SECOND);
            if gets_smaller {
                scan.restart_for_smaller_page(second * SECOND);
            }
            let failed = scan.failed(second * SECOND, limit, status(502), (down(second), 0));
            failed.map_err(|error| scan.describe(error).message().to_owned())
        };
        assert!(fails(10, true).is_ok() && fails(50, true).is_ok());
        let wanted = "the service failed; no request has succeeded for 61.0 s, 61 have failed in a row (max_outage is 60 s)";
        assert_eq!(fails(61, false).unwrap_err(), wanted);
        // The smaller page is sent once, even if the time is over.
        assert!(fails(70, true).is_ok() && fails(71, false).is_err());
    }

    /// Each probe is eight seconds after the previous one, and is either the call's own probe or a probe of another
    /// call.
    #[test]
    fn a_single_call_ends_after_as_many_failed_probes_as_attempts() {
        let since = Time::ZERO;
        let wait = |call: &mut RetryState<'_>, now, count| {
            let failures = Failures { count, since };
            let turn = Admission::Wait {
                earliest: now,
                again: now + SECOND,
                outage: Some(failures),
            };
            call.wait(now, deadline(call), Duration::ZERO, &Ok(turn))
        };
        for own in 0..4 {
            let mut call = attempts(false, 4);
            let (mut count, mut now) = (40, SECOND);
            for probe in 0..4 {
                assert_eq!(wait(&mut call, now, count).unwrap(), now + SECOND, "{own}");
                now += 8 * SECOND;
                count += 1;
                if probe < own {
                    let failures = (Some(Failures { count, since }), 0);
                    let failed = call.failed(now, deadline(&call), status(500), failures);
                    assert!(failed.is_ok(), "{own}");
                }
            }
            let error = wait(&mut call, now, count).unwrap_err();
            let error = call.describe(error);
            let seen = (own > 0).then_some(500);
            assert_eq!((error.kind(), error.status()), (ErrorKind::Server, seen));
            let wanted = "; no request has succeeded for 33.0 s, 44 have failed in a row";
            assert!(error.message().ends_with(wanted), "{error}");
        }
        // After a success in between, the failures of the new outage count from its beginning.
        let mut call = attempts(false, 4);
        let mut gives_up = |count| wait(&mut call, SECOND, count).is_err();
        assert!(!gives_up(40) && !gives_up(43) && !gives_up(2) && !gives_up(5) && gives_up(6));
    }
}
