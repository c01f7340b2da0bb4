//! Counts of what a sandbox has seen, for tests of how a client behaves.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde::Serialize;

/// What a sandbox has seen since it was started. Requests to `/__` paths are not counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// All requests, refused ones too.
    pub requests: u64,
    /// Requests for a token (`POST /v1/oauth/token`), refused ones too.
    pub token_posts: u64,
    /// Requests that were answered 429.
    pub limited: u64,
    /// Requests by path, or by its template where it has parameters (`/v1/contacts/{id}`); paths that the service does
    /// not have are counted together as `other`.
    pub requests_by_path: BTreeMap<String, u64>,
    /// The most requests that were admitted within any one second, wherever that second begins.
    pub most_in_a_second: u64,
}

/// Counts requests as they come.
#[derive(Debug, Default)]
pub(crate) struct Counter {
    pub(crate) stats: Stats,
    /// Times of the requests admitted within the last second.
    recent: VecDeque<Duration>,
}

impl Counter {
    pub(crate) fn count(&mut self, path: &str, token_post: bool, admitted: bool, now: Duration) {
        let stats = &mut self.stats;
        stats.requests += 1;
        stats.token_posts += u64::from(token_post);
        *stats.requests_by_path.entry(path.to_owned()).or_default() += 1;
        if !admitted {
            stats.limited += 1;
            return;
        }
        let second = Duration::from_secs(1);
        while self
            .recent
            .front()
            .is_some_and(|then| now.saturating_sub(*then) >= second)
        {
            self.recent.pop_front();
        }
        self.recent.push_back(now);
        stats.most_in_a_second = stats.most_in_a_second.max(self.recent.len() as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_second_may_begin_anywhere() {
        let mut counter = Counter::default();
        for millis in [0, 900, 950, 1000, 1899, 1900, 5000] {
            counter.count("/v1/version", false, true, Duration::from_millis(millis));
        }
        counter.count("other", false, false, Duration::from_millis(5001));
        assert_eq!(counter.stats.most_in_a_second, 4, "900 to 1899");
        assert_eq!(counter.stats.limited, 1);
        assert_eq!(counter.stats.requests_by_path["/v1/version"], 7);
    }
}
