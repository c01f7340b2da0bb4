//! What threads share: the time, which never goes back, and locks.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Counts by the monotonic clock from the time at which it was made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    epoch: Duration,
    started: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            epoch: epoch.unwrap_or_default(),
            started: Instant::now(),
        }
    }

    /// Since 1970.
    pub(crate) fn now(&self) -> Duration {
        self.epoch + self.elapsed()
    }

    /// Since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

/// Locks `mutex`. A panic elsewhere leaves counters at worst one off, so serving goes on.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
