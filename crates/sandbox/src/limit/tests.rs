//! What each policy admits, what it shows, and that its memory stays small.

use super::*;

const WINDOW: Duration = Duration::from_secs(1);
/// A moment 200 ms into a clock second.
const START: Duration = Duration::from_millis(1_700_000_000_200);

fn limiter(policy: Policy) -> Limiter {
    Limiter::new(policy, 40, WINDOW, ResetRounding::Up)
}

fn millis(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// How many of `count` requests at one moment are admitted.
fn burst(limiter: &mut Limiter, count: u32, at: Duration) -> u32 {
    (0..count)
        .map(|_| u32::from(limiter.decide(at).admitted))
        .sum()
}

#[test]
fn every_policy_but_unlimited_admits_exactly_the_limit_at_once() {
    for policy in Policy::ALL {
        let expected = if policy == Policy::Unlimited { 100 } else { 40 };
        assert_eq!(
            burst(&mut limiter(policy), 100, START),
            expected,
            "{policy}"
        );
    }
}

#[test]
fn remaining_counts_down_to_zero_and_stays_there() {
    for policy in Policy::ALL {
        if policy == Policy::Unlimited {
            continue;
        }
        let mut limiter = limiter(policy);
        for left in (0..40).rev() {
            assert_eq!(limiter.decide(START).remaining, left, "{policy}");
        }
        assert_eq!(limiter.decide(START).remaining, 0, "{policy}");
    }
}

#[test]
fn capacity_returns_when_each_policy_says() {
    // (policy, what 800 ms bring back, what 1 s brings back), 200 ms into a clock second.
    let cases = [
        (Policy::ClockWindow, 40, 40),
        (Policy::FirstRequestWindow, 0, 40),
        (Policy::SlidingLog, 0, 40),
        (Policy::SlidingCounter, 0, 8),
        (Policy::TokenBucket, 32, 40),
        (Policy::Gcra, 32, 40),
    ];
    for (policy, soon, later) in cases {
        for (wait, expected) in [(800, soon), (1000, later)] {
            let mut limiter = limiter(policy);
            burst(&mut limiter, 60, START);
            let back = burst(&mut limiter, 60, START + millis(wait));
            assert_eq!(back, expected, "{policy} after {wait} ms");
        }
    }
}

#[test]
fn reset_tells_when_capacity_returns() {
    // 100 ms after the limit was used up. A bucket has four tokens back by then and spends one of them.
    let cases = [
        (Policy::ClockWindow, 700),
        (Policy::FirstRequestWindow, 900),
        (Policy::SlidingLog, 900),
        (Policy::SlidingCounter, 700),
        (Policy::TokenBucket, 25),
        (Policy::Gcra, 925),
        (Policy::Unlimited, 0),
    ];
    for (policy, expected) in cases {
        let mut limiter = limiter(policy);
        burst(&mut limiter, 40, START);
        let reset = limiter.decide(START + millis(100)).reset;
        assert_eq!(reset, millis(expected), "{policy}");
    }
}

#[test]
fn a_sliding_policy_never_admits_more_than_the_limit_in_any_window() {
    let mut log = limiter(Policy::SlidingLog);
    let mut rng = fastrand::Rng::with_seed(7);
    let mut now = START;
    let mut admitted: Vec<Duration> = Vec::new();
    for _ in 0..5_000 {
        now += Duration::from_micros(rng.u64(0..40_000));
        if log.decide(now).admitted {
            admitted.push(now);
        }
    }
    assert!(admitted.len() > 2_000);
    assert!(admitted.windows(41).all(|w| w[40] - w[0] >= WINDOW));
}

#[test]
fn headers_read_as_documented_in_every_rounding() {
    let cases = [
        (ResetRounding::Up, "1"),
        (ResetRounding::Down, "0"),
        (ResetRounding::Fractional, "0.800"),
    ];
    for (rounding, reset) in cases {
        let mut limiter = Limiter::new(Policy::ClockWindow, 40, WINDOW, rounding);
        let decision = limiter.decide(START);
        let [limit, remaining, shown] = limiter.headers(&decision);
        assert_eq!(limit, ("x-ratelimit-limit", "40;w=1".into()));
        assert_eq!(remaining, ("x-ratelimit-remaining", "39".into()));
        assert_eq!(shown, ("x-ratelimit-reset", reset.into()));
    }
}

#[test]
fn rounded_up_a_window_of_one_second_always_says_one() {
    for policy in Policy::ALL {
        let mut limiter = limiter(policy);
        for step in 0..500 {
            let decision = limiter.decide(START + millis(step * 17));
            assert_eq!(limiter.headers(&decision)[2].1, "1", "{policy}");
        }
    }
}

#[test]
fn time_that_goes_back_gives_nothing_back() {
    for policy in Policy::ALL {
        let mut limiter = limiter(policy);
        burst(&mut limiter, 40, START);
        let admitted = limiter.decide(START - millis(5_000)).admitted;
        assert_eq!(admitted, policy == Policy::Unlimited, "{policy}");
    }
}

#[test]
fn the_log_remembers_no_more_than_the_limit() {
    let mut limiter = limiter(Policy::SlidingLog);
    for step in 0..10_000 {
        limiter.decide(START + millis(step));
        let Count::SlidingLog { admitted } = &limiter.count else {
            panic!("a sliding log keeps a log");
        };
        assert!(admitted.len() <= 40);
    }
}

#[test]
fn names_go_both_ways_and_others_are_refused() {
    for policy in Policy::ALL {
        assert_eq!(policy.to_string().parse(), Ok(policy));
    }
    for rounding in ResetRounding::ALL {
        assert_eq!(rounding.to_string().parse(), Ok(rounding));
    }
    let error = "leaky".parse::<Policy>().unwrap_err().to_string();
    assert!(error.contains("`leaky`") && error.contains("gcra"));
}

#[test]
fn zero_is_taken_as_the_least_possible() {
    for policy in Policy::ALL {
        let mut limiter = Limiter::new(policy, 0, Duration::ZERO, ResetRounding::Down);
        assert!(limiter.decide(START).admitted, "{policy}");
    }
}
