//! Writes a moment of the wall clock as RFC 3339 prescribes.

use std::time::{SystemTime, UNIX_EPOCH};

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
    use std::time::Duration;

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
