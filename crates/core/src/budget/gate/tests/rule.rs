//! The documented client rule and the bounds that hold without any server, step by step.

use std::time::Duration;

use crate::budget::gate::{
    Admission, Endpoint, MemberInfo, PriorityClass, RateHeaders, RequestOutcome, SharedGate, Ticket,
};
use proptest::prelude::*;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(86_400);

/// Returns the headers of a service that allows `limit` requests in each window.
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

/// Returns the headers of a service with the documented limit.
fn headers(remaining: u64, reset: Option<Duration>) -> RateHeaders {
    RateHeaders {
        reset,
        reset_is_integer: reset.is_some_and(|reset| reset.subsec_nanos() == 0),
        ..shown(40, SECOND, remaining)
    }
}

/// A gate with one member, and the time.
struct TestClient {
    gate: SharedGate,
    now: Duration,
    share: f64,
}

impl TestClient {
    const ID: u64 = 1;

    fn new() -> Self {
        Self::with(40, true)
    }

    fn with(limit: u32, paced: bool) -> Self {
        let gate = SharedGate::new(limit, paced, Duration::ZERO);
        let (now, share) = (SECOND, 1.0);
        Self { gate, now, share }
    }

    fn take(&mut self, endpoint: Endpoint) -> Admission {
        let requester = MemberInfo {
            id: Self::ID,
            process: 1,
            name: "client",
            share: self.share,
        };
        let class = PriorityClass::Scan;
        self.gate.take(self.now, &requester, class, endpoint)
    }

    fn may_send(&mut self) -> bool {
        matches!(self.take(Endpoint::Api), Admission::Admitted(_))
    }

    /// Sends a request as soon as the gate admits it, if that is before the end.
    fn send_before(&mut self, end: Duration) -> Option<Ticket> {
        while self.now < end {
            match self.take(Endpoint::Api) {
                Admission::Admitted(ticket) => return Some(ticket),
                Admission::Wait { again, .. } => self.now = again,
            }
        }
        None
    }

    fn send(&mut self) -> Ticket {
        let ticket = self.send_before(Duration::MAX);
        ticket.expect("a wait that ends")
    }

    /// Sends as many requests as the gate admits without a response.
    fn send_all(&mut self) -> Vec<Ticket> {
        let end = self.now + 10 * SECOND;
        std::iter::from_fn(|| self.send_before(end)).collect()
    }

    fn complete(&mut self, ticket: Ticket, outcome: &RequestOutcome) {
        self.gate.complete(self.now, Self::ID, ticket, outcome);
    }

    fn answer(&mut self, ticket: Ticket, status: u16, headers: &RateHeaders) {
        self.complete(ticket, &RequestOutcome::Answered(status, headers.clone()));
    }

    /// Sends a request that is admitted at once, with its response 20 ms later.
    fn call(&mut self, endpoint: Endpoint, status: u16, headers: &RateHeaders) {
        let turn = self.take(endpoint);
        let Admission::Admitted(ticket) = turn else {
            panic!("{turn:?} at {:?}", self.now);
        };
        self.now += 20 * MS;
        self.answer(ticket, status, headers);
    }

    /// Returns the time for which the next request to this endpoint must wait.
    fn wait(&mut self, endpoint: Endpoint) -> Duration {
        match self.take(endpoint) {
            Admission::Admitted(_) => Duration::ZERO,
            Admission::Wait { earliest, .. } => earliest - self.now,
        }
    }
}

#[test]
fn the_documented_rule_is_kept_to_the_letter() {
    let wait_after = |status, headers: &RateHeaders| {
        let mut client = TestClient::new();
        client.call(Endpoint::Api, status, headers);
        client.wait(Endpoint::Api)
    };
    let retry_after = RateHeaders {
        retry_after: Some(2 * SECOND),
        ..headers(0, Some(60 * SECOND))
    };
    for (status, headers, wait) in [
        (200, headers(0, Some(SECOND)), SECOND),
        (200, headers(0, Some(5300 * MS)), 5300 * MS),
        (404, headers(0, Some(2 * SECOND)), 2 * SECOND),
        // A reset of 0 whole seconds may be almost a second away.
        (200, headers(0, Some(Duration::ZERO)), SECOND),
        (200, headers(0, None), SECOND),
        (429, headers(39, Some(3 * SECOND)), 3 * SECOND),
        (200, retry_after.clone(), 2 * SECOND),
        (429, retry_after, 2 * SECOND),
        (429, headers(0, Some(DAY)), DAY),
        // If a longer window is exhausted, requests wait for its end.
        (200, shown(1000, DAY, 0), DAY),
    ] {
        assert_eq!(wait_after(status, &headers), wait, "{status}, {headers:?}");
    }
    for (status, headers) in [
        (200, headers(39, Some(SECOND))),
        (503, headers(30, Some(SECOND))),
        // A longer window does not slow requests down before it is exhausted.
        (200, shown(1000, DAY, 990)),
        (200, shown(1000, DAY, 2)),
        (200, shown(100, 60 * SECOND, 90)),
    ] {
        let wait = wait_after(status, &headers);
        assert!(wait < 20 * MS, "{status}, {headers:?}: {wait:?}");
    }
}

#[test]
fn a_named_limit_is_adopted_only_if_it_is_lower() {
    for (headers, rate) in [
        (shown(20, SECOND, 10), 18.0),
        (shown(10_000, SECOND, 10), 38.0),
        // A longer window bounds the pace by no more than its whole limit.
        (shown(600, 60 * SECOND, 10), 38.0),
        (shown(10, 60 * SECOND, 5), 8.0),
        // Some gateways write "no limit" as a limit of 0 with remaining requests.
        (shown(0, SECOND, 1_000_000), 38.0),
        (shown(0, SECOND, 0), 1.0),
    ] {
        let mut client = TestClient::new();
        client.call(Endpoint::Api, 200, &headers);
        assert_eq!(client.gate.rate(), rate, "{headers:?}");
    }
}

#[test]
fn refusals_without_a_time_back_off_longer_each_time() {
    let waits = |nanos| {
        let mut client = TestClient::new();
        client.now += Duration::from_nanos(nanos);
        let next = |_| {
            client.call(Endpoint::Api, 429, &RateHeaders::default());
            let wait = client.wait(Endpoint::Api);
            client.now += wait;
            wait.as_secs_f64()
        };
        (0..8).map(next).collect::<Vec<f64>>()
    };
    let eight = waits(0);
    assert!(eight[0] >= 1.0 && eight[0] <= 2.0, "{eight:?}");
    assert!(eight[3] >= 4.0 && eight[7] >= 8.0, "{eight:?}");
    assert!(eight.iter().all(|wait| *wait <= 16.0), "{eight:?}");
    assert!(eight[..6].windows(3).all(|w| w[2] >= w[0]), "{eight:?}");
    assert_eq!(eight, waits(0), "nothing else decides");
    assert_ne!(eight, waits(1));
}

#[test]
fn refusals_of_requests_sent_together_count_once() {
    let mut client = TestClient::new();
    let together: Vec<_> = (0..4).map(|_| client.send()).collect();
    client.now = 1200 * MS;
    for ticket in together {
        client.answer(ticket, 429, &RateHeaders::default());
    }
    let wait = client.wait(Endpoint::Api);
    assert!((500 * MS..=SECOND).contains(&wait), "{wait:?}");
}

#[test]
fn four_requests_probe_and_a_loss_makes_room() {
    let mut client = TestClient::new();
    let tickets = client.send_all();
    assert_eq!(tickets.len(), 4);
    client.complete(tickets[0], &RequestOutcome::Lost);
    assert!(client.may_send());
    // A member that left is not added again by the outcome of a request.
    client.gate.leave(client.now, TestClient::ID);
    client.complete(tickets[1], &RequestOutcome::Lost);
    assert_eq!(client.gate.members(client.now), []);
}

#[test]
fn an_unsent_request_never_happened() {
    let mut client = TestClient::new();
    client.call(Endpoint::Api, 200, &headers(39, None));
    client.now += 100 * MS;
    let unused = client.send();
    assert!(!client.may_send());
    client.complete(unused, &RequestOutcome::Unsent);
    assert!(client.may_send());
}

#[test]
fn a_request_without_a_connection_gives_its_turn_back() {
    let mut client = TestClient::new();
    for _ in 0..100 {
        client.now += 10 * SECOND;
        let ticket = client.send();
        client.complete(ticket, &RequestOutcome::Failed { sent: false });
    }
    let Admission::Wait { outage, .. } = client.take(Endpoint::Api) else {
        panic!("it is probed");
    };
    assert_eq!(outage.map(|failures| failures.count), Some(100));
    let ticket = client.send();
    client.answer(ticket, 200, &headers(39, None));
    assert!(
        client.wait(Endpoint::Api) < 30 * MS,
        "nothing else was sent"
    );
}

#[test]
fn without_pacing_only_the_rule_is_kept() {
    let mut client = TestClient::with(40, false);
    let tickets: Vec<_> = (0..1000).map(|_| client.send()).collect();
    assert_eq!(client.now, SECOND);
    for ticket in tickets {
        client.answer(ticket, 200, &headers(0, Some(3 * SECOND)));
    }
    assert_eq!(client.wait(Endpoint::Api), 3 * SECOND);
    client.now += 3 * SECOND;
    assert!(client.may_send());
}

#[test]
fn a_limit_of_the_token_endpoint_alone_holds_up_token_requests_alone() {
    let mut client = TestClient::new();
    client.call(Endpoint::Token, 200, &shown(5, 60 * SECOND, 0));
    assert_eq!(client.wait(Endpoint::Token), 60 * SECOND);
    assert_eq!(client.gate.rate(), 38.0, "the pace of all is what it was");
    client.now += 80 * MS;
    assert!(client.may_send());
}

#[test]
fn a_token_request_that_uses_up_the_common_limit_holds_up_all() {
    for (status, headers) in [(200, shown(40, SECOND, 0)), (429, RateHeaders::default())] {
        let mut client = TestClient::new();
        client.call(Endpoint::Token, status, &headers);
        let wait = client.wait(Endpoint::Api);
        assert!(wait > 480 * MS, "{wait:?}");
    }
}

#[test]
fn two_endpoints_that_name_different_limits_do_not_make_the_limit_flap() {
    let mut client = TestClient::new();
    for round in 0..320 {
        let is_lower_named = round < 200 && round % 2 == 0;
        let (limit, remaining) = if is_lower_named { (20, 10) } else { (40, 30) };
        client.call(Endpoint::Api, 200, &shown(limit, SECOND, remaining));
        client.now += 80 * MS;
        let rate = client.gate.rate();
        assert!(round >= 200 || rate <= 19.0, "{rate} in round {round}");
    }
    // The lower limit was no longer named.
    assert!(client.gate.rate() > 25.0);
}

#[test]
fn requests_under_way_are_counted_against_a_long_window() {
    let mut client = TestClient::new();
    client.call(Endpoint::Api, 200, &shown(100, DAY, 3));
    assert_eq!(client.send_all().len(), 3);
}

#[test]
fn a_member_that_asks_after_a_silence_has_lost_nothing() {
    let mut client = TestClient::new();
    client.call(Endpoint::Api, 200, &shown(40, SECOND, 20));
    let ticket = client.send();
    client.now += 3 * SECOND;
    let _ = client.take(Endpoint::Api);
    client.answer(ticket, 200, &shown(10, SECOND, 9));
    assert_eq!(client.gate.rate(), 8.0, "its response counts");
}

#[test]
fn without_counts_the_pace_stays_below_the_limit() {
    let mut client = TestClient::with(3, true);
    while client.now < 60 * SECOND {
        let ticket = client.send();
        client.now += 20 * MS;
        client.answer(ticket, 200, &RateHeaders::default());
        let rate = client.gate.rate();
        assert!(rate <= 2.0, "{rate} a second after {:?}", client.now);
    }
}

proptest! {
    /// Regardless of the responses and their order, the gate neither breaks, nor waits forever, nor exceeds the limit.
    #[test]
    fn nothing_breaks_the_gate(
        limit in 0..60_u32,
        share in prop::num::f64::ANY,
        steps in prop::collection::vec((0..5_u8, 0..100_u32, 0..50_u64, 0..5_000_u32), 1..300),
    ) {
        let mut client = TestClient::with(limit, true);
        client.share = share;
        let (mut sent, mut open) = (Vec::new(), Vec::new());
        for (step, wait, remaining, reset) in steps {
            client.now += wait * MS;
            match step {
                0 | 1 => match client.take(Endpoint::Api) {
                    Admission::Admitted(ticket) => {
                        open.push(ticket);
                        sent.push(client.now);
                    }
                    Admission::Wait { again, .. } => {
                        prop_assert!(again > client.now);
                        client.now = again;
                    }
                },
                _ if open.is_empty() => {}
                2 => {
                    let ticket = open.remove(open.len() / 2);
                    client.answer(ticket, 200, &headers(remaining, Some(reset * MS)));
                }
                3 => client.answer(open.remove(0), 429, &RateHeaders::default()),
                _ => client.complete(open.remove(0), &RequestOutcome::Lost),
            }
        }
        for ticket in open {
            client.complete(ticket, &RequestOutcome::Lost);
        }
        let end = client.now + 30 * SECOND;
        let _ = client.send();
        prop_assert!(client.now < end, "with nothing in flight, a wait ends");
        let limit = limit.max(1) as usize;
        prop_assert!(sent.windows(limit + 1).all(|w| w[limit] - w[0] >= SECOND));
    }
}
