//! What must hold whatever befalls the members and the server. The world itself breaks off on the hard rules: no send of
//! anybody while anybody was told to wait, never more than the limit in any window of all members' sends, bounded
//! requests in flight, waits that end in the future, and a time that never goes back.

use fastrand::Rng;
use talentdata_core::gate::PriorityClass;
use talentdata_sandbox::limit::Policy;

use super::secs;
use super::team::{Plan, Team, Work};
use crate::properties::{anything, pick, seconds};

/// A member with a turn like all others is passed by each of them about once; two more turns for timers that were late.
const PASSED_BY_EACH: u64 = 3;
/// Where those before it vanish it does not know at once: it asks again within 250 ms.
const PASSED_UNSEEN: u64 = 10;

fn anyone(rng: &mut Rng) -> Plan {
    let work = pick(
        rng,
        &[Work::Scan, Work::Scan, Work::Calls(0.5), Work::Calls(20.0)],
    );
    let from = seconds(rng, 6.0);
    Plan {
        work,
        class: pick(
            rng,
            &[
                PriorityClass::Single,
                PriorityClass::Scan,
                PriorityClass::Background,
            ],
        ),
        share: pick(rng, &[1.0, 1.0, 0.5, 0.01]),
        during: (from, from + seconds(rng, 20.0)),
    }
}

fn any_team(seed: u64) -> Team {
    let scenario = anything(seed);
    let mut rng = Rng::with_seed(!seed);
    let members = (0..rng.usize(1..8)).map(|_| anyone(&mut rng)).collect();
    let from = seconds(&mut rng, 8.0);
    let stopped = (rng.usize(0..8), from, from + seconds(&mut rng, 6.0));
    Team {
        members,
        killed_every: rng.bool().then(|| secs(rng.u64(1..5))),
        stopped: rng.bool().then_some(stopped),
        rewritten: pick(&mut rng, &[0.0, 0.02, 0.2]),
        scenario,
    }
}

#[test]
fn hard_rules_hold_whatever_befalls_the_members() {
    for seed in 0..1_000 {
        any_team(seed).run();
    }
}

#[test]
fn nobody_is_passed_by_more_than_its_turn() {
    for seed in 0..300 {
        let mut rng = Rng::with_seed(seed);
        let members = rng.usize(2..12);
        let mut team = Team::new(pick(&mut rng, &Policy::ALL), rng.u64(1..200), members);
        team.scenario.seed = seed;
        team.scenario.until = secs(12);
        team.scenario.loss = pick(&mut rng, &[0.0, 0.01, 0.3]);
        team.killed_every = rng.bool().then(|| secs(rng.u64(1..5)));
        let run = team.run();
        let passed = run.parts.iter().map(|part| part.most_overtaken).max();
        let most = PASSED_BY_EACH * members as u64 + PASSED_UNSEEN;
        assert!(passed <= Some(most), "seed {seed}: {passed:?} of {most}");
    }
}
