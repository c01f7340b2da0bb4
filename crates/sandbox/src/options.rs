//! What can be set when a sandbox is started, by name on a command line or in Python.

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

/// How a sandbox behaves; [`Options::default`] is the service as its document describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Port on 127.0.0.1; 0 takes any free one.
    pub port: u16,
    /// Sizes of lists by name, e.g. `contacts` to 100 000; a list that is not named keeps its default size.
    pub records: BTreeMap<String, u64>,
    /// Chooses the sample data: the same seed gives the same records.
    pub seed: u64,
    /// How requests are counted against the limit (the document does not show it).
    pub policy: Policy,
    /// How `x-ratelimit-reset` is rounded (the document does not show it).
    pub rounding: ResetRounding,
    /// Requests admitted per window over all clients: by default 40, as documented.
    pub limit: u32,
    /// Length of the window: by default one second, as documented.
    pub window: Duration,
    /// Added to every round trip, one half before the request is counted and one half after.
    pub latency: Duration,
    /// How long a token lives, and what `expires_in` says.
    pub token_lifetime: Duration,
    /// Which tokens are valid (the document does not show it).
    pub tokens: Tokens,
    /// The most records on a page of any list, whatever `limit` asks for; by default, what each list allows.
    pub max_limit: Option<u64>,
    /// The same from the fourth page request of a list on, if it is less.
    pub later_max_limit: Option<u64>,
    /// What becomes of a limit above the most records of a page.
    pub large_limits: LargeLimits,
    /// Lists that change between page requests.
    pub drift: Option<Drift>,
    /// What lists are sorted by.
    pub order: ListOrder,
    /// What tells records from each other.
    pub ids: Ids,
    /// What the pagination object says of the length of a list.
    pub total: Total,
    /// Which pages a list has.
    pub pages: Pages,
    /// Whether every page is the first one, whatever `offset` asks for and the pagination object says.
    pub ignore_offset: bool,
    /// Read replicas that answer page requests in turn.
    pub replicas: Option<Replicas>,
    /// Whether an array `warnings` of one object accompanies an empty array of records, in lists whose record key
    /// the document does not show. The pagination object then repeats the limit asked for.
    pub warnings: bool,
    /// Whether `/__faults`, `/__requests`, `/__stats`, `/__drift` and `/__changes` exist.
    pub faults: bool,
    /// Whether bodies are compressed for clients that accept gzip.
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
    /// The pages that a list has.
    #[derive(Default)]
    pub enum Pages {
        /// They begin at any offset.
        #[default]
        Any = "any",
        /// They begin at multiples of the limit. Any other offset gets the page that holds it; the pagination object
        /// repeats the offset asked for.
        Rounded = "rounded",
        /// The same, and the pagination object has the offset of the page.
        Told = "told",
        /// They begin at multiples of the limit; any other offset is answered 400.
        Refused = "refused",
        /// Each has as many records as a page can have, whatever limit is asked for; offsets are rounded silently.
        Fixed = "fixed",
    }
}

named! {
    /// What becomes of a limit above the most records of a page.
    #[derive(Default)]
    pub enum LargeLimits {
        /// It is reduced silently.
        #[default]
        Reduced = "reduced",
        /// It is answered 400, with the largest limit.
        Refused = "refused",
        /// It is answered 400, without a reason.
        RefusedBlindly = "refused-blindly",
        /// It is answered 504, as by a gateway that gives up waiting.
        TimedOut = "timed-out",
    }
}

named! {
    /// How requests are counted against the limit.
    pub enum Policy {
        /// Counts in windows aligned to the clock: for a window of 1 s, whole seconds since the Unix epoch.
        ClockWindow = "clock-window",
        /// Counts in windows that open with the first request after the previous one has ended.
        FirstRequestWindow = "first-request-window",
        /// Remembers the time of every admitted request for one window.
        SlidingLog = "sliding-log",
        /// Counts in clock windows and adds the share of the previous one that a sliding window still covers.
        SlidingCounter = "sliding-counter",
        /// A bucket of `limit` tokens, refilled evenly; reset tells when the next token arrives.
        TokenBucket = "token-bucket",
        /// The generic cell rate algorithm with a burst of `limit`; reset tells when the whole burst is back.
        Gcra = "gcra",
        /// Admits everything, and shows the limit as never touched.
        Unlimited = "unlimited",
    }
}

named! {
    /// How the exact time to the reset becomes the text of `x-ratelimit-reset`.
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
    /// Which tokens are valid; the document does not show it.
    #[derive(Default)]
    pub enum Tokens {
        /// All of them, until they expire.
        #[default]
        All = "all",
        /// Only the one that was issued last: each new one ends the one before.
        Newest = "newest",
    }
}

named! {
    /// What a service sorts its lists by.
    #[derive(Default)]
    pub enum ListOrder {
        /// By something that never changes; an updated record keeps its place.
        #[default]
        Stable = "stable",
        /// By a column with ties: runs of seven to twelve records are tied, and come in another order at every request.
        Ties = "ties",
        /// Not at all: every request sees another order.
        Random = "random",
        /// By the time of the last change: an updated record moves to the end.
        Updated = "updated",
        /// By the time of the last change, the latest first: an updated record moves to the front.
        UpdatedDesc = "updated-desc",
        /// By a column that updates change: an updated record moves to a random place.
        Anywhere = "anywhere",
    }
}

named! {
    /// What tells the records of a list from each other.
    #[derive(Default)]
    pub enum Ids {
        /// Each record has an `id` of its own: as documented, or else a string, but an integer beyond 2^53 for tasks.
        #[default]
        Unique = "unique",
        /// No record has an `id`; their other members differ.
        None = "none",
        /// No record has an `id`, and all of them are equal, byte for byte.
        Equal = "equal",
        /// No record has an `id`, and one member of each record, a signed URL, is another one at every read.
        Volatile = "volatile",
        /// Two records, half of the list apart, share one `id`.
        Repeated = "repeated",
        /// Two records, half of the list apart, have different `id`s with the same 64-bit XXH3 hash (without a seed).
        Colliding = "colliding",
    }
}

named! {
    /// What the pagination object says of the length of the list.
    #[derive(Default)]
    pub enum Total {
        /// How many records there are, and whether more follow.
        #[default]
        Exact = "exact",
        /// A `total` of 0; `hasMore` is right.
        Zero = "zero",
        /// A `total` of 0, and `hasMore` is always true, even beyond the end.
        Unknown = "unknown",
        /// The members are right, but texts: `"total":"250"`.
        Text = "text",
        /// `total` is null; `hasMore` is right.
        Null = "null",
        /// Neither `total` nor `hasMore` is there.
        Absent = "absent",
        /// There is no pagination object.
        Nothing = "nothing",
    }
}

/// Changes made to a list between page requests: records come, go and are updated; the order of the others stays.
///
/// A third of the changes happens before the end of the page last asked for, a third right at it, a third behind it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Drift {
    /// A list changes after every so many of its page requests; 0 counts as 1.
    #[serde(rename = "every")]
    pub every_requests: u32,
    /// How many times it changes; 0 is without end.
    pub times: u32,
    /// Records inserted each time.
    pub inserts: u32,
    /// Records deleted each time.
    pub deletes: u32,
    /// Records updated each time: other members, the same `id`; without one, their members stay as they are. Where
    /// an updated record goes is for the [`ListOrder`](crate::Order) to say.
    pub updates: u32,
    /// Records deleted each time in one piece, at a random place.
    pub bulk_deletes: u32,
    /// Chooses the places.
    pub seed: u64,
}

/// Read replicas: copies of a list that answer its requests in turn, of which the last one lags behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Replicas {
    /// How many there are; with fewer than two, none lags.
    pub count: u32,
    /// How many percent of the list, at its end, the last replica lacks. It has its own `total` and `hasMore`.
    #[serde(deserialize_with = "percent")]
    pub lag_percent: u32,
}

impl Default for Replicas {
    /// Two that take turns, one without the last quarter.
    fn default() -> Self {
        Self {
            count: 2,
            lag_percent: 25,
        }
    }
}

/// A change made at once, such as between two runs of a program that resumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Inserts so many records at random places.
    Insert(u64),
    /// Updates records so many times, each time one chosen at random.
    Update(u64),
    /// Deletes so many records, chosen at random.
    Delete(u64),
    /// Deletes so many records at the front.
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

/// Written `every=N,inserts=N`.
impl FromStr for Drift {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        settings(text)
    }
}

/// Written `count=N,lag-percent=N`.
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
