//! Who shares a gate in one run, what befalls them, and what came of it.

use std::time::Duration;

use talentdata_core::gate::{Mode, PriorityClass};
use talentdata_sandbox::limit::{Policy, ResetRounding};

use super::world::World;
use crate::scenario::{LIMIT, Scenario};

/// What a member wants from the service.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Work {
    /// As many pages as it can get.
    Scan,
    /// So many calls a second, at random.
    Calls(f64),
}

/// One member.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) work: Work,
    pub(crate) class: PriorityClass,
    pub(crate) share: f64,
    /// When it begins, and when it takes its leave.
    pub(crate) during: (Duration, Duration),
}

impl Plan {
    pub(crate) const SCAN: Self = Self {
        work: Work::Scan,
        class: PriorityClass::Scan,
        share: 1.0,
        during: (Duration::ZERO, Duration::MAX),
    };

    /// Calls that somebody waits for.
    pub(crate) fn calls(rate: f64) -> Self {
        Self {
            work: Work::Calls(rate),
            class: PriorityClass::Single,
            ..Self::SCAN
        }
    }
}

/// One run. The pages and the share of the scenario are those of a single client, and mean nothing here.
#[derive(Debug, Clone)]
pub(crate) struct Team {
    pub(crate) scenario: Scenario,
    pub(crate) members: Vec<Plan>,
    /// One scan is killed every so often, and another begins a second later.
    pub(crate) killed_every: Option<Duration>,
    /// A member, when it is stopped, and when it goes on.
    pub(crate) stopped: Option<(usize, Duration, Duration)>,
    /// Part of the operations after which the state is written down and read.
    pub(crate) rewritten: f64,
}

impl Team {
    pub(crate) fn new(policy: Policy, round_trip_ms: u64, scans: usize) -> Self {
        let mut scenario = Scenario::new(policy, ResetRounding::Up, round_trip_ms);
        scenario.until = Duration::from_secs(40);
        Self {
            scenario,
            members: vec![Plan::SCAN; scans],
            killed_every: None,
            stopped: None,
            rewritten: 0.01,
        }
    }

    pub(crate) fn run(self) -> Findings {
        World::new(self).run()
    }

    /// The runs of a few seeds.
    pub(crate) fn runs(&self, seeds: u64) -> Vec<Findings> {
        let seeded = |seed| {
            let mut team = self.clone();
            team.scenario.seed = seed;
            team.run()
        };
        (0..seeds).map(seeded).collect()
    }
}

/// What one member got.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Part {
    pub(crate) sent: Vec<Duration>,
    /// When what it sent was served.
    pub(crate) served: Vec<Duration>,
    /// How long each request waited for its turn.
    pub(crate) waits: Vec<Duration>,
    /// The most requests of others that were sent during one of these waits.
    pub(crate) most_overtaken: u64,
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Findings {
    /// The members, those that came in the place of killed ones last.
    pub(crate) parts: Vec<Part>,
    pub(crate) refused: u64,
    pub(crate) asks: u64,
    pub(crate) others_asked: u64,
    pub(crate) others_served: u64,
    /// Bytes of the state, at most.
    pub(crate) bytes: usize,
    pub(crate) sends: u64,
    pub(crate) lost: u64,
    pub(crate) mode: Mode,
}

impl Findings {
    /// Requests per second that were served, as a share of the limit.
    pub(crate) fn share_between(&self, from: u64, to: u64) -> f64 {
        let all = self.parts.iter().map(|part| part.served_between(from, to));
        all.sum::<f64>() / (to - from) as f64 / f64::from(LIMIT)
    }

    /// What was served to whom, in requests per second.
    pub(crate) fn rate_of(&self, member: usize, from: u64, to: u64) -> f64 {
        self.parts[member].served_between(from, to) / (to - from) as f64
    }

    /// The least and the most that the first `members` were served, in parts of their mean.
    pub(crate) fn fairness(&self, members: usize, from: u64, to: u64) -> (f64, f64) {
        let parts = self.parts.iter().take(members);
        let served: Vec<f64> = parts.map(|part| part.served_between(from, to)).collect();
        let mean = served.iter().sum::<f64>() / members as f64;
        let least = served.iter().copied().fold(f64::INFINITY, f64::min);
        let most = served.iter().copied().fold(0.0, f64::max);
        (least / mean, most / mean)
    }

    pub(crate) fn asks_per_send(&self) -> f64 {
        self.asks as f64 / self.sends as f64
    }
}

impl Part {
    pub(crate) fn served_between(&self, from: u64, to: u64) -> f64 {
        let span = Duration::from_secs(from)..Duration::from_secs(to);
        self.served.iter().filter(|at| span.contains(at)).count() as f64
    }
}
