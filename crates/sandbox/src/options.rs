//! What can be set when a sandbox is started.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::drift::{Drift, Replicas};
use crate::limit::{Policy, ResetRounding};
use crate::order::Order;
use crate::page::Total;
use crate::records::Ids;
use crate::spec::Spec;
use crate::token::Tokens;

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
