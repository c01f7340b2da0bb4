//! Whether to send a request again, and after which back-off: a pure decision over the failure, the attempts and the
//! time left. After a 429 the gate alone decides when; here the attempts are counted.

use crate::error::{Error, ErrorKind, Retryability};
use std::time::Duration;

/// First back-off after a fault; it doubles with each attempt.
const FAULT_BASE: Duration = Duration::from_millis(50);
/// No back-off is longer.
const LONGEST: Duration = Duration::from_secs(16);
/// Refusals of the rate limit are the gate's business and pass by themselves: they are worth more
/// attempts than faults.
const LIMITED_ATTEMPTS: u32 = 8;

/// Retries draw on this quota and successes refill it, so that in an outage the client sends little
/// more than it would without retries.
const QUOTA: u32 = 500;
/// What the retry of a fault costs; 35 faults in a row exhaust the quota.
const FAULT_COST: u32 = 14;
/// What the retry of a 429 costs.
const LIMITED_COST: u32 = 5;

/// The retry policy of one client, shared by its calls.
#[derive(Debug)]
pub(crate) struct Retry {
    max_attempts: u32,
    quota: u32,
    random: fastrand::Rng,
}

impl Retry {
    pub(crate) fn new(max_attempts: u32, seed: u64) -> Self {
        Retry {
            max_attempts,
            quota: QUOTA,
            random: fastrand::Rng::with_seed(seed),
        }
    }

    /// How long to back off before the next attempt; `None` when there shall be none.
    ///
    /// `attempts` were made, `left` is the time until the call's deadline.
    pub(crate) fn after(
        &mut self,
        error: &Error,
        attempts: u32,
        left: Duration,
    ) -> Option<Duration> {
        let limited = error.kind() == ErrorKind::RateLimited;
        let most = match error.retryability() {
            Retryability::Never => return None,
            Retryability::Once => self.max_attempts.min(2),
            // Whoever wants a single attempt gets a single attempt.
            Retryability::Yes if limited && self.max_attempts > 1 => {
                self.max_attempts.max(LIMITED_ATTEMPTS)
            }
            Retryability::Yes => self.max_attempts,
        };
        let (cost, backoff) = match limited {
            true => (LIMITED_COST, Duration::ZERO),
            false => (FAULT_COST, self.backoff(attempts)),
        };
        // It need not begin what cannot be sent before the deadline.
        let wait = backoff.max(error.retry_after().unwrap_or_default());
        if attempts >= most || self.quota < cost || wait >= left {
            return None;
        }
        self.quota -= cost;
        // What the service has told after a 429, the gate has heard.
        Some(if limited { Duration::ZERO } else { wait })
    }

    /// Half is certain, so that the wait grows; half is drawn, so that clients do not march in step.
    fn backoff(&mut self, attempts: u32) -> Duration {
        let doubled = FAULT_BASE.saturating_mul(1 << attempts.saturating_sub(1).min(20));
        doubled.min(LONGEST).mul_f64(0.5 + 0.5 * self.random.f64())
    }

    /// Notes a success that took so many attempts.
    pub(crate) fn succeeded(&mut self, attempts: u32) {
        let refund = if attempts > 1 { FAULT_COST } else { 1 };
        self.quota = (self.quota + refund).min(QUOTA);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(300);

    fn fault() -> Error {
        Error::new(ErrorKind::Server, "")
    }

    #[test]
    fn waits_grow_and_end_with_the_attempts() {
        let mut retry = Retry::new(4, 1);
        let waits: Vec<_> = (1..=4)
            .map(|attempts| retry.after(&fault(), attempts, LONG))
            .collect();
        for (index, wait) in waits[..3].iter().enumerate() {
            let ceiling = FAULT_BASE * (1 << index);
            let wait = wait.unwrap();
            assert!(wait >= ceiling / 2 && wait <= ceiling, "{index}: {wait:?}");
        }
        assert_eq!(waits[3], None);
    }

    #[test]
    fn a_told_wait_is_kept_by_whom_it_concerns_and_the_deadline_wins() {
        let mut retry = Retry::new(4, 1);
        let limited =
            Error::new(ErrorKind::RateLimited, "").with_retry_after(Some(Duration::from_secs(7)));
        let unavailable = fault().with_retry_after(Some(Duration::from_secs(7)));
        for (error, wait) in [(limited, 0), (unavailable, 7)] {
            let wait = Some(Duration::from_secs(wait));
            assert_eq!(retry.after(&error, 1, LONG), wait);
            assert_eq!(retry.after(&error, 1, Duration::from_secs(7)), None);
        }
    }

    #[test]
    fn refusals_of_the_rate_limit_are_counted_and_waited_for_elsewhere() {
        let mut retry = Retry::new(4, 1);
        let limited = Error::new(ErrorKind::RateLimited, "");
        let granted = (1..).take_while(|attempts| {
            let wait = retry.after(&limited, *attempts, LONG);
            wait.inspect(|wait| assert!(wait.is_zero())).is_some()
        });
        assert_eq!(granted.count() + 1, LIMITED_ATTEMPTS as usize);
    }

    #[test]
    fn an_outage_exhausts_the_quota_and_successes_refill_it() {
        let mut retry = Retry::new(4, 1);
        let granted = (0..1000)
            .filter(|_| retry.after(&fault(), 1, LONG).is_some())
            .count();
        assert_eq!(granted, (QUOTA / FAULT_COST) as usize);
        (0..FAULT_COST).for_each(|_| retry.succeeded(1));
        assert!(retry.after(&fault(), 1, LONG).is_some());
        assert!(retry.after(&fault(), 1, LONG).is_none());
    }

    #[test]
    fn what_cannot_help_is_not_repeated() {
        let mut retry = Retry::new(4, 1);
        assert_eq!(retry.after(&Error::new(ErrorKind::Auth, ""), 1, LONG), None);
        let damaged = Error::new(ErrorKind::Decode, "").with_retryability(Retryability::Once);
        assert!(retry.after(&damaged, 1, LONG).is_some());
        assert!(retry.after(&damaged, 2, LONG).is_none());
        let mut single = Retry::new(1, 1);
        assert_eq!(
            single.after(&Error::new(ErrorKind::RateLimited, ""), 1, LONG),
            None
        );
    }
}
