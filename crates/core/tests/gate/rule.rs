//! The documented client rule and the bounds that hold without any server, step by step.

use std::time::Duration;

use proptest::prelude::*;
use talentdata_core::gate::{Gate, GateSettings, RateHeaders, Ready, Ticket};

const MS: Duration = Duration::from_millis(1);

fn gate() -> Gate {
    Gate::new(GateSettings::default())
}

fn headers(remaining: u64, reset: Option<Duration>) -> RateHeaders {
    RateHeaders {
        limit: Some(40),
        window: Some(Duration::from_secs(1)),
        remaining: Some(remaining),
        reset,
        reset_is_integer: reset.is_some_and(|reset| reset.subsec_nanos() == 0),
        retry_after: None,
    }
}

/// Sends at 1 s and receives a response 20 ms later; when the next request may go, from then.
fn wait_after(status: u16, headers: &RateHeaders) -> Duration {
    let mut gate = gate();
    let ticket = gate.send(1000 * MS);
    gate.response(1020 * MS, ticket, status, headers);
    match gate.ready(1020 * MS) {
        Ready::Now => Duration::ZERO,
        Ready::At(at) => at - 1020 * MS,
        Ready::AfterResponse => panic!("a response has arrived"),
    }
}

#[test]
fn with_requests_remaining_the_next_goes_at_the_even_pace() {
    assert!(wait_after(200, &headers(39, Some(1000 * MS))) < 20 * MS);
    assert!(wait_after(503, &headers(30, Some(1000 * MS))) < 20 * MS);
}

#[test]
fn with_none_remaining_the_reset_has_to_elapse() {
    assert_eq!(wait_after(200, &headers(0, Some(1000 * MS))), 1000 * MS);
    assert_eq!(wait_after(200, &headers(0, Some(5300 * MS))), 5300 * MS);
    assert_eq!(wait_after(404, &headers(0, Some(2000 * MS))), 2000 * MS);
}

#[test]
fn a_whole_reset_of_zero_may_be_almost_a_second() {
    assert_eq!(
        wait_after(200, &headers(0, Some(Duration::ZERO))),
        1000 * MS
    );
    assert_eq!(wait_after(200, &headers(0, None)), 1000 * MS);
}

#[test]
fn a_refusal_waits_though_requests_remain() {
    assert!(wait_after(429, &headers(39, Some(3000 * MS))) >= 3000 * MS);
}

#[test]
fn retry_after_goes_before_the_reset() {
    let mut headers = headers(0, Some(60_000 * MS));
    headers.retry_after = Some(2000 * MS);
    assert_eq!(wait_after(200, &headers), 2000 * MS);
    assert_eq!(wait_after(429, &headers), 2000 * MS);
}

#[test]
fn a_long_wait_is_kept_as_told() {
    let day = Duration::from_secs(86_400);
    assert_eq!(wait_after(429, &headers(0, Some(day))), day);
}

#[test]
fn refusals_without_a_time_back_off_further_and_further() {
    let mut gate = gate();
    let mut now = 1000 * MS;
    let mut waits = Vec::new();
    for _ in 0..8 {
        let ticket = gate.send(now);
        gate.response(now + 20 * MS, ticket, 429, &RateHeaders::default());
        let Ready::At(at) = gate.ready(now + 20 * MS) else {
            panic!("told to wait");
        };
        waits.push(at - now - 20 * MS);
        now = at;
    }
    assert!(waits[0] >= 1000 * MS && waits[0] <= 2000 * MS, "{waits:?}");
    assert!(waits[3] >= 4000 * MS && waits[7] >= 8000 * MS, "{waits:?}");
    assert!(waits.iter().all(|wait| *wait <= 16_000 * MS), "{waits:?}");
    assert!(waits.windows(3).all(|w| w[2] >= w[0]), "{waits:?}");
}

#[test]
fn refusals_of_requests_sent_together_count_once() {
    let mut gate = gate();
    let together: Vec<Ticket> = (0..4).map(|n| gate.send((1000 + 25 * n) * MS)).collect();
    for ticket in together {
        gate.response(1200 * MS, ticket, 429, &RateHeaders::default());
    }
    let Ready::At(at) = gate.ready(1200 * MS) else {
        panic!("told to wait");
    };
    assert!(at <= 2200 * MS, "{at:?}");
}

#[test]
fn the_jitter_depends_on_the_seed_alone() {
    let third_wait = |seed| {
        let mut gate = Gate::new(GateSettings {
            seed,
            ..GateSettings::default()
        });
        let mut now = 1000 * MS;
        for _ in 0..3 {
            let ticket = gate.send(now);
            gate.response(now, ticket, 429, &RateHeaders::default());
            now += 20_000 * MS;
        }
        gate.stats().paused_refused
    };
    assert_eq!(third_wait(1), third_wait(1));
    assert_ne!(third_wait(1), third_wait(2));
}

#[test]
fn four_requests_probe_and_a_loss_makes_room() {
    let mut gate = gate();
    let mut now = Duration::ZERO;
    let mut tickets = Vec::new();
    while gate.ready(now) != Ready::AfterResponse {
        match gate.ready(now) {
            Ready::At(at) => now = at,
            _ => tickets.push(gate.send(now)),
        }
    }
    assert_eq!(tickets.len(), 4);
    gate.lost(now, tickets[0]);
    assert_ne!(gate.ready(now), Ready::AfterResponse);
}

#[test]
fn what_was_not_sent_never_happened() {
    let mut gate = gate();
    let ticket = gate.send(5 * MS);
    gate.response(25 * MS, ticket, 200, &headers(39, Some(1000 * MS)));
    let before = (gate.ready(30 * MS), gate.stats());
    let unused = gate.send(30 * MS);
    assert_ne!(gate.ready(30 * MS), before.0);
    gate.unsend(unused);
    assert_eq!((gate.ready(30 * MS), gate.stats()), before);
}

#[test]
fn the_figures_of_a_receipt_add_up() {
    let mut gate = gate();
    let exhausted = gate.send(Duration::ZERO);
    gate.response(20 * MS, exhausted, 200, &headers(0, Some(1000 * MS)));
    let refused = gate.send(1020 * MS);
    gate.response(1040 * MS, refused, 429, &headers(0, Some(2000 * MS)));
    let lost = gate.send(3040 * MS);
    gate.lost(5000 * MS, lost);
    let stats = gate.stats();
    assert_eq!(
        (stats.sends, stats.responses, stats.lost, stats.refused),
        (3, 2, 1, 1)
    );
    assert_eq!(stats.paused_exhausted, 1000 * MS);
    assert_eq!(stats.paused_refused, 2000 * MS);
}

#[test]
fn a_named_limit_is_taken_on_where_it_is_lower() {
    let rate_with = |limit, seconds| {
        let mut gate = gate();
        let ticket = gate.send(Duration::ZERO);
        let named = RateHeaders {
            limit: Some(limit),
            window: Some(Duration::from_secs(seconds)),
            ..RateHeaders::default()
        };
        gate.response(20 * MS, ticket, 200, &named);
        gate.stats().target_rate
    };
    assert!(rate_with(20, 1) <= 20.0);
    assert_eq!(rate_with(10_000, 1), rate_with(40, 1));
    assert_eq!(rate_with(0, 1), 1.0);
    // A longer window is spent as it comes: see `quota`.
    assert_eq!(rate_with(600, 60), rate_with(40, 1));
}

proptest! {
    /// Whatever arrives in whatever order, the gate neither breaks, nor waits for ever, nor exceeds the limit.
    #[test]
    fn nothing_breaks_the_gate(
        limit in 0..60_u32,
        share in prop::num::f64::ANY,
        steps in prop::collection::vec((0..5_u8, 0..100_u32, 0..50_u64, 0..5_000_u32), 1..300),
    ) {
        let mut gate = Gate::new(GateSettings { limit, share, ..GateSettings::default() });
        let mut now = Duration::ZERO;
        let mut sent = Vec::new();
        let mut open: Vec<Ticket> = Vec::new();
        for (step, wait, remaining, reset) in steps {
            now += wait * MS;
            match step {
                0 | 1 => {
                    if let Ready::At(at) = gate.ready(now) {
                        prop_assert!(at > now);
                        now = at;
                    }
                    if gate.ready(now) == Ready::Now {
                        open.push(gate.send(now));
                        sent.push(now);
                    }
                }
                2 if !open.is_empty() => {
                    let ticket = open.remove(open.len() / 2);
                    gate.response(now, ticket, 200, &headers(remaining, Some(reset * MS)));
                }
                3 if !open.is_empty() => gate.response(now, open.remove(0), 429, &RateHeaders::default()),
                _ if !open.is_empty() => gate.lost(now, open.remove(0)),
                _ => prop_assert_ne!(gate.ready(now), Ready::AfterResponse),
            }
        }
        let limit = limit.max(1) as usize;
        prop_assert!(sent.windows(limit + 1).all(|w| w[limit] - w[0] >= Duration::from_secs(1)));
    }
}

#[test]
fn without_pacing_only_the_rule_is_kept() {
    let mut gate = Gate::new(GateSettings {
        paced: false,
        ..GateSettings::default()
    });
    let tickets: Vec<Ticket> = (0..1000).map(|_| gate.send(1000 * MS)).collect();
    assert_eq!(gate.ready(1000 * MS), Ready::Now);
    for ticket in tickets {
        gate.response(1020 * MS, ticket, 200, &headers(0, Some(3000 * MS)));
    }
    assert_eq!(gate.ready(1020 * MS), Ready::At(4020 * MS));
    assert_eq!(gate.ready(4020 * MS), Ready::Now);
    assert_eq!((gate.stats().sends, gate.stats().responses), (1000, 1000));
}
