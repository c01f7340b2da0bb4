//! The table of options of a sandbox: one row per option. The command line and Python read it.
//!
//! A new option is a row here, its field in [`Options`], and the code that uses it. The name is the argument of
//! Python's `Sandbox`, and with `-` for `_` the flag of `talentdata sandbox`.

use super::{Ids, LargeLimits, ListOrder, Options, Pages, Tokens, Total};
use crate::limit::{Policy, ResetRounding};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

/// An option of a sandbox.
#[derive(Clone, Copy, Debug)]
pub struct SandboxOption {
    /// The name on every surface.
    pub name: &'static str,
    /// The kind of values that it takes.
    pub kind: SandboxValue,
    /// The description, without a full stop at the end.
    pub what: &'static str,
}

/// The kind of values that an option of a sandbox takes, and where they go.
#[derive(Clone, Copy, Debug)]
pub enum SandboxValue {
    /// True or false. The default is false.
    Flag(fn(&mut Options) -> &mut bool),
    /// A whole number.
    Whole(Read),
    /// A time in seconds.
    Seconds(fn(&mut Options) -> &mut Duration),
    /// A time in seconds, for which the flag of the command line takes milliseconds.
    ShortTime(fn(&mut Options) -> &mut Duration),
    /// One of these names. The first is the default.
    Choice(&'static [&'static str], Read),
    /// Numbers by their names, in this form.
    Numbers(&'static str, Read),
}

/// Reads a text into the options.
type Read = fn(&mut Options, &str) -> Result<(), String>;

use SandboxValue::{Choice, Flag, Numbers, Seconds, ShortTime, Whole};

/// Every option of a sandbox.
#[rustfmt::skip]
pub const SANDBOX_OPTIONS: &[SandboxOption] = &[
    row("port", Whole(|o, text| whole(text).map(|one| o.port = one)), "The port on 127.0.0.1; by default any free one"),
    row("records", Numbers("LIST=N,...", |o, text| sizes(text).map(|sizes| o.records.extend(sizes))),
        "Sizes of lists; others keep their default size"),
    row("seed", Whole(|o, text| whole(text).map(|one| o.seed = one)), "Selects the sample data: the same seed gives the same records"),
    row("policy", Choice(&Policy::NAMES, |o, text| text.parse().map(|one| o.policy = one)), "The method that counts requests against the limit"),
    row("rounding", Choice(&ResetRounding::NAMES, |o, text| text.parse().map(|one| o.rounding = one)), "The rounding of x-ratelimit-reset"),
    row("limit", Whole(|o, text| whole(text).map(|one| o.limit = one)), "Requests admitted per second; 40 by default"),
    row("latency", ShortTime(|o| &mut o.latency), "Time added to each round trip"),
    row("token_lifetime", Seconds(|o| &mut o.token_lifetime), "Seconds that a token lives; 3600 by default"),
    row("tokens", Choice(&Tokens::NAMES, |o, text| text.parse().map(|one| o.tokens = one)),
        "Which tokens are valid: all until they expire, or only the one issued last"),
    row("max_limit", Whole(|o, text| whole(text).map(|one| o.max_limit = Some(one))),
        "The most records on a page of any list, regardless of the limit asked for; by default each list has its own maximum"),
    row("later_max_limit", Whole(|o, text| whole(text).map(|one| o.later_max_limit = Some(one))),
        "The most records on a page from the fourth page request of a list on"),
    row("large_limits", Choice(&LargeLimits::NAMES, |o, text| text.parse().map(|one| o.large_limits = one)),
        "The response to a limit above the most records on a page: fewer records, 400 with a reason or without one, or 504"),
    row("gzip", Flag(|o| &mut o.gzip), "Compress responses for clients that accept it"),
    row("drift", Numbers("NAME=N,...", |o, text| text.parse().map(|one| o.drift = Some(one))),
        "Lists change between page requests, after every N of them and by N records: every=N, times=N, inserts=N, deletes=N, \
         updates=N, bulk-deletes=N, seed=N"),
    row("order", Choice(&ListOrder::NAMES, |o, text| text.parse().map(|one| o.order = one)),
        "The order of lists: by something stable, a column with ties, nothing, the time of the last change, or a column that \
         updates change"),
    row("ids", Choice(&Ids::NAMES, |o, text| text.parse().map(|one| o.ids = one)), "The identity of records"),
    row("total", Choice(&Total::NAMES, |o, text| text.parse().map(|one| o.total = one)),
        "The length of the list in the pagination object; with unknown, hasMore is always true as well; its members may be \
         strings, total null, both absent, or there is no such object"),
    row("pages", Choice(&Pages::NAMES, |o, text| text.parse().map(|one| o.pages = one)),
        "Which pages a list has: those at any offset, or at multiples of the limit, with other offsets rounded (the pagination \
         object may tell) or refused, or pages of one size only"),
    row("ignore_offset", Flag(|o| &mut o.ignore_offset),
        "Answer every page request with the first page, regardless of its offset"),
    row("replicas", Numbers("NAME=N,...", |o, text| text.parse().map(|one| o.replicas = Some(one))),
        "Replicas answer page requests in turn; the last one lacks the end of each list: count=N, lag-percent=N"),
    row("warnings", Flag(|o| &mut o.warnings),
        "Send an array of warnings next to an empty array of records, if the API description does not name that array"),
    row("faults", Flag(|o| &mut o.faults),
        "Offer /__faults, which takes fault rules, /__drift, which changes lists, and /__requests, /__stats and /__changes, \
         which report what happened"),
];

const fn row(name: &'static str, kind: SandboxValue, what: &'static str) -> SandboxOption {
    SandboxOption { name, kind, what }
}

impl SandboxOption {
    /// Returns the flag on the command line, without dashes.
    pub fn flag(&self) -> String {
        let flag = self.name.replace('_', "-");
        match self.kind {
            ShortTime(_) => flag + "-ms",
            _ => flag,
        }
    }

    /// Returns the values that it takes, in the words of an error.
    pub fn values(&self) -> String {
        match self.kind {
            Flag(_) => "true or false".to_owned(),
            Whole(_) => "a whole number".to_owned(),
            Seconds(_) | ShortTime(_) => "a time in seconds".to_owned(),
            Choice(names, _) => format!("one of {}", names.join(", ")),
            Numbers(form, _) => format!("numbers by name, {form}"),
        }
    }

    /// Returns the message for a value of another kind. `got` is a type or a quoted string.
    pub fn wrong_type_message(&self, got: &str) -> String {
        format!("{}: must be {} (got {got})", self.name, self.values())
    }
}

impl Options {
    /// Reads the options of a JSON object, by their names: `{"faults": true, "records": {"contacts": 250}}`.
    ///
    /// # Errors
    ///
    /// The text that names the option and says what is wrong.
    pub fn from_members(given: &Map<String, Value>) -> Result<Self, String> {
        let mut options = Self::default();
        for (name, value) in given {
            let option = SANDBOX_OPTIONS.iter().find(|option| option.name == name);
            let option = option.ok_or_else(|| {
                let names = SANDBOX_OPTIONS.iter().map(|option| option.name);
                let names = names.collect::<Vec<_>>().join(", ");
                format!("there is no option {name:?}; the options are {names}")
            })?;
            let text = match (option.kind, value) {
                (Flag(_), Value::Bool(_))
                | (Whole(_) | Seconds(_) | ShortTime(_), Value::Number(_)) => value.to_string(),
                (Choice(..), Value::String(name)) => name.clone(),
                (Numbers(..), Value::Object(members)) => {
                    let pair = |(name, number): (&String, &Value)| {
                        format!("{}={number}", name.replace('_', "-"))
                    };
                    members.iter().map(pair).collect::<Vec<_>>().join(",")
                }
                _ => return Err(option.wrong_type_message(&value.to_string())),
            };
            if !text.is_empty() {
                options.set(option, &text)?;
            }
        }
        Ok(options)
    }

    /// Sets an option to the value that a string represents.
    ///
    /// # Errors
    ///
    /// The text that names the option and says what is wrong.
    pub fn set(&mut self, option: &SandboxOption, text: &str) -> Result<(), String> {
        let wrong = || option.wrong_type_message(&format!("{text:?}"));
        match option.kind {
            Flag(place) => *place(self) = text.parse().map_err(|_| wrong())?,
            Seconds(place) | ShortTime(place) => *place(self) = seconds(text).ok_or_else(wrong)?,
            Whole(read) | Choice(_, read) | Numbers(_, read) => {
                read(self, text).map_err(|why| format!("{}: {why}", option.name))?;
            }
        }
        Ok(())
    }
}

fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.parse().ok()?).ok()
}

fn whole<N: FromStr>(text: &str) -> Result<N, String> {
    text.parse()
        .map_err(|_| format!("{text:?} is not a whole number that fits"))
}

/// Reads sizes of lists, whose names have `-`, `_` or `/`.
fn sizes(text: &str) -> Result<BTreeMap<String, u64>, String> {
    let size = |pair: &str| {
        let (name, size) = pair.split_once('=').ok_or("give LIST=N")?;
        Ok((name.replace(['-', '/'], "_"), whole(size)?))
    };
    text.split(',').map(size).collect()
}
