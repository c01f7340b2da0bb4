//! What each policy remembers, and its decision on one request.
//!
//! Times are whole nanoseconds and shares are kept multiplied out, so that no decision hangs on a rounding error.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Decision, Policy};

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
