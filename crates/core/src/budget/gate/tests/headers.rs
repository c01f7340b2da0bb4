//! Rate headers in every form, usable and unusable.

use std::time::{Duration, SystemTime};

use crate::budget::gate::RateHeaders;
use http::{HeaderMap, HeaderName, HeaderValue};
use proptest::prelude::*;

/// The time of all these responses: 2026-01-02 03:04:05 UTC.
const NOW: u64 = 1_767_323_045;

fn read<'a>(
    seconds: u64,
    headers: impl IntoIterator<Item = (&'static str, &'a [u8])>,
) -> RateHeaders {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let value = HeaderValue::from_bytes(value).expect("a header can hold it");
        map.append(HeaderName::from_static(name), value);
    }
    RateHeaders::read(&map, SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
}

#[test]
fn limits() {
    for (text, limit, window) in [
        (" 40 ", Some(40), None),
        ("40.0", Some(40), None),
        ("40 ; w=1", Some(40), Some(1)),
        ("40, 40;w=1;name=\"x\"", Some(40), Some(1)),
        ("10, 10;w=1, 1000;w=3600", Some(10), Some(1)),
        ("10, 1000;w=3600", Some(10), None),
        ("1000;w=604800", Some(1000), Some(604_800)),
        ("1000;w=1000000000", Some(1000), None),
        ("99999999999999999999", Some(u32::MAX), None),
        ("40;w=", Some(40), None),
        ("40;w=0", Some(40), None),
        ("40;w=-1", Some(40), None),
        (";w=1", None, None),
        ("-40", None, None),
        ("0x28", None, None),
        ("1e3", None, None),
        ("\u{ff14}\u{ff10}", None, None),
    ] {
        let read = read(NOW, [("x-ratelimit-limit", text.as_bytes())]);
        let window = window.map(Duration::from_secs);
        assert_eq!((read.limit, read.window), (limit, window), "{text:?}");
    }
}

#[test]
fn remaining_counts() {
    let cases: [(&[&[u8]], Option<u64>); 10] = [
        (&[b" 39 "], Some(39)),
        (&[b"0.9"], Some(0)),
        (&[b"-3"], Some(0)),
        (&[b"5", b"0"], Some(0)),
        (&[b"7, 3"], Some(3)),
        (&[b"x", b"4"], Some(4)),
        (&[b"1000000000000000000000000000000"], Some(u64::MAX)),
        (&[b"NaN"], None),
        (&[b"\xff\xfe"], None),
        (&[], None),
    ];
    for (lines, remaining) in cases {
        let headers = lines.iter().map(|line| ("x-ratelimit-remaining", *line));
        assert_eq!(read(NOW, headers).remaining, remaining, "{lines:?}");
    }
}

/// Waits in seconds, the same for a reset and for `Retry-After`. The longest one counts.
#[test]
fn waits() {
    for (text, seconds, is_integer) in [
        ("1", Some(1.0), true),
        ("0", Some(0.0), true),
        ("0.000", Some(0.0), false),
        ("86401", Some(86_400.0), true),
        ("999999999", Some(86_400.0), true),
        ("2, 5", Some(5.0), true),
        ("1, 1.5", Some(1.5), false),
        ("0.5, 1", Some(1.0), true),
        ("x, 5,", Some(5.0), true),
        ("2, 1767323050", Some(5.0), true),
        ("1e3", None, false),
        ("-1, x", None, false),
        ("+1", None, false),
        ("nan", None, false),
        ("inf", None, false),
        ("", None, false),
        ("1767323050", Some(5.0), true),
        ("1767323050000", Some(5.0), true),
        ("1767323040", Some(0.0), true),
        ("1234567890", None, false),
        ("5s", Some(5.0), true),
        ("1500ms", Some(1.5), true),
        ("1m30s", Some(90.0), true),
        ("6m0s", Some(360.0), true),
        ("1h", Some(3600.0), true),
        ("5 s", Some(5.0), true),
        ("5x", None, false),
        ("s", None, false),
        ("m5", None, false),
        ("-5s", None, false),
        ("2026-01-02T03:04:15Z", Some(10.0), true),
        ("2026-01-02T05:04:15+02:00", Some(10.0), true),
        ("99999999999999999999999999999999999", None, false),
        ("Fri, 02 Jan 2026 03:04:15 GMT", Some(10.0), true),
        ("Fri, 02 Jan 2026 03:04:00 GMT", Some(0.0), true),
        ("Wed, 01 Jan 2020 00:00:00 GMT", None, false),
        ("Sun, 04 Jan 2026 03:04:15 GMT", Some(86_400.0), true),
        ("Friday, 02-Jan-26 03:04:15 GMT", Some(10.0), true),
        ("Fri, 01 Jan 100000 00:00:00 GMT", None, false),
        ("Zun, 99 Foo 2026 03:04:15 GMT", None, false),
    ] {
        let wait = seconds.map(Duration::from_secs_f64);
        let bytes = text.as_bytes();
        let read = read(NOW, [("x-ratelimit-reset", bytes), ("retry-after", bytes)]);
        assert_eq!((read.reset, read.retry_after), (wait, wait), "{text:?}");
        assert_eq!(read.reset_is_integer, is_integer, "{text:?}");
    }
    for (name, text, wait) in [
        ("retry-after-ms", "2500", Some(2500)),
        ("x-ms-retry-after-ms", "250", Some(250)),
        ("retry-after-ms", "x", None),
    ] {
        let wait = wait.map(Duration::from_millis);
        assert_eq!(
            read(NOW, [(name, text.as_bytes())]).retry_after,
            wait,
            "{name}"
        );
    }
    // A time is compared with the clock of the server.
    let moment: &[u8] = b"Fri, 02 Jan 2026 05:00:10 GMT";
    let date: &[u8] = b"Fri, 02 Jan 2026 05:00:00 GMT";
    let wait = read(NOW, [("retry-after", moment), ("date", date)]).retry_after;
    assert_eq!(wait, Some(Duration::from_secs(10)));
}

/// If there are several limits, each header has them in the same order.
#[test]
fn the_reset_of_the_exhausted_limit_counts() {
    let cases: [(&[&str], &[&str], u64, f64); 9] = [
        (&["0, 950"], &["1, 3200"], 0, 1.0),
        (&["950, 0"], &["3200, 1"], 0, 1.0),
        (&["0", "950"], &["1", "3200"], 0, 1.0),
        (&["0, 0"], &["1, 3200"], 0, 3200.0),
        (&["5, 0, 0"], &["9000, 2, 7"], 0, 7.0),
        (&["0;w=1, 950;w=3600"], &["1;w=1, 3200;w=3600"], 0, 1.0),
        (&["7, 950"], &["1, 3200"], 7, 1.0),
        // Values that cannot be paired count as before.
        (&["0"], &["1, 3200"], 0, 3200.0),
        (&["0, 950"], &["3200"], 0, 3200.0),
    ];
    for (remaining, resets, least, wait) in cases {
        let remaining = remaining
            .iter()
            .map(|text| ("x-ratelimit-remaining", text.as_bytes()));
        let resets = resets
            .iter()
            .map(|text| ("x-ratelimit-reset", text.as_bytes()));
        let read = read(NOW, remaining.chain(resets));
        let wait = Duration::from_secs_f64(wait);
        assert_eq!((read.remaining, read.reset), (Some(least), Some(wait)));
    }
    let draft: [(_, &[u8]); 2] = [("ratelimit-remaining", b"0"), ("ratelimit-reset", b"3")];
    let read = read(NOW, draft);
    assert_eq!(
        (read.remaining, read.reset),
        (Some(0), Some(Duration::from_secs(3)))
    );
}

proptest! {
    #[test]
    fn nothing_breaks_the_reader(
        values in prop::collection::vec(("[ -~\u{80}-\u{ff}]{0,24}", 0..5_usize), 0..8),
        seconds in 0..4_000_000_000_u64,
    ) {
        let names = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "retry-after", "date"];
        let headers = values.iter().map(|(value, name)| (names[*name], value.as_bytes()));
        let read = read(seconds, headers);
        let longest = Duration::from_secs(86_400);
        prop_assert!(read.reset.is_none_or(|reset| reset <= longest));
        prop_assert!(read.retry_after.is_none_or(|wait| wait <= longest));
    }
}
