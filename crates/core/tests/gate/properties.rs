//! What must hold whatever the server does. The simulation itself breaks off on the hard rules: no send while told to
//! wait, never more than the limit in any window of send times, bounded requests in flight, and no wait without end.

use std::time::Duration;

use fastrand::Rng;
use talentdata_sandbox::limit::{Policy, ResetRounding};

use crate::server::Quirk;
use crate::simulation::{LIMIT, Others, Scenario};

const QUIRKS: [Quirk; 10] = [
    Quirk::None,
    Quirk::ReadsLate,
    Quirk::CountsLate,
    Quirk::Nodes(2),
    Quirk::Nodes(5),
    Quirk::CountsRefused,
    Quirk::OnlyRetryAfter,
    Quirk::Silent,
    Quirk::Lies,
    Quirk::Garbage,
];

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.usize(0..from.len())]
}

fn seconds(rng: &mut Rng, most: f64) -> Duration {
    Duration::from_secs_f64(most * rng.f64())
}

/// Anything that a network, a server and its other clients may do.
fn anything(seed: u64) -> Scenario {
    let mut rng = Rng::with_seed(seed);
    let policy = pick(&mut rng, &Policy::ALL);
    let rounding = pick(&mut rng, &ResetRounding::ALL);
    let mut scenario = Scenario::new(policy, rounding, rng.u64(1..400));
    scenario.seed = seed;
    scenario.until = Duration::from_secs(12);
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
    let from = seconds(&mut rng, 6.0);
    scenario.others_during = (from, from + seconds(&mut rng, 8.0));
    scenario.loss = pick(&mut rng, &[0.0, 0.0, 0.01, 0.3, 1.0]);
    let from = seconds(&mut rng, 20.0);
    scenario.outage = (from, from + seconds(&mut rng, 6.0));
    scenario.unused = pick(&mut rng, &[0.0, 0.1, 0.9]);
    let limit = pick(&mut rng, &[1, 10, LIMIT, 100]);
    let change = (seconds(&mut rng, 12.0), pick(&mut rng, &Policy::ALL), limit);
    scenario.change = rng.bool().then_some(change);
    scenario.share = pick(&mut rng, &[1.0, 1.0, 0.5, 0.01]);
    scenario
}

#[test]
fn hard_rules_hold_whatever_happens() {
    for seed in 0..3_000 {
        anything(seed).run();
    }
}
