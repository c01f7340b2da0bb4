//! Members that are killed, stopped, and out of step with others; each with the share of the limit that is still used.

use talentdata_sandbox::limit::Policy;

use super::team::{Findings, Plan, Team};
use super::{SEEDS, SETTLED, UNFAIR, mean, reach_together, secs};
use crate::goals::reach;

#[test]
fn one_of_ten_is_killed_every_five_seconds() {
    for (policy, goal, _) in SETTLED {
        let mut team = Team::new(policy, 20, 10);
        team.killed_every = Some(secs(5));
        let runs = team.runs(SEEDS);
        let share = mean(&runs, |run| run.share_between(10, 40));
        let refused = mean(&runs, |run| run.refused as f64);
        let row = format!("one killed every 5 s, {policy}");
        reach(&row, share, goal - 0.01, &format!("{refused} refused"));
        assert_eq!(refused, 0.0, "{row}");
    }
}

/// It continues with responses that are ten seconds old; what they ask for binds all from then on.
#[test]
fn one_of_ten_is_stopped_for_ten_seconds() {
    for (policy, goal, _) in SETTLED {
        let mut team = Team::new(policy, 20, 10);
        team.stopped = Some((9, secs(15), secs(25)));
        let runs = team.runs(SEEDS);
        let row = format!("one stopped for 10 s, {policy}");
        reach_together(&row, &runs, 9, UNFAIR, goal, 0.0);
        let after = mean(&runs, |run| run.rate_of(9, 26, 40));
        assert!(after > 3.3, "{policy}: {after} a second when it goes on");
    }
}

/// A server that is used up at the moment of the stop says so ten seconds later; the referee sees that all wait.
#[test]
fn a_late_response_is_obeyed_by_all() {
    for seed in 0..30 {
        let mut team = Team::new(Policy::SlidingLog, 100, 3);
        team.scenario.seed = seed;
        team.scenario.limit = (6, secs(1));
        team.scenario.until = secs(20);
        team.stopped = Some((1, secs(1), secs(11)));
        team.run();
    }
}

#[test]
fn members_that_end_leave_what_they_had_to_the_others() {
    for (policy, goal, _) in SETTLED {
        let mut team = Team::new(policy, 20, 10);
        for plan in &mut team.members[1..] {
            plan.during.1 = secs(20);
        }
        let runs = team.runs(SEEDS);
        let alone = mean(&runs, |run| run.share_between(21, 40));
        reach(
            &format!("nine of ten have ended, {policy}"),
            alone,
            goal - 0.02,
            "",
        );
    }
}

/// What is read is what was written: a run comes out the same whether or not its state is rewritten all the time.
#[test]
fn a_state_that_was_written_down_decides_alike() {
    for seed in 0..4 {
        for policy in Policy::ALL {
            let mut team = Team::new(policy, 20, 4);
            team.members.push(Plan::calls(2.0));
            team.members[0].share = 0.2;
            team.scenario.seed = seed;
            team.scenario.loss = 0.01;
            team.scenario.until = secs(12);
            team.killed_every = Some(secs(4));
            let plain = Team {
                rewritten: 0.0,
                ..team.clone()
            };
            team.rewritten = 0.5;
            let (rewritten, plain) = (team.run(), plain.run());
            assert!(rewritten.bytes > 0);
            let same = Findings {
                bytes: 0,
                ..rewritten
            };
            assert_eq!(same, plain, "{policy}, seed {seed}");
        }
    }
}

/// So that it is read and written in microseconds.
#[test]
fn the_state_of_ten_members_is_small() {
    let mut team = Team::new(Policy::ClockWindow, 100, 10);
    team.rewritten = 0.1;
    let bytes = team.run().bytes;
    println!("{bytes} bytes");
    assert!(bytes < 8 << 10, "{bytes} bytes");
}
