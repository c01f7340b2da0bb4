//! Reads the date-times and full-dates of RFC 3339.

use chrono::{NaiveDate, Timelike};

/// A date-time.
pub(super) struct DateTime<'a> {
    instant: chrono::DateTime<chrono::FixedOffset>,
    /// The number of digits in the fraction of a second.
    pub(super) digits: usize,
    /// The offset, for example `Z`, `z` or `+02:00`.
    pub(super) offset: &'a str,
    /// True if instant, digits and offset determine the text: the `T` is upper case, and it is not a leap second.
    pub(super) plain: bool,
}

impl<'a> DateTime<'a> {
    /// Reads a whole text; `None` if it is not a date-time.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        // chrono also accepts a space between date and time, and the Unicode minus sign.
        let letter = *text.as_bytes().get(10)?;
        if !matches!(letter, b'T' | b't') || !text.is_ascii() {
            return None;
        }
        let instant = chrono::DateTime::parse_from_rfc3339(text).ok()?;
        let is_leap = instant.nanosecond() >= 1_000_000_000;
        // A leap second ends a day in UTC.
        if is_leap && (instant.timestamp() + 1).rem_euclid(86_400) != 0 {
            return None;
        }
        let behind = text.get(19..)?;
        let fraction = behind.find(|letter: char| letter != '.' && !letter.is_ascii_digit())?;
        Some(DateTime {
            instant,
            digits: fraction.saturating_sub(1),
            offset: behind.get(fraction..)?,
            plain: letter == b'T' && !is_leap,
        })
    }

    /// Returns the microseconds since 1970.
    pub(super) fn micros(&self) -> i64 {
        self.instant.timestamp_micros()
    }

    /// Returns the nanoseconds since 1970; `None` before 1677-09-21 and after 2262-04-11.
    pub(super) fn nanos(&self) -> Option<i64> {
        self.instant.timestamp_nanos_opt()
    }

    /// Returns whether it has digits beyond microseconds.
    pub(super) fn needs_nanos(&self) -> bool {
        !self.instant.nanosecond().is_multiple_of(1000)
    }
}

/// Returns the days from 1970-01-01 to a full-date; `None` if the text is not one.
pub(super) fn full_date(text: &str) -> Option<i32> {
    // chrono also accepts signs, spaces and single digits.
    let is_plain = |(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => u8::is_ascii_digit(&byte),
    };
    let is_date = text.len() == 10 && text.bytes().enumerate().all(is_plain);
    let date: NaiveDate = is_date.then(|| text.parse().ok())??;
    Some(date.to_epoch_days())
}
