//! What happens in one run of the simulation, and what came of it.

use std::time::Duration;

use talentdata_core::gate::Mode;
use talentdata_sandbox::limit::{Policy, ResetRounding};

use crate::server::{Quirk, WINDOW};
use crate::sharing::team::{Plan, Team};

pub(crate) const LIMIT: u32 = 40;

/// Other clients of the same company.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Others {
    None,
    /// One request every so often, per second.
    Steady(f64),
    /// The same on average, but at random.
    Poisson(f64),
    /// Up to forty requests within 100 ms, once in two seconds on average.
    Bursty,
}

/// One run.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    pub(crate) seed: u64,
    pub(crate) policy: Policy,
    /// What the server counts to, and in which window.
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
    /// When the others are there.
    pub(crate) others_during: (Duration, Duration),
    /// Part of the requests, or of their responses, that vanish.
    pub(crate) loss: f64,
    /// When nothing gets through.
    pub(crate) outage: (Duration, Duration),
    /// Part of the permits that are not used.
    pub(crate) unused: f64,
    /// Another server from this time on.
    pub(crate) change: Option<(Duration, Policy, u32)>,
    pub(crate) share: f64,
    /// Pages to fetch, and when to stop in any case.
    pub(crate) pages: u64,
    pub(crate) until: Duration,
}

impl Scenario {
    pub(crate) fn new(policy: Policy, rounding: ResetRounding, round_trip_ms: u64) -> Self {
        Self {
            seed: 0,
            policy,
            limit: (LIMIT, WINDOW),
            rounding,
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
            share: 1.0,
            pages: u64::MAX,
            until: Duration::MAX,
        }
    }

    /// One client alone. It goes on until the end, of which what comes after the last page does not count.
    pub(crate) fn run(self) -> Outcome {
        let (pages, share) = (self.pages, self.share);
        let mut team = Team::new(self.policy, 0, 0);
        team.members.push(Plan {
            share,
            ..Plan::SCAN
        });
        team.scenario = self;
        if team.scenario.until == Duration::MAX {
            team.scenario.until = Duration::from_secs(pages / 20);
        }
        let until = team.scenario.until;
        let findings = team.run();
        let mut arrivals = findings.parts[0].served.clone();
        arrivals.truncate(usize::try_from(pages).unwrap_or(usize::MAX));
        let all = arrivals.len() as u64 == pages;
        Outcome {
            elapsed: arrivals.last().copied().filter(|_| all).unwrap_or(until),
            arrivals,
            refused: findings.refused,
            others_asked: findings.others_asked,
            others_served: findings.others_served,
            sends: findings.sends,
            lost: findings.lost,
            mode: findings.mode,
        }
    }
}

/// What came of a run.
#[derive(Debug, Clone)]
pub(crate) struct Outcome {
    pub(crate) elapsed: Duration,
    /// When each page arrived.
    pub(crate) arrivals: Vec<Duration>,
    pub(crate) refused: u64,
    pub(crate) others_asked: u64,
    pub(crate) others_served: u64,
    pub(crate) sends: u64,
    pub(crate) lost: u64,
    pub(crate) mode: Mode,
}

impl Outcome {
    /// Pages per second as a share of the limit.
    pub(crate) fn share(&self) -> f64 {
        self.arrivals.len() as f64 / self.elapsed.as_secs_f64() / f64::from(LIMIT)
    }

    /// The same within part of the run, in seconds.
    pub(crate) fn share_between(&self, from: u64, to: u64) -> f64 {
        let span = Duration::from_secs(from)..Duration::from_secs(to);
        let pages = self.arrivals.iter().filter(|at| span.contains(at)).count();
        pages as f64 / (to - from) as f64 / f64::from(LIMIT)
    }
}
