//! What holds whatever happens. The world itself watches that no slot is in the past, and that no window has more slots
//! than one less than the limit.

use super::scenario::{PUNCTUAL, Scenario};
use crate::settings::OnLost;
use fastrand::Rng;
use std::time::Duration;
use talentdata_sandbox::limit::Policy;

const POLICIES: [Policy; 6] = [
    Policy::ClockWindow,
    Policy::FirstRequestWindow,
    Policy::SlidingLog,
    Policy::SlidingCounter,
    Policy::TokenBucket,
    Policy::Unlimited,
];

fn seeds() -> u64 {
    let rounds = std::env::var("TALENTDATA_ROUNDS").ok();
    let rounds: u64 = rounds.and_then(|text| text.parse().ok()).unwrap_or(1);
    60 * rounds
}

/// A short run in which anything may happen.
fn anything(seed: u64) -> Scenario {
    let mut rng = Rng::with_seed(seed);
    let policy = POLICIES[rng.usize(0..POLICIES.len())];
    let mut scenario = Scenario::new(policy, rng.usize(1..13), rng.u64(0..120));
    scenario.seed = seed;
    scenario.service = Duration::from_millis(rng.u64(1..150));
    scenario.apart = Duration::from_millis(rng.u64(0..1500));
    scenario.callers = rng.usize(0..4);
    scenario.calls = 0.1 + 3.0 * rng.f64();
    let mut moment = |chance: f64| {
        let at = Duration::from_secs_f64(1.0 + 10.0 * rng.f64());
        (rng.f64() < chance).then_some(at)
    };
    scenario.killed = moment(0.3);
    scenario.state_lost = moment(0.3);
    scenario.others_stop = moment(0.2);
    scenario.clock_set = moment(0.3).map(|at| (at, 40.0 * at.as_secs_f64().fract() - 20.0));
    scenario.limit = moment(0.2).map(|at| (at, 1 + at.subsec_nanos() % 39));
    if let Some(at) = moment(0.3) {
        scenario.cut_off = (1 + at.subsec_nanos() as usize % 12, at..2 * at);
    }
    if rng.bool() {
        scenario.on_lost = OnLost::Wait;
    }
    let far = Duration::from_millis(rng.u64(0..700));
    scenario.far = (rng.usize(0..scenario.scans), far);
    if rng.bool() {
        let longest = Duration::from_millis(rng.u64(0..2000));
        scenario.stands_still = Some((Duration::from_secs(3), longest));
    }
    if rng.bool() {
        scenario.late = Duration::from_millis(rng.u64(0..100));
    }
    scenario.until = Duration::from_secs(15);
    scenario
}

#[test]
fn slots_are_never_too_many_nor_in_the_past() {
    let sent: u64 = (0..seeds()).map(|seed| anything(seed).run().sent).sum();
    assert!(
        sent > 100 * seeds(),
        "{sent} requests are too few to say anything"
    );
}

/// Wherever something goes on, everybody goes on: after all that happens a member is served at least so often, and one that is
/// further away than others a good part of that.
#[test]
fn nobody_starves() {
    for seed in 0..seeds() {
        let mut scenario = anything(seed);
        scenario.policy = Policy::Unlimited;
        scenario.limit = None;
        scenario.others_stop = None;
        scenario.killed = None;
        scenario.stands_still = None;
        scenario.late = PUNCTUAL;
        scenario.until = Duration::from_secs(40);
        let (far, distance) = scenario.far;
        for (far, goal) in [(0, 0.85), (far, 0.3)] {
            scenario.far = (far, distance.min(Duration::from_millis(300)));
            let (least, most) = scenario.run().fair(scenario.scans, 28, 40);
            assert!(
                least >= goal,
                "{least} to {most} of a fair share: {scenario:?}"
            );
        }
    }
}
