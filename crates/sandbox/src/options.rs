//! The options of a sandbox, by name on a command line or in Python.

mod table;

use crate::named::named;
use crate::spec::ServiceSpec;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Number, Value};
use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;
pub use table::{SANDBOX_OPTIONS, SandboxOption, SandboxValue};

/// The behaviour of a sandbox. [`Options::default`] is the service as the API description shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The port on 127.0.0.1; 0 selects a free one.
    pub port: u16,
    /// The sizes of lists by name, e.g. `contacts` to 100 000. A list that is not named keeps its default size.
    pub records: BTreeMap<String, u64>,
    /// The seed of the sample data. The same seed gives the same records.
    pub seed: u64,
    /// The policy by which requests are counted against the limit (not shown in the API description).
    pub policy: Policy,
    /// The rounding of `x-ratelimit-reset` (not shown in the API description).
    pub rounding: ResetRounding,
    /// Requests admitted per window over all clients: by default 40, as documented.
    pub limit: u32,
    /// Length of the window: by default one second, as documented.
    pub window: Duration,
    /// The time added to every round trip, one half before the request is counted and one half after.
    pub latency: Duration,
    /// The lifetime of a token, as `expires_in` reports it.
    pub token_lifetime: Duration,
    /// The tokens that are valid (not shown in the API description).
    pub tokens: Tokens,
    /// The maximum number of records on a page of any list, regardless of `limit`. Default: the maximum of each list.
    pub max_limit: Option<u64>,
    /// The maximum number of records on a page from the fourth page request of a list on, if it is lower.
    pub later_max_limit: Option<u64>,
    /// The response to a limit above the maximum.
    pub large_limits: LargeLimits,
    /// Lists that change between page requests.
    pub drift: Option<Drift>,
    /// The order of lists.
    pub order: ListOrder,
    /// The identities of records.
    pub ids: Ids,
    /// The length of a list in the pagination object.
    pub total: Total,
    /// The pages of a list.
    pub pages: Pages,
    /// True if every page is the first one, regardless of `offset` and the pagination object.
    pub ignore_offset: bool,
    /// The read replicas that answer page requests in turn.
    pub replicas: Option<Replicas>,
    /// True if an array `warnings` of one object accompanies an empty array of records, in lists whose record key is
    /// not documented. The pagination object then repeats the requested limit.
    pub warnings: bool,
    /// True if `/__faults`, `/__requests`, `/__stats`, `/__drift` and `/__changes` exist.
    pub faults: bool,
    /// True if bodies are compressed for clients that accept gzip.
    pub gzip: bool,
}

impl Default for Options {
    fn default() -> Self {
        let documented = ServiceSpec::embedded().rate_limit;
        let (limit, window) = documented.unwrap_or((40, Duration::from_secs(1)));
        Self {
            port: 0,
            records: BTreeMap::new(),
            seed: 0,
            policy: Policy::ClockWindow,
            rounding: ResetRounding::Up,
            limit,
            window,
            latency: Duration::ZERO,
            token_lifetime: Duration::from_secs(3600),
            tokens: Tokens::All,
            max_limit: None,
            later_max_limit: None,
            large_limits: LargeLimits::Reduced,
            drift: None,
            order: ListOrder::Stable,
            ids: Ids::Unique,
            total: Total::Exact,
            pages: Pages::Any,
            ignore_offset: false,
            replicas: None,
            warnings: false,
            faults: false,
            gzip: false,
        }
    }
}

named! {
    /// The pages of a list.
    #[derive(Default)]
    pub enum Pages {
        /// Pages begin at any offset.
        #[default]
        Any = "any",
        /// Pages begin at multiples of the limit. Any other offset gets the page that contains it. The pagination
        /// object repeats the requested offset.
        Rounded = "rounded",
        /// Pages begin at multiples of the limit. The pagination object has the offset of the page.
        Told = "told",
        /// Pages begin at multiples of the limit. Any other offset gets the status 400.
        Refused = "refused",
        /// Each page has the maximum number of records, regardless of the limit. Offsets are rounded silently.
        Fixed = "fixed",
    }
}

named! {
    /// The response to a limit above the maximum.
    #[derive(Default)]
    pub enum LargeLimits {
        /// The limit is reduced silently.
        #[default]
        Reduced = "reduced",
        /// Status 400 with the largest limit.
        Refused = "refused",
        /// Status 400 without a reason.
        RefusedBlindly = "refused-blindly",
        /// Status 504, as from a gateway that gives up waiting.
        TimedOut = "timed-out",
    }
}

named! {
    /// The policy by which requests are counted against the limit.
    pub enum Policy {
        /// Counts in windows aligned to the clock: for a window of 1 s, whole seconds since the Unix epoch.
        ClockWindow = "clock-window",
        /// Counts in windows that open with the first request after the end of the previous window.
        FirstRequestWindow = "first-request-window",
        /// Remembers the time of every admitted request for one window.
        SlidingLog = "sliding-log",
        /// Counts in clock windows and adds the share of the previous one that a sliding window still covers.
        SlidingCounter = "sliding-counter",
        /// A bucket of `limit` tokens, refilled evenly. The reset is the time until the next token.
        TokenBucket = "token-bucket",
        /// The generic cell rate algorithm with a burst of `limit`. The reset is the time until the whole burst is
        /// back.
        Gcra = "gcra",
        /// Admits everything, and shows the limit as unused.
        Unlimited = "unlimited",
    }
}

named! {
    /// The rounding of the time to the reset in `x-ratelimit-reset`.
    pub enum ResetRounding {
        /// Whole seconds, never too early and never 0: for a window of 1 s always `1`.
        Up = "up",
        /// Whole seconds, up to one too early: for a window of 1 s nearly always `0`.
        Down = "down",
        /// Seconds with three decimals, rounded up to the millisecond.
        Fractional = "fractional",
    }
}

named! {
    /// The tokens that are valid. The API description does not show it.
    #[derive(Default)]
    pub enum Tokens {
        /// All tokens, until they expire.
        #[default]
        All = "all",
        /// Only the newest token. Each new token invalidates the previous one.
        Newest = "newest",
    }
}

named! {
    /// The order of a service's lists.
    #[derive(Default)]
    pub enum ListOrder {
        /// By something that never changes. An updated record keeps its place.
        #[default]
        Stable = "stable",
        /// By a column with ties. Runs of seven to twelve records are tied, and have a new order at every request.
        Ties = "ties",
        /// At random: every request sees another order.
        Random = "random",
        /// By the time of the last change. An updated record moves to the end.
        Updated = "updated",
        /// By the time of the last change, the latest first. An updated record moves to the front.
        UpdatedDesc = "updated-desc",
        /// By a column that updates change. An updated record moves to a random place.
        Anywhere = "anywhere",
    }
}

named! {
    /// The identities of the records of a list.
    #[derive(Default)]
    pub enum Ids {
        /// Each record has an `id` of its own: as documented, otherwise a string, but for tasks an integer beyond 2^53.
        #[default]
        Unique = "unique",
        /// No record has an `id`; their other members differ.
        None = "none",
        /// No record has an `id`, and all of them are equal, byte for byte.
        Equal = "equal",
        /// No record has an `id`, and one member of each record, a signed URL, differs at every read.
        Volatile = "volatile",
        /// Two records, half of the list apart, share one `id`.
        Repeated = "repeated",
        /// Two records, half of the list apart, have different `id`s with the same 64-bit XXH3 hash (without a seed).
        Colliding = "colliding",
    }
}

named! {
    /// The length of the list in the pagination object.
    #[derive(Default)]
    pub enum Total {
        /// The number of records, and whether more follow.
        #[default]
        Exact = "exact",
        /// A `total` of 0; `hasMore` is right.
        Zero = "zero",
        /// A `total` of 0, and `hasMore` is always true, even beyond the end.
        Unknown = "unknown",
        /// The members are right, but strings: `"total":"250"`.
        Text = "text",
        /// `total` is null; `hasMore` is right.
        Null = "null",
        /// Neither `total` nor `hasMore` is present.
        Absent = "absent",
        /// There is no pagination object.
        Nothing = "nothing",
    }
}

/// Changes to a list between page requests: records are inserted, deleted and updated. The order of the others does not
/// change.
///
/// A third of the changes happens before the end of the page that was requested last, a third right at it, and a third
/// after it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Drift {
    /// The interval of changes in page requests of the list; 0 counts as 1.
    #[serde(rename = "every")]
    pub every_requests: u32,
    /// The number of times that the list changes; 0 means without end.
    pub times: u32,
    /// The number of records inserted each time.
    pub inserts: u32,
    /// The number of records deleted each time.
    pub deletes: u32,
    /// The number of records updated each time: other members, the same `id`. A record without an `id` keeps its
    /// members. The new place of an updated record depends on the [`ListOrder`].
    pub updates: u32,
    /// The number of records deleted each time in one piece, at a random place.
    pub bulk_deletes: u32,
    /// The seed of the places.
    pub seed: u64,
}

/// Read replicas: copies of a list that answer its requests in turn. The last one lags behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Replicas {
    /// The number of replicas; with fewer than two, none lags.
    pub count: u32,
    /// The percentage of the list, at its end, that the last replica lacks. It has its own `total` and `hasMore`.
    #[serde(deserialize_with = "percent")]
    pub lag_percent: u32,
}

impl Default for Replicas {
    /// Returns two replicas that take turns, one without the last quarter.
    fn default() -> Self {
        Self {
            count: 2,
            lag_percent: 25,
        }
    }
}

/// A change made immediately, for example between two runs of a program that resumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Inserts this many records at random places.
    Insert(u64),
    /// Updates records this many times, each time a random one.
    Update(u64),
    /// Deletes this many random records.
    Delete(u64),
    /// Deletes this many records at the front.
    DeleteFirst(u64),
    /// Puts the list in a random order.
    Shuffle,
}

/// Reads `NAME=N,...` as an object with these members.
fn settings<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let setting = |setting: &str| {
        let (name, number) = setting.split_once('=').unwrap_or_default();
        let number = number.parse::<Number>().map_or(Value::Null, Value::Number);
        (name.to_owned(), number)
    };
    let settings: Map<String, Value> = text.split(',').map(setting).collect();
    T::deserialize(Value::Object(settings)).map_err(|error| format!("{text:?}: {error}"))
}

/// Reads `every=N,inserts=N`.
impl FromStr for Drift {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        settings(text)
    }
}

/// Reads `count=N,lag-percent=N`.
impl FromStr for Replicas {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        settings(text)
    }
}

fn percent<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    let percent = u32::deserialize(from)?;
    let wrong = || D::Error::custom(format!("{percent} is more than 100"));
    (percent <= 100).then_some(percent).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read() {
        let expected = Drift {
            every_requests: 3,
            times: 9,
            bulk_deletes: 60,
            seed: 7,
            ..Drift::default()
        };
        let text = "every=3,times=9,bulk-deletes=60,seed=7";
        assert_eq!(text.parse(), Ok(expected));
    }
}
