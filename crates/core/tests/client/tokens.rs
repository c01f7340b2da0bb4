//! One token however many callers wait, renewed as it runs out.

use crate::{start, stub};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use talentdata_core::{Client, ErrorKind};
use talentdata_sandbox::{Options, limit::Policy};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_concurrent_first_calls_ask_for_one_token() {
    let (sandbox, client) = start(Options {
        policy: Policy::Unlimited,
        ..Options::default()
    });
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..1000 {
        let client = client.clone();
        calls.spawn(async move { client.permissions().await });
    }
    // The rest would only wait for the budget.
    for _ in 0..60 {
        calls.join_next().await.unwrap().unwrap().unwrap();
    }
    assert_eq!(sandbox.stats().token_posts, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_who_wait_for_a_refused_token_get_the_same_error() {
    let (sandbox, _) = start(Options {
        policy: Policy::Unlimited,
        ..Options::default()
    });
    let client = Client::builder()
        .base_url(sandbox.base_url())
        .client_id(sandbox.client_id())
        .client_secret("wrong-secret")
        .build()
        .unwrap();
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..1000 {
        let client = client.clone();
        calls.spawn(async move { client.permissions().await });
    }
    while let Some(outcome) = calls.join_next().await {
        assert_eq!(outcome.unwrap().unwrap_err().kind(), ErrorKind::Auth);
    }
    assert_eq!(sandbox.stats().token_posts, 1);
}

#[tokio::test]
async fn whoever_fetches_the_token_may_be_cancelled() {
    let (sandbox, client) = start(Options {
        policy: Policy::Unlimited,
        latency: Duration::from_millis(200),
        ..Options::default()
    });
    let first = tokio::spawn({
        let client = client.clone();
        async move { client.permissions().await }
    });
    while sandbox.stats().token_posts == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let second = tokio::spawn(async move { client.permissions().await });
    first.abort();
    second.await.unwrap().unwrap();
    assert_eq!(sandbox.stats().token_posts, 2);
}

#[tokio::test]
async fn without_credentials_the_error_says_what_to_set_and_nothing_is_sent() {
    let (sandbox, _) = start(Options::default());
    let client = Client::builder()
        .base_url(sandbox.base_url())
        .client_id("me")
        .build();
    // Credentials of the environment would be used, and rightly.
    if std::env::var_os("TALENTDATA_CLIENT_SECRET").is_none() {
        let error = client.unwrap().permissions().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(
            error.message().contains("TALENTDATA_CLIENT_SECRET"),
            "{error}"
        );
        assert_eq!(sandbox.stats().requests, 0);
    }
}

/// Scans 12,000 contacts of a service that revokes each token after nine requests, and responds to each request after
/// `delay`, by its status.
async fn with_tokens_for_nine_requests(delay: fn(u16) -> Duration) {
    const TOTAL: u64 = 12_000;
    // How many tokens were issued, and how often the latest was used.
    let state = Mutex::new((0_u64, 0_u64));
    let base_url = stub::serve(move |request, socket| {
        let (status, body) = {
            let (issued, used) = &mut *state.lock().unwrap();
            if request.asks_for_a_token() {
                (*issued, *used) = (*issued + 1, 0);
                (200, stub::token(&format!("token-number-{issued}"), 3600.0))
            } else if request.token == format!("token-number-{issued}") && *used < 9 {
                *used += 1;
                (200, stub::contacts(request, TOTAL))
            } else {
                (401, String::new())
            }
        };
        std::thread::sleep(delay(status));
        stub::reply(socket, status, "", body);
    });
    let client = stub::settings(&base_url).paced(false).build().unwrap();
    let mut scan = client.contacts().list();
    let mut records = 0;
    while let Some(record) = scan.next().await {
        record.unwrap();
        records += 1;
    }
    assert_eq!(records, TOTAL);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_that_are_revoked_every_nine_requests_do_not_end_a_scan() {
    // Long enough for many requests to be under way with each token.
    with_tokens_for_nine_requests(|_| Duration::from_millis(20)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_that_come_before_the_first_success_do_not_end_a_scan() {
    with_tokens_for_nine_requests(|status| match status {
        200 => Duration::from_millis(100),
        _ => Duration::ZERO,
    })
    .await;
}

/// The outcome of a call where each token comes with a wait that is longer than its life, and how many were issued.
async fn with_short_lived_tokens(status: u16) -> (Result<(), ErrorKind>, u64) {
    let issued = Arc::new(AtomicU64::new(0));
    let base_url = stub::serve({
        let issued = Arc::clone(&issued);
        move |request, socket| {
            if request.asks_for_a_token() {
                let number = issued.fetch_add(1, Ordering::Relaxed);
                let wait = "x-ratelimit-limit: 40;w=1\r\nx-ratelimit-remaining: 0\r\nx-ratelimit-reset: 1.2\r\n";
                stub::reply(
                    socket,
                    200,
                    wait,
                    stub::token(&format!("token-number-{number}"), 1.0),
                );
            } else {
                stub::reply(socket, status, "", r#"{"roles":[],"permissions":[]}"#);
            }
        }
    });
    let client = stub::settings(&base_url).build().unwrap();
    let outcome = client.permissions().await.map(drop);
    let outcome = outcome.map_err(|error| error.kind());
    (outcome, issued.load(Ordering::Relaxed))
}

#[tokio::test]
async fn a_token_that_expires_during_the_wait_it_came_with_is_not_fetched_for_ever() {
    // Its life is only what the service says; whether it still takes the token is seen by trying.
    assert_eq!(with_short_lived_tokens(200).await, (Ok(()), 1));
    let refused = Err(ErrorKind::Auth);
    assert_eq!(with_short_lived_tokens(401).await, (refused, 2));
}

#[tokio::test]
async fn a_token_that_is_refused_as_soon_as_it_is_issued_is_renewed_once() {
    let base_url = stub::serve(|request, socket| match request.asks_for_a_token() {
        true => stub::reply(socket, 200, "", stub::token("token-number-1", 3600.0)),
        false => stub::reply(socket, 401, "", ""),
    });
    let client = stub::settings(&base_url).build().unwrap();
    let error = client.permissions().await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Auth, 2));
}
