//! What happens in one run of the simulation, and what came of it.

use super::world::World;
use crate::settings::OnLost;
use std::ops::Range;
use std::time::Duration;
use talentdata_sandbox::limit::Policy;

pub(super) const LIMIT: u32 = 40;
/// Timers of a machine that has time fire up to this much late.
pub(super) const PUNCTUAL: Duration = Duration::from_millis(2);

/// One run.
#[derive(Debug, Clone)]
pub(super) struct Scenario {
    pub(super) seed: u64,
    pub(super) policy: Policy,
    /// Members with a scan that never ends.
    pub(super) scans: usize,
    /// They begin so far apart.
    pub(super) apart: Duration,
    /// So many of them are in the background.
    pub(super) background: usize,
    /// Members that make single calls, each so often a second.
    pub(super) callers: usize,
    pub(super) calls: f64,
    /// Median of the round trip to the service, and to the server of the budget.
    pub(super) service: Duration,
    pub(super) server: Duration,
    /// How many of the first members have another round trip to the server of the budget, and which.
    pub(super) far: (usize, Duration),
    /// How often each member stands still, as a process does that the machine has no time for, and how long at most.
    pub(super) stands_still: Option<(Duration, Duration)>,
    /// Timers fire up to this much late.
    pub(super) late: Duration,
    /// A member is killed so often, and another one begins.
    pub(super) killed: Option<Duration>,
    /// When the first members of this number cannot reach the server of the budget.
    pub(super) cut_off: (usize, Range<Duration>),
    pub(super) on_lost: OnLost,
    /// When the state is lost.
    pub(super) state_lost: Option<Duration>,
    /// When the clock of the server is set, by how many seconds.
    pub(super) clock_set: Option<(Duration, f64)>,
    /// When members other than the first stop.
    pub(super) others_stop: Option<Duration>,
    /// Requests a second by somebody who is no member.
    pub(super) neighbour: f64,
    /// Another limit from this time on.
    pub(super) limit: Option<(Duration, u32)>,
    pub(super) until: Duration,
}

impl Scenario {
    pub(super) fn new(policy: Policy, scans: usize, server_ms: u64) -> Self {
        Scenario {
            seed: 0,
            policy,
            scans,
            apart: Duration::from_millis(300),
            background: 0,
            callers: 0,
            calls: 0.0,
            service: Duration::from_millis(20),
            server: Duration::from_millis(server_ms),
            far: (0, Duration::ZERO),
            stands_still: None,
            late: PUNCTUAL,
            killed: None,
            cut_off: (0, Duration::ZERO..Duration::ZERO),
            on_lost: OnLost::Share,
            state_lost: None,
            clock_set: None,
            others_stop: None,
            neighbour: 0.0,
            limit: None,
            until: Duration::from_secs(120),
        }
    }

    pub(super) fn run(&self) -> Outcome {
        World::new(self.clone()).run()
    }
}

/// What came of a run.
#[derive(Debug, Clone, Default)]
pub(super) struct Outcome {
    /// When each request was served, and whose it was.
    pub(super) served: Vec<(Duration, usize)>,
    pub(super) sent: u64,
    /// When requests were refused, and when nothing was left.
    pub(super) refused: Vec<Duration>,
    pub(super) zeros: Vec<Duration>,
    /// How long single calls waited for the budget.
    pub(super) waits: Vec<Duration>,
    pub(super) neighbour: (u64, u64),
    pub(super) asks: u64,
}

impl Outcome {
    /// The share of the limit that was used within part of the run, in seconds.
    pub(super) fn share(&self, from: u64, to: u64) -> f64 {
        let span = Duration::from_secs(from)..Duration::from_secs(to);
        let served = self.served.iter().filter(|(at, _)| span.contains(at));
        served.count() as f64 / (to - from) as f64 / f64::from(LIMIT)
    }

    /// The least and the most that the first members got, as parts of a fair share.
    pub(super) fn fair(&self, members: usize, from: u64, to: u64) -> (f64, f64) {
        let span = Duration::from_secs(from)..Duration::from_secs(to);
        let mut counts = vec![0.0; members];
        let served = self.served.iter().filter(|(at, _)| span.contains(at));
        for (_, member) in served.filter(|(_, member)| *member < members) {
            counts[*member] += 1.0;
        }
        let fair = counts.iter().sum::<f64>() / members as f64;
        let least = counts.iter().copied().fold(f64::INFINITY, f64::min);
        let most = counts.iter().copied().fold(0.0, f64::max);
        (least / fair, most / fair)
    }

    /// The wait that this part of the single calls does not exceed.
    pub(super) fn wait(&self, part: f64) -> Duration {
        let mut waits = self.waits.clone();
        waits.sort_unstable();
        let index = ((waits.len() as f64 * part) as usize).min(waits.len().saturating_sub(1));
        waits.get(index).copied().unwrap_or_default()
    }
}
