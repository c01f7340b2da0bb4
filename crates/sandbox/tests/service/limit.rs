//! The rate limit over the whole company, and latency (section 8).

use std::time::{Duration, Instant};

use talentdata_sandbox::{Options, Sandbox};

use crate::support::{get, send, token};

#[test]
fn every_request_counts_and_those_beyond_the_limit_get_429() {
    // A window as long as the clock, so that it cannot end within the test.
    let window = Duration::from_secs(u64::MAX);
    let sandbox = Sandbox::start(Options {
        limit: 6,
        window,
        ..Options::default()
    })
    .unwrap();
    let token = token(&sandbox);
    for (status, remaining, path) in [
        (200, "4", "/v1/contacts"),
        (200, "3", "/v1/version"),
        (404, "2", "/v1/nothing"),
        (401, "1", "/v1/oauth/token/permissions"),
        (200, "0", "/v1/ja/skills"),
        (429, "0", "/v1/contacts"),
        (429, "0", "/v1/nothing"),
    ] {
        let bearer = if status == 401 { "wrong" } else { &token };
        let reply = get(&sandbox, path, bearer);
        assert_eq!(reply.status, status, "{path}");
        assert_eq!(
            reply.header("x-ratelimit-remaining"),
            Some(remaining),
            "{path}"
        );
        assert_eq!(
            reply.header("x-ratelimit-limit"),
            Some(format!("6;w={}", u64::MAX).as_str())
        );
    }
    let refused = send(&sandbox, "POST", "/v1/oauth/token", &[], "");
    assert_eq!(refused.status, 429);
    assert!(refused.json()["error"].is_object());
    let stats = sandbox.stats();
    assert_eq!(
        (stats.requests, stats.limited, stats.token_posts),
        (9, 3, 2)
    );
    assert!(stats.most_in_a_second <= 6);
}

#[test]
fn a_round_trip_takes_at_least_the_latency() {
    let latency = Duration::from_millis(60);
    let sandbox = Sandbox::start(Options {
        latency,
        ..Options::default()
    })
    .unwrap();
    let start = Instant::now();
    assert_eq!(get(&sandbox, "/v1/version", "").status, 200);
    assert!(start.elapsed() >= latency);
}
