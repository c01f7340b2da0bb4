//! One token however many callers wait, renewed as it runs out.

use crate::{start, stub};
use std::sync::Mutex;
use std::time::Duration;
use talentdata_core::{Client, Error, ErrorKind};
use talentdata_sandbox::Options;
use tokio::task::JoinSet;

/// A thousand calls at once.
fn a_thousand(client: &Client) -> JoinSet<Result<(), Error>> {
    let mut calls = JoinSet::new();
    for _ in 0..1000 {
        let client = client.clone();
        calls.spawn(async move { client.permissions().await.map(drop) });
    }
    calls
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_concurrent_first_calls_ask_for_one_token_and_share_its_refusal() {
    let (sandbox, mut settings) = start(Options::default());
    let mut calls = a_thousand(&settings.build().unwrap());
    // The rest would only wait for the budget.
    for _ in 0..60 {
        calls.join_next().await.unwrap().unwrap().unwrap();
    }
    assert_eq!(sandbox.stats().token_posts, 1);
    drop(calls);
    let client = settings.client_secret("wrong-secret").build().unwrap();
    let mut calls = a_thousand(&client);
    while let Some(outcome) = calls.join_next().await {
        assert_eq!(outcome.unwrap().unwrap_err().kind(), ErrorKind::Auth);
    }
    assert_eq!(sandbox.stats().token_posts, 2);
}

#[tokio::test]
async fn the_caller_that_fetches_the_token_may_be_cancelled() {
    let (sandbox, settings) = start(Options {
        latency: Duration::from_millis(200),
        ..Options::default()
    });
    let client = settings.build().unwrap();
    let call = || {
        let client = client.clone();
        tokio::spawn(async move { client.permissions().await })
    };
    let first = call();
    while sandbox.stats().token_posts == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let second = call();
    first.abort();
    second.await.unwrap().unwrap();
    assert_eq!(sandbox.stats().token_posts, 2);
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
    // Refusals come before the first success.
    with_tokens_for_nine_requests(|status| {
        Duration::from_millis(if status == 200 { 100 } else { 0 })
    })
    .await;
}
