//! The one clock that the client reads; everything that decides takes the time as a parameter.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// A moment: time since the clock was first read. Never goes back.
pub type Time = Duration;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The present moment.
pub(crate) fn now() -> Time {
    START.elapsed()
}

/// The runtime's instant for a moment, to sleep until.
pub(crate) fn instant(time: Time) -> tokio::time::Instant {
    tokio::time::Instant::from_std(*START + time)
}
