//! Reads the rate-limit headers of a response.

use http::HeaderMap;
use std::time::{Duration, SystemTime};

/// What a response says of the budget.
#[derive(Clone, Debug, Default)]
pub struct RateHeaders {
    /// Requests remaining in the current window.
    pub remaining: Option<u64>,
    /// Time until the window resets.
    pub reset: Option<Duration>,
    /// The wait that the service asks for.
    pub retry_after: Option<Duration>,
}

impl RateHeaders {
    /// Reads what is there; what makes no sense is ignored.
    pub fn read(headers: &HeaderMap, _wall_now: SystemTime) -> Self {
        let number = |name: &str| -> Option<f64> {
            headers
                .get(name)?
                .to_str()
                .ok()?
                .trim()
                .parse()
                .ok()
                .filter(|value: &f64| (0.0..86_400.0).contains(value))
        };
        RateHeaders {
            remaining: number("x-ratelimit-remaining").map(|value| value as u64),
            reset: number("x-ratelimit-reset").map(Duration::from_secs_f64),
            retry_after: number("retry-after").map(Duration::from_secs_f64),
        }
    }
}
