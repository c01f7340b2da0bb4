//! Round-trip times: their floor, mean and spread, in seconds.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Time;

/// Enough for a percentile of 99, few enough to follow a change within seconds.
const SAMPLES: usize = 128;
/// The floor is the least of the current span and the one before, so that it follows a changed route.
const FLOOR_SPAN: Duration = Duration::from_secs(15);
/// Below this many samples the true floor may be far lower than the least seen.
const FEW_SAMPLES: u64 = 30;
/// Part of the least round trip that is taken for the floor while samples are few.
const TRUST_EARLY: f64 = 0.8;

/// Statistics of the round-trip time.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Latency {
    recent: VecDeque<f64>,
    /// The same, in order of size.
    sorted: Vec<f64>,
    seen: u64,
    span_began: Time,
    least: [f64; 2],
    floor: f64,
    mean: f64,
    p99: f64,
}

impl Latency {
    pub(super) fn add(&mut self, now: Time, round_trip: Duration) {
        let sample = round_trip.as_secs_f64();
        if self.seen == 0 {
            (self.span_began, self.least) = (now, [sample; 2]);
        } else if now > self.span_began + FLOOR_SPAN {
            (self.span_began, self.least) = (now, [sample, self.least[0]]);
        }
        self.seen += 1;
        self.least[0] = self.least[0].min(sample);
        if self.recent.len() == SAMPLES
            && let Some(oldest) = self.recent.pop_front()
        {
            self.sorted
                .remove(self.sorted.partition_point(|other| *other < oldest));
        }
        self.recent.push_back(sample);
        let place = self.sorted.partition_point(|other| *other < sample);
        self.sorted.insert(place, sample);

        let trust = if self.seen < FEW_SAMPLES {
            TRUST_EARLY
        } else {
            1.0
        };
        self.floor = trust * self.least[0].min(self.least[1]);
        self.mean = self.sorted.iter().sum::<f64>() / self.sorted.len() as f64;
        self.p99 = self.sorted[(self.sorted.len() - 1) * 99 / 100];
    }

    /// Whether values that were read can be.
    pub(super) fn is_valid(&self) -> bool {
        let mut sorted: Vec<f64> = self.recent.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        let derived = [
            self.floor,
            self.mean,
            self.p99,
            self.least[0],
            self.least[1],
        ];
        let is_time = |seconds: &f64| (0.0..=1e6).contains(seconds);
        sorted == self.sorted
            && sorted.len() <= SAMPLES
            && self.p99 >= self.floor
            && sorted.iter().chain(&derived).all(is_time)
    }

    /// A round trip is never believed to be shorter than this.
    pub(super) fn floor(&self) -> f64 {
        self.floor
    }

    pub(super) fn mean(&self) -> f64 {
        self.mean
    }

    /// How far all but the rarest round trips lie above the floor: a bound of the jitter on the way to the server.
    pub(super) fn spread(&self) -> f64 {
        self.p99 - self.floor
    }
}
