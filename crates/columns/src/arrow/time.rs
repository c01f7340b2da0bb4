//! Reads the date-times and full-dates of RFC 3339.

use chrono::{NaiveDate, Timelike};

/// A date-time.
pub(super) struct DateTime<'a> {
    instant: chrono::DateTime<chrono::FixedOffset>,
    /// Digits of the fraction.
    pub(super) digits: usize,
    /// `Z`, `z`, or such as `+02:00`.
    pub(super) offset: &'a str,
    /// Whether its text follows from instant, digits and offset: the `T` is large, and it is no leap second.
    pub(super) plain: bool,
}

impl<'a> DateTime<'a> {
    /// Reads a whole text; none where it is no date-time.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        // chrono takes a space between date and time, and another sign that looks like a minus, too.
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

    /// Microseconds since 1970.
    pub(super) fn micros(&self) -> i64 {
        self.instant.timestamp_micros()
    }

    /// Nanoseconds since 1970; none before 1677-09-21 and after 2262-04-11.
    pub(super) fn nanos(&self) -> Option<i64> {
        self.instant.timestamp_nanos_opt()
    }

    /// Whether microseconds cannot hold it.
    pub(super) fn needs_nanos(&self) -> bool {
        !self.instant.nanosecond().is_multiple_of(1000)
    }
}

/// The days from 1970-01-01 to a full-date; none where the text is none.
pub(super) fn full_date(text: &str) -> Option<i32> {
    // chrono takes signs, spaces and single digits, too.
    let is_plain = |(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => u8::is_ascii_digit(&byte),
    };
    let is_date = text.len() == 10 && text.bytes().enumerate().all(is_plain);
    let date: NaiveDate = is_date.then(|| text.parse().ok())??;
    Some(date.to_epoch_days())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(text: &str) -> Option<i64> {
        DateTime::read(text).map(|found| found.micros())
    }

    #[test]
    fn instants_are_right() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T23:59:59.000001Z", 951_868_799_000_001),
            ("1969-12-31T23:59:59.999999Z", -1),
            ("2026-11-22T08:24:00+02:00", 1_795_328_640_000_000),
            ("2026-11-22t01:24:00-05:00", 1_795_328_640_000_000),
            ("0000-01-01T00:00:00z", -62_167_219_200_000_000),
            ("9999-12-31T23:59:59.999999-23:59", 253_402_387_139_999_999),
            ("2016-12-31T23:59:60Z", 1_483_228_800_000_000),
            ("2017-01-01T05:29:60+05:30", 1_483_228_800_000_000),
            ("1970-01-01T00:00:00.0000019Z", 1),
        ] {
            assert_eq!(micros(text), Some(expected), "{text}");
        }
        let nanos = |text| DateTime::read(text).unwrap().nanos();
        assert_eq!(nanos("1970-01-01T00:00:00.1234567891Z"), Some(123_456_789));
        assert_eq!(nanos("2262-04-11T23:47:16.854775807Z"), Some(i64::MAX));
        assert_eq!(nanos("2262-04-11T23:47:16.854775808Z"), None);
    }

    #[test]
    fn what_is_no_date_time_is_refused() {
        let times = "|T08:24Z|T08:24:00| 08:24:00Z|T08:24:00.Z|T08:24:00,5Z|T24:00:00Z|T08:60:00Z|T08:24:60Z|T08:24:61Z|\
                     T08:24:00+24:00|T08:24:00+0200|T08:24:00Zé|T08:24:00.٣Z";
        let dates =
            "|2026-02-29|1900-02-29|2026-00-10|2026-10-00|10000-01-01|-0001-01-01|२०२६-11-22";
        let texts = times.split('|').map(|time| format!("2026-11-22{time}"));
        let dates = dates.split('|').map(|date| format!("{date}T08:24:00Z"));
        for text in texts.chain(dates).chain([String::new()]) {
            assert_eq!(micros(&text), None, "{text}");
        }
    }

    #[test]
    fn full_dates_are_days() {
        assert_eq!(full_date("1970-01-01"), Some(0));
        assert_eq!(full_date("0000-02-29"), Some(-719_469));
        assert_eq!(full_date("9999-12-31"), Some(2_932_896));
        for text in ["2026-11-31", "2026-1-1", "2026-11-22Z", "20261122"] {
            assert_eq!(full_date(text), None, "{text}");
        }
    }
}
