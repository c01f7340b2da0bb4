//! Reads the rate headers of a response, in every form that gateways are known to send; what cannot be used is absent.

use std::time::{Duration, SystemTime};

use http::HeaderMap;
use http::header::{DATE, HeaderName, RETRY_AFTER};

/// Service document, section 8: the configured limit.
const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
/// Service document, section 8: requests remaining in the current window.
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
/// Service document, section 8: seconds until the window resets.
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// The longest wait, in seconds: one day. A longer one is taken as this.
const LONGEST: f64 = 86_400.0;
/// A number from here on is no wait and no window, but perhaps a Unix time: it says nothing.
const THIRTY_YEARS: f64 = 1e9;

/// What one response says about the rate limit (service document, section 8).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RateHeaders {
    /// Requests per window.
    pub limit: Option<u32>,
    /// The window that belongs to the limit.
    pub window: Option<Duration>,
    /// Requests left; the smallest, where several are given.
    pub remaining: Option<u64>,
    /// Time from receipt until the reset; the longest, where several are given.
    pub reset: Option<Duration>,
    /// Whether the reset was given in whole seconds, so that 0 may mean anything below one second.
    pub reset_is_integer: bool,
    /// Time from receipt until a retry is welcome; the longest, where several are given. It goes before the reset
    /// (RFC 9110, section 10.2.3).
    pub retry_after: Option<Duration>,
}

impl RateHeaders {
    /// Reads the headers of a response received at `wall_now`, which stands in for an absent `Date` header where a
    /// wait is given as a moment. Never fails: an unusable value counts as absent.
    pub fn read(headers: &HeaderMap, wall_now: SystemTime) -> Self {
        let date = lines(headers, &DATE).find_map(|line| httpdate::parse_http_date(line).ok());
        let now = seconds_since_epoch(date.unwrap_or(wall_now));
        let (limit, window) = limit(headers);
        let reset = waits(headers, &RESET)
            .filter_map(|item| Some((wait(item, now)?, !item.contains('.'))))
            .max_by_key(|(wait, _)| *wait);
        Self {
            limit,
            window,
            remaining: lines(headers, &REMAINING)
                .flat_map(|line| line.split(','))
                .filter_map(number)
                // A cast from a float saturates: below 0 is 0, and far too many is a great many.
                .map(|left| left as u64)
                .min(),
            reset: reset.map(|(wait, _)| wait),
            reset_is_integer: reset.is_some_and(|(_, integer)| integer),
            retry_after: waits(headers, &RETRY_AFTER)
                .filter_map(|item| wait(item, now))
                .max(),
        }
    }
}

/// The values of one header that are plain text, without surrounding blanks.
fn lines<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let values = headers.get_all(name).into_iter();
    values.filter_map(|value| value.to_str().ok().map(str::trim))
}

/// The waits that one header gives. Proxies join the lines of a header by commas, and an HTTP date has one of its own.
fn waits<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    lines(headers, name).flat_map(|line| {
        let date = httpdate::parse_http_date(line).is_ok();
        line.split(move |letter| letter == ',' && !date)
    })
}

/// A plain decimal number. Exponents, signs of plus, `inf` and `nan` have no place in these headers.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    text.parse().ok().filter(|_| plain)
}

/// The limit and its window from `40`, `40;w=1` or `40, 40;w=1;name="x"`: the first number is the limit in force, and its
/// window is the first one given with that number.
fn limit(headers: &HeaderMap) -> (Option<u32>, Option<Duration>) {
    let policies: Vec<_> = lines(headers, &LIMIT)
        .flat_map(|line| line.split(','))
        .filter_map(policy)
        .collect();
    let limit = policies.first().map(|(limit, _)| *limit);
    let same = policies.iter().filter(|(other, _)| Some(*other) == limit);
    (limit, same.filter_map(|(_, window)| *window).next())
}

fn policy(item: &str) -> Option<(u32, Option<Duration>)> {
    let (head, parameters) = item.split_once(';').unwrap_or((item, ""));
    let limit = number(head).filter(|limit| *limit >= 0.0)?;
    let mut parameters = parameters.split(';').map(str::trim);
    let window = parameters.find_map(|text| number(text.strip_prefix("w=")?));
    let window = window.filter(|seconds| (0.001..THIRTY_YEARS).contains(seconds));
    Some((limit as u32, window.map(Duration::from_secs_f64)))
}

/// A wait given in seconds, or as an HTTP date within a day of `now`. A longer wait counts as a day, and none where the date
/// has passed; a date that passed more than a day ago says nothing.
fn wait(text: &str, now: f64) -> Option<Duration> {
    let seconds = match number(text) {
        Some(delay) => Some(delay).filter(|delay| *delay < THIRTY_YEARS)?,
        None => {
            let date = httpdate::parse_http_date(text).ok()?;
            let wait = seconds_since_epoch(date) - now;
            Some(wait).filter(|wait| *wait >= -LONGEST)?.max(0.0)
        }
    };
    // A delay below 0 is no duration, and so counts as absent.
    Duration::try_from_secs_f64(seconds.min(LONGEST)).ok()
}

fn seconds_since_epoch(time: SystemTime) -> f64 {
    time.duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64())
}
