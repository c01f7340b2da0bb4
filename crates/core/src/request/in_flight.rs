//! The number of requests that a service answers at the same time, if the service limits it: learned from its refusals.
//! The functions are pure.
//!
//! If other requests are under way and the rate limit is not used up, a refusal may mean that the service accepts no
//! more requests at the same time. From then on, no more are sent at the same time. The number grows again by one at a
//! time (additive increase), and more slowly after each refused trial, because each refusal also pauses the whole
//! budget.

use crate::budget::RequestOutcome;

/// The number of successes after a refusal before one more request is tried.
const SUCCESSES_BEFORE_TRIAL: u32 = 16;
/// The factor by which that number grows with each refused trial. The third trial is then far enough from the second
/// one for the budget's back-off to begin at its shortest pause.
const TRIAL_FACTOR: u32 = 4;
/// The maximum number of successes before one more request is tried.
const MAX_SUCCESSES_BEFORE_TRIAL: u32 = 1024;
/// A number of requests at the same time that is above the limit of every known service.
const ABOVE_EVERY_LIMIT: usize = 128;

/// The number of requests under way, and its limit.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    now: usize,
    /// The maximum number of requests under way; `None` if no limit is known.
    most: Option<usize>,
    successes: u32,
    /// The number of successes before one more request is tried.
    patience: u32,
    /// True while one more request than before is allowed, to see whether it is refused.
    is_tried: bool,
}

impl InFlight {
    /// Returns whether another request must wait for one under way.
    pub(super) fn is_full(&self) -> bool {
        self.most.is_some_and(|most| self.now >= most)
    }

    /// Notes that a request is sent.
    pub(super) fn sent(&mut self) {
        self.now += 1;
    }

    /// Notes the outcome of a request.
    pub(super) fn ended(&mut self, outcome: &RequestOutcome) {
        self.now = self.now.saturating_sub(1);
        match outcome {
            RequestOutcome::Answered(429, headers) if headers.remaining != Some(0) => {
                if self.now == 0 {
                    // It was the only request, so another limit applies.
                    return;
                }
                let was_tried = std::mem::take(&mut self.is_tried);
                let factor = if was_tried { TRIAL_FACTOR } else { 1 };
                self.patience = (factor * self.patience)
                    .clamp(SUCCESSES_BEFORE_TRIAL, MAX_SUCCESSES_BEFORE_TRIAL);
                self.most = Some(self.most.unwrap_or(ABOVE_EVERY_LIMIT).min(self.now));
                self.successes = 0;
            }
            RequestOutcome::Answered(200..=299, _) => {
                self.successes += 1;
                if self.successes > self.patience
                    && let Some(most) = self.most
                {
                    self.successes = 0;
                    self.is_tried = true;
                    self.most = Some(most + 1).filter(|most| *most < ABOVE_EVERY_LIMIT);
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

    /// Sends as many requests as allowed, in rounds of responses, to a service that accepts `most` at the same time.
    /// Returns the number of refusals.
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
    fn each_refused_trial_makes_the_next_one_rarer() {
        let (mut requests, mut successes, mut between) = (InFlight::default(), 0, Vec::new());
        (0..3).for_each(|_| requests.sent());
        requests.ended(&RequestOutcome::Answered(429, RateHeaders::default()));
        while between.len() < 5 {
            requests.ended(&RequestOutcome::Answered(200, RateHeaders::default()));
            requests.sent();
            successes += 1;
            if !requests.is_full() {
                requests.sent();
                requests.ended(&RequestOutcome::Answered(429, RateHeaders::default()));
                between.push(std::mem::take(&mut successes));
            }
        }
        assert_eq!(between, [17, 65, 257, 1025, 1025]);
    }

    #[test]
    fn a_rate_limit_that_is_used_up_says_nothing_of_requests_at_once() {
        let headers = RateHeaders {
            remaining: Some(0),
            ..RateHeaders::default()
        };
        let (_, requests) = refusals(4, 5, &headers);
        assert_eq!(requests.most, None);
        // Neither does the refusal of a single request.
        let mut alone = InFlight::default();
        alone.sent();
        alone.ended(&RequestOutcome::Answered(429, RateHeaders::default()));
        assert_eq!(alone.most, None);
    }

    #[test]
    fn a_limit_that_no_longer_holds_is_lifted() {
        let mut requests = InFlight::default();
        (0..5).for_each(|_| requests.sent());
        requests.ended(&RequestOutcome::Answered(429, RateHeaders::default()));
        assert!(requests.is_full());
        for _ in 0..SUCCESSES_BEFORE_TRIAL as usize * ABOVE_EVERY_LIMIT + ABOVE_EVERY_LIMIT {
            requests.ended(&RequestOutcome::Answered(200, RateHeaders::default()));
            requests.sent();
        }
        assert_eq!(requests.most, None);
    }
}
