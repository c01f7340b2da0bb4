//! Properties that hold regardless of failures of members, server and network. The simulation itself panics if a hard
//! rule is broken: no member sends while the service says to wait, the sends of all members in any window never exceed
//! the limit, requests in flight are limited, waits end in the future, and a named time is never withdrawn.

use std::time::Duration;

use crate::budget::gate::PriorityClass;
use fastrand::Rng;
use talentdata_sandbox::limit::{Policy, ResetRounding};

use super::simulation::{Findings, LIMIT, Others, Plan, Quirk, SERVER, Scenario, mean, secs};

/// The number of requests of each other member that may go before one with the same class: about one, and two more for
/// timers that were late.
const PASSED_BY_EACH: u64 = 3;
/// The number of further requests, because a member does not notice at once that members before it vanish. It asks
/// again within 250 ms.
const PASSED_UNSEEN: u64 = 10;

const QUIRKS: [Quirk; 12] = [
    Quirk::None,
    Quirk::ReadsLate,
    Quirk::CountsLate,
    Quirk::Nodes(2),
    Quirk::Nodes(5),
    Quirk::CountsRefused,
    Quirk::OnlyRetryAfter,
    Quirk::Silent,
    Quirk::Unavailable,
    Quirk::Down,
    Quirk::Lies,
    Quirk::Garbage,
];

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.usize(0..from.len())]
}

fn seconds(rng: &mut Rng, most: f64) -> Duration {
    Duration::from_secs_f64(most * rng.f64())
}

fn span(rng: &mut Rng, latest: f64, longest: f64) -> (Duration, Duration) {
    let from = seconds(rng, latest);
    (from, from + seconds(rng, longest))
}

fn anyone(rng: &mut Rng) -> Plan {
    use PriorityClass::{Background, Scan, Single};
    Plan {
        calls: pick(rng, &[None, None, Some(0.5), Some(20.0)]),
        class: pick(rng, &[Single, Scan, Background]),
        share: pick(rng, &[1.0, 1.0, 0.5, 0.01]),
        during: span(rng, 4.0, 20.0),
    }
}

/// Returns a random scenario of members, network, server and other clients.
fn anything(seed: u64) -> Scenario {
    let rng = &mut Rng::with_seed(seed);
    let others = [
        Others::None,
        Others::Steady(10.0),
        Others::Poisson(20.0),
        Others::Bursty,
    ];
    let limit = pick(rng, &[1, 10, LIMIT, 100]);
    let change = (seconds(rng, 12.0), pick(rng, &Policy::ALL), limit);
    let (from, to) = span(rng, 8.0, 6.0);
    let mut scenario = Scenario {
        seed,
        rounding: pick(rng, &ResetRounding::ALL),
        quirk: pick(rng, &QUIRKS),
        jitter: rng.f64(),
        processing: Duration::from_millis(pick(rng, &[0, 100, 1000])),
        others: pick(rng, &others),
        others_during: span(rng, 4.0, 4.0),
        loss: pick(rng, &[0.0, 0.0, 0.01, 0.3, 1.0]),
        outage: span(rng, 12.0, 6.0),
        unused: pick(rng, &[0.0, 0.1, 0.5]),
        change: rng.bool().then_some(change),
        until: secs(7),
        killed_every: rng.bool().then(|| secs(rng.u64(1..5))),
        stopped: rng.bool().then_some((rng.usize(0..8), from, to)),
        rewritten: pick(rng, &[0.0, 0.02, 0.2]),
        ..Scenario::new(pick(rng, &Policy::ALL), rng.u64(1..400), 1)
    };
    if seed.is_multiple_of(2) {
        scenario.members = (0..rng.usize(1..8)).map(|_| anyone(rng)).collect();
    }
    scenario
}

#[test]
fn hard_rules_hold_in_every_case() {
    for seed in 0..3_000 {
        anything(seed).run();
    }
}

/// The server exhausts its budget when the member is stopped, and the response arrives ten seconds later. All members
/// wait.
#[test]
fn a_late_response_is_obeyed_by_all() {
    let mut scenario = Scenario::new(Policy::SlidingLog, 100, 3);
    (scenario.limit, scenario.until) = ((6, secs(1)), secs(20));
    scenario.stopped = Some((1, secs(1), secs(11)));
    scenario.runs(30);
}

#[test]
fn nobody_is_passed_by_more_than_its_turn() {
    for seed in 0..300 {
        let mut rng = Rng::with_seed(seed);
        let members = rng.usize(2..12);
        let mut scenario = Scenario::new(pick(&mut rng, &Policy::ALL), rng.u64(1..200), members);
        (scenario.seed, scenario.until) = (seed, secs(12));
        scenario.loss = pick(&mut rng, &[0.0, 0.01, 0.3]);
        scenario.killed_every = rng.bool().then(|| secs(rng.u64(1..5)));
        let run = scenario.run();
        let passed = run.parts.iter().map(|part| part.most_overtaken).max();
        let most = PASSED_BY_EACH * members as u64 + PASSED_UNSEEN;
        assert!(passed <= Some(most), "seed {seed}: {passed:?} of {most}");
    }
}

/// A state reads back as it was written: a run has the same result if its state is rewritten all the time.
#[test]
fn a_state_that_was_written_and_read_decides_the_same() {
    for seed in 0..4 {
        for policy in Policy::ALL {
            let mut scenario = Scenario::new(policy, 20, 4);
            scenario.members.push(Plan::calls(2.0));
            scenario.members[0].share = 0.2;
            (scenario.seed, scenario.loss, scenario.until) = (seed, 0.01, secs(12));
            scenario.killed_every = Some(secs(4));
            scenario.rewritten = 0.5;
            let rewritten = scenario.run();
            scenario.rewritten = 0.0;
            let plain = scenario.run();
            let bytes = rewritten.bytes;
            assert!(bytes > 0 && plain.bytes == 0);
            assert_eq!(rewritten, Findings { bytes, ..plain }, "{policy}, {seed}");
        }
    }
}

/// A small state is read and written in microseconds.
#[test]
fn the_state_of_ten_members_is_small() {
    let mut scenario = Scenario::new(Policy::ClockWindow, 100, 10);
    scenario.rewritten = 0.1;
    let bytes = scenario.run().bytes;
    println!("{bytes} bytes");
    assert!((1..8 << 10).contains(&bytes), "{bytes} bytes");
}

#[test]
fn any_number_of_members_send_few_requests_into_an_outage() {
    for members in [1, 10, 50] {
        let mut scenario = Scenario::new(Policy::ClockWindow, 20, members);
        (scenario.quirk, scenario.until) = (Quirk::Down, secs(20));
        for Findings { sends, .. } in scenario.runs(10) {
            assert!((5..=12).contains(&sends), "{members}: {sends}");
        }
    }
}

#[test]
fn sending_resumes_after_an_outage() {
    for policy in Policy::ALL {
        let mut scenario = Scenario::new(policy, 50, 1);
        scenario.outage = (secs(2), secs(5));
        scenario.until = secs(10);
        for (seed, run) in scenario.runs(15).iter().enumerate() {
            // One of the two seconds may be lost to an overshoot, because the server may count requests that seemed
            // lost.
            let share = run.share_between(8, 10);
            assert!(share > 0.45, "{policy}, seed {seed}: {share}");
        }
    }
}

/// A member that continues decides at once about everything that arrived in the meantime.
#[test]
fn few_requests_are_sent_to_a_server_that_has_stopped() {
    for policy in Policy::ALL {
        for (round_trip, members, most) in [(20, 1, 9), (20, 10, 9), (100, 1, 24), (100, 10, 24)] {
            let mut scenario = Scenario::new(policy, round_trip, members);
            scenario.stopped = Some((SERVER, secs(10), secs(12)));
            let mut until = |seconds| {
                scenario.until = secs(seconds);
                scenario.runs(10)
            };
            let (before, stopped, after) = (until(10), until(12), until(20));
            let row = format!("{policy}, {round_trip} ms, {members} members");
            for (before, stopped) in before.iter().zip(&stopped) {
                let sends = stopped.sends - before.sends;
                assert!(sends <= most, "{row}: {sends}");
            }
            // A far server may refuse one now and then.
            let refused: u64 = after.iter().map(|run| run.refused).sum();
            let max_refused = if round_trip == 20 { 0 } else { 5 };
            assert!(refused <= max_refused, "{row}: {refused}");
        }
    }
}

#[test]
fn the_rate_comes_back_when_others_stop_spending() {
    for policy in Policy::ALL {
        let mut scenario = Scenario::new(policy, 20, 1);
        scenario.until = secs(50);
        let rate = |scenario: &Scenario| mean(&scenario.runs(4), |run| run.share_between(35, 50));
        let before = rate(&scenario);
        scenario.others = Others::Poisson(20.0);
        scenario.others_during = (secs(5), secs(20));
        let after = rate(&scenario);
        assert!(after > 0.95 * before, "{policy}: {after} after {before}");
    }
}

#[test]
fn the_gate_follows_a_server_that_changes_its_way_of_counting() {
    for before in Policy::ALL {
        for after in Policy::ALL {
            let mut scenario = Scenario::new(before, 20, 1);
            scenario.change = Some((secs(10), after, LIMIT));
            scenario.until = secs(30);
            let run = scenario.run();
            let share = run.share_between(20, 30);
            assert!(share > 0.8, "{before}, then {after}: {share}");
            assert!(run.refused < 10, "{before}, then {after}: {}", run.refused);
        }
    }
}

#[test]
fn the_way_of_counting_is_recognised() {
    for policy in Policy::ALL {
        let mut scenario = Scenario::new(policy, 20, 1);
        scenario.until = secs(12);
        let expected = match policy {
            Policy::ClockWindow => "aligned",
            Policy::TokenBucket | Policy::Gcra | Policy::Unlimited => "refill",
            _ => "universal",
        };
        for (seed, run) in scenario.runs(15).iter().enumerate() {
            assert_eq!(run.mode, expected, "{policy}, seed {seed}");
        }
    }
}

#[test]
fn an_alignment_lasts() {
    let mut scenario = Scenario::new(Policy::ClockWindow, 20, 1);
    scenario.until = secs(260);
    let run = scenario.run();
    let share = run.share_between(0, 260);
    assert!(share > 0.965, "{share}");
    assert_eq!((run.refused, run.mode), (0, "aligned"));
}

#[test]
fn lost_requests_cost_their_place_and_no_more() {
    for policy in Policy::ALL {
        let mut scenario = Scenario::new(policy, 20, 1);
        (scenario.loss, scenario.until) = (0.01, secs(30));
        let runs = scenario.runs(120);
        assert!(runs.iter().all(|run| run.lost > 0));
        let share = mean(&runs, |run| run.share_between(0, 30));
        assert!(share > 0.85, "{policy}: {share}");
    }
}
