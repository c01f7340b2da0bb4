//! Reads the rate headers of a response, in every form that gateways are known to send; an unusable value counts as absent.

use std::time::{Duration, SystemTime};

use http::HeaderMap;

/// Service document, section 8: the configured limit.
const LIMIT: &str = "x-ratelimit-limit";
/// Service document, section 8: requests remaining in the current window.
const REMAINING: &str = "x-ratelimit-remaining";
/// Service document, section 8: seconds until the window resets.
const RESET: &str = "x-ratelimit-reset";

/// The longest wait, in seconds: one day. A longer one is taken as this.
const LONGEST: f64 = 86_400.0;
/// A number from here on is no wait and no window, but perhaps a Unix time: it says nothing.
const THIRTY_YEARS: f64 = 1e9;

/// The rate limit headers of one response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RateHeaders {
    /// Requests per window.
    pub limit: Option<u32>,
    /// The window that belongs to the limit.
    pub window: Option<Duration>,
    /// Requests left; the smallest, where several are given.
    pub remaining: Option<u64>,
    /// Time from receipt until the reset; the longest, where several are given.
    pub reset: Option<Duration>,
    /// True if the reset is in whole seconds, so that 0 may mean anything below one second.
    pub reset_is_integer: bool,
    /// Time from receipt until a retry is welcome; the longest, where several are given. It goes before the reset
    /// (RFC 9110, section 10.2.3).
    pub retry_after: Option<Duration>,
}

impl RateHeaders {
    /// Reads the headers of a response received at `wall_now`, which stands in for an absent `Date` header where a
    /// wait is given as a moment.
    pub(crate) fn read(headers: &HeaderMap, wall_now: SystemTime) -> Self {
        let now = items(headers, "date").find_map(moment);
        let now = now.unwrap_or_else(|| since_epoch(wall_now));
        let policies: Vec<_> = items(headers, LIMIT).filter_map(policy).collect();
        let limit = policies.first().map(|(limit, _)| *limit);
        let mut same = policies.iter().filter(|policy| Some(policy.0) == limit);
        let reset = items(headers, RESET)
            .filter_map(|item| Some((wait(item, now)?, !item.contains('.'))))
            .max_by_key(|(wait, _)| *wait);
        let remaining = items(headers, REMAINING).filter_map(number);
        let retry_after = items(headers, "retry-after").filter_map(|item| wait(item, now));
        Self {
            limit,
            window: same.find_map(|policy| policy.1),
            // A cast from a float saturates: below 0 is 0, and far too many is a great many.
            remaining: remaining.map(|left| left as u64).min(),
            reset: reset.map(|(wait, _)| wait),
            reset_is_integer: reset.is_some_and(|(_, integer)| integer),
            retry_after: retry_after.max(),
        }
    }
}

/// The values of one header that are plain text. Proxies join the lines of a header by commas; the one in an HTTP date joins
/// nothing.
fn items<'a>(headers: &'a HeaderMap, name: &'static str) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(name).into_iter();
    let lines = lines.filter_map(|line| line.to_str().ok().map(str::trim));
    lines.flat_map(|line| {
        let is_date = moment(line).is_some();
        line.split(move |letter| letter == ',' && !is_date)
    })
}

/// A plain decimal number. Exponents, signs of plus, `inf` and `nan` have no place in these headers.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    text.parse().ok().filter(|_| is_plain)
}

/// The limit and its window, if any, from `40` or `40;w=1;name="x"`.
fn policy(item: &str) -> Option<(u32, Option<Duration>)> {
    let mut parts = item.split(';').map(str::trim);
    let limit = parts.next().and_then(number)?;
    let window = parts.find_map(|text| number(text.strip_prefix("w=")?));
    let window = window.filter(|seconds| (0.001..THIRTY_YEARS).contains(seconds));
    (limit >= 0.0).then_some((limit as u32, window.map(Duration::from_secs_f64)))
}

/// A wait given in seconds, or as an HTTP date within a day of `now`. A longer wait counts as a day, and none where the date
/// has passed; a date that passed more than a day ago says nothing.
fn wait(text: &str, now: f64) -> Option<Duration> {
    let seconds = match number(text) {
        Some(delay) => Some(delay).filter(|delay| *delay < THIRTY_YEARS)?,
        None => moment(text)
            .map(|at| at - now)
            .filter(|wait| *wait >= -LONGEST)?
            .max(0.0),
    };
    // A delay below 0 is no duration, and so counts as absent.
    Duration::try_from_secs_f64(seconds.min(LONGEST)).ok()
}

/// The Unix time of an HTTP date.
fn moment(text: &str) -> Option<f64> {
    httpdate::parse_http_date(text).ok().map(since_epoch)
}

fn since_epoch(time: SystemTime) -> f64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64()
}
