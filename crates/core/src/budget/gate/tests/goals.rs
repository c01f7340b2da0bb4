//! The goals of the gate, for one client and for members who share it, and for each of these members. Each goal is the
//! mean of seeded runs on virtual time. With `--nocapture` every figure is printed next to its goal.

use std::time::Duration;

use crate::budget::gate::PriorityClass;
use talentdata_sandbox::limit::{Policy, ResetRounding};

use super::simulation::{Findings, LIMIT, Others, Plan, Quirk, Scenario, mean, secs};

const SEEDS: u64 = 18;
/// The largest deviation from a fair share.
const UNFAIR: f64 = 0.03;

/// The round trip in milliseconds, and the goals as shares of the limit: for one and for many members from 10 s to 40
/// s, and for one also from 20 s to 60 s. Like all goals by policy, they are in the order of `Policy::ALL`.
const SETTLED: [(u64, [f64; 7]); 2] = [
    (20, [0.97, 0.95, 0.94, 0.91, 0.995, 0.995, 0.995]),
    (100, [0.96, 0.89, 0.89, 0.86, 0.995, 0.995, 0.995]),
];

/// Returns the policies with their goals for a near service.
fn settled() -> impl Iterator<Item = (Policy, f64)> {
    Policy::ALL.into_iter().zip(SETTLED[0].1)
}

fn refused(runs: &[Findings]) -> u64 {
    runs.iter().map(|run| run.refused).sum()
}

fn share(runs: &[Findings], from: u64, to: u64) -> f64 {
    mean(runs, |run| run.share_between(from, to))
}

/// Prints a row of the table. Fails if the share is below the goal, or if more than this part is refused.
fn reach(row: &str, runs: &[Findings], share: f64, goal: f64, max_refused: f64) {
    let (percent, wanted) = (100.0 * share, 100.0 * goal);
    let part = refused(runs) as f64 / runs.iter().map(|run| run.sends).sum::<u64>() as f64;
    let rest = format!("{} refused ({:.2} %)", refused(runs), 100.0 * part);
    println!("{row:62} {percent:5.1} % (goal {wanted:4.1} %) {rest}");
    assert!(share >= goal, "{row}: {share:.4} is under {goal}");
    assert!(part <= max_refused, "{row}: {rest}");
}

/// Prints the smallest and the largest share of the first members, relative to their mean. Fails if that is not fair.
fn be_fair(row: &str, runs: &[Findings], members: usize, (from, to): (u64, u64), unfair: f64) {
    let parts = runs.iter().flat_map(|run| run.fairness(members, from, to));
    let least = parts.clone().fold(1.0, f64::min);
    let most = parts.fold(1.0, f64::max);
    println!("{row:62} {least:.3} to {most:.3}");
    let is_fair = least >= 1.0 - unfair && most <= 1.0 + unfair;
    assert!(is_fair, "{row}: {least:.3} to {most:.3}");
}

/// Checks that members ask seldom, because each question reads and writes the state.
fn ask_seldom(row: &str, runs: &[Findings], max_asks: f64) {
    let asks = mean(runs, |run| run.asks as f64 / run.sends as f64);
    println!("{row:62} {asks:.1} asks");
    assert!(asks <= max_asks, "{row}: {asks} asks");
}

#[test]
fn goals_cold() {
    for (round_trip, goals) in [
        (20, [0.96, 0.94, 0.94, 0.85, 0.99, 0.99, 0.99]),
        (100, [0.94, 0.89, 0.89, 0.80, 0.94, 0.94, 0.94]),
    ] {
        for (policy, goal) in Policy::ALL.into_iter().zip(goals) {
            for rounding in ResetRounding::ALL {
                let mut scenario = Scenario::new(policy, round_trip, 1);
                (scenario.rounding, scenario.until) = (rounding, secs(20));
                let runs = scenario.runs(SEEDS);
                let row = format!("400 pages, {policy}, reset {rounding}, {round_trip} ms");
                // At the limit, they take ten seconds.
                let share = mean(&runs, |run| 10.0 / run.parts[0].served[399].as_secs_f64());
                reach(&row, &runs, share, goal, 0.0);
            }
        }
    }
}

/// The goals for five policies, one and four processes, near and far services, alone and next to other clients that
/// spend ten requests a second. Alone, no request to a near service is refused. Next to others, fewer than one request
/// in a thousand is refused. No share may be less than these figures.
#[test]
fn goals_of_the_first_minute() {
    let steady = Others::Steady(10.0);
    for (others, round_trip, max_refused, goals) in [
        (Others::None, 20, 0.0, [97.0, 95.2, 95.0, 92.2, 99.5]),
        (Others::None, 100, 0.0, [96.6, 90.0, 90.2, 87.6, 99.3]),
        (steady, 20, 0.0008, [69.0, 70.0, 65.0, 57.5, 75.5]),
        (steady, 100, 0.0008, [70.0, 69.5, 62.0, 53.5, 75.5]),
    ] {
        for (policy, goal) in Policy::ALL.into_iter().zip(goals) {
            for processes in [1, 4] {
                let mut scenario = Scenario::new(policy, round_trip, processes);
                (scenario.others, scenario.until) = (others, secs(60));
                let runs = scenario.runs(12);
                let row = format!("{others:?}, {round_trip} ms, {processes} processes, {policy}");
                let share = share(&runs, 0, 60);
                reach(&row, &runs, share, goal / 100.0, max_refused);
            }
        }
    }
}

#[test]
fn goals_of_one_member_and_of_many() {
    for (members, round_trips, unfair, max_asks) in [
        (1, 2, UNFAIR, 3.5),
        (4, 2, UNFAIR, 6.0),
        (10, 2, UNFAIR, 6.0),
        // Each member sends sixty times. One request more or less is 1.6 %, and the worst of all runs may differ by
        // three.
        (30, 1, 0.06, 8.0),
    ] {
        for (round_trip, goals) in SETTLED.into_iter().take(round_trips) {
            for (policy, goal) in Policy::ALL.into_iter().zip(goals) {
                let mut scenario = Scenario::new(policy, round_trip, members);
                scenario.until = secs(60);
                let runs = scenario.runs(SEEDS);
                let row = format!("{members} members, {policy}, {round_trip} ms");
                reach(&row, &runs, share(&runs, 10, 40), goal, 0.0);
                be_fair(&row, &runs, members, (10, 60), unfair);
                ask_seldom(&row, &runs, max_asks);
                if members == 1 {
                    let row = format!("from 20 s to 60 s, {row}");
                    reach(&row, &runs, share(&runs, 20, 60), goal, 0.0);
                }
                if (members, round_trip) == (10, 20) {
                    let (row, goal) = (format!("first 10 s, {row}"), goal - 0.06);
                    reach(&row, &runs, share(&runs, 0, 10), goal, 0.0);
                }
            }
        }
    }
}

#[test]
fn goals_next_to_clients_that_do_not_share() {
    let (steady, poisson) = (Others::Steady(10.0), Others::Poisson(10.0));
    for (others, max_refused, kept, goals) in [
        (steady, 0.005, 0.98, &[0.9, 0.9, 0.8, 0.75, 0.97, 0.97][..]),
        (poisson, 0.005, 0.95, &[0.88, 0.78, 0.7, 0.7]),
        // A burst of up to 40 requests arrives when most of the budget is spent, by us or by others. The goals do not
        // require that any of it is served.
        (Others::Bursty, 0.02, 0.0, &[0.6, 0.5, 0.5, 0.5]),
    ] {
        for (policy, goal) in Policy::ALL.into_iter().zip(goals) {
            for (members, from, until) in [(1, 20, 60), (10, 10, 40)] {
                let mut scenario = Scenario::new(policy, 20, members);
                (scenario.others, scenario.until) = (others, secs(until));
                let runs = scenario.runs(SEEDS);
                let asked = mean(&runs, |run| run.others_asked as f64);
                let served = mean(&runs, |run| run.others_served as f64) / asked;
                let left = 1.0 - asked / until as f64 / f64::from(LIMIT);
                let row = format!("of what is left, {members} members, {policy}, {others:?}");
                let share = share(&runs, from, until) / left;
                reach(&row, &runs, share, *goal, max_refused);
                println!("{row:62} others keep {:.1} %", 100.0 * served);
                assert!(served >= kept, "{row}: others keep {served}");
            }
        }
    }
}

#[test]
fn goals_with_unusual_gateways() {
    let slow = Duration::from_millis(100);
    let none = Duration::ZERO;
    for (policy, quirk, processing, goal, max_refused) in [
        (Policy::ClockWindow, Quirk::None, slow, 0.93, 0.0),
        (Policy::SlidingLog, Quirk::None, slow, 0.87, 0.0),
        (Policy::ClockWindow, Quirk::ReadsLate, slow, 0.92, 0.0),
        (Policy::TokenBucket, Quirk::ReadsLate, slow, 0.97, 0.0),
        // The server counts so late that it admits a few requests too many, and then refuses a few.
        (Policy::ClockWindow, Quirk::CountsLate, slow, 0.88, 0.002),
        (Policy::ClockWindow, Quirk::Nodes(2), none, 0.97, 0.0),
        (Policy::SlidingLog, Quirk::Nodes(3), none, 0.97, 0.0),
        (Policy::SlidingLog, Quirk::CountsRefused, none, 0.92, 0.0),
        (Policy::SlidingLog, Quirk::Silent, none, 0.9, 0.0),
        (Policy::SlidingLog, Quirk::Unavailable, none, 0.9, 0.0),
        (Policy::TokenBucket, Quirk::OnlyRetryAfter, none, 0.9, 0.0),
    ] {
        let mut scenario = Scenario::new(policy, 20, 1);
        (scenario.quirk, scenario.processing) = (quirk, processing);
        let runs = scenario.runs(SEEDS);
        let row = format!("{policy}, {quirk:?}, processing {processing:?}");
        reach(&row, &runs, share(&runs, 0, 40), goal, max_refused);
    }
}

/// If the service shows no counts but only refusals, the gate finds the free part of the limit by trying.
#[test]
fn goals_without_counts() {
    for quirk in [Quirk::Silent, Quirk::OnlyRetryAfter, Quirk::Unavailable] {
        let mut scenario = Scenario::new(Policy::SlidingLog, 20, 1);
        (scenario.quirk, scenario.until) = (quirk, secs(60));
        scenario.others = Others::Steady(10.0);
        let row = format!("of what is left, {quirk:?}");
        let runs = scenario.runs(SEEDS);
        reach(&row, &runs, share(&runs, 20, 60) / 0.75, 0.85, 0.005);
        scenario.others = Others::Poisson(10.0);
        scenario.others_during.1 = secs(8);
        let row = format!("once others are gone, {quirk:?}");
        let runs = scenario.runs(SEEDS);
        reach(&row, &runs, share(&runs, 40, 60), 0.9, 0.0025);
    }
}

#[test]
fn a_part_of_the_limit_is_kept_to_and_the_rest_is_used() {
    for (policy, goal) in settled() {
        let mut scenario = Scenario::new(policy, 20, 5);
        for (member, share) in [(0, 0.1), (1, 0.1), (2, 0.01)] {
            scenario.members[member].share = share;
        }
        let runs = scenario.runs(2);
        let row = format!("with small shares, {policy}");
        reach(&row, &runs, share(&runs, 10, 40), goal, 0.0);
        let expected = [3.6..=4.0, 3.6..=4.0, 0.85..=1.0, 11.0..=20.0];
        for (member, expected) in expected.into_iter().enumerate() {
            let rate = mean(&runs, |run| run.rate_of(member, 10, 40));
            assert!(expected.contains(&rate), "{policy}, {member}: {rate}");
        }
    }
}

#[test]
fn two_gates_on_fixed_shares_fill_the_budget_together() {
    for policy in Policy::ALL {
        let mut scenario = Scenario::new(policy, 20, 1);
        scenario.members[0].share = 0.5;
        scenario.others = Others::Steady(19.0);
        let run = scenario.run();
        let share = run.share_between(10, 30);
        assert!((0.35..=0.5).contains(&share), "{policy}: {share}");
        let refused = run.others_asked - run.others_served;
        assert!(refused * 50 < run.others_asked, "{policy}: {refused}");
    }
}

#[test]
fn a_lower_limit_is_adopted_and_a_higher_one_is_not() {
    for (limit, least, most) in [(10, 0.17, 0.25), (100, 0.85, 1.0)] {
        for policy in Policy::ALL {
            for members in [1, 4] {
                let mut scenario = Scenario::new(policy, 20, members);
                scenario.change = Some((secs(5), policy, limit));
                let runs = scenario.runs(1);
                let row = format!("{limit} a second, {members} members, {policy}");
                let share = runs[0].share_between(if members == 4 { 10 } else { 15 }, 40);
                assert!((least..=most).contains(&share), "{row}: {share}");
                be_fair(&row, &runs, members, (10, 40), 0.05);
                assert!(refused(&runs) < 4, "{row}: {} refused", refused(&runs));
            }
        }
    }
}

/// The limit is spent at the usual pace, with a pause at its end, and it is never exceeded.
#[test]
fn a_limit_of_a_long_window_is_used_up_and_shared() {
    // The windows of the server need not begin with the run.
    for (policy, windows) in [
        (Policy::ClockWindow, 3.5),
        (Policy::FirstRequestWindow, 4.0),
        (Policy::SlidingLog, 4.0),
    ] {
        for (limit, seconds) in [(30, 60), (100, 60), (1000, 60), (1000, 3600), (300, 20)] {
            for members in [1, 4] {
                let mut scenario = Scenario::new(policy, 20, members);
                (scenario.limit, scenario.until) = ((limit, secs(seconds)), secs(4 * seconds));
                let runs = scenario.runs(1);
                let row = format!("{limit} in {seconds} s, {members} members, {policy}");
                let served = share(&runs, 0, 4 * seconds) * (4 * seconds) as f64 * 40.0;
                let used = served / windows / f64::from(limit);
                reach(&row, &runs, used, 0.9, 0.0);
                if limit >= 300 {
                    be_fair(&row, &runs, members, (0, 4 * seconds), UNFAIR);
                }
            }
        }
    }
}

#[test]
fn a_newcomer_beside_four_scans_is_served_at_once() {
    for policy in Policy::ALL {
        let mut scenario = Scenario::new(policy, 20, 5);
        scenario.until = secs(12);
        scenario.members[4].during.0 = secs(10);
        let runs = scenario.runs(10);
        let longest = runs.iter().map(|run| run.parts[4].waits[0]).max();
        println!("a newcomer waits, {policy}: {longest:?} at most");
        let goal = Some(Duration::from_millis(100));
        assert!(longest < goal, "{policy}: {longest:?}");
    }
}

#[test]
fn single_calls_under_ten_scans_hardly_wait() {
    for (policy, goal) in settled() {
        let mut scenario = Scenario::new(policy, 20, 10);
        scenario.members.push(Plan::calls(1.0));
        let runs = scenario.runs(8);
        let mut waits: Vec<_> = runs.iter().flat_map(|run| &run.parts[10].waits).collect();
        waits.sort();
        let p99 = *waits[waits.len() * 99 / 100];
        let row = format!("{} single calls wait {p99:?} at p99, {policy}", waits.len());
        reach(&row, &runs, share(&runs, 10, 40), goal, 0.0);
        be_fair(&row, &runs, 10, (10, 40), 0.05);
        ask_seldom(&row, &runs, 6.0);
        assert!(p99 <= Duration::from_millis(250), "{row}");
    }
}

/// A member waits for others for at most 5 s and some turns.
#[test]
fn a_lower_class_takes_what_is_left_and_is_not_starved() {
    use PriorityClass::{Background, Scan, Single};
    for (higher, lower) in [(Single, Scan), (Scan, Background)] {
        for (policy, goal) in settled() {
            let mut scenario = Scenario::new(policy, 20, 4);
            for plan in &mut scenario.members[..2] {
                (plan.class, plan.during.1) = (higher, secs(25));
            }
            for plan in &mut scenario.members[2..] {
                plan.class = lower;
            }
            let runs = scenario.runs(2);
            let beside = mean(&runs, |run| run.rate_of(2, 5, 25));
            let alone = mean(&runs, |run| run.rate_of(2, 26, 40));
            let row = format!("{lower:?} beside {higher:?}, {policy}");
            println!("{row}: {beside:.2}/s, {alone:.2}/s alone");
            assert!((0.1..=0.5).contains(&beside), "{row}: {beside} beside");
            assert!(alone >= 20.0 * (goal - 0.05), "{row}: {alone} alone");
            let longest = runs.iter().flat_map(|run| &run.parts[2].waits).max();
            assert!(longest < Some(&secs(7)), "{row}: {longest:?}");
        }
    }
}

/// A stopped member continues with responses that are ten seconds old. The pauses that they demand apply to all members
/// from then on.
#[test]
fn ten_members_use_the_budget_when_some_are_killed_or_stopped_or_end() {
    let never = Duration::MAX;
    for (what, from, end, killed_every, stopped) in [
        ("one killed every 5 s", 10, never, Some(secs(5)), None),
        (
            "one stopped",
            10,
            never,
            None,
            Some((9, secs(15), secs(25))),
        ),
        ("nine have ended", 21, secs(20), None, None),
    ] {
        for (policy, goal) in settled() {
            let mut scenario = Scenario::new(policy, 20, 10);
            (scenario.killed_every, scenario.stopped) = (killed_every, stopped);
            for plan in &mut scenario.members[1..] {
                plan.during.1 = end;
            }
            let runs = scenario.runs(2);
            let row = format!("{what}, {policy}");
            reach(&row, &runs, share(&runs, from, 40), goal, 0.0);
            if stopped.is_some() {
                be_fair(&row, &runs, 9, (10, 40), UNFAIR);
                ask_seldom(&row, &runs, 6.0);
                let after = mean(&runs, |run| run.rate_of(9, 26, 40));
                assert!(after > 3.3, "{row}: {after} a second when it continues");
            }
        }
    }
}
