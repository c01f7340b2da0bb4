//! The rate limit as a gateway would apply it: a pure function of time, under every counting rule in common use.
//!
//! The service document (section 8) gives the limit, its three headers and the rule for clients, but not the way
//! requests are counted. The sandbox therefore knows all the usual ways, and a client has to live with any of them.

use crate::options::named;
use std::collections::VecDeque;
use std::time::Duration;

pub use crate::options::UnknownName;

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

type Nanos = u128;

/// The memory of one policy; never larger than the limit.
#[derive(Debug, Clone)]
pub(super) enum Count {
    ClockWindow {
        index: u128,
        count: u128,
    },
    FirstRequestWindow {
        end: Nanos,
        count: u128,
    },
    SlidingLog {
        admitted: VecDeque<Nanos>,
    },
    SlidingCounter {
        index: u128,
        previous: u128,
        current: u128,
    },
    /// `missing` is what the bucket lacks at time `at`, one token being worth one window.
    TokenBucket {
        at: Nanos,
        missing: u128,
    },
    /// The theoretical arrival time, multiplied by the limit.
    Gcra {
        arrival: u128,
    },
    Unlimited,
}

impl Count {
    pub(super) fn new(policy: Policy) -> Self {
        match policy {
            Policy::ClockWindow => Self::ClockWindow { index: 0, count: 0 },
            Policy::FirstRequestWindow => Self::FirstRequestWindow { end: 0, count: 0 },
            Policy::SlidingLog => Self::SlidingLog {
                admitted: VecDeque::new(),
            },
            Policy::SlidingCounter => Self::SlidingCounter {
                index: 0,
                previous: 0,
                current: 0,
            },
            Policy::TokenBucket => Self::TokenBucket { at: 0, missing: 0 },
            Policy::Gcra => Self::Gcra { arrival: 0 },
            Policy::Unlimited => Self::Unlimited,
        }
    }

    pub(super) fn decide(&mut self, now: Nanos, limit: u128, window: Nanos) -> Decision {
        let to_next_window = window - now % window;
        match self {
            Self::ClockWindow { index, count } => {
                if *index != now / window {
                    (*index, *count) = (now / window, 0);
                }
                decision(take(count, limit), limit - *count, to_next_window)
            }
            Self::FirstRequestWindow { end, count } => {
                if now >= *end {
                    (*end, *count) = (now + window, 0);
                }
                decision(take(count, limit), limit - *count, *end - now)
            }
            Self::SlidingLog { admitted } => {
                while admitted.front().is_some_and(|at| at + window <= now) {
                    admitted.pop_front();
                }
                let fits = (admitted.len() as u128) < limit;
                if fits {
                    admitted.push_back(now);
                }
                let oldest = admitted.front().copied().unwrap_or(now);
                let left = limit - admitted.len() as u128;
                decision(fits, left, oldest + window - now)
            }
            Self::SlidingCounter {
                index,
                previous,
                current,
            } => {
                let entered = now / window;
                if entered != *index {
                    *previous = if entered == *index + 1 { *current } else { 0 };
                    (*index, *current) = (entered, 0);
                }
                let used = *previous * to_next_window + *current * window;
                let fits = used + window <= limit * window;
                *current += u128::from(fits);
                let used = used + u128::from(fits) * window;
                let left = (limit * window).saturating_sub(used) / window;
                decision(fits, left, to_next_window)
            }
            Self::TokenBucket { at, missing } => {
                *missing = missing.saturating_sub((now - *at) * limit);
                *at = now;
                let fits = *missing + window <= limit * window;
                *missing += u128::from(fits) * window;
                let to_next_token = match *missing % window {
                    0 if *missing > 0 => window,
                    part => part,
                };
                let left = limit - missing.div_ceil(window);
                decision(fits, left, to_next_token.div_ceil(limit))
            }
            Self::Gcra { arrival } => {
                let now = now * limit;
                let next = now.max(*arrival) + window;
                let fits = next - now <= limit * window;
                if fits {
                    *arrival = next;
                }
                let owed = *arrival - now;
                decision(fits, limit - owed.div_ceil(window), owed.div_ceil(limit))
            }
            Self::Unlimited => decision(true, limit, 0),
        }
    }
}

/// Counts one more unless the limit is reached; whether it was counted.
fn take(count: &mut u128, limit: u128) -> bool {
    let fits = *count < limit;
    *count += u128::from(fits);
    fits
}

fn decision(admitted: bool, remaining: u128, reset: Nanos) -> Decision {
    Decision {
        admitted,
        remaining: u32::try_from(remaining).unwrap_or(u32::MAX),
        reset: Duration::from_nanos(u64::try_from(reset).unwrap_or(u64::MAX)),
    }
}

#[cfg(test)]
mod tests;
