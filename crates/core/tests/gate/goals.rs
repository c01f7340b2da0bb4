//! What the gate must achieve: each goal is the mean of seeded runs on virtual time, and no run may see a refusal where
//! we are alone. With `--nocapture` every figure is printed next to its goal.

use std::time::Duration;

use talentdata_sandbox::limit::{Policy, ResetRounding};

use crate::scenario::{LIMIT, Others, Outcome, Scenario};
use crate::server::Quirk;

const SEEDS: u64 = 3;

/// The policies, and what they allow: the share of the limit for 400 pages at a round trip of 20 ms and of 100 ms.
const COLD: [(Policy, f64, f64); 7] = [
    (Policy::ClockWindow, 0.96, 0.91),
    (Policy::FirstRequestWindow, 0.94, 0.89),
    (Policy::SlidingLog, 0.94, 0.89),
    (Policy::SlidingCounter, 0.85, 0.80),
    (Policy::TokenBucket, 0.99, 0.94),
    (Policy::Gcra, 0.99, 0.94),
    (Policy::Unlimited, 0.99, 0.94),
];

fn runs(scenario: &Scenario) -> Vec<Outcome> {
    let seeded = |seed| {
        let mut scenario = scenario.clone();
        scenario.seed = seed;
        scenario.run()
    };
    (0..SEEDS).map(seeded).collect()
}

fn mean(runs: &[Outcome], figure: impl Fn(&Outcome) -> f64) -> f64 {
    runs.iter().map(figure).sum::<f64>() / runs.len() as f64
}

fn total(runs: &[Outcome], figure: impl Fn(&Outcome) -> u64) -> f64 {
    runs.iter().map(figure).sum::<u64>() as f64
}

fn least(runs: &[Outcome], figure: impl Fn(&Outcome) -> f64) -> f64 {
    runs.iter().map(figure).fold(f64::INFINITY, f64::min)
}

/// Prints a row of the table, and fails under the goal.
pub(crate) fn reach(row: &str, share: f64, goal: f64, rest: &str) {
    println!(
        "{row:62} {:5.1} % (goal {:4.1} %) {rest}",
        100.0 * share,
        100.0 * goal
    );
    assert!(share >= goal, "{row}: {share:.4} is under {goal}");
}

#[test]
fn goals_cold() {
    for (policy, near, far) in COLD {
        for (round_trip, goal) in [(20, near), (100, far)] {
            for rounding in ResetRounding::ALL {
                let mut scenario = Scenario::new(policy, rounding, round_trip);
                scenario.pages = 400;
                let runs = runs(&scenario);
                let refused = total(&runs, |run| run.refused);
                let row = format!("400 pages, {policy}, reset {rounding}, {round_trip} ms");
                let worst = least(&runs, Outcome::share);
                let rest = format!("worst {:.1} %, {refused} refused", 100.0 * worst);
                reach(&row, mean(&runs, Outcome::share), goal, &rest);
                assert_eq!(refused, 0.0, "{row}");
            }
        }
    }
}

/// Where the end of a window is told to a part of a second, waiting for it costs nothing.
#[test]
fn goals_with_windows_told_exactly() {
    for (round_trip, goal) in [(20, 0.97), (100, 0.94)] {
        let mut scenario =
            Scenario::new(Policy::ClockWindow, ResetRounding::Fractional, round_trip);
        scenario.pages = 400;
        let runs = runs(&scenario);
        let refused = total(&runs, |run| run.refused);
        let row = format!("400 pages, clock-window told exactly, {round_trip} ms");
        let share = mean(&runs, Outcome::share);
        reach(&row, share, goal, &format!("{refused} refused"));
        assert_eq!(refused, 0.0, "{row}");
    }
}

#[test]
fn goals_settled() {
    let goals = [
        (Policy::ClockWindow, 0.97, 0.96),
        (Policy::FirstRequestWindow, 0.95, 0.89),
        (Policy::SlidingLog, 0.94, 0.89),
        (Policy::SlidingCounter, 0.92, 0.86),
        (Policy::TokenBucket, 0.995, 0.995),
        (Policy::Gcra, 0.995, 0.995),
    ];
    for (policy, near, far) in goals {
        for (round_trip, goal) in [(20, near), (100, far)] {
            let mut scenario = Scenario::new(policy, ResetRounding::Up, round_trip);
            scenario.until = Duration::from_secs(60);
            let runs = runs(&scenario);
            let refused = total(&runs, |run| run.refused);
            let row = format!("from 20 s to 60 s, {policy}, {round_trip} ms");
            let share = mean(&runs, |run| run.share_between(20, 60));
            reach(&row, share, goal, &format!("{refused} refused"));
            assert_eq!(refused, 0.0, "{row}");
        }
    }
}

#[test]
fn goals_beside_a_neighbour() {
    let steady = Others::Steady(10.0);
    let poisson = Others::Poisson(10.0);
    let cases = [
        (Policy::ClockWindow, steady, 0.9, 0.005, 0.98),
        (Policy::FirstRequestWindow, steady, 0.9, 0.005, 0.98),
        (Policy::SlidingLog, steady, 0.80, 0.005, 0.98),
        (Policy::SlidingCounter, steady, 0.75, 0.005, 0.98),
        (Policy::TokenBucket, steady, 0.97, 0.005, 0.98),
        (Policy::Gcra, steady, 0.97, 0.005, 0.98),
        (Policy::ClockWindow, poisson, 0.88, 0.005, 0.95),
        (Policy::FirstRequestWindow, poisson, 0.78, 0.005, 0.95),
        (Policy::SlidingLog, poisson, 0.7, 0.005, 0.95),
        (Policy::SlidingCounter, poisson, 0.7, 0.005, 0.95),
        // A burst of up to 40 finds most of a budget spent, whoever spent it; nothing is asked for those.
        (Policy::ClockWindow, Others::Bursty, 0.6, 0.02, 0.0),
        (Policy::FirstRequestWindow, Others::Bursty, 0.5, 0.02, 0.0),
        (Policy::SlidingLog, Others::Bursty, 0.5, 0.02, 0.0),
        (Policy::SlidingCounter, Others::Bursty, 0.5, 0.02, 0.0),
    ];
    for (policy, others, goal, most_refused, kept) in cases {
        let mut scenario = Scenario::new(policy, ResetRounding::Up, 20);
        scenario.others = others;
        scenario.until = Duration::from_secs(60);
        let runs = runs(&scenario);
        let asked = total(&runs, |run| run.others_asked);
        let served = total(&runs, |run| run.others_served) / asked;
        let refused = total(&runs, |run| run.refused) / total(&runs, |run| run.sends);
        let left = 1.0 - asked / (60 * SEEDS) as f64 / f64::from(LIMIT);
        let row = format!("of what is left, {policy}, others {others:?}");
        let rest = format!(
            "{:.2} % refused, others keep {:.1} %",
            100.0 * refused,
            100.0 * served
        );
        let share = mean(&runs, |run| run.share_between(20, 60)) / left;
        reach(&row, share, goal, &rest);
        assert!(refused <= most_refused, "{row}: {refused:.4} refused");
        assert!(served >= kept, "{row}: others keep {served:.4}");
    }
}

#[test]
fn goals_with_gateways_of_their_own_mind() {
    let slow = Duration::from_millis(100);
    let none = Duration::ZERO;
    let cases = [
        (Policy::ClockWindow, Quirk::None, slow, 0.93, 0.0),
        (Policy::SlidingLog, Quirk::None, slow, 0.87, 0.0),
        (Policy::ClockWindow, Quirk::ReadsLate, slow, 0.92, 0.0),
        (Policy::TokenBucket, Quirk::ReadsLate, slow, 0.97, 0.0),
        // It counts so late that a few too many get in, and then a few are refused.
        (Policy::ClockWindow, Quirk::CountsLate, slow, 0.88, 0.002),
        (Policy::ClockWindow, Quirk::Nodes(2), none, 0.97, 0.0),
        (Policy::SlidingLog, Quirk::Nodes(3), none, 0.97, 0.0),
        (Policy::SlidingLog, Quirk::CountsRefused, none, 0.92, 0.0),
        (Policy::SlidingLog, Quirk::Silent, none, 0.9, 0.0),
        (Policy::SlidingLog, Quirk::Unavailable, none, 0.9, 0.0),
        (Policy::TokenBucket, Quirk::OnlyRetryAfter, none, 0.9, 0.0),
    ];
    for (policy, quirk, processing, goal, most_refused) in cases {
        let mut scenario = Scenario::new(policy, ResetRounding::Up, 20);
        scenario.quirk = quirk;
        scenario.processing = processing;
        scenario.until = Duration::from_secs(40);
        let runs = runs(&scenario);
        let refused = total(&runs, |run| run.refused) / total(&runs, |run| run.sends);
        let row = format!("{policy}, {quirk:?}, processing {processing:?}");
        let rest = format!("{:.2} % refused", 100.0 * refused);
        reach(&row, mean(&runs, Outcome::share), goal, &rest);
        assert!(refused <= most_refused, "{row}: {refused:.4} refused");
    }
}

/// Where a refusal is all that is ever shown, by whatever status, what others have left is found out by trying.
#[test]
fn goals_where_no_counts_are_shown() {
    for quirk in [Quirk::Silent, Quirk::OnlyRetryAfter, Quirk::Unavailable] {
        let mut scenario = Scenario::new(Policy::SlidingLog, ResetRounding::Up, 20);
        scenario.quirk = quirk;
        scenario.until = Duration::from_secs(60);
        scenario.others = Others::Steady(10.0);
        let beside = runs(&scenario);
        let refused = total(&beside, |run| run.refused) / total(&beside, |run| run.sends);
        let share = mean(&beside, |run| run.share_between(20, 60)) / 0.75;
        let rest = format!("{:.2} % refused", 100.0 * refused);
        reach(&format!("of what is left, {quirk:?}"), share, 0.85, &rest);
        assert!(refused <= 0.005, "{quirk:?}: {refused:.4} refused");
        scenario.others = Others::Poisson(10.0);
        scenario.others_during.1 = Duration::from_secs(8);
        let share = mean(&runs(&scenario), |run| run.share_between(40, 60));
        reach(&format!("once others are gone, {quirk:?}"), share, 0.9, "");
    }
}
