//! Reads the rate headers of a response, in every form that gateways are known to send. An unusable value counts as
//! absent.

use std::time::{Duration, SystemTime};

use http::HeaderMap;

/// Service document, section 8: the configured limit, by its name there and by that of the draft it follows.
const LIMIT: [&str; 2] = ["x-ratelimit-limit", "ratelimit-limit"];
/// Service document, section 8: requests remaining in the current window.
const REMAINING: [&str; 2] = ["x-ratelimit-remaining", "ratelimit-remaining"];
/// Service document, section 8: seconds until the window resets.
const RESET: [&str; 2] = ["x-ratelimit-reset", "ratelimit-reset"];
/// RFC 9110, section 10.2.3.
const RETRY_AFTER: [&str; 1] = ["retry-after"];
/// Headers with the wait in milliseconds, as some clouds send them.
const RETRY_AFTER_MS: [&str; 2] = ["retry-after-ms", "x-ms-retry-after-ms"];

/// The longest wait, in seconds: one day. A longer one counts as this one.
const MAX_WAIT_S: f64 = 86_400.0;
/// The smallest number that is neither a wait nor a window, but may be a Unix time.
const MIN_UNIX_TIME: f64 = 1e9;
/// The smallest number that is a Unix time in milliseconds.
const MIN_UNIX_MILLISECONDS: f64 = 1e11;
/// The units that a wait may have, in seconds.
const UNITS: [(&str, f64); 4] = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];

/// The rate limit headers of one response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RateHeaders {
    /// Requests per window.
    pub limit: Option<u32>,
    /// The window that belongs to the limit.
    pub window: Option<Duration>,
    /// The number of requests left, or the smallest of several.
    pub remaining: Option<u64>,
    /// Time from receipt until the reset. If there are several, the reset of the limit with the fewest requests left
    /// counts, otherwise the longest.
    pub reset: Option<Duration>,
    /// True if the reset is in whole seconds, so that 0 may mean anything below one second.
    pub reset_is_integer: bool,
    /// The time from receipt until a retry is allowed, or the longest of several. It has precedence over the reset (RFC
    /// 9110, section 10.2.3).
    pub retry_after: Option<Duration>,
}

impl RateHeaders {
    /// Reads the headers of a response that was received at `wall_now`. This time replaces an absent `Date` header if
    /// the headers have a time instead of a duration.
    pub(crate) fn read(headers: &HeaderMap, wall_now: SystemTime) -> Self {
        let now = items(headers, ["date"]).find_map(unix_time);
        let now = now.unwrap_or_else(|| since_epoch(wall_now));
        let policies: Vec<_> = items(headers, LIMIT).filter_map(policy).collect();
        let limit = policies.first().map(|(limit, _)| *limit);
        let mut same = policies.iter().filter(|policy| Some(policy.0) == limit);
        // A cast from a float saturates: negative numbers become 0, and large ones the maximum.
        let left = |item| number(first(item)).map(|left| left as u64);
        let remaining: Vec<Option<u64>> = items(headers, REMAINING).map(left).collect();
        let least = remaining.iter().flatten().min().copied();
        let resets = items(headers, RESET).map(first);
        let resets = resets.map(|item| Some((wait(item, now)?, !item.contains('.'))));
        let resets: Vec<Option<(Duration, bool)>> = resets.collect();
        // If there are several limits, each header has them in the same order.
        let is_paired = resets.len() == remaining.len();
        let reset = resets.into_iter().enumerate();
        let reset = reset.filter(|(place, _)| !is_paired || remaining[*place] == least);
        let reset = reset
            .filter_map(|(_, reset)| reset)
            .max_by_key(|reset| reset.0);
        let retry_after = items(headers, RETRY_AFTER).filter_map(|item| wait(item, now));
        let in_ms = items(headers, RETRY_AFTER_MS).filter_map(number);
        let in_ms = in_ms.filter_map(|ms| seconds(ms / 1000.0));
        let retry_after = retry_after.chain(in_ms);
        Self {
            limit,
            window: same.find_map(|policy| policy.1),
            remaining: least,
            reset: reset.map(|(wait, _)| wait),
            reset_is_integer: reset.is_some_and(|(_, integer)| integer),
            retry_after: retry_after.max(),
        }
    }
}

/// Returns the values of one header that are plain text. Proxies join the lines of a header by commas. The comma in an
/// HTTP date does not separate anything.
fn items<'a, const N: usize>(
    headers: &'a HeaderMap,
    names: [&'static str; N],
) -> impl Iterator<Item = &'a str> {
    let name = names.into_iter().find(|name| headers.contains_key(*name));
    let lines = name.into_iter().flat_map(|name| headers.get_all(name));
    let lines = lines.filter_map(|line| line.to_str().ok().map(str::trim));
    lines.flat_map(|line| {
        let is_date = unix_time(line).is_some();
        line.split(move |letter| letter == ',' && !is_date)
    })
}

/// Returns an item without its parameters.
fn first(item: &str) -> &str {
    item.split(';').next().unwrap_or_default().trim()
}

/// Reads a plain decimal number. Exponents, plus signs, `inf` and `nan` are not valid in these headers.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    text.parse().ok().filter(|_| is_plain)
}

/// Reads the limit and its window, if any, from `40` or `40;w=1;name="x"`.
fn policy(item: &str) -> Option<(u32, Option<Duration>)> {
    let mut parts = item.split(';').map(str::trim);
    let limit = parts.next().and_then(number)?;
    let window = parts.find_map(|text| number(text.strip_prefix("w=")?));
    let window = window.filter(|seconds| (0.001..MIN_UNIX_TIME).contains(seconds));
    (limit >= 0.0).then_some((limit as u32, window.map(Duration::from_secs_f64)))
}

/// Reads a wait in seconds, with units as in `1m30s`, or a time within a day of `now`. A wait longer than a day counts
/// as a day. A time in the past is no wait. If it passed more than a day ago, it is ignored.
fn wait(text: &str, now: f64) -> Option<Duration> {
    match number(text) {
        Some(delay) if delay < MIN_UNIX_TIME => seconds(delay),
        // Some gateways give the reset as a Unix time, which is clear only if it is about now.
        Some(at) => {
            let at = if at < MIN_UNIX_MILLISECONDS {
                at
            } else {
                at / 1000.0
            };
            let wait = at - now;
            (wait.abs() <= MAX_WAIT_S).then(|| seconds(wait.max(0.0)))?
        }
        None => match unix_time(text) {
            Some(at) => seconds((at - now).max(0.0)).filter(|_| at - now >= -MAX_WAIT_S),
            None => seconds(with_units(text)?),
        },
    }
}

/// Returns a wait of this many seconds; `None` below 0.
fn seconds(wait: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(wait.min(MAX_WAIT_S)).ok()
}

/// Returns the seconds of a time such as `250ms` or `1m30s`, as Go programs write it.
fn with_units(text: &str) -> Option<f64> {
    let (mut rest, mut sum) = (text.trim(), 0.0);
    while !rest.is_empty() {
        let (digits, behind) = rest.split_at(rest.find(|it: char| it.is_ascii_alphabetic())?);
        let end = behind.find(|it: char| !it.is_ascii_alphabetic());
        let (name, next) = behind.split_at(end.unwrap_or(behind.len()));
        let (_, unit) = UNITS.iter().find(|(unit, _)| *unit == name)?;
        sum += number(digits)? * unit;
        rest = next;
    }
    (!text.trim().is_empty()).then_some(sum)
}

/// Returns the Unix time of an HTTP date, or of a date-time with its zone (RFC 3339).
fn unix_time(text: &str) -> Option<f64> {
    let http = httpdate::parse_http_date(text).ok().map(since_epoch);
    http.or_else(|| {
        let at = chrono::DateTime::parse_from_rfc3339(text.trim()).ok()?;
        Some(at.timestamp_millis() as f64 / 1000.0)
    })
}

fn since_epoch(time: SystemTime) -> f64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64()
}
