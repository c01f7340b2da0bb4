//! Limits of windows longer than a second: spent as they come, and never exceeded.

use std::time::Duration;

use talentdata_core::gate::{Gate, GateSettings, RateHeaders, Ready};
use talentdata_sandbox::limit::{Limiter, Policy, ResetRounding};

const MS: Duration = Duration::from_millis(1);
const DAY: Duration = Duration::from_secs(86_400);

fn gate() -> Gate {
    Gate::new(GateSettings::default())
}

fn shown(limit: u32, window: Duration, remaining: u64, reset: Duration) -> RateHeaders {
    RateHeaders {
        limit: Some(limit),
        window: Some(window),
        remaining: Some(remaining),
        reset: Some(reset),
        reset_is_integer: true,
        retry_after: None,
    }
}

/// Sends a request and receives its response; when the next one may go, from then.
fn wait_after(headers: &RateHeaders) -> Duration {
    let mut gate = gate();
    let ticket = gate.send(1000 * MS);
    gate.response(1020 * MS, ticket, 200, headers);
    match gate.ready(1020 * MS) {
        Ready::Now => Duration::ZERO,
        Ready::At(at) => at - 1020 * MS,
        Ready::AfterResponse => panic!("a response has arrived"),
    }
}

#[test]
fn a_long_window_is_spent_as_it_comes() {
    assert!(wait_after(&shown(1000, DAY, 990, DAY)) < 100 * MS);
    assert!(wait_after(&shown(100, 60_000 * MS, 90, 50_000 * MS)) < 100 * MS);
}

#[test]
fn a_long_window_that_is_used_up_is_waited_for() {
    assert!(wait_after(&shown(1000, DAY, 2, DAY)) < 100 * MS);
    assert_eq!(wait_after(&shown(1000, DAY, 0, DAY)), DAY);
}

#[test]
fn a_limit_of_none_beside_requests_that_remain_is_no_limit() {
    let second = 1000 * MS;
    let rate = |remaining| {
        let mut gate = gate();
        let ticket = gate.send(second);
        gate.response(
            2 * second,
            ticket,
            200,
            &shown(0, second, remaining, second),
        );
        gate.stats().target_rate
    };
    assert_eq!(rate(1_000_000), gate().stats().target_rate);
    assert_eq!(rate(0), 1.0);
}

/// Runs for five windows against a server that counts for real, with a round trip of 20 ms.
#[test]
fn a_server_with_a_long_window_refuses_nothing_and_is_used_up() {
    for policy in [
        Policy::ClockWindow,
        Policy::FirstRequestWindow,
        Policy::SlidingLog,
    ] {
        for (limit, seconds) in [(30, 60), (100, 60), (1000, 60), (1000, 3600)] {
            let window = Duration::from_secs(seconds);
            let mut server = Limiter::new(policy, limit, window, ResetRounding::Up);
            let mut gate = gate();
            let mut now = Duration::from_secs(1);
            let mut served = 0;
            while now < 5 * window {
                if let Ready::At(at) = gate.ready(now) {
                    now = at;
                }
                let ticket = gate.send(now);
                let decision = server.decide(now + 10 * MS);
                assert!(
                    decision.admitted,
                    "{policy}, {limit} in {seconds} s, at {now:?}"
                );
                served += 1;
                now += 20 * MS;
                let headers = shown(
                    limit,
                    window,
                    decision.remaining.into(),
                    whole(decision.reset),
                );
                gate.response(now, ticket, 200, &headers);
            }
            assert!(
                served > 4 * limit,
                "{policy}, {limit} in {seconds} s: {served}"
            );
        }
    }
}

/// As servers write it: in whole seconds, rounded up.
fn whole(reset: Duration) -> Duration {
    Duration::from_secs(reset.as_millis().div_ceil(1000) as u64)
}

#[test]
fn requests_under_way_are_counted_before_their_responses_come() {
    let mut gate = gate();
    let mut now = 1000 * MS;
    let first = gate.send(now);
    gate.response(now, first, 200, &shown(100, DAY, 3, DAY));
    let mut sent = 0;
    loop {
        match gate.ready(now) {
            Ready::At(at) => now = at,
            Ready::Now => {
                let _ = gate.send(now);
                sent += 1;
            }
            Ready::AfterResponse => break,
        }
    }
    assert_eq!(sent, 3);
}
