//! What can be set when a sandbox is started, by name on a command line or in Python.

use crate::limit::{Policy, ResetRounding};
use crate::list::Total;
use crate::records::Ids;
use crate::spec::Spec;
use crate::state::Order;
use crate::token::Tokens;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

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
    /// Requests admitted per window over all clients: by default what the document says (section 8: 40).
    pub limit: u32,
    /// Length of the window: by default what the document says (section 8: one second).
    pub window: Duration,
    /// Added to every round trip, one half before the request is counted and one half after.
    pub latency: Duration,
    /// Up to this much more, chosen anew for each round trip.
    pub jitter: Duration,
    /// How long a token lives, and what `expires_in` says (section 2).
    pub token_lifetime: Duration,
    /// Which tokens are valid (the document does not show it).
    pub tokens: Tokens,
    /// The most records on a page of any list, whatever `limit` asks for; by default, what each list allows.
    pub max_limit: Option<u64>,
    /// The same from the fourth page request of a list on, if it is less.
    pub later_max_limit: Option<u64>,
    /// Lists that change between page requests (section 8, pagination, rule 7).
    pub drift: Option<Drift>,
    /// What lists are sorted by.
    pub order: Order,
    /// What tells records from each other.
    pub ids: Ids,
    /// What the pagination object says of the length of a list.
    pub total: Total,
    /// Whether every page is the first one, whatever `offset` asks for and the pagination object says.
    pub ignore_offset: bool,
    /// Read replicas that answer page requests in place of each other.
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
        let documented = Spec::embedded().rate_limit;
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
            jitter: Duration::ZERO,
            token_lifetime: Duration::from_secs(3600),
            tokens: Tokens::All,
            max_limit: None,
            later_max_limit: None,
            drift: None,
            order: Order::Stable,
            ids: Ids::Unique,
            total: Total::Exact,
            ignore_offset: false,
            replicas: None,
            warnings: false,
            faults: false,
            gzip: false,
        }
    }
}

/// Changes made to a list between page requests: records come, go and are updated; the order of the others stays.
///
/// A third of the changes happens before the end of the page last asked for, a third right at it, a third behind it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drift {
    /// A list changes after every so many of its page requests; 0 counts as 1.
    pub every_requests: u32,
    /// How many times it changes; 0 is without end.
    pub times: u32,
    /// Records inserted each time.
    pub inserts: u32,
    /// Records deleted each time.
    pub deletes: u32,
    /// Records updated each time: other members, the same `id`; without one, their members stay as they are. Where
    /// an updated record goes is for the [`Order`](crate::Order) to say.
    pub updates: u32,
    /// Records deleted each time in one piece, at a random place.
    pub bulk_deletes: u32,
    /// Chooses the places.
    pub seed: u64,
}

impl Drift {
    /// The names that [`set`](Self::set) knows.
    pub const NAMES: [&'static str; 7] = [
        "every",
        "times",
        "inserts",
        "deletes",
        "updates",
        "bulk-deletes",
        "seed",
    ];

    /// Sets a number by its name on the command line.
    ///
    /// # Errors
    ///
    /// In words, when there is no such name, or the number is too large for it.
    pub fn set(&mut self, name: &str, number: u64) -> Result<(), String> {
        let field = match name {
            "every" => &mut self.every_requests,
            "times" => &mut self.times,
            "inserts" => &mut self.inserts,
            "deletes" => &mut self.deletes,
            "updates" => &mut self.updates,
            "bulk-deletes" => &mut self.bulk_deletes,
            "seed" => {
                self.seed = number;
                return Ok(());
            }
            _ => return Err(unknown(name, &Self::NAMES)),
        };
        *field = u32::try_from(number).map_err(|_| format!("{name}: {number} is too large"))?;
        Ok(())
    }
}

/// Written `every=N,inserts=N`, with any of [`Drift::NAMES`].
impl FromStr for Drift {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut drift = Self::default();
        read(text, &Self::NAMES, |name, number| drift.set(name, number))?;
        Ok(drift)
    }
}

/// Read replicas: copies of a list that answer its requests in place of each other, of which one lags behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replicas {
    /// How many there are; with fewer than two, none lags.
    pub count: u32,
    /// How many percent of the list, at its end, the last replica lacks. It has its own `total` and `hasMore`.
    pub lag_percent: u32,
    /// Whether the replica is chosen at random for each request; otherwise they take turns, the last one last.
    pub random: bool,
}

impl Default for Replicas {
    /// Two that take turns, one without the last quarter.
    fn default() -> Self {
        Self {
            count: 2,
            lag_percent: 25,
            random: false,
        }
    }
}

impl Replicas {
    /// The names that [`set`](Self::set) knows.
    pub const NAMES: [&'static str; 3] = ["count", "lag-percent", "random"];

    /// Sets a number by its name on the command line; `random` is 0 or 1.
    ///
    /// # Errors
    ///
    /// In words, when there is no such name, or the number is too large for it.
    pub fn set(&mut self, name: &str, number: u64) -> Result<(), String> {
        let (field, most) = match name {
            "count" => (&mut self.count, u32::MAX),
            "lag-percent" => (&mut self.lag_percent, 100),
            "random" if number <= 1 => {
                self.random = number == 1;
                return Ok(());
            }
            "random" => return Err("random: give 0 or 1".to_owned()),
            _ => return Err(unknown(name, &Self::NAMES)),
        };
        let given = u32::try_from(number).ok().filter(|given| *given <= most);
        *field = given.ok_or_else(|| format!("{name}: {number} is more than {most}"))?;
        Ok(())
    }
}

/// Written `count=N,lag-percent=N`, with any of [`Replicas::NAMES`].
impl FromStr for Replicas {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut replicas = Self::default();
        read(text, &Self::NAMES, |name, number| {
            replicas.set(name, number)
        })?;
        Ok(replicas)
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
    /// Updates so many records at the front; where they go is for the [`Order`](crate::Order) to say.
    UpdateFirst(u64),
    /// Moves so many records, chosen at random, to random places.
    Move(u64),
    /// Turns the list around.
    Reverse,
    /// Puts the list in a random order.
    Shuffle,
}

fn read(
    text: &str,
    names: &[&str],
    mut set: impl FnMut(&str, u64) -> Result<(), String>,
) -> Result<(), String> {
    for part in text.split(',') {
        let (name, value) = part
            .split_once('=')
            .ok_or_else(|| format!("give NAME=N,... with any of {}", names.join(", ")))?;
        let number = value.parse();
        let number = number.map_err(|_| format!("{value:?} is not a whole number that fits"))?;
        set(name, number)?;
    }
    Ok(())
}

fn unknown(name: &str, names: &[&str]) -> String {
    format!("{name:?} is not one of: {}", names.join(", "))
}

/// A name that is none of the known ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownName {
    pub(crate) given: String,
    pub(crate) known: Vec<&'static str>,
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.known.join(", ");
        write!(f, "`{}` is not one of: {known}", self.given)
    }
}

impl std::error::Error for UnknownName {}

/// Gives an enum its `ALL`, and reads and writes its values by name.
macro_rules! named {
    ($choice:ident { $($variant:ident = $name:literal),+ $(,)? }) => {
        impl $choice {
            /// Every value.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }
        }

        impl std::fmt::Display for $choice {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $choice {
            type Err = $crate::options::UnknownName;

            fn from_str(given: &str) -> Result<Self, Self::Err> {
                let found = Self::ALL.into_iter().find(|choice| choice.name() == given);
                found.ok_or_else(|| $crate::options::UnknownName {
                    given: given.to_owned(),
                    known: Self::ALL.map(Self::name).to_vec(),
                })
            }
        }
    };
}
pub(crate) use named;

#[cfg(test)]
mod drift_tests {
    use super::*;

    #[test]
    fn what_is_written_on_a_command_line_is_read() {
        let drift = "every=3,times=9,inserts=2,deletes=1,updates=4,bulk-deletes=60,seed=7".parse();
        let expected = Drift {
            every_requests: 3,
            times: 9,
            inserts: 2,
            deletes: 1,
            updates: 4,
            bulk_deletes: 60,
            seed: 7,
        };
        assert_eq!(drift, Ok(expected));
        let replicas = "count=3,lag-percent=50,random=1".parse();
        let expected = Replicas {
            count: 3,
            lag_percent: 50,
            random: true,
        };
        assert_eq!(replicas, Ok(expected));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for (text, named) in [
            ("", "every"),
            ("inserts", "every"),
            ("speed=1", "speed"),
            ("inserts=-1", "-1"),
            ("inserts=5000000000", "inserts"),
        ] {
            let error = text.parse::<Drift>().unwrap_err();
            assert!(error.contains(named), "{text}: {error}");
        }
        for (text, named) in [("lag-percent=101", "lag-percent"), ("random=2", "random")] {
            let error = text.parse::<Replicas>().unwrap_err();
            assert!(error.contains(named), "{text}: {error}");
        }
    }
}
