//! What the gate must achieve.

use std::time::Duration;
use talentdata_sandbox::limit::{Policy, ResetRounding};

use crate::simulation::{Others, Scenario};

#[test]
fn goals_cold() {
    for rtt in [20, 100] {
        for policy in Policy::ALL {
            for rounding in ResetRounding::ALL {
                let runs: Vec<_> = (0..20)
                    .map(|seed| {
                        let mut s = Scenario::new(policy, rounding, rtt, seed);
                        s.pages = 400;
                        s.run()
                    })
                    .collect();
                let mean = runs.iter().map(|o| o.share()).sum::<f64>() / runs.len() as f64;
                let min = runs.iter().map(|o| o.share()).fold(9.0, f64::min);
                let refused: u64 = runs.iter().map(|o| o.refused).sum();
                let paused: f64 = runs
                    .iter()
                    .map(|o| o.stats.paused_exhausted.as_secs_f64())
                    .sum::<f64>()
                    / runs.len() as f64;
                println!(
                    "{policy:22} {rounding:10} {rtt:3} ms  mean {:5.1} min {:5.1}  refused {refused} paused {paused:.2} {}",
                    mean * 100.0,
                    min * 100.0,
                    modes(&runs)
                );
            }
        }
    }
}

#[test]
fn goals_settled() {
    for (rtt, others) in [
        (20, Others::None),
        (100, Others::None),
        (20, Others::Steady(10.0)),
        (100, Others::Steady(10.0)),
        (20, Others::Poisson(10.0)),
        (20, Others::Bursty), (100, Others::Bursty), (100, Others::Poisson(10.0)),
        (100, Others::Bursty),
        (100, Others::Poisson(10.0)),
    ] {
        for policy in Policy::ALL {
            let rounding = ResetRounding::Up;
            let runs: Vec<_> = (0..12)
                .map(|seed| {
                    let mut s = Scenario::new(policy, rounding, rtt, seed);
                    s.others = others;
                    s.until = Duration::from_secs(100);
                    s.run()
                })
                .collect();
            let n = runs.len() as f64;
            let mean = runs.iter().map(|o| o.share_between(20, 100)).sum::<f64>() / n;
            let refused: u64 = runs.iter().map(|o| o.refused).sum();
            let sends: u64 = runs.iter().map(|o| o.stats.sends).sum();
            let asked: u64 = runs.iter().map(|o| o.others_asked).sum();
            let served: u64 = runs.iter().map(|o| o.others_served).sum();
            let left = 1.0 - asked as f64 / n / 100.0 / 40.0;
            println!(
                "{policy:22} {rounding:10} {rtt:3} ms {others:?} mean {:5.1} of left {:5.1} refused {:.2}% others {:.1}% {}",
                mean * 100.0,
                mean * 100.0 / left,
                100.0 * refused as f64 / sends as f64,
                100.0 * served as f64 / asked as f64,
                modes(&runs)
            );
        }
    }
}

fn modes(runs: &[crate::simulation::Outcome]) -> String {
    runs.iter()
        .map(|o| o.stats.mode.to_string().chars().next().unwrap())
        .collect()
}
