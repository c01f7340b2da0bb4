//! What can be set when a sandbox is started.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::limit::{Policy, ResetRounding};

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
    /// Requests admitted per window over all clients (section 8: 40).
    pub limit: u32,
    /// Length of the window (section 8: one second).
    pub window: Duration,
    /// Added to every round trip, one half before the request is counted and one half after.
    pub latency: Duration,
    /// Up to this much more, chosen anew for each round trip.
    pub jitter: Duration,
    /// How long a token lives, and what `expires_in` says (section 2).
    pub token_lifetime: Duration,
    /// The most records a page holds, whatever `limit` asks for (section 8: 100).
    pub max_limit: u64,
    /// Lists that change between page requests (section 8, pagination, rule 7).
    pub drift: Option<Drift>,
    /// Whether `/__faults`, `/__requests`, `/__stats` and `/__drift` exist.
    pub faults: bool,
    /// Whether bodies are compressed for clients that accept gzip.
    pub gzip: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            port: 0,
            records: BTreeMap::new(),
            seed: 0,
            policy: Policy::ClockWindow,
            rounding: ResetRounding::Up,
            limit: 40,
            window: Duration::from_secs(1),
            latency: Duration::ZERO,
            jitter: Duration::ZERO,
            token_lifetime: Duration::from_secs(3600),
            max_limit: 100,
            drift: None,
            faults: false,
            gzip: false,
        }
    }
}

/// Changes made to a list between page requests: records come and go, the order of the others stays.
///
/// A third of the changes happens before the end of the page last asked for, a third right at it, a third behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drift {
    /// A list changes after every so many of its page requests; 0 counts as 1.
    pub every_requests: u32,
    /// Records inserted each time.
    pub inserts: u32,
    /// Records deleted each time.
    pub deletes: u32,
    /// Chooses the places.
    pub seed: u64,
}
