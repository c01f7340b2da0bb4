//! Limits are learned by endpoint class: the token endpoint may have one of its own, and others may name several.

use std::time::Duration;

use talentdata_core::gate::{
    Endpoint, Gate, GateSettings, PriorityClass, RateHeaders, Ready, Requester, SharedGate, Turn,
};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

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

/// A request to an endpoint, and its response 20 ms later.
fn call(gate: &mut Gate, now: Duration, endpoint: Endpoint, headers: &RateHeaders) {
    let ticket = gate.send_to(now, endpoint);
    gate.response(now + 20 * MS, ticket, 200, headers);
}

#[test]
fn a_limit_of_the_token_endpoint_alone_holds_up_token_requests_alone() {
    let mut gate = Gate::new(GateSettings::default());
    call(
        &mut gate,
        SECOND,
        Endpoint::Token,
        &shown(5, 60 * SECOND, 0),
    );
    let now = SECOND + 100 * MS;
    assert_eq!(gate.ready(now), Ready::Now);
    let until = SECOND + 20 * MS + 60 * SECOND;
    assert_eq!(gate.ready_for(now, Endpoint::Token), Ready::At(until));
    assert_eq!(
        gate.stats().target_rate,
        38.0,
        "the pace of all is what it was"
    );
}

#[test]
fn a_token_request_that_uses_up_the_common_limit_holds_up_all() {
    for (status, headers) in [(200, shown(40, SECOND, 0)), (429, RateHeaders::default())] {
        let mut gate = Gate::new(GateSettings::default());
        let ticket = gate.send_to(SECOND, Endpoint::Token);
        gate.response(SECOND + 20 * MS, ticket, status, &headers);
        let ready = gate.ready(SECOND + 30 * MS);
        assert!(
            matches!(ready, Ready::At(at) if at > SECOND + 500 * MS),
            "{ready:?}"
        );
    }
}

#[test]
fn two_endpoints_that_name_different_limits_do_not_make_the_limit_flap() {
    let mut gate = Gate::new(GateSettings::default());
    let mut now = SECOND;
    for round in 0..200 {
        let limit = [20, 40][round % 2];
        call(&mut gate, now, Endpoint::Api, &shown(limit, SECOND, 10));
        now += 100 * MS;
        assert!(gate.stats().target_rate <= 19.0, "round {round}");
    }
    // The lower one is not named any more.
    for _ in 0..120 {
        call(&mut gate, now, Endpoint::Api, &shown(40, SECOND, 30));
        now += 100 * MS;
    }
    assert!(gate.stats().target_rate > 25.0);
}

/// It has said nothing for more than two seconds, and is about to.
#[test]
fn a_member_that_asks_after_a_silence_has_lost_nothing() {
    let mut gate = SharedGate::new(GateSettings::default(), SECOND);
    let member = Requester {
        id: 1,
        process: 1,
        name: "member",
        share: 1.0,
    };
    let mut take = |now| gate.take(now, &member, PriorityClass::Scan, Endpoint::Api);
    let Turn::Now(ticket) = take(SECOND) else {
        panic!("nobody else is there");
    };
    let _ = take(4 * SECOND);
    assert_eq!(gate.stats().lost, 0);
    gate.response(5 * SECOND, 1, ticket, 200, &shown(40, SECOND, 39));
    let _ = gate.take(9 * SECOND, &member, PriorityClass::Scan, Endpoint::Api);
    gate.response(12 * SECOND, 1, ticket, 200, &RateHeaders::default());
    assert_eq!(gate.stats().lost, 0);
}
