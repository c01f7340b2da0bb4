//! How many requests were sent within the last minute.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Time;

/// They are counted for spans of this length,
const SPAN: Duration = Duration::from_secs(5);
/// and told for so many of them.
const SPANS: usize = 12;

/// The number of requests in each span, newest last.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct LastMinute(VecDeque<(Time, u32)>);

impl LastMinute {
    /// A request is sent.
    pub(crate) fn send(&mut self, now: Time) {
        match self.0.back_mut() {
            Some((begun, count)) if now < *begun + SPAN => *count += 1,
            _ => self.0.push_back((now, 1)),
        }
        let surplus = self.0.len().saturating_sub(SPANS);
        self.0.drain(..surplus);
    }

    /// How many there were.
    pub(crate) fn sent(&self, now: Time) -> u32 {
        let minute = SPAN * SPANS as u32;
        let recent = self.0.iter().filter(|(begun, _)| *begun + minute > now);
        recent.map(|(_, count)| count).sum()
    }
}
