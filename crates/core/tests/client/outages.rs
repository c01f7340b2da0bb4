//! A service that is down for a while: scans wait for it, single calls fail within seconds, and it receives few
//! requests.

use crate::{start, stub};
use serde_json::json;
use std::net::TcpListener;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use talentdata_core::ErrorKind;
use talentdata_core::settings::Builder;
use talentdata_sandbox::{Options, Sandbox};
use tokio::time::sleep;

/// The number of contacts of the service.
const TOTAL: u64 = 3000;
/// The maximum number of requests during an outage of a few seconds.
const DOZEN: u64 = 12;

/// Starts a service that can be down, and returns it with settings of a client.
fn service() -> (Sandbox, Builder) {
    start(Options {
        records: [("contacts".to_owned(), TOTAL)].into(),
        faults: true,
        ..Options::default()
    })
}

/// Makes the service answer every request with this reply, and returns the number of requests before.
fn set_down(sandbox: &Sandbox, reply: &serde_json::Value) -> u64 {
    let requests = sandbox.stats().requests;
    let rules = json!({ "rules": [{ "reply": reply }] });
    sandbox.set_faults(&rules.to_string()).unwrap();
    requests
}

/// Waits until the service served this many requests.
async fn served(sandbox: &Sandbox, requests: u64) {
    while sandbox.stats().requests < requests {
        sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scans_wait_for_a_service_that_is_down_in_any_way() {
    let breaks = json!({"framing": "length", "cut_at": 5});
    let hangs = json!({"close_after_read": true, "how": "stall"});
    // The number of scans, the number of requests before the outage, its duration, and the maximum number of requests
    // during it.
    let alone = |reply| (1, 8, 2500, DOZEN, reply);
    let rows = [
        alone(json!({"status": 500})),
        alone(json!({"status": 502})),
        alone(json!({"status": 503})),
        alone(json!({"status": 504})),
        alone(json!({"close_after_read": true})),
        alone(breaks),
        // The number sent before the first of them times out depends on the usual round trip.
        (1, 8, 2500, 40, hangs),
        // These scans share the probes.
        (4, 12, 4000, DOZEN, json!({"status": 500})),
    ];
    let mut outages = tokio::task::JoinSet::new();
    for (count, pages, lasts, most, reply) in rows {
        outages.spawn(async move {
            let (sandbox, mut settings) = service();
            if reply.get("how").is_some() {
                settings.idle_timeout(Duration::from_millis(400));
            }
            let mut scans = tokio::task::JoinSet::new();
            for _ in 0..count {
                // Each scan is a member of its own, as if it were in a process of its own.
                let client = settings.budget("host").build().unwrap();
                scans.spawn(async move { stub::count(&client).await });
            }
            served(&sandbox, pages).await;
            let before = set_down(&sandbox, &reply);
            sleep(Duration::from_secs(1)).await;
            let known = sandbox.stats().requests;
            sleep(Duration::from_millis(lasts - 1000)).await;
            let after = sandbox.stats().requests;
            sandbox.set_faults(r#"{"rules": []}"#).unwrap();
            for records in scans.join_all().await {
                assert_eq!(records.unwrap(), TOTAL, "{reply}");
            }
            let requests = after - before;
            assert!((2..=most).contains(&requests), "{reply}: {requests}");
            // The back-off is at least half a second by then, and doubles.
            assert!(after - known <= 3, "{reply}: {known} to {after}");
        });
    }
    outages.join_all().await;
}

#[tokio::test]
async fn a_scan_continues_while_one_request_in_three_fails() {
    let (page, others) = (AtomicU64::new(0), AtomicU64::new(0));
    let base_url = stub::serve(stub::api(move |request| {
        let fails = match request.number("offset").unwrap() {
            1000..1100 => page.fetch_add(1, Relaxed) < 10,
            _ => others.fetch_add(1, Relaxed) % 3 == 1,
        };
        if fails {
            (500, "", String::new())
        } else {
            (200, "", stub::contacts(request, TOTAL))
        }
    }));
    let client = stub::settings(&base_url).build().unwrap();
    assert_eq!(stub::count(&client).await.unwrap(), TOTAL);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scan_waits_for_a_service_that_refuses_connections() {
    // Its address is taken, and nothing listens there yet.
    let (socket, port) = stub::nobody();
    let settings = stub::settings(&format!("http://127.0.0.1:{port}"));
    let client = settings.build().unwrap();
    let scan = tokio::spawn(async move { stub::count(&client).await });
    sleep(Duration::from_millis(2500)).await;
    let listener = socket.listen(64).unwrap().into_std().unwrap();
    listener.set_nonblocking(false).unwrap();
    let contacts = |request: &stub::Request| (200, "", stub::contacts(request, TOTAL));
    stub::serve_on(listener, stub::api(contacts));
    assert_eq!(scan.await.unwrap().unwrap(), TOTAL);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scan_fails_with_the_reason_if_an_outage_lasts_too_long() {
    // In the second row, there is no token yet. The request for one would wait for more than eleven seconds.
    for (pages, max_outage, status) in [(4, 1500, 502), (0, 2000, 503)] {
        let (sandbox, mut settings) = service();
        settings.max_outage(Duration::from_millis(max_outage));
        let client = settings.build().unwrap();
        let down = json!({"status": status});
        let before = (pages == 0).then(|| set_down(&sandbox, &down));
        let began = Instant::now();
        let scanning = tokio::spawn(async move { stub::count(&client).await });
        served(&sandbox, pages).await;
        let before = before.unwrap_or_else(|| set_down(&sandbox, &down));
        let error = scanning.await.unwrap().unwrap_err();
        assert!(began.elapsed() < Duration::from_secs(9), "{error}");
        assert_eq!(error.kind(), ErrorKind::Server);
        // Even if the last request for a token was never sent.
        assert_eq!(error.status(), Some(status), "{error}");
        let message = error.message();
        let middle = "; no request has succeeded for ";
        assert!(message.contains(middle), "{message}");
        let limit = max_outage as f64 / 1000.0;
        let ends = format!(" have failed in a row (max_outage is {limit} s)");
        assert!(message.ends_with(&ends), "{message}");
        assert_eq!(message.matches("in a row").count(), 1, "{message}");
        assert!(sandbox.stats().requests - before <= DOZEN);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_single_call_does_not_queue_behind_a_scan_that_waits() {
    let (sandbox, mut settings) = service();
    settings
        .max_outage(Duration::from_secs(600))
        .max_attempts(2);
    let client = settings.build().unwrap();
    let other = client.clone();
    let scanning = tokio::spawn(async move { stub::count(&other).await });
    served(&sandbox, 8).await;
    set_down(&sandbox, &json!({"status": 500}));
    sleep(Duration::from_secs(1)).await;
    // The pages of the scan would wait for ten minutes.
    let error = client.permissions().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Server);
    let message = error.message();
    assert!(message.contains("no request has succeeded for"), "{error}");
    scanning.abort();
}

#[tokio::test]
async fn a_scan_keeps_its_time_limit_under_the_rate_limit() {
    const WAIT: &str =
        "x-ratelimit-limit: 40;w=1\r\nx-ratelimit-remaining: 0\r\nx-ratelimit-reset: 30\r\n";
    // There is time for one such wait, and each response takes half of it.
    let limited = stub::serve(stub::api(|_| {
        (429, "x-ratelimit-reset: 11\r\n", String::new())
    }));
    // The wait comes with the token.
    let slow = stub::serve(|request, socket| {
        assert!(request.asks_for_a_token());
        stub::reply(socket, 200, WAIT, stub::token("any-token", 3600.0));
    });
    for (base_url, attempts, says) in [(limited, 2, ""), (slow, 0, "timeout is 20 s")] {
        let mut settings = stub::settings(&base_url);
        settings.timeout(Duration::from_secs(20)).max_attempts(20);
        let client = settings.build().unwrap();
        let error = stub::count(&client).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::RateLimited, "{error}");
        assert!(error.message().contains(says), "{error}");
        assert_eq!(error.attempts(), attempts, "{error}");
    }
}

/// Returns the rows of the documented table of services that never recover.
fn never_recovers() -> Vec<[String; 4]> {
    let page = std::fs::read_to_string("../../docs/errors.md").unwrap();
    let (_, table) = page.split_once("| The service | A single call |").unwrap();
    let rows = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let cells = rows.map(|row| {
        row.trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().to_owned())
    });
    cells
        .map(|cells| cells.collect::<Vec<_>>().try_into().unwrap())
        .collect()
}

/// Returns the address of a service that behaves as a row says, and the socket that keeps the address taken.
fn hopeless(row: &str) -> (String, Option<tokio::net::TcpSocket>) {
    let answers =
        |status, headers| stub::serve(stub::api(move |_| (status, headers, String::new())));
    match row {
        "always answers 500" => (answers(500, ""), None),
        "always answers 429" => (answers(429, "x-ratelimit-reset: 0\r\n"), None),
        "refuses connections" => {
            let (socket, port) = stub::nobody();
            (format!("http://127.0.0.1:{port}"), Some(socket))
        }
        "takes requests and never answers" => {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let silent = stub::api(|_| unreachable!("it has no token"));
            (
                stub::serve_on(listener, move |request, socket| {
                    if request.asks_for_a_token() {
                        silent(request, socket);
                    } else {
                        std::thread::park();
                    }
                }),
                None,
            )
        }
        _ => panic!("no such service: {row}"),
    }
}

#[tokio::test]
async fn a_call_to_a_service_that_never_recovers_ends_as_documented() {
    const ATTEMPTS: u32 = 3;
    let mut ends = tokio::task::JoinSet::new();
    for [service, cells @ ..] in never_recovers() {
        for (column, documented) in cells.into_iter().enumerate() {
            let service = service.clone();
            ends.spawn(async move {
                let (base_url, _socket) = hopeless(&service);
                let mut settings = stub::settings(&base_url);
                settings
                    .max_attempts(ATTEMPTS)
                    .max_outage(Duration::from_secs(if column == 1 { 1 } else { 0 }))
                    .attempt_timeout(Duration::from_millis(300));
                let client = settings.build().unwrap();
                let error = match column {
                    0 => client.contacts().page(None, 0).await.err(),
                    _ => stub::count(&client).await.err(),
                };
                let error = error.unwrap();
                let kind = error.kind().name();
                let found = if error.message().contains("(max_outage is 1 s)") {
                    format!("`{kind}` after `max_outage`")
                } else {
                    assert_eq!(
                        error.attempts(),
                        ATTEMPTS,
                        "{service}, {documented}: {error}"
                    );
                    format!("`{kind}` after `max_attempts` requests")
                };
                assert_eq!(found, documented, "{service}: {error}");
            });
        }
    }
    assert_eq!(ends.len(), 12);
    ends.join_all().await;
}
