//! Counts what the calls of a scan cost, from whichever task they run on.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// What the calls of a scan have cost.
pub(crate) struct Counts {
    pub(crate) requests: u64,
    pub(crate) retries: u64,
    /// Responses with status 429.
    pub(crate) rate_limited: u64,
    /// Waited for the budget.
    pub(crate) seconds_waited: f64,
    /// Waited before requests were sent again.
    pub(crate) seconds_backed_off: f64,
}

/// Counts of a scan that is under way.
#[derive(Debug, Default)]
pub(crate) struct ScanMetrics {
    /// The offset of the page that the scan needs next, and 1; 0 where it does not say.
    needed: AtomicU64,
    page_bytes: AtomicUsize,
    requests: AtomicU64,
    retries: AtomicU64,
    rate_limited: AtomicU64,
    waited_micros: AtomicU64,
    backed_off_micros: AtomicU64,
}

impl ScanMetrics {
    /// A request left; `waited` is how long the head of the queue waited for the budget.
    pub(crate) fn sent(&self, waited: Duration, attempt: u32) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.retries
            .fetch_add(u64::from(attempt > 1), Ordering::Relaxed);
        self.waited_micros
            .fetch_add(micros(waited), Ordering::Relaxed);
    }

    /// A request was answered with status 429.
    pub(crate) fn refused(&self) {
        self.rate_limited.fetch_add(1, Ordering::Relaxed);
    }

    /// A failed request waits before it is sent again.
    pub(crate) fn backs_off(&self, wait: Duration) {
        self.backed_off_micros
            .fetch_add(micros(wait), Ordering::Relaxed);
    }

    /// The scan cannot go on without the page at this offset, which therefore gets memory before all others.
    pub(crate) fn needs(&self, offset: u64) {
        self.needed
            .store(offset.saturating_add(1), Ordering::Relaxed);
    }

    /// The offset of the page that the scan needs, where it says so.
    pub(crate) fn needed(&self) -> Option<u64> {
        self.needed.load(Ordering::Relaxed).checked_sub(1)
    }

    /// A page was read that takes so much memory.
    pub(crate) fn page_read(&self, bytes: usize) {
        self.page_bytes.store(bytes, Ordering::Relaxed);
    }

    /// What the page that was read last takes in memory, in bytes.
    pub(crate) fn page_bytes(&self) -> usize {
        self.page_bytes.load(Ordering::Relaxed)
    }

    /// The counts so far.
    pub(crate) fn counts(&self) -> Counts {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counts {
            requests: load(&self.requests),
            retries: load(&self.retries),
            rate_limited: load(&self.rate_limited),
            seconds_waited: load(&self.waited_micros) as f64 / 1e6,
            seconds_backed_off: load(&self.backed_off_micros) as f64 / 1e6,
        }
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
