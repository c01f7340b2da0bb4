//! Times of sample records, in an order that can be: nothing is changed before it was made.

use std::time::Duration;

use super::Rng;
use super::json::padded;

const DAY: u64 = 86_400;

/// From 1970-01-01 to 2019-01-01.
const FIRST_DAY: u64 = 17_897;

/// A second between 2019 and 2026, in UTC.
#[derive(Clone, Copy)]
pub(super) struct Moment(u64);

impl Moment {
    /// One of six years, so that there is time for what follows.
    pub(super) fn random(rng: &mut Rng) -> Self {
        Self(FIRST_DAY * DAY + rng.below(6 * 365 * DAY))
    }

    /// At most so many days later.
    pub(super) fn later(self, days: u64, rng: &mut Rng) -> Self {
        Self(self.0 + 60 + rng.below(days * DAY))
    }

    /// Writes it as a date-time of RFC 3339.
    pub(super) fn write(self, out: &mut Vec<u8>) {
        self.write_date(out);
        out.pop();
        let second = self.0 % DAY;
        for (mark, number) in [
            (b'T', second / 3600),
            (b':', second / 60 % 60),
            (b':', second % 60),
        ] {
            out.push(mark);
            padded(out, number, 2);
        }
        out.extend_from_slice(b"Z\"");
    }

    /// Writes its day as a full-date of RFC 3339.
    pub(super) fn write_date(self, out: &mut Vec<u8>) {
        // Years are taken to begin in March, which puts the leap day last.
        let days = self.0 / DAY + 719_468;
        let (era, day) = (days / 146_097, days % 146_097);
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let day = day - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        out.push(b'"');
        padded(out, era * 400 + year + u64::from(month <= 2), 4);
        for number in [month, day] {
            out.push(b'-');
            padded(out, number, 2);
        }
        out.push(b'"');
    }
}

/// A time since 1970 as a date-time of RFC 3339 in UTC, with microseconds.
pub(crate) fn moment_text(since: Duration) -> String {
    let mut out = Vec::new();
    Moment(since.as_secs()).write(&mut out);
    let text = String::from_utf8_lossy(&out).into_owned();
    let micros = format!(".{:06}Z", since.subsec_micros());
    text.trim_matches('"').replace('Z', &micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_rfc_3339_prescribes() {
        let text = |moment: Moment| {
            let mut out = Vec::new();
            moment.write(&mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(Moment(FIRST_DAY * DAY)), r#""2019-01-01T00:00:00Z""#);
        assert_eq!(text(Moment(1_709_251_199)), r#""2024-02-29T23:59:59Z""#);
        assert_eq!(text(Moment(1_735_689_599)), r#""2024-12-31T23:59:59Z""#);
        let now = Duration::from_micros(1_709_251_199_000_045);
        assert_eq!(moment_text(now), "2024-02-29T23:59:59.000045Z");
    }
}
