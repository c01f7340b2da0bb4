//! How many requests a service answers at once, where that is what it limits: found out by its refusals. Pure.
//!
//! A refusal while others are under way, and while the rate limit is not used up, may mean that so many are all that the
//! service takes. The number grows again by one at a time (additive increase), ever more carefully.

use crate::budget::RequestOutcome;

/// The successes after which one request more is tried, once the first such trial was refused.
const PATIENCE: u32 = 16;
/// Limits how many successes that takes at last.
const MAX_PATIENCE: u32 = 1024;
/// No service is known to limit so many.
const MANY: usize = 128;

/// The requests under way, and how many there may be.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    now: usize,
    /// `None` while nothing says that the service limits them.
    most: Option<usize>,
    successes: u32,
    /// The successes that are waited for before one more is tried.
    patience: u32,
    /// Whether there may be one more than before, to see whether it is refused.
    is_tried: bool,
}

impl InFlight {
    /// Returns whether another request has to wait for one under way.
    pub(super) fn is_full(&self) -> bool {
        self.most.is_some_and(|most| self.now >= most)
    }

    /// A request is sent.
    pub(super) fn sent(&mut self) {
        self.now += 1;
    }

    /// A request has ended like this.
    pub(super) fn ended(&mut self, outcome: &RequestOutcome) {
        self.now = self.now.saturating_sub(1);
        match outcome {
            RequestOutcome::Answered(429, headers) if headers.remaining != Some(0) => {
                if self.now == 0 {
                    // It was the only one, so this is another limit.
                    return;
                }
                if std::mem::take(&mut self.is_tried) {
                    self.patience = (2 * self.patience).clamp(PATIENCE, MAX_PATIENCE);
                }
                self.most = Some(self.most.unwrap_or(MANY).min(self.now));
                self.successes = 0;
            }
            RequestOutcome::Answered(200..=299, _) => {
                self.successes += 1;
                if self.successes > self.patience
                    && let Some(most) = self.most
                {
                    self.successes = 0;
                    self.is_tried = true;
                    self.most = Some(most + 1).filter(|most| *most < MANY);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::RateHeaders;

    /// Sends as many requests as may be, in rounds of responses; the refusals by a service that takes `most` at once.
    fn refusals(most: usize, rounds: usize, headers: &RateHeaders) -> (usize, InFlight) {
        let mut requests = InFlight::default();
        let mut refused = 0;
        for _ in 0..rounds {
            let mut taken = 0;
            for _ in 0..40 {
                if requests.is_full() {
                    break;
                }
                requests.sent();
                if taken < most {
                    taken += 1;
                    continue;
                }
                refused += 1;
                requests.ended(&RequestOutcome::Answered(429, headers.clone()));
            }
            for _ in 0..taken {
                requests.ended(&RequestOutcome::Answered(200, headers.clone()));
            }
        }
        (refused, requests)
    }

    #[test]
    fn a_service_that_limits_requests_at_once_refuses_few() {
        for most in [1, 4, 10] {
            let (refused, requests) = refusals(most, 500, &RateHeaders::default());
            assert!(refused < 20, "{most}: {refused}");
            assert!(requests.most <= Some(most + 1), "{requests:?}");
        }
    }

    #[test]
    fn a_rate_limit_that_is_used_up_says_nothing_of_requests_at_once() {
        let headers = RateHeaders {
            remaining: Some(0),
            ..RateHeaders::default()
        };
        let (_, requests) = refusals(4, 5, &headers);
        assert_eq!(requests.most, None);
        // Nor does the refusal of a request alone.
        let mut alone = InFlight::default();
        alone.sent();
        alone.ended(&RequestOutcome::Answered(429, RateHeaders::default()));
        assert_eq!(alone.most, None);
    }

    #[test]
    fn what_was_a_passing_refusal_is_forgotten() {
        let mut requests = InFlight::default();
        (0..5).for_each(|_| requests.sent());
        requests.ended(&RequestOutcome::Answered(429, RateHeaders::default()));
        assert!(requests.is_full());
        for _ in 0..200 {
            requests.ended(&RequestOutcome::Answered(200, RateHeaders::default()));
            requests.sent();
        }
        assert_eq!(requests.most, None);
    }
}
