//! The documented client rule and the bounds that hold without any server, step by step.

use std::time::Duration;

use proptest::prelude::*;
use talentdata_core::gate::{
    Endpoint, GateSettings, Outcome, PriorityClass, RateHeaders, Requester, SharedGate, Ticket,
    Turn,
};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(86_400);
/// The only member.
const ID: u64 = 1;

fn gate() -> SharedGate {
    SharedGate::new(GateSettings::default(), Duration::ZERO)
}

/// What a service with the documented limit shows.
fn headers(remaining: u64, reset: Option<Duration>) -> RateHeaders {
    RateHeaders {
        reset,
        reset_is_integer: reset.is_some_and(|reset| reset.subsec_nanos() == 0),
        ..shown(40, SECOND, remaining)
    }
}

fn shown(limit: u32, window: Duration, remaining: u64) -> RateHeaders {
    RateHeaders {
        limit: Some(limit),
        window: Some(window),
        remaining: Some(remaining),
        reset: Some(window),
        reset_is_integer: true,
        retry_after: None,
    }
}

fn take_with(gate: &mut SharedGate, now: Duration, endpoint: Endpoint, share: f64) -> Turn {
    let (process, name) = (1, "member");
    let requester = Requester {
        id: ID,
        process,
        name,
        share,
    };
    gate.take(now, &requester, PriorityClass::Scan, endpoint)
}

fn take(gate: &mut SharedGate, now: Duration) -> Turn {
    take_with(gate, now, Endpoint::Api, 1.0)
}

/// Sends as soon as the gate lets, from `now` on, and sets it to that time.
fn send(gate: &mut SharedGate, now: &mut Duration) -> Ticket {
    loop {
        match take(gate, *now) {
            Turn::Now(ticket) => return ticket,
            Turn::Wait { again, .. } => *now = again,
        }
    }
}

/// Sends as many as the gate lets without a response.
fn send_all(gate: &mut SharedGate, now: &mut Duration) -> Vec<Ticket> {
    let end = *now + 10 * SECOND;
    let mut tickets = Vec::new();
    while *now < end {
        match take(gate, *now) {
            Turn::Now(ticket) => tickets.push(ticket),
            Turn::Wait { again, .. } => *now = again,
        }
    }
    tickets
}

/// A request to an endpoint, and its response 20 ms later.
fn call(
    gate: &mut SharedGate,
    now: Duration,
    endpoint: Endpoint,
    status: u16,
    headers: &RateHeaders,
) {
    let turn = take_with(gate, now, endpoint, 1.0);
    let Turn::Now(ticket) = turn else {
        panic!("{turn:?} at {now:?}");
    };
    gate.complete(
        now + 20 * MS,
        ID,
        ticket,
        &Outcome::Answered(status, headers.clone()),
    );
}

/// How long the next request to this endpoint then has to wait.
fn wait_for(gate: &mut SharedGate, now: Duration, endpoint: Endpoint) -> Duration {
    match take_with(gate, now, endpoint, 1.0) {
        Turn::Now(_) => Duration::ZERO,
        Turn::Wait { earliest, .. } => earliest - now,
    }
}

/// How long the gate waits after a response, and at what pace it then goes on.
fn after(status: u16, headers: &RateHeaders) -> (Duration, f64) {
    let mut gate = gate();
    call(&mut gate, SECOND, Endpoint::Api, status, headers);
    let rate = gate.rate();
    (wait_for(&mut gate, 1020 * MS, Endpoint::Api), rate)
}

#[test]
fn the_documented_rule_is_kept_to_the_letter() {
    let retry_after = RateHeaders {
        retry_after: Some(2 * SECOND),
        ..headers(0, Some(60 * SECOND))
    };
    for (status, headers, wait) in [
        (200, headers(0, Some(SECOND)), SECOND),
        (200, headers(0, Some(5300 * MS)), 5300 * MS),
        (404, headers(0, Some(2 * SECOND)), 2 * SECOND),
        // A whole reset of zero may be almost a second.
        (200, headers(0, Some(Duration::ZERO)), SECOND),
        (200, headers(0, None), SECOND),
        (429, headers(39, Some(3 * SECOND)), 3 * SECOND),
        (200, retry_after.clone(), 2 * SECOND),
        (429, retry_after, 2 * SECOND),
        (429, headers(0, Some(DAY)), DAY),
        // A longer window that is used up is waited for.
        (200, shown(1000, DAY, 0), DAY),
    ] {
        assert_eq!(after(status, &headers).0, wait, "{status}, {headers:?}");
    }
    for (status, headers) in [
        (200, headers(39, Some(SECOND))),
        (503, headers(30, Some(SECOND))),
        // A longer window is spent as it comes.
        (200, shown(1000, DAY, 990)),
        (200, shown(1000, DAY, 2)),
        (200, shown(100, 60 * SECOND, 90)),
    ] {
        let (wait, _) = after(status, &headers);
        assert!(wait < 30 * MS, "{status}, {headers:?}: {wait:?}");
    }
}

#[test]
fn a_named_limit_is_taken_on_where_it_is_lower() {
    for (headers, rate) in [
        (shown(20, SECOND, 10), 18.0),
        (shown(10_000, SECOND, 10), 38.0),
        // A longer window bounds the pace by no more than its whole limit.
        (shown(600, 60 * SECOND, 10), 38.0),
        (shown(10, 60 * SECOND, 5), 8.0),
        // A limit of none beside requests that remain is how some gateways write "no limit".
        (shown(0, SECOND, 1_000_000), 38.0),
        (shown(0, SECOND, 0), 1.0),
    ] {
        assert_eq!(after(200, &headers).1, rate, "{headers:?}");
    }
}

/// The waits after eight refusals in a row, of each request as soon as it may be sent.
fn waits_without_a_time(seed: u64) -> Vec<Duration> {
    let settings = GateSettings {
        seed,
        ..GateSettings::default()
    };
    let mut gate = SharedGate::new(settings, Duration::ZERO);
    let mut now = SECOND;
    let mut waits = Vec::new();
    for _ in 0..8 {
        let none = RateHeaders::default();
        call(&mut gate, now, Endpoint::Api, 429, &none);
        now += 20 * MS;
        waits.push(wait_for(&mut gate, now, Endpoint::Api));
        now += waits[waits.len() - 1];
    }
    waits
}

#[test]
fn refusals_without_a_time_back_off_further_and_further() {
    let waits = waits_without_a_time(0);
    assert!(waits[0] >= SECOND && waits[0] <= 2 * SECOND, "{waits:?}");
    assert!(
        waits[3] >= 4 * SECOND && waits[7] >= 8 * SECOND,
        "{waits:?}"
    );
    assert!(waits.iter().all(|wait| *wait <= 16 * SECOND), "{waits:?}");
    assert!(waits.windows(3).all(|w| w[2] >= w[0]), "{waits:?}");
    assert_eq!(waits, waits_without_a_time(0), "only the seed decides");
    assert_ne!(waits, waits_without_a_time(1));
}

#[test]
fn refusals_of_requests_sent_together_count_once() {
    let (mut gate, mut now) = (gate(), SECOND);
    let together: Vec<_> = (0..4).map(|_| send(&mut gate, &mut now)).collect();
    for ticket in together {
        gate.complete(
            1200 * MS,
            ID,
            ticket,
            &Outcome::Answered(429, RateHeaders::default()),
        );
    }
    let wait = wait_for(&mut gate, 1200 * MS, Endpoint::Api);
    assert!((500 * MS..=SECOND).contains(&wait), "{wait:?}");
}

#[test]
fn four_requests_probe_and_a_loss_makes_room() {
    let (mut gate, mut now) = (gate(), Duration::ZERO);
    let tickets = send_all(&mut gate, &mut now);
    assert_eq!(tickets.len(), 4);
    gate.complete(now, ID, tickets[0], &Outcome::Lost);
    assert!(matches!(take(&mut gate, now), Turn::Now(_)));
}

#[test]
fn an_unsent_request_never_happened() {
    let mut gate = gate();
    call(&mut gate, 5 * MS, Endpoint::Api, 200, &headers(39, None));
    let Turn::Now(unused) = take(&mut gate, 100 * MS) else {
        panic!("the pace allows it");
    };
    assert_ne!(wait_for(&mut gate, 100 * MS, Endpoint::Api), Duration::ZERO);
    gate.complete(100 * MS, ID, unused, &Outcome::Unsent);
    assert!(matches!(take(&mut gate, 100 * MS), Turn::Now(_)));
}

#[test]
fn without_pacing_only_the_rule_is_kept() {
    let settings = GateSettings {
        paced: false,
        ..GateSettings::default()
    };
    let mut gate = SharedGate::new(settings, Duration::ZERO);
    let mut now = SECOND;
    let tickets: Vec<_> = (0..1000).map(|_| send(&mut gate, &mut now)).collect();
    assert_eq!(now, SECOND);
    for ticket in tickets {
        gate.complete(
            1020 * MS,
            ID,
            ticket,
            &Outcome::Answered(200, headers(0, Some(3 * SECOND))),
        );
    }
    assert_eq!(wait_for(&mut gate, 1020 * MS, Endpoint::Api), 3 * SECOND);
    assert!(matches!(take(&mut gate, 4020 * MS), Turn::Now(_)));
}

#[test]
fn a_limit_of_the_token_endpoint_alone_holds_up_token_requests_alone() {
    let mut gate = gate();
    let own = shown(5, 60 * SECOND, 0);
    call(&mut gate, SECOND, Endpoint::Token, 200, &own);
    let now = SECOND + 20 * MS;
    assert_eq!(wait_for(&mut gate, now, Endpoint::Token), 60 * SECOND);
    assert_eq!(gate.rate(), 38.0, "the pace of all is what it was");
    let now = SECOND + 100 * MS;
    assert_eq!(wait_for(&mut gate, now, Endpoint::Api), Duration::ZERO);
}

#[test]
fn a_token_request_that_uses_up_the_common_limit_holds_up_all() {
    for (status, headers) in [(200, shown(40, SECOND, 0)), (429, RateHeaders::default())] {
        let mut gate = gate();
        call(&mut gate, SECOND, Endpoint::Token, status, &headers);
        let wait = wait_for(&mut gate, SECOND + 30 * MS, Endpoint::Api);
        assert!(wait > 470 * MS, "{wait:?}");
    }
}

#[test]
fn two_endpoints_that_name_different_limits_do_not_make_the_limit_flap() {
    let (mut gate, mut now) = (gate(), SECOND);
    for round in 0..320 {
        let is_lower_named = round < 200 && round % 2 == 0;
        let (limit, remaining) = if is_lower_named { (20, 10) } else { (40, 30) };
        let headers = shown(limit, SECOND, remaining);
        call(&mut gate, now, Endpoint::Api, 200, &headers);
        now += 100 * MS;
        assert!(round >= 200 || gate.rate() <= 19.0, "round {round}");
    }
    assert!(
        gate.rate() > 25.0,
        "the lower one has not been named any more"
    );
}

#[test]
fn requests_under_way_are_counted_against_a_long_window() {
    let (mut gate, mut now) = (gate(), SECOND);
    let shown = shown(100, DAY, 3);
    call(&mut gate, now, Endpoint::Api, 200, &shown);
    now += 20 * MS;
    assert_eq!(send_all(&mut gate, &mut now).len(), 3);
}

#[test]
fn a_member_that_asks_after_a_silence_has_lost_nothing() {
    let (mut gate, mut now) = (gate(), SECOND);
    let ticket = send(&mut gate, &mut now);
    gate.complete(
        now,
        ID,
        ticket,
        &Outcome::Answered(200, shown(40, SECOND, 20)),
    );
    now += SECOND;
    let ticket = send(&mut gate, &mut now);
    let _ = take(&mut gate, now + 3 * SECOND);
    gate.complete(
        now + 4 * SECOND,
        ID,
        ticket,
        &Outcome::Answered(200, shown(10, SECOND, 9)),
    );
    assert_eq!(gate.rate(), 8.0, "its response counts");
}

#[test]
fn where_no_counts_are_shown_the_pace_stays_below_the_limit() {
    let settings = GateSettings {
        limit: 3,
        ..GateSettings::default()
    };
    let mut gate = SharedGate::new(settings, Duration::ZERO);
    let mut now = Duration::ZERO;
    while now < 60 * SECOND {
        let ticket = send(&mut gate, &mut now);
        now += 20 * MS;
        gate.complete(
            now,
            ID,
            ticket,
            &Outcome::Answered(200, RateHeaders::default()),
        );
        let rate = gate.rate();
        assert!(rate <= 2.0, "{rate} a second after {now:?}");
    }
}

proptest! {
    /// Whatever arrives in whatever order, the gate neither breaks, nor waits for ever, nor exceeds the limit.
    #[test]
    fn nothing_breaks_the_gate(
        limit in 0..60_u32,
        share in prop::num::f64::ANY,
        steps in prop::collection::vec((0..5_u8, 0..100_u32, 0..50_u64, 0..5_000_u32), 1..300),
    ) {
        let settings = GateSettings { limit, ..GateSettings::default() };
        let mut gate = SharedGate::new(settings, Duration::ZERO);
        let mut now = Duration::ZERO;
        let mut sent = Vec::new();
        let mut open: Vec<Ticket> = Vec::new();
        for (step, wait, remaining, reset) in steps {
            now += wait * MS;
            match step {
                0 | 1 => match take_with(&mut gate, now, Endpoint::Api, share) {
                    Turn::Now(ticket) => {
                        open.push(ticket);
                        sent.push(now);
                    }
                    Turn::Wait { again, .. } => {
                        prop_assert!(again > now);
                        now = again;
                    }
                },
                2 if !open.is_empty() => {
                    let ticket = open.remove(open.len() / 2);
                    let headers = headers(remaining, Some(reset * MS));
                    gate.complete(now, ID, ticket, &Outcome::Answered(200, headers));
                }
                3 if !open.is_empty() => {
                    gate.complete(now, ID, open.remove(0), &Outcome::Answered(429, RateHeaders::default()));
                }
                _ if !open.is_empty() => gate.complete(now, ID, open.remove(0), &Outcome::Lost),
                _ => {}
            }
        }
        for ticket in open {
            gate.complete(now, ID, ticket, &Outcome::Lost);
        }
        let end = now + 30 * SECOND;
        while let Turn::Wait { again, .. } = take_with(&mut gate, now, Endpoint::Api, share) {
            prop_assert!(again > now && again < end, "with nothing in flight, a wait ends");
            now = again;
        }
        let limit = limit.max(1) as usize;
        prop_assert!(sent.windows(limit + 1).all(|w| w[limit] - w[0] >= SECOND));
    }
}
