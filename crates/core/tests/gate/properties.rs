//! What must hold whatever the server does. The simulation itself breaks off on the hard rules: no send while told to
//! wait, never more than the limit in any window of send times, bounded requests in flight, and no wait without end.

use std::time::Duration;

use fastrand::Rng;
use talentdata_core::gate::Mode;
use talentdata_sandbox::limit::{Policy, ResetRounding};

use crate::scenario::{LIMIT, Others, Scenario};
use crate::server::Quirk;

const QUIRKS: [Quirk; 11] = [
    Quirk::None,
    Quirk::ReadsLate,
    Quirk::CountsLate,
    Quirk::Nodes(2),
    Quirk::Nodes(5),
    Quirk::CountsRefused,
    Quirk::OnlyRetryAfter,
    Quirk::Silent,
    Quirk::Unavailable,
    Quirk::Lies,
    Quirk::Garbage,
];

pub(crate) fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.usize(0..from.len())]
}

pub(crate) fn seconds(rng: &mut Rng, most: f64) -> Duration {
    Duration::from_secs_f64(most * rng.f64())
}

/// Anything that a network, a server and its other clients may do.
pub(crate) fn anything(seed: u64) -> Scenario {
    let mut rng = Rng::with_seed(seed);
    let policy = pick(&mut rng, &Policy::ALL);
    let rounding = pick(&mut rng, &ResetRounding::ALL);
    let mut scenario = Scenario::new(policy, rounding, rng.u64(1..400));
    scenario.seed = seed;
    scenario.until = Duration::from_secs(7);
    scenario.quirk = pick(&mut rng, &QUIRKS);
    scenario.jitter = rng.f64();
    scenario.processing = pick(
        &mut rng,
        &[
            Duration::ZERO,
            Duration::from_millis(100),
            Duration::from_secs(1),
        ],
    );
    scenario.others = pick(
        &mut rng,
        &[
            Others::None,
            Others::Steady(10.0),
            Others::Poisson(20.0),
            Others::Bursty,
        ],
    );
    let from = seconds(&mut rng, 4.0);
    scenario.others_during = (from, from + seconds(&mut rng, 4.0));
    scenario.loss = pick(&mut rng, &[0.0, 0.0, 0.01, 0.3, 1.0]);
    let from = seconds(&mut rng, 12.0);
    scenario.outage = (from, from + seconds(&mut rng, 6.0));
    scenario.unused = pick(&mut rng, &[0.0, 0.1, 0.5]);
    let limit = pick(&mut rng, &[1, 10, LIMIT, 100]);
    let change = (seconds(&mut rng, 12.0), pick(&mut rng, &Policy::ALL), limit);
    scenario.change = rng.bool().then_some(change);
    scenario.share = pick(&mut rng, &[1.0, 1.0, 0.5, 0.01]);
    scenario
}

#[test]
fn hard_rules_hold_whatever_happens() {
    for seed in 0..2_000 {
        anything(seed).run();
    }
}

#[test]
fn sending_resumes_after_an_outage() {
    for seed in 0..15 {
        for policy in Policy::ALL {
            let mut scenario = Scenario::new(policy, ResetRounding::Up, 50);
            scenario.seed = seed;
            scenario.outage = (Duration::from_secs(2), Duration::from_secs(5));
            scenario.until = Duration::from_secs(10);
            let run = scenario.run();
            // A second of the two may go to a shortage, for the server may count what seemed lost.
            let share = run.share_between(8, 10);
            assert!(share > 0.45, "{policy}, seed {seed}: {share}");
        }
    }
}

#[test]
fn the_rate_comes_back_when_others_stop_spending() {
    for policy in Policy::ALL {
        let (mut before, mut after) = (0.0, 0.0);
        for seed in 0..4 {
            let mut alone = Scenario::new(policy, ResetRounding::Up, 20);
            (alone.seed, alone.until) = (seed, Duration::from_secs(50));
            let mut disturbed = alone.clone();
            disturbed.others = Others::Poisson(20.0);
            disturbed.others_during = (Duration::from_secs(5), Duration::from_secs(20));
            before += alone.run().share_between(35, 50) / 4.0;
            after += disturbed.run().share_between(35, 50) / 4.0;
        }
        assert!(after > 0.95 * before, "{policy}: {after} after {before}");
    }
}

#[test]
fn a_server_that_begins_to_count_in_another_way_is_followed() {
    let from = Duration::from_secs(10);
    for before in Policy::ALL {
        for after in Policy::ALL {
            let mut scenario = Scenario::new(before, ResetRounding::Up, 20);
            scenario.change = Some((from, after, LIMIT));
            scenario.until = Duration::from_secs(30);
            let run = scenario.run();
            let share = run.share_between(20, 30);
            assert!(share > 0.8, "{before}, then {after}: {share}");
            assert!(run.refused < 10, "{before}, then {after}: {}", run.refused);
        }
    }
}

#[test]
fn a_lower_limit_is_taken_on_and_a_higher_one_is_not() {
    for (limit, least, most) in [(10, 0.17, 0.25), (100, 0.85, 1.0)] {
        for policy in Policy::ALL {
            let mut scenario = Scenario::new(policy, ResetRounding::Up, 20);
            scenario.change = Some((Duration::from_secs(5), policy, limit));
            scenario.until = Duration::from_secs(30);
            let share = scenario.run().share_between(15, 30);
            assert!(
                (least..=most).contains(&share),
                "{policy}, {limit}: {share}"
            );
        }
    }
}

#[test]
fn a_share_of_the_limit_is_kept() {
    for policy in Policy::ALL {
        let mut scenario = Scenario::new(policy, ResetRounding::Up, 20);
        scenario.share = 0.5;
        scenario.until = Duration::from_secs(30);
        let share = scenario.run().share_between(10, 30);
        assert!((0.45..=0.5).contains(&share), "{policy}: {share}");
    }
}

#[test]
fn the_way_of_counting_is_recognised() {
    for seed in 0..15 {
        for policy in Policy::ALL {
            let mut scenario = Scenario::new(policy, ResetRounding::Up, 20);
            scenario.seed = seed;
            scenario.until = Duration::from_secs(12);
            let expected = match policy {
                Policy::ClockWindow => Mode::Locked,
                Policy::TokenBucket | Policy::Gcra | Policy::Unlimited => Mode::Refill,
                _ => Mode::Universal,
            };
            assert_eq!(scenario.run().mode, expected, "{policy}, seed {seed}");
        }
    }
}

#[test]
fn a_lock_is_renewed_without_harm() {
    let mut scenario = Scenario::new(Policy::ClockWindow, ResetRounding::Up, 20);
    scenario.until = Duration::from_secs(260);
    let run = scenario.run();
    assert!(run.share() > 0.965, "{}", run.share());
    assert_eq!(run.refused, 0);
    assert_eq!(run.mode, Mode::Locked);
}

#[test]
fn lost_requests_cost_their_place_and_no_more() {
    for policy in Policy::ALL {
        let mut shares = 0.0;
        for seed in 0..20 {
            let mut scenario = Scenario::new(policy, ResetRounding::Up, 20);
            scenario.seed = seed;
            scenario.loss = 0.01;
            scenario.until = Duration::from_secs(30);
            let run = scenario.run();
            assert!(run.lost > 0);
            shares += run.share();
        }
        assert!(shares / 20.0 > 0.85, "{policy}: {}", shares / 20.0);
    }
}

#[test]
fn two_gates_on_fixed_shares_fill_the_budget_together() {
    for policy in Policy::ALL {
        let mut scenario = Scenario::new(policy, ResetRounding::Up, 20);
        scenario.share = 0.5;
        scenario.others = Others::Steady(19.0);
        scenario.until = Duration::from_secs(30);
        let run = scenario.run();
        let share = run.share_between(10, 30);
        assert!(share > 0.35, "{policy}: {share}");
        let refused = run.others_asked - run.others_served;
        assert!(refused * 50 < run.others_asked, "{policy}: {refused}");
    }
}

#[test]
fn permits_that_are_not_used_cost_nothing() {
    let mut scenario = Scenario::new(Policy::SlidingLog, ResetRounding::Up, 20);
    scenario.until = Duration::from_secs(30);
    let plain = scenario.clone().run().share();
    scenario.unused = 0.5;
    let wasteful = scenario.run().share();
    assert!(wasteful > plain - 0.01, "{wasteful} instead of {plain}");
}
