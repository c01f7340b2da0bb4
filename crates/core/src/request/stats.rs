//! The statistics of the calls of one scan, to which each of its tasks adds.

use std::sync::Mutex;
use std::time::Duration;
use tokio::sync::watch;

/// The statistics of the calls of a scan so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallStats {
    pub(crate) requests: u64,
    pub(crate) retries: u64,
    /// The number of page requests with the status 429.
    pub(crate) rate_limited: u64,
    /// The total time for which the first call in the queue waited for the budget.
    pub(crate) waited: Duration,
    /// The time that failed requests waited before they were sent again.
    pub(crate) backed_off: Duration,
    /// The size in memory of the page that was read last, in bytes.
    pub(super) page_bytes: usize,
}

/// The state that the calls of a running scan share.
#[derive(Debug, Default)]
pub(crate) struct ScanCalls {
    pub(crate) stats: Mutex<CallStats>,
    /// The offset of the page that the scan needs next, which therefore does not wait for memory.
    pub(crate) needed: watch::Sender<Option<u64>>,
    pub(crate) hides: Hides,
}

/// The parts of responses that errors must not have.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hides {
    /// Records, and the names of members, which may be values.
    pub(crate) records: bool,
    /// The `id` of a record.
    pub(crate) ids: bool,
}
