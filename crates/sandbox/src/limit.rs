//! The rate limit as a gateway would apply it: a pure function of time, under every counting rule in common use.
//!
//! The service document (section 8) gives the limit, its three headers and the rule for clients, but not the way
//! requests are counted. The sandbox therefore knows all the usual ways, and a client has to live with any of them.

mod count;

use std::time::Duration;

pub use crate::name::UnknownName;
use crate::name::named;
use count::Count;

/// How requests are counted against the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Counts in windows aligned to the clock: for a window of 1 s, whole seconds since the Unix epoch.
    ClockWindow,
    /// Counts in windows that open with the first request after the previous one has ended.
    FirstRequestWindow,
    /// Remembers the time of every admitted request for one window.
    SlidingLog,
    /// Counts in clock windows and adds the share of the previous one that a sliding window still covers.
    SlidingCounter,
    /// A bucket of `limit` tokens, refilled evenly; reset tells when the next token arrives.
    TokenBucket,
    /// The generic cell rate algorithm with a burst of `limit`; reset tells when the whole burst is back.
    Gcra,
    /// Admits everything, and shows the limit as never touched.
    Unlimited,
}

/// How the exact time to the reset becomes the text of `x-ratelimit-reset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResetRounding {
    /// Whole seconds, never too early and never 0: for a window of 1 s always `1`.
    Up,
    /// Whole seconds, up to one too early: for a window of 1 s nearly always `0`.
    Down,
    /// Seconds with three decimals, rounded up to the millisecond.
    Fractional,
}

named!(Policy {
    ClockWindow = "clock-window",
    FirstRequestWindow = "first-request-window",
    SlidingLog = "sliding-log",
    SlidingCounter = "sliding-counter",
    TokenBucket = "token-bucket",
    Gcra = "gcra",
    Unlimited = "unlimited",
});

named!(ResetRounding {
    Up = "up",
    Down = "down",
    Fractional = "fractional",
});

/// The response to one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// Whether the request is served; a request that is not gets status 429.
    pub admitted: bool,
    /// Requests that would still be admitted at this moment, after this one.
    pub remaining: u32,
    /// The exact time until the reset, before rounding.
    pub reset: Duration,
}

/// One counter shared by all clients of a company.
#[derive(Debug, Clone)]
pub struct Limiter {
    limit: u32,
    window: Duration,
    rounding: ResetRounding,
    last: Duration,
    count: Count,
}

impl Limiter {
    /// Admits `limit` requests per `window`. Neither can be zero: the least is one request, and one nanosecond.
    #[must_use]
    pub fn new(policy: Policy, limit: u32, window: Duration, rounding: ResetRounding) -> Self {
        Self {
            limit: limit.max(1),
            window: window.max(Duration::from_nanos(1)),
            rounding,
            last: Duration::ZERO,
            count: Count::new(policy),
        }
    }

    /// Decides on a request that arrives `now` (since the Unix epoch). A time before that of an earlier call counts
    /// as that time, because threads may arrive here in another order than they read the clock.
    pub fn decide(&mut self, now: Duration) -> Decision {
        self.last = self.last.max(now);
        self.count.decide(
            self.last.as_nanos(),
            self.limit.into(),
            self.window.as_nanos(),
        )
    }

    /// Names and values of the three headers that go with `decision` (service document, section 8).
    #[must_use]
    pub fn headers(&self, decision: &Decision) -> [(&'static str, String); 3] {
        let window = whole_seconds_up(self.window);
        [
            ("x-ratelimit-limit", format!("{};w={window}", self.limit)),
            ("x-ratelimit-remaining", decision.remaining.to_string()),
            ("x-ratelimit-reset", self.rounding.text(decision.reset)),
        ]
    }
}

impl ResetRounding {
    fn text(self, reset: Duration) -> String {
        match self {
            Self::Up => whole_seconds_up(reset).max(1).to_string(),
            Self::Down => reset.as_secs().to_string(),
            Self::Fractional => {
                let millis = reset.as_nanos().div_ceil(1_000_000);
                format!("{}.{:03}", millis / 1000, millis % 1000)
            }
        }
    }
}

fn whole_seconds_up(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests;
