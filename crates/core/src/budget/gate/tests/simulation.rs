//! One run of the simulation: its members, its events and its result.

mod network;
mod world;

use std::time::Duration;

use crate::budget::gate::PriorityClass;
use talentdata_sandbox::limit::{Policy, ResetRounding};

pub(crate) use network::Quirk;
use world::World;

pub(crate) const LIMIT: u32 = 40;
/// The number that stands for the server among the members.
pub(crate) const SERVER: usize = usize::MAX;
pub(crate) const WINDOW: Duration = Duration::from_secs(1);

pub(crate) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Other clients of the same company, which do not share the gate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Others {
    None,
    /// Requests at regular intervals, with this rate per second.
    Steady(f64),
    /// Random intervals with the same average.
    Poisson(f64),
    /// Up to forty requests within 100 ms, once in two seconds on average.
    Bursty,
}

/// One member.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    /// The number of calls a second, at random times. Without it, the member fetches as many pages as it can.
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

    /// Returns a member that makes single calls, at this rate per second.
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
    /// Sigma of the lognormal latency of each direction.
    pub(crate) jitter: f64,
    /// Mean time the server takes, exponentially distributed.
    pub(crate) processing: Duration,
    pub(crate) others: Others,
    /// The time span in which the other clients are present.
    pub(crate) others_during: (Duration, Duration),
    /// The part of the requests, or of their responses, that are lost.
    pub(crate) loss: f64,
    /// The time span in which every request or response is lost.
    pub(crate) outage: (Duration, Duration),
    /// The part of the permits that are not used.
    pub(crate) unused: f64,
    /// The time at which the server is replaced, and the policy and limit of the new one.
    pub(crate) change: Option<(Duration, Policy, u32)>,
    pub(crate) members: Vec<Plan>,
    /// The interval at which a scan is killed. Another one begins a second later.
    pub(crate) killed_every: Option<Duration>,
    /// A member or the server, the time at which it is stopped, and the time at which it continues.
    pub(crate) stopped: Option<(usize, Duration, Duration)>,
    /// The part of the operations after which the state is written and read.
    pub(crate) rewritten: f64,
    pub(crate) until: Duration,
}

impl Scenario {
    /// Returns a scenario with this number of scans, for 40 s.
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

    /// Runs the scenario with several seeds.
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
    /// The results of the members. Those that replaced killed ones are last.
    pub(crate) parts: Vec<Part>,
    pub(crate) asks: u64,
    pub(crate) sends: u64,
    pub(crate) refused: u64,
    pub(crate) lost: u64,
    pub(crate) others_asked: u64,
    pub(crate) others_served: u64,
    /// The largest size of the state, in bytes.
    pub(crate) bytes: usize,
    pub(crate) mode: &'static str,
}

impl Findings {
    /// Returns the served requests per second, as a share of the limit.
    pub(crate) fn share_between(&self, from: u64, to: u64) -> f64 {
        let members = 0..self.parts.len();
        let rates = members.map(|member| self.rate_of(member, from, to));
        rates.sum::<f64>() / f64::from(LIMIT)
    }

    /// Returns the served requests per second of a member.
    pub(crate) fn rate_of(&self, member: usize, from: u64, to: u64) -> f64 {
        let span = secs(from)..secs(to);
        let served = self.parts[member].served.iter();
        served.filter(|at| span.contains(at)).count() as f64 / (to - from) as f64
    }

    /// Returns the served requests of each of the first `members`, relative to their mean.
    pub(crate) fn fairness(&self, members: usize, from: u64, to: u64) -> Vec<f64> {
        let rates = (0..members).map(|member| self.rate_of(member, from, to));
        let mean = rates.clone().sum::<f64>() / members as f64;
        rates.map(|rate| rate / mean).collect()
    }
}

/// Returns the mean of a figure over several runs.
pub(crate) fn mean(runs: &[Findings], figure: impl Fn(&Findings) -> f64) -> f64 {
    runs.iter().map(figure).sum::<f64>() / runs.len() as f64
}
