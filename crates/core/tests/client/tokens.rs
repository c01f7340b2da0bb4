//! One token however many callers wait, renewed as it runs out.

use crate::start;
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
        .client_secret("wrong")
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
