//! Single calls before scans, scans before those in the background, and nobody for ever behind others.

use std::time::Duration;

use talentdata_core::gate::PriorityClass;
use talentdata_sandbox::limit::Policy;

use super::team::{Findings, Plan, Team};
use super::{SEEDS, SETTLED, mean, reach_together, secs};

/// Behind others, a request waits no longer than this and some turns.
const PATIENCE: Duration = Duration::from_secs(5);

const BACKGROUND: Plan = Plan {
    class: PriorityClass::Background,
    ..Plan::SCAN
};

#[test]
fn a_newcomer_beside_four_scans_is_served_at_once() {
    for policy in Policy::ALL {
        let mut team = Team::new(policy, 20, 4);
        team.scenario.until = secs(12);
        let mut newcomer = Plan::SCAN;
        newcomer.during.0 = secs(10);
        team.members.push(newcomer);
        let runs = team.runs(10);
        let waits = runs.iter().map(|run| run.parts[4].waits[0]);
        let longest = waits.max().unwrap_or_default();
        println!("a newcomer waits, {policy}: {longest:?} at most");
        assert!(
            longest < Duration::from_millis(100),
            "{policy}: {longest:?}"
        );
    }
}

#[test]
fn single_calls_under_ten_scans_hardly_wait() {
    for (policy, goal, _) in SETTLED {
        let mut team = Team::new(policy, 20, 10);
        team.members.push(Plan::calls(1.0));
        let runs = team.runs(8);
        let mut waits: Vec<_> = runs.iter().flat_map(|run| &run.parts[10].waits).collect();
        waits.sort();
        let p99 = *waits[waits.len() * 99 / 100];
        let row = format!("{} single calls wait {p99:?} at p99, {policy}", waits.len());
        reach_together(&row, &runs, 10, 0.05, goal, 0.0);
        assert!(p99 <= Duration::from_millis(250), "{row}");
    }
}

#[test]
fn scans_in_the_background_take_what_is_left() {
    for (policy, goal, _) in SETTLED {
        let mut team = Team::new(policy, 20, 2);
        team.members.extend([BACKGROUND, BACKGROUND]);
        team.members[0].during.1 = secs(25);
        team.members[1].during.1 = secs(25);
        let runs = team.runs(SEEDS);
        let beside = mean(&runs, |run| run.rate_of(2, 5, 25));
        let alone = mean(&runs, |run| run.rate_of(2, 26, 40));
        println!("in the background, {policy}: {beside:.2}/s beside scans, {alone:.2}/s alone");
        assert!((0.1..=0.5).contains(&beside), "{policy}: {beside} beside");
        assert!(alone >= 20.0 * (goal - 0.05), "{policy}: {alone} alone");
        let longest = runs.iter().flat_map(|run| &run.parts[2].waits).max();
        let longest = longest.copied().unwrap_or_default();
        assert!(longest < PATIENCE + secs(2), "{policy}: {longest:?}");
    }
}

#[test]
fn single_calls_do_not_starve_scans_for_ever() {
    for policy in Policy::ALL {
        let mut team = Team::new(policy, 20, 2);
        let flood = Plan {
            class: PriorityClass::Single,
            ..Plan::SCAN
        };
        team.members.extend([flood, flood]);
        let runs: Vec<Findings> = team.runs(1);
        let scan = runs[0].rate_of(0, 10, 40);
        assert!((0.1..=0.5).contains(&scan), "{policy}: {scan}");
    }
}
