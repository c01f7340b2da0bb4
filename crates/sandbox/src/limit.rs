//! The rate limit as a gateway would apply it: a pure function of time, under every counting rule in common use.
//!
//! The description of the service gives the limit, its three headers and the rule for clients, but not the way requests
//! are counted. The sandbox therefore implements all the usual ways, and a client must work with each of them.

pub use crate::options::{Policy, ResetRounding};
use std::collections::VecDeque;
use std::time::Duration;

/// The response to one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// True if the request is served. Otherwise it gets the status 429.
    pub admitted: bool,
    /// The number of requests that would still be admitted at this time, after this one.
    pub remaining: u32,
    /// The exact time until the reset, before rounding.
    pub reset: Duration,
}

/// One counter shared by all clients of a company.
#[derive(Debug, Clone)]
pub struct Limiter {
    policy: Policy,
    limit: u128,
    window: Nanos,
    rounding: ResetRounding,
    now: Nanos,
    /// The number of the window that is counted, or the time at which it ends; for a bucket, the time at which it is
    /// full again, multiplied by the limit.
    mark: u128,
    /// The number of requests admitted in this window.
    count: u128,
    /// The number of requests admitted in the previous window.
    previous: u128,
    /// The times of the requests admitted, for a sliding log.
    admitted: VecDeque<Nanos>,
}

type Nanos = u128;

impl Limiter {
    /// Creates a limiter that admits `limit` requests per `window`. Neither can be zero: the minimum is one request,
    /// and one nanosecond.
    #[must_use]
    pub fn new(policy: Policy, limit: u32, window: Duration, rounding: ResetRounding) -> Self {
        Self {
            policy,
            limit: limit.max(1).into(),
            window: window.as_nanos().max(1),
            rounding,
            now: 0,
            mark: 0,
            count: 0,
            previous: 0,
            admitted: VecDeque::new(),
        }
    }

    /// Decides about a request that arrives `now` (since the Unix epoch). A time that is earlier than in a previous
    /// call counts as the time of that call, because threads may call this in a different order from the one in which
    /// they read the clock.
    pub fn decide(&mut self, now: Duration) -> Decision {
        self.now = self.now.max(now.as_nanos());
        let (now, limit, window) = (self.now, self.limit, self.window);
        let to_next_window = window - now % window;
        match self.policy {
            Policy::ClockWindow => {
                if self.mark != now / window {
                    (self.mark, self.count) = (now / window, 0);
                }
                self.take(to_next_window)
            }
            Policy::FirstRequestWindow => {
                if now >= self.mark {
                    (self.mark, self.count) = (now + window, 0);
                }
                self.take(self.mark - now)
            }
            Policy::SlidingLog => {
                while self.admitted.front().is_some_and(|at| at + window <= now) {
                    self.admitted.pop_front();
                }
                let fits = (self.admitted.len() as u128) < limit;
                if fits {
                    self.admitted.push_back(now);
                }
                let oldest = self.admitted.front().copied().unwrap_or(now);
                let left = limit - self.admitted.len() as u128;
                decision(fits, left, oldest + window - now)
            }
            Policy::SlidingCounter => {
                let entered = now / window;
                if entered != self.mark {
                    let adjacent = entered == self.mark + 1;
                    self.previous = if adjacent { self.count } else { 0 };
                    (self.mark, self.count) = (entered, 0);
                }
                let used = self.previous * to_next_window + self.count * window;
                let fits = used + window <= limit * window;
                self.count += u128::from(fits);
                let used = used + u128::from(fits) * window;
                let left = (limit * window).saturating_sub(used) / window;
                decision(fits, left, to_next_window)
            }
            // In both policies each request adds a debt of one window, which time pays back `limit` times as fast.
            Policy::TokenBucket | Policy::Gcra => {
                let owed = self.mark.saturating_sub(now * limit);
                let fits = owed + window <= limit * window;
                let owed = owed + u128::from(fits) * window;
                self.mark = now * limit + owed;
                let to_reset = match (self.policy, owed % window) {
                    (Policy::Gcra, _) => owed,
                    (_, 0) => window.min(owed),
                    (_, part) => part,
                };
                let left = limit - owed.div_ceil(window);
                decision(fits, left, to_reset.div_ceil(limit))
            }
            Policy::Unlimited => decision(true, limit, 0),
        }
    }

    /// Counts one more request unless the limit is reached.
    fn take(&mut self, to_reset: Nanos) -> Decision {
        let fits = self.count < self.limit;
        self.count += u128::from(fits);
        decision(fits, self.limit - self.count, to_reset)
    }

    /// Returns the names and values of the three headers for `decision`.
    #[must_use]
    pub fn headers(&self, decision: &Decision) -> [(&'static str, String); 3] {
        let window = self.window.div_ceil(SECOND);
        [
            ("x-ratelimit-limit", format!("{};w={window}", self.limit)),
            ("x-ratelimit-remaining", decision.remaining.to_string()),
            ("x-ratelimit-reset", self.rounding.text(decision.reset)),
        ]
    }
}

const SECOND: Nanos = 1_000_000_000;

impl ResetRounding {
    fn text(self, reset: Duration) -> String {
        match self {
            Self::Up => reset.as_nanos().div_ceil(SECOND).max(1).to_string(),
            Self::Down => reset.as_secs().to_string(),
            Self::Fractional => {
                let millis = reset.as_nanos().div_ceil(1_000_000);
                format!("{}.{:03}", millis / 1000, millis % 1000)
            }
        }
    }
}

fn decision(admitted: bool, remaining: u128, reset: Nanos) -> Decision {
    Decision {
        admitted,
        remaining: u32::try_from(remaining).unwrap_or(u32::MAX),
        reset: Duration::from_nanos(u64::try_from(reset).unwrap_or(u64::MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A time 200 ms into a clock second.
    const START: Duration = Duration::from_millis(1_700_000_000_200);

    fn limiter(policy: Policy) -> Limiter {
        Limiter::new(policy, 40, Duration::from_secs(1), ResetRounding::Up)
    }

    /// Returns the number of requests that are admitted, out of 60 simultaneous ones.
    fn burst(limiter: &mut Limiter, at: Duration) -> usize {
        (0..60).filter(|_| limiter.decide(at).admitted).count()
    }

    #[test]
    fn capacity_returns_as_each_policy_says() {
        // The number of requests admitted at once, the numbers that become available after 800 ms and after 1 s, and
        // the time to the reset 100 ms after the limit is used up. By then a bucket has four tokens back and spends one
        // of them.
        for (policy, at_once, soon, later, reset) in [
            (Policy::ClockWindow, 40, 40, 40, 700),
            (Policy::FirstRequestWindow, 40, 0, 40, 900),
            (Policy::SlidingLog, 40, 0, 40, 900),
            (Policy::SlidingCounter, 40, 0, 8, 700),
            (Policy::TokenBucket, 40, 32, 40, 25),
            (Policy::Gcra, 40, 32, 40, 925),
            (Policy::Unlimited, 60, 60, 60, 0),
        ] {
            for (wait, back) in [(800, soon), (1000, later)] {
                let mut limiter = limiter(policy);
                assert_eq!(burst(&mut limiter, START), at_once, "{policy}");
                let now = START + Duration::from_millis(wait);
                assert_eq!(burst(&mut limiter, now), back, "{policy} after {wait} ms");
            }
            let mut limiter = limiter(policy);
            for left in (0..40).rev() {
                let left = if at_once > 40 { 40 } else { left };
                assert_eq!(limiter.decide(START).remaining, left, "{policy}");
            }
            let decision = limiter.decide(START + Duration::from_millis(100));
            assert_eq!(decision.reset, Duration::from_millis(reset), "{policy}");
            // A clock that goes back neither adds nor removes requests.
            let (mut now, mut before) = (limiter.clone(), limiter);
            let now = now.decide(START + Duration::from_millis(100));
            let before = before.decide(START - Duration::from_millis(5_000));
            assert_eq!(before, now, "{policy}");
            assert_eq!(policy.to_string().parse(), Ok(policy));
            let zero = Limiter::new(policy, 0, Duration::ZERO, ResetRounding::Down);
            assert!(zero.clone().decide(START).admitted, "{policy}");
        }
        let error = "leaky".parse::<Policy>().unwrap_err();
        assert!(error.contains("`leaky`") && error.contains("gcra"));
    }

    #[test]
    fn a_sliding_log_admits_and_remembers_no_more_than_the_limit() {
        let mut log = limiter(Policy::SlidingLog);
        let mut rng = fastrand::Rng::with_seed(7);
        let mut now = START;
        let mut admitted: Vec<Duration> = Vec::new();
        for _ in 0..5_000 {
            now += Duration::from_micros(rng.u64(0..40_000));
            if log.decide(now).admitted {
                admitted.push(now);
            }
            assert!(log.admitted.len() <= 40);
        }
        assert!(admitted.len() > 2_000);
        let mut windows = admitted.windows(41);
        assert!(windows.all(|w| w[40] - w[0] >= Duration::from_secs(1)));
    }

    #[test]
    fn headers_read_as_documented_in_every_rounding() {
        for (rounding, reset) in [
            (ResetRounding::Up, "1"),
            (ResetRounding::Down, "0"),
            (ResetRounding::Fractional, "0.800"),
        ] {
            let policy = Policy::ClockWindow;
            let mut limiter = Limiter::new(policy, 40, Duration::from_secs(1), rounding);
            let decision = limiter.decide(START);
            let [limit, remaining, shown] = limiter.headers(&decision);
            assert_eq!(limit, ("x-ratelimit-limit", "40;w=1".into()));
            assert_eq!(remaining, ("x-ratelimit-remaining", "39".into()));
            assert_eq!(shown, ("x-ratelimit-reset", reset.into()));
            assert_eq!(rounding.to_string().parse(), Ok(rounding));
        }
        for policy in Policy::ALL {
            let mut limiter = limiter(policy);
            for step in 0..500 {
                let decision = limiter.decide(START + Duration::from_millis(step * 17));
                assert_eq!(limiter.headers(&decision)[2].1, "1", "{policy}");
            }
        }
    }
}
