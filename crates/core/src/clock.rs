//! The one clock that the client reads; everything that decides takes the time as a parameter.

use std::pin::pin;
use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A moment: time since the clock was first read. Never goes back.
pub type Time = Duration;

/// A time limit is counted in so many parts.
const PARTS: u32 = 20;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The present moment.
pub(crate) fn now() -> Time {
    START.elapsed()
}

/// The runtime's instant for a moment, to sleep until.
pub(crate) fn instant(time: Time) -> tokio::time::Instant {
    tokio::time::Instant::from_std(*START + time)
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
    // A clock before 1970 is not set at all.
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let micros = since.subsec_micros();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

/// Year, month and day of the Gregorian calendar, so many days after 1970-01-01.
///
/// Years are taken to begin in March, which puts the leap day last; the calendar repeats every 400 years.
fn date(days: u64) -> (u64, u64, u64) {
    // From 0000-03-01 on.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // The lengths of five months from March on, and again from August on, add up to 153 days.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
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

    #[tokio::test]
    async fn what_never_comes_is_not_waited_for_any_longer() {
        let (_server, reply) = oneshot::channel::<()>();
        let began = Instant::now();
        assert_eq!(in_time(LIMIT, reply).await, None);
        assert!(began.elapsed() >= LIMIT);
    }

    #[test]
    fn moments_are_written_in_utc() {
        for (micros, text) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (951_782_399_999_999, "2000-02-28T23:59:59.999999Z"),
            (951_868_799_000_001, "2000-02-29T23:59:59.000001Z"),
            (951_868_800_000_000, "2000-03-01T00:00:00.000000Z"),
            (1_735_689_599_000_000, "2024-12-31T23:59:59.000000Z"),
            (4_107_542_400_000_000, "2100-03-01T00:00:00.000000Z"),
        ] {
            assert_eq!(utc(UNIX_EPOCH + Duration::from_micros(micros)), text);
        }
    }

    #[test]
    fn each_day_follows_the_one_before() {
        let mut before = date(0);
        for days in 1..146_097 * 2 {
            let (year, month, day) = date(days);
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let first = match (day, month) {
                (1, 1) => (year - 1, 12, 31),
                (1, 3) => (year, 2, if leap { 29 } else { 28 }),
                (1, 5 | 7 | 10 | 12) => (year, month - 1, 30),
                (1, _) => (year, month - 1, 31),
                _ => (year, month, day - 1),
            };
            assert_eq!(before, first, "day {days}");
            before = (year, month, day);
        }
    }
}
