//! Time in which something happens every now and then, and what members had of the budget before and after it.

use crate::members::{Report, milliseconds};
use std::time::Duration;
use talentdata_sandbox::Sandbox;

/// The part of the time in which the server may be out of reach where nothing is wrong with it, since the machine may be
/// busy with something else.
const SOME: f64 = 0.25;
/// Nobody may wait so long for a page, in milliseconds; how long they do wait is asked for on virtual time.
const HANG: u64 = 8000;
/// No request may be refused.
pub(crate) const NEVER: f64 = 0.0;

/// Phases of equal length; what happens at the beginning of each of them is its name.
pub(crate) struct Phases {
    pub(crate) began: u64,
    /// In milliseconds.
    pub(crate) length: u64,
    names: &'static [&'static str],
}

impl Phases {
    pub(crate) fn new(length: u64, names: &'static [&'static str]) -> Self {
        let began = milliseconds();
        Phases {
            began,
            length,
            names,
        }
    }

    pub(crate) fn end(&self) -> u64 {
        self.began + self.length * self.names.len() as u64
    }

    pub(crate) async fn begin(&self, phase: usize) {
        let at = self.began + self.length * phase as u64;
        tokio::time::sleep(Duration::from_millis(at.saturating_sub(milliseconds()))).await;
    }

    /// Whether the server was in reach of the member while nothing was done about that.
    pub(crate) fn had_contact(&self, report: &Report) -> bool {
        let seconds = (self.end() - self.began) as f64 / 1000.0;
        report.seconds_unreachable() < SOME * seconds
    }

    /// Prints what share of the budget was used in each phase; how much it must be is asked for on virtual time. Each of these
    /// members must begin, and none may hang until the end; no greater part of the requests may have been refused.
    pub(crate) fn judge(
        &self,
        reports: &[Report],
        others: &[Report],
        sandbox: &Sandbox,
        most_refused: f64,
    ) {
        for (phase, name) in (0..).zip(self.names) {
            let span = self.began + self.length * phase..self.began + self.length * (phase + 1);
            let served =
                |report: &Report| report.pages.iter().filter(|at| span.contains(at)).count();
            let pages: usize = reports.iter().chain(others).map(served).sum();
            let share = pages as f64 * 100.0 / (40.0 * self.length as f64 / 1000.0);
            println!("{name}: {share:.1} % of the limit");
        }
        for report in reports {
            let mut since = *report.pages.first().unwrap();
            for at in report.pages.iter().copied().chain([self.end()]) {
                let hangs = at.saturating_sub(since);
                assert!(hangs < HANG, "a member hangs for {hangs} ms");
                since = since.max(at);
            }
        }
        let stats = sandbox.stats();
        println!("{stats:?}");
        let refused = stats.limited as f64 / stats.requests as f64;
        assert!(refused <= most_refused, "{stats:?}");
    }
}
