//! One run of the simulation: its members, its events and its result.

mod network;
mod world;

use std::time::Duration;

use crate::budget::gate::PriorityClass;
use talentdata_sandbox::limit::{Policy, ResetRounding};

pub(crate) use network::Quirk;
use world::World;

pub(crate) const LIMIT: u32 = 40;
/// In place of a member.
pub(crate) const SERVER: usize = usize::MAX;
pub(crate) const WINDOW: Duration = Duration::from_secs(1);

pub(crate) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Other clients of the same company, which do not share the gate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Others {
    None,
    /// One request every so often, per second.
    Steady(f64),
    /// Random intervals with the same average.
    Poisson(f64),
    /// Up to forty requests within 100 ms, once in two seconds on average.
    Bursty,
}

/// One member.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    /// So many calls a second, at random; otherwise as many pages as it can get.
    pub(crate) calls: Option<f64>,
    pub(crate) class: PriorityClass,
    pub(crate) share: f64,
    /// The times at which the member begins and leaves.
    pub(crate) during: (Duration, Duration),
}

impl Plan {
    pub(crate) const SCAN: Self = Self {
        calls: None,
        class: PriorityClass::Scan,
        share: 1.0,
        during: (Duration::ZERO, Duration::MAX),
    };

    /// Calls that somebody waits for.
    pub(crate) fn calls(rate: f64) -> Self {
        Self {
            calls: Some(rate),
            class: PriorityClass::Single,
            ..Self::SCAN
        }
    }
}

/// One run.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    pub(crate) seed: u64,
    pub(crate) policy: Policy,
    /// The limit of the server, and its window.
    pub(crate) limit: (u32, Duration),
    pub(crate) rounding: ResetRounding,
    pub(crate) quirk: Quirk,
    /// Median of the round trip, without processing.
    pub(crate) round_trip: Duration,
    /// Sigma of the lognormal latency of each way.
    pub(crate) jitter: f64,
    /// Mean time the server takes, exponentially distributed.
    pub(crate) processing: Duration,
    pub(crate) others: Others,
    /// The time span in which the other clients are present.
    pub(crate) others_during: (Duration, Duration),
    /// Part of the requests, or of their responses, that vanish.
    pub(crate) loss: f64,
    /// The time span in which nothing gets through.
    pub(crate) outage: (Duration, Duration),
    /// Part of the permits that are not used.
    pub(crate) unused: f64,
    /// Another server from this time on.
    pub(crate) change: Option<(Duration, Policy, u32)>,
    pub(crate) members: Vec<Plan>,
    /// One scan is killed every so often, and another begins a second later.
    pub(crate) killed_every: Option<Duration>,
    /// A member or the server, the time at which it is stopped, and the time at which it continues.
    pub(crate) stopped: Option<(usize, Duration, Duration)>,
    /// Part of the operations after which the state is written down and read.
    pub(crate) rewritten: f64,
    pub(crate) until: Duration,
}

impl Scenario {
    /// So many scans, for 40 s.
    pub(crate) fn new(policy: Policy, round_trip_ms: u64, scans: usize) -> Self {
        Self {
            seed: 0,
            policy,
            limit: (LIMIT, WINDOW),
            rounding: ResetRounding::Up,
            quirk: Quirk::None,
            round_trip: Duration::from_millis(round_trip_ms),
            jitter: 0.3,
            processing: Duration::ZERO,
            others: Others::None,
            others_during: (Duration::ZERO, Duration::MAX),
            loss: 0.0,
            outage: (Duration::ZERO, Duration::ZERO),
            unused: 0.0,
            change: None,
            members: vec![Plan::SCAN; scans],
            killed_every: None,
            stopped: None,
            rewritten: 0.01,
            until: secs(40),
        }
    }

    pub(crate) fn run(&self) -> Findings {
        World::new(self.clone()).run()
    }

    /// The runs of a few seeds.
    pub(crate) fn runs(&self, seeds: u64) -> Vec<Findings> {
        let seeded = |seed| Scenario {
            seed,
            ..self.clone()
        };
        (0..seeds).map(|seed| seeded(seed).run()).collect()
    }
}

/// The result of one member.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Part {
    /// The times at which its requests were served.
    pub(crate) served: Vec<Duration>,
    /// The time that each request waited for its turn.
    pub(crate) waits: Vec<Duration>,
    /// The most requests of others that were sent during one of these waits.
    pub(crate) most_overtaken: u64,
}

/// The result of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Findings {
    /// The members, those that came in the place of killed ones last.
    pub(crate) parts: Vec<Part>,
    pub(crate) asks: u64,
    pub(crate) sends: u64,
    pub(crate) refused: u64,
    pub(crate) lost: u64,
    pub(crate) others_asked: u64,
    pub(crate) others_served: u64,
    /// Bytes of the state, at most.
    pub(crate) bytes: usize,
    pub(crate) mode: &'static str,
}

impl Findings {
    /// Requests per second that were served, as a share of the limit.
    pub(crate) fn share_between(&self, from: u64, to: u64) -> f64 {
        let members = 0..self.parts.len();
        let rates = members.map(|member| self.rate_of(member, from, to));
        rates.sum::<f64>() / f64::from(LIMIT)
    }

    /// The requests per second that each client was served.
    pub(crate) fn rate_of(&self, member: usize, from: u64, to: u64) -> f64 {
        let span = secs(from)..secs(to);
        let served = self.parts[member].served.iter();
        served.filter(|at| span.contains(at)).count() as f64 / (to - from) as f64
    }

    /// The requests that each of the first `members` was served, relative to their mean.
    pub(crate) fn fairness(&self, members: usize, from: u64, to: u64) -> Vec<f64> {
        let rates = (0..members).map(|member| self.rate_of(member, from, to));
        let mean = rates.clone().sum::<f64>() / members as f64;
        rates.map(|rate| rate / mean).collect()
    }
}

/// The mean of a figure over some runs.
pub(crate) fn mean(runs: &[Findings], figure: impl Fn(&Findings) -> f64) -> f64 {
    runs.iter().map(figure).sum::<f64>() / runs.len() as f64
}
