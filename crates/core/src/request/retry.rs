//! How long a call goes on: its attempts, its deadline, and its patience with a service that is down. Pure decisions over
//! the time and what has failed; when the next request may go, the gate decides.

use crate::clock::Time;
use crate::error::{Error, ErrorKind, Result, Retryability};
use crate::gate::Failures;
use crate::request::queue::Priority;
use crate::settings::Config;
use std::time::Duration;

/// First back-off after a fault; it doubles with each attempt.
const FAULT_BASE: Duration = Duration::from_millis(50);
/// No back-off is longer.
const LONGEST: Duration = Duration::from_secs(16);

/// Between why a request failed and for how long all have.
const DOWN_FOR: &str = "; no request has succeeded for ";

/// What a call has been through, and how long it goes on.
pub(crate) struct Endurance<'a> {
    config: &'a Config,
    is_scan: bool,
    began: Time,
    /// Until when it waits at most for a service that is down.
    outage_until: Time,
    /// Failures in a row that had happened before this call began, in the outage that it waits for.
    failures_before: Option<u32>,
    deadline: Time,
    /// Requests sent so far.
    attempts: u32,
    /// Those that failed and count against the maximum.
    faults: u32,
    /// Those that were sent while the service was down, which a scan waits out.
    in_outage: u32,
    last: Option<Error>,
}

impl<'a> Endurance<'a> {
    /// A call that begins now, and waits no longer than `outage_until` for a service that is down.
    pub(crate) fn new(
        config: &'a Config,
        priority: Priority,
        outage_until: Time,
        now: Time,
    ) -> Self {
        Endurance {
            config,
            is_scan: priority == Priority::Scan,
            began: now,
            outage_until,
            failures_before: None,
            deadline: now.saturating_add(config.timeout),
            attempts: 0,
            faults: 0,
            in_outage: 0,
            last: None,
        }
    }

    /// Requests sent so far.
    pub(crate) fn attempts(&self) -> u32 {
        self.attempts
    }

    /// When the call has to be done.
    pub(crate) fn deadline(&self) -> Time {
        self.deadline
    }

    /// A page of a scan has waited for other pages, for memory, or for a service that is down: its time limit is for none
    /// of these.
    pub(crate) fn waited_for_others(&mut self, time: Duration) {
        if self.is_scan {
            self.deadline = self.deadline.saturating_add(time);
        }
    }

    /// A request is being sent.
    pub(crate) fn sends(&mut self) {
        self.attempts += 1;
    }

    /// Until when the call waits for a service that is down since then. The wait of a single call is not limited by time
    /// but by failures.
    pub(crate) fn outage_ends(&self, failures: &Failures) -> Time {
        let ends = failures
            .since
            .max(self.began)
            .saturating_add(self.config.max_outage);
        match self.is_scan {
            true => ends.min(self.outage_until),
            false => self.outage_until,
        }
    }

    /// Whether the call waits no longer for a service that is down. A single call ends after `max_attempts` failures: one
    /// request at a time probes the service, so while it waits, the failures of others count like its own.
    pub(crate) fn gives_up(&mut self, now: Time, failures: &Failures) -> bool {
        let before = failures.count.saturating_sub(self.attempts);
        let before = self.failures_before.get_or_insert(before);
        // After a success, they are counted anew.
        *before = (*before).min(failures.count);
        let seen = failures.count - *before;
        now >= self.outage_ends(failures) || !self.is_scan && seen >= self.config.max_attempts
    }

    /// The same for the token that the call needs. Where nothing has failed yet, an outage would begin now.
    pub(crate) fn outage_until(&self, now: Time, failures: Option<Failures>) -> Time {
        let unbroken = Failures {
            count: 0,
            since: now,
        };
        self.outage_ends(&failures.unwrap_or(unbroken))
    }

    /// Whether the call goes on with another token after the service has refused one. Refusals use no attempts, unless
    /// something else has failed as well.
    pub(crate) fn refused(&self) -> bool {
        self.faults == 0 || self.counted() < self.config.max_attempts
    }

    /// Takes in a failed attempt, or that no token could be had. How long to back off before the next attempt, besides what
    /// the gate demands; the error when there shall be none.
    ///
    /// `failures` are those of all recent requests.
    pub(crate) fn failed(
        &mut self,
        now: Time,
        error: Error,
        failures: Option<Failures>,
        was_sent: bool,
    ) -> Result<Duration> {
        let outage = failures.filter(|failures| failures.is_outage() && is_outage(&error));
        let told = error.retry_after().unwrap_or_default();
        let most = match error.retryability() {
            Retryability::Never => 0,
            Retryability::Once => self.config.max_attempts.min(2),
            Retryability::Yes => self.config.max_attempts,
        };
        let waits_out = outage.filter(|_| self.is_scan && most > 0);
        let backoff = match waits_out {
            Some(failures) => {
                self.in_outage += u32::from(was_sent);
                let over = now >= self.outage_ends(&failures);
                (!over).then_some(Duration::ZERO)
            }
            // The call for the token has made its own attempts.
            None if !was_sent => None,
            None => {
                self.faults += 1;
                let wait = match (error.kind(), outage) {
                    // The gate knows when.
                    (ErrorKind::RateLimited, _) | (_, Some(_)) => Duration::ZERO,
                    _ => backoff(self.faults).max(told),
                };
                let left = self.deadline.saturating_sub(now);
                (self.counted() < most && wait.max(told) < left).then_some(wait)
            }
        };
        match backoff.filter(|_| told <= self.config.max_wait) {
            Some(wait) => {
                self.last = Some(error);
                Ok(wait)
            }
            None => Err(self.describe(now, error, outage)),
        }
    }

    /// The error of a call whose time is up.
    pub(crate) fn out_of_time(&mut self) -> Error {
        // Why it has taken so long, if that is known.
        self.last.take().unwrap_or_else(|| {
            let limit = self.config.timeout.as_secs_f64();
            let message = format!("not done within the operation's deadline of {limit} s");
            Error::new(ErrorKind::Timeout, message)
        })
    }

    /// The error of a call that the budget does not let go for so long.
    pub(crate) fn wait_is_too_long(&self, now: Time, wait: Duration) -> Option<Error> {
        let (name, limit) = match now.saturating_add(wait) > self.deadline {
            true => ("timeout", self.config.timeout),
            false if wait > self.config.max_wait => ("max_wait", self.config.max_wait),
            false => return None,
        };
        let message = format!(
            "the service asks to wait {} s, and {name} is {} s; try again later",
            wait.as_secs_f64().ceil(),
            limit.as_secs_f64()
        );
        Some(Error::new(ErrorKind::RateLimited, message).with_retry_after(Some(wait)))
    }

    /// The error of a call that waits no longer for a service that is down.
    pub(crate) fn outage_is_too_long(&mut self, now: Time, failures: Failures) -> Error {
        let unsent = || Error::new(ErrorKind::Server, "the service is down");
        let error = self.last.take().unwrap_or_else(unsent);
        self.describe(now, error, Some(failures))
    }

    fn counted(&self) -> u32 {
        self.attempts.saturating_sub(self.in_outage)
    }

    /// Adds for how long the service has been down.
    fn describe(&self, now: Time, error: Error, outage: Option<Failures>) -> Error {
        let Some(Failures { count, since }) = outage else {
            return error;
        };
        let seconds = now.saturating_sub(since).as_secs_f64();
        let max_outage = self.config.max_outage.as_secs_f64();
        let limit = match self.is_scan {
            true => format!(" (max_outage is {max_outage} s)"),
            false => String::new(),
        };
        // The call for a token may have said so already.
        let cause = error.message().split(DOWN_FOR).next().unwrap_or_default();
        let message =
            format!("{cause}{DOWN_FOR}{seconds:.1} s, {count} have failed in a row{limit}");
        error.with_message(message)
    }
}

/// Whether an error may be that of a service that is down.
fn is_outage(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::Connect | ErrorKind::Transport | ErrorKind::Timeout => true,
        ErrorKind::Server => matches!(error.status(), None | Some(500 | 502 | 503 | 504)),
        _ => false,
    }
}

/// Half is certain, so that the wait grows; half is drawn, so that clients do not march in step.
fn backoff(faults: u32) -> Duration {
    let doubled = FAULT_BASE.saturating_mul(1 << faults.saturating_sub(1).min(20));
    doubled.min(LONGEST).mul_f64(0.5 + 0.5 * fastrand::f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Builder;

    const SECOND: Duration = Duration::from_secs(1);

    fn call(
        priority: Priority,
        change: impl Fn(&mut Builder) -> &mut Builder,
    ) -> Endurance<'static> {
        let mut builder = Builder::default();
        builder.base_url("https://talent.example");
        change(&mut builder);
        let config = Box::leak(Box::new(builder.config().unwrap()));
        Endurance::new(config, priority, Time::MAX, Time::ZERO)
    }

    fn single() -> Endurance<'static> {
        call(Priority::Single, |builder| builder)
    }

    fn scan() -> Endurance<'static> {
        call(Priority::Scan, |builder| builder)
    }

    fn status(status: u16) -> Error {
        Error::new(ErrorKind::Server, "the service failed").with_status(status)
    }

    fn limited(seconds: u32) -> Error {
        Error::new(ErrorKind::RateLimited, "").with_retry_after(Some(seconds * SECOND))
    }

    fn failures(count: u32, since: Time) -> Option<Failures> {
        Some(Failures { count, since })
    }

    /// Fails once more, without others.
    fn fails(call: &mut Endurance<'_>, error: Error) -> Option<Duration> {
        fails_in(call, Time::ZERO, error, None).ok()
    }

    fn fails_in(
        call: &mut Endurance<'_>,
        now: Time,
        error: Error,
        failures: Option<Failures>,
    ) -> Result<Duration> {
        call.sends();
        call.failed(now, error, failures, true)
    }

    #[test]
    fn waits_grow_and_end_with_the_attempts() {
        let mut call = single();
        for index in 0..3 {
            let ceiling = FAULT_BASE * (1 << index);
            let wait = fails(&mut call, status(500)).unwrap();
            assert!(wait >= ceiling / 2 && wait <= ceiling, "{index}: {wait:?}");
        }
        assert_eq!(fails(&mut call, status(500)), None);
        let damaged = Error::new(ErrorKind::Decode, "").with_retryability(Retryability::Once);
        for (error, most) in [(Error::new(ErrorKind::Auth, ""), 1), (damaged, 2)] {
            let mut call = single();
            let mut tries = (1..).take_while(|_| fails(&mut call, error.clone()).is_some());
            assert_eq!(tries.by_ref().count() + 1, most, "{error}");
        }
    }

    #[test]
    fn the_rate_limit_and_tokens_that_are_refused_exceed_no_attempts() {
        for most in [1, 2, 4] {
            let mut call = call(Priority::Scan, |builder| builder.max_attempts(most));
            for _ in 1..most {
                // The gate waits.
                assert_eq!(fails(&mut call, limited(1)), Some(Duration::ZERO));
            }
            assert_eq!(fails(&mut call, limited(1)), None);
        }
        let three = || call(Priority::Single, |builder| builder.max_attempts(3));
        let mut refused = three();
        for _ in 0..10 {
            refused.sends();
            assert!(refused.refused());
        }
        // 429, 401, 429: what a service that alternates gets to see.
        let mut call = three();
        assert!(fails(&mut call, limited(1)).is_some());
        call.sends();
        assert!(call.refused());
        assert!(fails(&mut call, limited(1)).is_none());
    }

    #[test]
    fn a_told_wait_is_kept_by_whom_it_concerns_and_the_deadline_wins() {
        for (error, wait) in [
            (limited(7), 0),
            (status(503).with_retry_after(Some(7 * SECOND)), 7),
        ] {
            assert_eq!(fails(&mut single(), error.clone()), Some(wait * SECOND));
            let mut short = call(Priority::Single, |builder| builder.timeout(7 * SECOND));
            assert_eq!(fails(&mut short, error), None);
        }
        let call = call(Priority::Scan, |builder| builder.timeout(8 * SECOND));
        let error = call.wait_is_too_long(SECOND, 30 * SECOND).unwrap();
        assert_eq!(error.kind(), ErrorKind::RateLimited);
        assert!(error.message().contains("timeout is 8 s"), "{error}");
        assert!(call.wait_is_too_long(SECOND, 2 * SECOND).is_none());
    }

    #[test]
    fn a_scan_waits_as_long_as_an_outage_may_last_and_uses_no_attempts() {
        let mut call = scan();
        // The last success was at 5 s.
        let since = 5 * SECOND;
        for second in 5..65 {
            let wait = fails_in(
                &mut call,
                second * SECOND,
                status(503),
                failures(second, since),
            );
            assert_eq!(wait.unwrap(), Duration::ZERO, "{second}");
        }
        let over = fails_in(&mut call, 65 * SECOND, status(503), failures(70, since));
        let wanted = "the service failed; no request has succeeded for 60.0 s, 70 have failed in a row (max_outage is 60 s)";
        assert_eq!(over.unwrap_err().message(), wanted);
        // Others succeed: it is this request that fails.
        let mut call = scan();
        for _ in 0..3 {
            assert!(fails(&mut call, status(500)).is_some());
        }
        assert!(fails(&mut call, status(500)).is_none());
        let mut call = self::call(Priority::Scan, |builder| {
            builder.max_outage(600 * SECOND).max_attempts(1)
        });
        for second in 1..300 {
            call.waited_for_others(SECOND);
            let error = Error::new(ErrorKind::Connect, "");
            let wait = fails_in(&mut call, second * SECOND, error, failures(9, Time::ZERO));
            assert!(wait.is_ok(), "{second}");
        }
        assert!(call.deadline() > 500 * SECOND);
    }

    /// Each probe is eight seconds after the one before, and either the call's own or that of another.
    #[test]
    fn a_single_call_ends_when_as_many_probes_have_failed_as_it_has_attempts() {
        for own in 0..4 {
            let mut call = single();
            let (mut count, mut now) = (40, SECOND);
            let since = Time::ZERO;
            for probe in 0..4 {
                assert!(!call.gives_up(now, &Failures { count, since }), "{own}");
                now += 8 * SECOND;
                count += 1;
                if probe < own {
                    let failures = failures(probe + 1, now);
                    assert!(
                        fails_in(&mut call, now, status(500), failures).is_ok(),
                        "{own}"
                    );
                }
            }
            let failures = Failures { count, since };
            assert!(call.gives_up(now, &failures), "{own}");
            let error = call.outage_is_too_long(now, failures);
            assert_eq!(error.kind(), ErrorKind::Server);
            let wanted = "; no request has succeeded for 33.0 s, 44 have failed in a row";
            assert!(error.message().ends_with(wanted), "{error}");
        }
        // After a success between, the failures of another outage count from its beginning.
        let mut call = single();
        let since = Time::ZERO;
        let mut gives_up = |count| call.gives_up(SECOND, &Failures { count, since });
        assert!(!gives_up(40) && !gives_up(43) && !gives_up(2) && !gives_up(5) && gives_up(6));
    }

    #[test]
    fn the_call_for_a_token_waits_no_longer_than_the_call_that_needs_it() {
        let call = call(Priority::Scan, |builder| builder.max_outage(5 * SECOND));
        let until = call.outage_until(2 * SECOND, None);
        assert_eq!(until, 7 * SECOND);
        let during = call.outage_until(2 * SECOND, failures(3, SECOND));
        assert_eq!(during, 6 * SECOND);
        let token = Endurance::new(call.config, Priority::Single, until, 2 * SECOND);
        let (count, since) = (3, 2 * SECOND);
        assert_eq!(token.outage_ends(&Failures { count, since }), until);
    }

    #[test]
    fn a_scan_survives_that_no_token_can_be_had_while_the_service_is_down() {
        let mut call = scan();
        let mut failed = |now, error, failures| call.failed(now, error, failures, false);
        let down = failures(4, Time::ZERO);
        assert_eq!(failed(SECOND, status(502), down).unwrap(), Duration::ZERO);
        let error = scan().describe(SECOND, status(502), down);
        let over = failed(61 * SECOND, error, failures(9, Time::ZERO));
        let wanted = "the service failed; no request has succeeded for 61.0 s, 9 have failed in a row (max_outage is 60 s)";
        assert_eq!(over.unwrap_err().message(), wanted);
        assert!(failed(SECOND, status(502), None).is_err());
        assert!(single().failed(SECOND, status(502), down, false).is_err());
    }
}
