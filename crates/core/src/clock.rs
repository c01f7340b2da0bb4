//! The client's only clock. Code that decides something takes the time as a parameter.

use chrono::{DateTime, SecondsFormat, Utc};
use std::pin::pin;
use std::time::{Duration, SystemTime};

/// A point in time, by a clock that never goes back and does not depend on the wall clock. All processes of a host
/// share it, except on systems other than Unix.
pub(crate) type Time = Duration;

/// The number of parts in which a time limit is counted.
const PARTS: u32 = 20;

/// Returns the current time.
#[cfg(unix)]
pub(crate) fn now() -> Time {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    // Neither is negative, and a second has less than 2^32 nanoseconds.
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Returns the current time.
#[cfg(not(unix))]
pub(crate) fn now() -> Time {
    use std::{sync::LazyLock, time::Instant};
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed()
}

/// Returns the runtime's instant for a time, to sleep until.
pub(crate) fn instant(time: Time) -> tokio::time::Instant {
    tokio::time::Instant::now() + time.saturating_sub(now())
}

/// Returns the output of `future`; `None` if the time limit passes first. While this process is suspended, at most one
/// part of the time passes. The output may have arrived during the suspension and only needs to be read.
pub(crate) async fn in_time<T>(limit: Duration, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    for _ in 0..PARTS {
        if let Ok(outcome) = tokio::time::timeout(limit / PARTS, &mut future).await {
            return Some(outcome);
        }
    }
    None
}

/// Returns the time in UTC, to the microsecond, such as `2026-11-22T03:55:00.000000Z`.
pub fn utc(moment: SystemTime) -> String {
    DateTime::<Utc>::from(moment).to_rfc3339_opts(SecondsFormat::Micros, true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    const LIMIT: Duration = Duration::from_millis(200);

    #[tokio::test]
    async fn an_output_that_arrives_during_a_suspension_is_in_time() {
        let (server, reply) = oneshot::channel();
        tokio::spawn(async {
            std::thread::sleep(LIMIT * 2);
            // Let the timers run first.
            tokio::task::yield_now().await;
            server.send("slots").unwrap();
        });
        assert_eq!(in_time(LIMIT, reply).await, Some(Ok("slots")));
    }
}
