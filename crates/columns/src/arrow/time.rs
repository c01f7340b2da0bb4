//! Reads the date-times and full-dates of RFC 3339.

/// A date-time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DateTime<'a> {
    /// Seconds since 1970-01-01T00:00:00Z, leap seconds not counted.
    seconds: i64,
    nanos: u32,
    /// Digits of the fraction.
    pub(super) digits: usize,
    /// `Z`, `z`, or such as `+02:00`.
    pub(super) offset: &'a str,
    /// Whether its text follows from instant, digits and offset: the `T` is large, and it is no leap second.
    pub(super) plain: bool,
}

const DAY: i64 = 86_400;

impl<'a> DateTime<'a> {
    /// Reads a whole text; none where it is no date-time.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let bytes = text.as_bytes();
        let (date, rest) = bytes.split_at_checked(10)?;
        let (time, rest) = rest.split_first_chunk::<9>()?;
        let &[letter, h1, h2, b':', m1, m2, b':', s1, s2] = time else {
            return None;
        };
        let days = read_days(date)?;
        let (hour, minute) = (two(h1, h2, 23)?, two(m1, m2, 59)?);
        let second = two(s1, s2, 60)?;
        let digits = match rest.split_first() {
            Some((b'.', rest)) => rest.iter().take_while(|byte| byte.is_ascii_digit()).count(),
            _ => 0,
        };
        let fraction = match (digits, rest.first()) {
            (0, Some(b'.')) => return None,
            (0, _) => 0,
            _ => digits + 1,
        };
        let nanos = rest.get(1..fraction).map_or(0, read_nanos);
        let ahead = read_offset(rest.get(fraction..)?)?;
        let of_day = hour * 3600 + minute * 60 + second - ahead;
        // A leap second ends a day in UTC.
        if second == 60 && of_day.rem_euclid(DAY) != 0 || !matches!(letter, b'T' | b't') {
            return None;
        }
        Some(DateTime {
            seconds: days * DAY + of_day,
            nanos,
            digits,
            offset: text.get(19 + fraction..)?,
            plain: letter == b'T' && second < 60,
        })
    }

    /// Microseconds since 1970.
    pub(super) fn micros(&self) -> i64 {
        // Four digits of a year cannot overflow.
        self.seconds * 1_000_000 + i64::from(self.nanos / 1000)
    }

    /// Nanoseconds since 1970; none before 1677-09-21 and after 2262-04-11.
    pub(super) fn nanos(&self) -> Option<i64> {
        let nanos = i128::from(self.seconds) * 1_000_000_000 + i128::from(self.nanos);
        i64::try_from(nanos).ok()
    }

    /// Whether microseconds cannot hold it.
    pub(super) fn needs_nanos(&self) -> bool {
        !self.nanos.is_multiple_of(1000)
    }
}

/// The days from 1970-01-01 to a full-date; none where the text is none.
pub(super) fn full_date(text: &str) -> Option<i32> {
    read_days(text.as_bytes())?.try_into().ok()
}

fn read_days(text: &[u8]) -> Option<i64> {
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text else {
        return None;
    };
    let year = two(y1, y2, 99)? * 100 + two(y3, y4, 99)?;
    let month = two(m1, m2, 12).filter(|month| *month > 0)?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let day = two(d1, d2, last).filter(|day| *day > 0)?;
    // Years are taken to begin in March, which puts the leap day last. The lengths of five months from
    // March on, and again from August on, add up to 153 days.
    let (year, month) = match month {
        3.. => (year, month - 3),
        _ => (year - 1, month + 9),
    };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let of_year = (153 * month + 2) / 5 + day - 1;
    Some(365 * year + leap_days + of_year - 719_468)
}

/// Seconds that local time is ahead of UTC.
fn read_offset(text: &[u8]) -> Option<i64> {
    match *text {
        [b'Z' | b'z'] => Some(0),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let seconds = two(h1, h2, 23)? * 3600 + two(m1, m2, 59)? * 60;
            Some(if sign == b'-' { -seconds } else { seconds })
        }
        _ => None,
    }
}

/// Digits beyond the ninth are dropped.
fn read_nanos(digits: &[u8]) -> u32 {
    let digits = digits.iter().map(|digit| u32::from(digit - b'0'));
    let padded = digits.chain(std::iter::repeat(0)).take(9);
    padded.fold(0, |number, digit| number * 10 + digit)
}

/// A number of two digits.
#[inline]
fn two(tens: u8, ones: u8, most: i64) -> Option<i64> {
    let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
    let number = i64::from(tens) * 10 + i64::from(ones);
    (tens < 10 && ones < 10 && number <= most).then_some(number)
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
        for text in [
            "",
            "2026-11-22",
            "2026-11-22T08:24Z",
            "2026-11-22T08:24:00",
            "2026-11-22 08:24:00Z",
            "2026-11-22T08:24:00.Z",
            "2026-11-22T08:24:00,5Z",
            "2026-11-22T24:00:00Z",
            "2026-11-22T08:60:00Z",
            "2026-11-22T08:24:60Z",
            "2026-11-22T08:24:61Z",
            "2026-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2026-00-10T00:00:00Z",
            "2026-10-00T00:00:00Z",
            "10000-01-01T00:00:00Z",
            "-0001-01-01T00:00:00Z",
            "2026-11-22T08:24:00+24:00",
            "2026-11-22T08:24:00+0200",
            "2026-11-22T08:24:00Zé",
            "२०२६-11-22T08:24:00Z",
            "2026-11-22T08:24:00.٣Z",
        ] {
            assert_eq!(micros(text), None, "{text}");
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

    #[test]
    fn each_day_follows_the_one_before() {
        let mut before = full_date("1599-12-31").unwrap();
        for year in 1600..2001 {
            for month in 1..13 {
                for day in 1..32 {
                    if let Some(days) = full_date(&format!("{year}-{month:02}-{day:02}")) {
                        assert_eq!(days, before + 1);
                        before = days;
                    }
                }
            }
        }
        assert_eq!(full_date("2001-01-01"), Some(before + 1));
    }
}
