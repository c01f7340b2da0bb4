//! What a shared budget must achieve: each goal is the mean of seeded runs of two minutes on virtual time. With
//! `--nocapture` every figure is printed next to its goal.

use super::scenario::{Outcome, Scenario};
use crate::settings::OnLost;
use std::time::Duration;
use talentdata_sandbox::limit::Policy;

const SEEDS: u64 = 2;
const SECONDS: u64 = 120;

/// The policies, and what is asked for on the healthy path.
const POLICIES: [(Policy, f64); 5] = [
    (Policy::ClockWindow, 0.95),
    (Policy::FirstRequestWindow, 0.93),
    (Policy::SlidingLog, 0.92),
    (Policy::SlidingCounter, 0.90),
    (Policy::TokenBucket, 0.95),
];

fn runs(scenario: &Scenario, seeds: u64) -> Vec<Outcome> {
    let seeded = |seed| {
        let mut scenario = scenario.clone();
        scenario.seed = seed;
        scenario.run()
    };
    (0..seeds).map(seeded).collect()
}

fn mean(runs: &[Outcome], figure: impl Fn(&Outcome) -> f64) -> f64 {
    runs.iter().map(figure).sum::<f64>() / runs.len() as f64
}

/// Refused requests, as a part of all.
fn refused(runs: &[Outcome]) -> f64 {
    let refused: usize = runs.iter().map(|run| run.refused.len()).sum();
    let sent: u64 = runs.iter().map(|run| run.sent).sum();
    refused as f64 / sent as f64
}

/// Prints a row of the table, and fails under the goal.
fn reach(row: &str, runs: &[Outcome], goal: f64, most_refused: f64) {
    let share = mean(runs, |run| run.share(0, SECONDS));
    let refused = refused(runs);
    let zeros = mean(runs, |run| run.zeros.len() as f64);
    let asks = mean(runs, |run| run.asks as f64 / SECONDS as f64);
    println!(
        "{row:72} {:5.1} % (goal {:4.1} %), {:.3} % refused, {zeros:.1} at 0, {asks:.0} asks a second",
        100.0 * share,
        100.0 * goal,
        100.0 * refused
    );
    assert!(share >= goal, "{row}: {share:.4} is under {goal}");
    assert!(refused <= most_refused, "{row}: {refused:.5} refused");
}

/// All policies under a scenario, with goals that are lower by `less`.
fn all(what: &str, scenario: &Scenario, less: f64, most_refused: f64) {
    for (policy, goal) in POLICIES {
        let mut scenario = scenario.clone();
        scenario.policy = policy;
        let runs = runs(&scenario, SEEDS);
        reach(
            &format!("{what}, {policy}"),
            &runs,
            goal - less,
            most_refused,
        );
    }
}

#[test]
fn goals_of_several_members() {
    for members in [4, 10] {
        for server in [1, 20] {
            let scenario = Scenario::new(Policy::ClockWindow, members, server);
            all(
                &format!("{members} members, server at {server} ms"),
                &scenario,
                0.0,
                0.0,
            );
            for run in runs(&scenario, SEEDS) {
                let (least, most) = run.fair(members, 10, SECONDS);
                assert!(least >= 0.97 && most <= 1.03, "{least} to {most}");
            }
        }
    }
}

/// The only member loses at most half a point against a gate of its own.
#[test]
fn goals_of_one_member() {
    let gate = [0.971, 0.953, 0.949, 0.915, 0.995];
    for ((policy, _), goal) in POLICIES.into_iter().zip(gate) {
        let runs = runs(&Scenario::new(policy, 1, 20), SEEDS);
        reach(&format!("alone, {policy}"), &runs, goal - 0.005, 0.0);
    }
}

#[test]
fn goals_with_members_that_are_killed() {
    let mut scenario = Scenario::new(Policy::ClockWindow, 10, 20);
    scenario.killed = Some(Duration::from_secs(5));
    all("10 members, one killed every 5 s", &scenario, 0.015, 0.0);
}

#[test]
fn goals_with_members_that_stand_still() {
    let mut scenario = Scenario::new(Policy::ClockWindow, 10, 1);
    scenario.stands_still = Some((Duration::from_secs(5), Duration::from_secs(1)));
    let what = "10 members that stand still for up to 1 s every 5 s";
    all(what, &scenario, 0.03, 0.0);
}

/// As on a machine that is too busy, or in a program that does not give up the processor.
#[test]
fn goals_with_late_timers() {
    let mut scenario = Scenario::new(Policy::ClockWindow, 10, 1);
    scenario.late = Duration::from_millis(100);
    let what = "10 members whose timers are up to 100 ms late";
    all(what, &scenario, 0.15, 0.002);
}

#[test]
fn goals_of_members_near_and_far() {
    let mut scenario = Scenario::new(Policy::ClockWindow, 10, 1);
    scenario.far = (3, Duration::from_millis(100));
    all("10 members, 3 at 100 ms", &scenario, 0.01, 0.0);
    for run in runs(&scenario, SEEDS) {
        let (least, most) = run.fair(10, 10, SECONDS);
        assert!(least >= 0.9 && most <= 1.1, "{least} to {most}");
    }
    scenario.far.1 = Duration::from_millis(300);
    all("10 members, 3 at 300 ms", &scenario, 0.08, 0.001);
    for run in runs(&scenario, SEEDS) {
        let (least, _) = run.fair(10, 10, SECONDS);
        assert!(least >= 0.5, "{least}");
    }
}

#[test]
fn goals_without_the_server() {
    let away = Duration::from_secs(40)..Duration::from_secs(80);
    let mut scenario = Scenario::new(Policy::ClockWindow, 10, 20);
    scenario.cut_off = (10, away.clone());
    all("10 members, server away for 40 s", &scenario, 0.015, 0.001);
    scenario.cut_off = (3, away);
    all("10 members, 3 cut off for 40 s", &scenario, 0.09, 0.01);
    scenario.on_lost = OnLost::Wait;
    all(
        "10 members, 3 cut off for 40 s that wait",
        &scenario,
        0.02,
        0.001,
    );
    let mut scenario = Scenario::new(Policy::ClockWindow, 1, 1);
    scenario.cut_off = (1, Duration::ZERO..Duration::from_secs(60));
    all("alone, server away for 60 s", &scenario, 0.01, 0.0);
}

#[test]
fn goals_with_a_state_that_is_lost() {
    let mut scenario = Scenario::new(Policy::ClockWindow, 10, 1);
    scenario.state_lost = Some(Duration::from_secs(30));
    all("10 members, state lost", &scenario, 0.005, 0.0);
}

#[test]
fn goals_with_a_clock_that_is_set() {
    for by in [10.0, -10.0] {
        let mut scenario = Scenario::new(Policy::ClockWindow, 10, 1);
        scenario.clock_set = Some((Duration::from_secs(30), by));
        all(
            &format!("10 members, clock set by {by} s"),
            &scenario,
            0.02,
            0.001,
        );
    }
}

/// From one member to two and back: neither handover may cost a refusal.
#[test]
fn goals_of_handovers() {
    let mut scenario = Scenario::new(Policy::ClockWindow, 2, 20);
    scenario.apart = Duration::from_secs(10);
    scenario.others_stop = Some(Duration::from_secs(30));
    all("a second member from 10 s to 30 s", &scenario, 0.01, 0.0);
}

/// Where nothing is paused, a single call waits for a quarter of a second at most. Windows that open with a request, and
/// counters that slide, are used up once in a minute or two, and calls then wait for the reset.
#[test]
fn goals_of_single_calls() {
    for server in [1, 20] {
        for policy in [Policy::ClockWindow, Policy::SlidingLog, Policy::TokenBucket] {
            let mut scenario = Scenario::new(policy, 10, server);
            (scenario.callers, scenario.calls) = (4, 0.25);
            let runs = runs(&scenario, SEEDS);
            let wait = runs
                .iter()
                .map(|run| run.wait(0.99))
                .max()
                .unwrap_or_default();
            let row = format!("single calls under 10 scans, {server} ms, p99 {wait:.0?}, {policy}");
            reach(&row, &runs, 0.94, 0.0);
            assert!(wait <= Duration::from_millis(250), "{row}");
        }
    }
}

/// A scan in the background takes what others leave: little while they want all, and all when they are gone.
#[test]
fn goals_of_the_background() {
    let mut scenario = Scenario::new(Policy::TokenBucket, 4, 1);
    scenario.background = 1;
    scenario.apart = Duration::ZERO;
    let run = scenario.run();
    let (least, _) = run.fair(4, 10, SECONDS);
    println!("in the background: {least:.3} of an equal part");
    assert!((0.005..0.3).contains(&least), "{least} of an equal part");
    reach("3 scans, and 1 in the background", &[run], 0.95, 0.0);
}

#[test]
fn goals_beside_a_neighbour() {
    for (policy, _) in POLICIES {
        let mut scenario = Scenario::new(policy, 10, 1);
        scenario.neighbour = 10.0;
        let runs = runs(&scenario, SEEDS);
        let kept = mean(&runs, |run| run.neighbour.1 as f64 / run.neighbour.0 as f64);
        let row = format!(
            "10 members beside 10 a second, which keep {:.1} %, {policy}",
            100.0 * kept
        );
        reach(&row, &runs, 0.62, 0.01);
        assert!(kept >= 0.98, "{row}");
    }
}

#[test]
fn goals_under_a_lower_limit() {
    let mut scenario = Scenario::new(Policy::ClockWindow, 10, 1);
    scenario.limit = Some((Duration::from_secs(60), 20));
    all("10 members, limit 20 from 60 s on", &scenario, 0.27, 0.005);
}

/// Exports of a few hundred records, which are begun at the same time: what it costs to begin counts fully.
#[test]
fn goals_of_short_runs() {
    const SECONDS: u64 = 16;
    for (policy, goal) in POLICIES {
        let mut scenario = Scenario::new(policy, 10, 1);
        scenario.apart = Duration::from_millis(20);
        scenario.until = Duration::from_secs(SECONDS);
        let runs = runs(&scenario, 6);
        let share = mean(&runs, |run| run.share(0, SECONDS));
        let row = format!("10 members for {SECONDS} s, {policy}");
        println!(
            "{row:72} {:5.1} % (goal {:4.1} %)",
            100.0 * share,
            100.0 * goal
        );
        assert!(share >= goal, "{row}: {share:.4} is under {goal}");
        assert_eq!(refused(&runs), 0.0, "{row}");
    }
}
