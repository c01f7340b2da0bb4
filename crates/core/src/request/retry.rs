//! How long a call goes on: its attempts, its deadline, and its patience with a service that is down. Pure decisions over
//! the time and what has failed; when the next request may go, the gate decides.

use crate::budget::Take;
use crate::clock::Time;
use crate::error::{Error, ErrorKind, Result, Retryability};
use crate::gate::Failures;
use crate::settings::Config;
use std::time::Duration;

/// First back-off after a fault; it doubles with each attempt.
const FAULT_BASE: Duration = Duration::from_millis(50);
/// No back-off is longer.
const LONGEST: Duration = Duration::from_secs(16);
/// While the shared budget cannot be reached, it is tried again after this long.
const UNREACHABLE: Duration = Duration::from_millis(100);

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
    /// When the call has to be done.
    pub(crate) deadline: Time,
    /// Requests sent so far.
    pub(crate) attempts: u32,
    /// Failures that count against `max_attempts`.
    faults: u32,
    last: Option<Error>,
}

impl<'a> Endurance<'a> {
    /// A call that begins now, and waits no longer than `outage_until` for a service that is down.
    pub(crate) fn new(config: &'a Config, is_scan: bool, outage_until: Time, now: Time) -> Self {
        Endurance {
            config,
            is_scan,
            began: now,
            outage_until,
            failures_before: None,
            deadline: now.saturating_add(config.timeout),
            attempts: 0,
            faults: 0,
            last: None,
        }
    }

    /// A page of a scan has waited for other pages, for memory, or for a service that is down: its time limit is for none
    /// of these.
    pub(crate) fn waited_for_others(&mut self, time: Duration) {
        if self.is_scan {
            self.deadline = self.deadline.saturating_add(time);
        }
    }

    /// Until when the call waits for a service that is down; where nothing has failed yet, for an outage that begins now.
    /// The wait of a single call is not limited by time but by failures.
    pub(crate) fn outage_ends(&self, now: Time, failures: Option<Failures>) -> Time {
        let since = failures.map_or(now, |failures| failures.since);
        let ends = since.max(self.began).saturating_add(self.config.max_outage);
        match self.is_scan {
            true => ends.min(self.outage_until),
            false => self.outage_until,
        }
    }

    /// Until when the call waits, `waited` so long already, for the budget that answered so.
    ///
    /// # Errors
    /// `RateLimited` where the wait is longer than the settings allow; `Timeout` at the deadline; the reason of an outage that
    /// is not waited for any longer, of which `status` is the last that was seen.
    pub(crate) fn wait(
        &mut self,
        now: Time,
        waited: Duration,
        take: &Take,
        status: Option<u16>,
    ) -> Result<Time> {
        let max_wait = self.config.max_wait;
        let until = match take {
            Take::Outage { failures, again } => {
                let ends = self.outage_ends(now, Some(*failures));
                if now < ends && !self.has_seen_enough(failures) {
                    return Ok((*again).min(ends));
                }
                let error = self.last.take().unwrap_or_else(|| {
                    Error::new(ErrorKind::Server, "the service is down").with_status(status)
                });
                return Err(self.describe(now, error, Some(*failures)));
            }
            Take::Wait { earliest, again } => {
                self.refuse_long_wait(now, earliest.saturating_sub(now))?;
                *again
            }
            Take::Unreachable(reason) if waited > max_wait => {
                let message = format!(
                    "the shared budget could not be reached for {} s (max_wait): {reason}; with on_unreachable=share, calls go on with a part of it",
                    max_wait.as_secs_f64()
                );
                return Err(Error::new(ErrorKind::RateLimited, message));
            }
            Take::Unreachable(_) => now + UNREACHABLE,
            Take::AfterChange | Take::Now(_) => Time::MAX,
        };
        match now < self.deadline {
            true => Ok(until.min(self.deadline)),
            false => Err(self.out_of_time()),
        }
    }

    /// A single call ends after `max_attempts` failures: one request at a time probes the service, so while it waits, the
    /// failures of others count like its own.
    fn has_seen_enough(&mut self, failures: &Failures) -> bool {
        let before = failures.count.saturating_sub(self.attempts);
        let before = self.failures_before.get_or_insert(before);
        // After a success, they are counted anew.
        *before = (*before).min(failures.count);
        !self.is_scan && failures.count - *before >= self.config.max_attempts
    }

    fn refuse_long_wait(&self, now: Time, wait: Duration) -> Result<()> {
        let (name, limit) = match now.saturating_add(wait) > self.deadline {
            true => ("timeout", self.config.timeout),
            false if wait > self.config.max_wait => ("max_wait", self.config.max_wait),
            false => return Ok(()),
        };
        let message = format!(
            "the service asks to wait {} s, and {name} is {} s; try again later",
            wait.as_secs_f64().ceil(),
            limit.as_secs_f64()
        );
        Err(Error::new(ErrorKind::RateLimited, message).with_retry_after(Some(wait)))
    }

    /// Whether the call goes on with another token after the service has refused one. Refusals use no attempts, unless
    /// something else has failed as well.
    pub(crate) fn goes_on_refused(&mut self) -> bool {
        self.faults += u32::from(self.faults > 0);
        self.faults < self.config.max_attempts
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
        let (goes_on, wait) = if self.is_scan && outage.is_some() {
            (
                most > 0 && now < self.outage_ends(now, outage),
                Duration::ZERO,
            )
        } else {
            self.faults += 1;
            let wait = match error.kind() {
                // The gate knows when.
                _ if outage.is_some() => Duration::ZERO,
                ErrorKind::RateLimited => Duration::ZERO,
                _ => backoff(self.faults).max(told),
            };
            let left = self.deadline.saturating_sub(now);
            let may_again = self.faults < most && wait.max(told) < left;
            // The call for a token has made its own attempts.
            (was_sent && may_again, wait)
        };
        if goes_on && told <= self.config.max_wait {
            self.last = Some(error);
            return Ok(wait);
        }
        Err(self.describe(now, error, outage))
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

    fn call(is_scan: bool, change: impl Fn(&mut Builder)) -> Endurance<'static> {
        let mut builder = Builder::default();
        builder.base_url("https://talent.example");
        change(&mut builder);
        let config = Box::leak(Box::new(builder.config().unwrap()));
        Endurance::new(config, is_scan, Time::MAX, Time::ZERO)
    }

    fn attempts(is_scan: bool, most: u32) -> Endurance<'static> {
        call(is_scan, |builder| {
            builder.max_attempts(most);
        })
    }

    fn status(status: u16) -> Error {
        Error::new(ErrorKind::Server, "the service failed").with_status(status)
    }

    fn limited(seconds: u32) -> Error {
        Error::new(ErrorKind::RateLimited, "").with_retry_after(Some(seconds * SECOND))
    }

    /// Fails once more, without others.
    fn fails(call: &mut Endurance<'_>, error: Error) -> Option<Duration> {
        call.attempts += 1;
        call.failed(Time::ZERO, error, None, true).ok()
    }

    #[test]
    fn waits_grow_and_end_with_the_attempts() {
        let mut call = attempts(false, 4);
        for index in 0..3 {
            let ceiling = FAULT_BASE * (1 << index);
            let wait = fails(&mut call, status(500)).unwrap();
            assert!(wait >= ceiling / 2 && wait <= ceiling, "{index}: {wait:?}");
        }
        assert_eq!(fails(&mut call, status(500)), None);
        let damaged = Error::new(ErrorKind::Decode, "").with_retryability(Retryability::Once);
        let refused = Error::new(ErrorKind::Auth, "");
        // A wait of the rate limit is the gate's business.
        for (error, max_attempts, most) in [
            (refused, 4, 1),
            (damaged, 4, 2),
            (limited(1), 1, 1),
            (limited(1), 3, 3),
        ] {
            let mut call = attempts(true, max_attempts);
            let mut tries = (1..).take_while(|_| fails(&mut call, error.clone()).is_some());
            assert_eq!(tries.by_ref().count() + 1, most, "{error}");
        }
        // Tokens that are refused use no attempts, unless something else has failed as well.
        let mut call = attempts(false, 3);
        assert!((0..10).all(|_| call.goes_on_refused()));
        assert_eq!(fails(&mut call, limited(1)), Some(Duration::ZERO));
        assert!(call.goes_on_refused());
        assert_eq!(fails(&mut call, limited(1)), None);
    }

    #[test]
    fn a_told_wait_is_kept_by_whom_it_concerns_and_the_deadline_wins() {
        for (error, wait) in [
            (limited(7), 0),
            (status(503).with_retry_after(Some(7 * SECOND)), 7),
        ] {
            let mut usual = attempts(false, 4);
            assert_eq!(fails(&mut usual, error.clone()), Some(wait * SECOND));
            let mut short = call(false, |builder| {
                builder.timeout(7 * SECOND);
            });
            assert_eq!(fails(&mut short, error), None);
        }
        let mut call = call(true, |builder| {
            builder.timeout(8 * SECOND);
        });
        let mut wait = |earliest: Time| {
            let again = SECOND * 4;
            call.wait(
                SECOND,
                Duration::ZERO,
                &Take::Wait { earliest, again },
                None,
            )
        };
        assert_eq!(wait(3 * SECOND).unwrap(), 4 * SECOND);
        let error = wait(31 * SECOND).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::RateLimited);
        assert!(error.message().contains("timeout is 8 s"), "{error}");
        // What it waits for others does not count.
        call.waited_for_others(60 * SECOND);
        assert_eq!(call.deadline, 68 * SECOND);
    }

    #[test]
    fn a_scan_waits_as_long_as_an_outage_may_last_and_uses_no_attempts() {
        // The last success was at 5 s.
        let since = 5 * SECOND;
        let down = |count| Some(Failures { count, since });
        let mut scan = attempts(true, 1);
        for second in 5..65 {
            // Every second time, it is the token that cannot be had.
            let now = second * SECOND;
            let wait = scan.failed(now, status(503), down(second), second % 2 == 0);
            assert_eq!(wait.unwrap(), Duration::ZERO, "{second}");
        }
        let over = scan.failed(65 * SECOND, status(503), down(70), true);
        let wanted = "the service failed; no request has succeeded for 60.0 s, 70 have failed in a row (max_outage is 60 s)";
        let over = over.unwrap_err();
        assert_eq!(over.message(), wanted);
        // The call for a token may have said so already.
        let again = scan.failed(65 * SECOND, over, down(70), false);
        assert_eq!(again.unwrap_err().message(), wanted);
        // Where others succeed, it is this request that fails, and a single call is not that patient.
        assert!(scan.failed(6 * SECOND, status(502), None, false).is_err());
        let mut single = attempts(false, 4);
        assert!(
            single
                .failed(6 * SECOND, status(502), down(4), false)
                .is_err()
        );
        // The call for a token waits no longer than the call that needs it.
        let until = scan.outage_ends(2 * SECOND, None);
        assert_eq!(until, 62 * SECOND);
        let token = Endurance::new(scan.config, false, until, 2 * SECOND);
        assert_eq!(token.outage_ends(2 * SECOND, down(3)), until);
    }

    /// Each probe is eight seconds after the one before, and either the call's own or that of another.
    #[test]
    fn a_single_call_ends_when_as_many_probes_have_failed_as_it_has_attempts() {
        let since = Time::ZERO;
        let wait = |call: &mut Endurance<'_>, now, count| {
            let failures = Failures { count, since };
            let again = now + SECOND;
            let take = Take::Outage { failures, again };
            call.wait(now, Duration::ZERO, &take, Some(502))
        };
        for own in 0..4 {
            let mut call = attempts(false, 4);
            let (mut count, mut now) = (40, SECOND);
            for probe in 0..4 {
                assert_eq!(wait(&mut call, now, count).unwrap(), now + SECOND, "{own}");
                now += 8 * SECOND;
                count += 1;
                if probe < own {
                    call.attempts += 1;
                    let failures = Failures { count, since };
                    let failed = call.failed(now, status(500), Some(failures), true);
                    assert!(failed.is_ok(), "{own}");
                }
            }
            let error = wait(&mut call, now, count).unwrap_err();
            // A call that was never sent names the status that others have seen.
            let seen = if own == 0 { 502 } else { 500 };
            assert_eq!(
                (error.kind(), error.status()),
                (ErrorKind::Server, Some(seen))
            );
            let wanted = "; no request has succeeded for 33.0 s, 44 have failed in a row";
            assert!(error.message().ends_with(wanted), "{error}");
        }
        // After a success between, the failures of another outage count from its beginning.
        let mut call = attempts(false, 4);
        let mut gives_up = |count| wait(&mut call, SECOND, count).is_err();
        assert!(!gives_up(40) && !gives_up(43) && !gives_up(2) && !gives_up(5) && gives_up(6));
    }
}
