//! The one clock that the client reads; everything that decides takes the time as a parameter.

use chrono::{DateTime, SecondsFormat, Utc};
use std::pin::pin;
use std::time::{Duration, SystemTime};

/// A moment, by a clock that never goes back and that no setting of the wall clock changes. All processes of a host share it,
/// except on systems other than Unix.
pub(crate) type Time = Duration;

/// A time limit is counted in so many parts.
const PARTS: u32 = 20;

/// The present moment.
#[cfg(unix)]
pub(crate) fn now() -> Time {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    // Neither is negative, and a second has less than 2^32 nanoseconds.
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The present moment.
#[cfg(not(unix))]
pub(crate) fn now() -> Time {
    use std::{sync::LazyLock, time::Instant};
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed()
}

/// The runtime's instant for a moment, to sleep until.
pub(crate) fn instant(time: Time) -> tokio::time::Instant {
    tokio::time::Instant::now() + time.saturating_sub(now())
}

/// What `future` completes with; none when the time limit passes first. While this process stands still, one part of the
/// time goes by at most: what is waited for may have come meanwhile, and is yet to be read.
pub(crate) async fn in_time<T>(limit: Duration, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    for _ in 0..PARTS {
        if let Ok(outcome) = tokio::time::timeout(limit / PARTS, &mut future).await {
            return Some(outcome);
        }
    }
    None
}

/// The moment in UTC, to the microsecond, such as `2026-11-22T03:55:00.000000Z`.
pub fn utc(moment: SystemTime) -> String {
    DateTime::<Utc>::from(moment).to_rfc3339_opts(SecondsFormat::Micros, true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    const LIMIT: Duration = Duration::from_millis(200);

    #[tokio::test]
    async fn what_comes_while_the_process_stands_still_is_in_time() {
        let (server, reply) = oneshot::channel();
        tokio::spawn(async {
            std::thread::sleep(LIMIT * 2);
            // Timers come first.
            tokio::task::yield_now().await;
            server.send("slots").unwrap();
        });
        assert_eq!(in_time(LIMIT, reply).await, Some(Ok("slots")));
    }
}
