//! Watches the hard rules, and breaks a run off where one is broken.

use std::collections::VecDeque;
use std::time::Duration;

use talentdata_core::gate::RateHeaders;

use crate::scenario::{LIMIT, Scenario};
use crate::server::WINDOW;

/// Unanswered requests before the first response, and ever.
const MOST_IN_FLIGHT: (usize, usize) = (4, 128);

/// What is needed to judge the next request.
pub(crate) struct Referee {
    scenario: Scenario,
    in_flight: usize,
    answered: bool,
    told_to_wait_until: Duration,
    sent: VecDeque<Duration>,
}

impl Referee {
    pub(crate) fn new(scenario: Scenario) -> Self {
        Self {
            scenario,
            in_flight: 0,
            answered: false,
            told_to_wait_until: Duration::ZERO,
            sent: VecDeque::new(),
        }
    }

    fn insist(&self, holds: bool, rule: &str) {
        assert!(holds, "broken: {rule}, in {:?}", self.scenario);
    }

    pub(crate) fn sends(&mut self, now: Duration) {
        self.insist(now >= self.told_to_wait_until, "wait as told");
        if self.sent.len() == LIMIT as usize {
            let oldest = self.sent.pop_front().unwrap_or_default();
            self.insist(now >= oldest + WINDOW, "the limit in any window");
        }
        self.sent.push_back(now);
        self.in_flight += 1;
        let (first, ever) = MOST_IN_FLIGHT;
        let most = if self.answered { ever } else { first };
        self.insist(self.in_flight <= most, "few requests in flight");
    }

    /// What a response says, however late it is heard.
    pub(crate) fn hears(&mut self, now: Duration, refused: bool, headers: &RateHeaders) {
        self.answered = true;
        if refused || headers.remaining == Some(0) {
            let wait = headers.retry_after.or(headers.reset).unwrap_or_default();
            self.told_to_wait_until = self.told_to_wait_until.max(now + wait);
        }
    }

    pub(crate) fn gives_up(&mut self) {
        self.in_flight -= 1;
    }

    pub(crate) fn waits_until(&self, now: Duration, at: Duration) {
        self.insist(at > now, "a wait ends in the future");
    }
}
