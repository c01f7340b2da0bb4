//! Runs the cases of `tests/cases`, which every language's client passes, over real sockets.

#[path = "../../../../tests/cases/form.rs"]
mod form;

use crate::start;
use crate::stub::post_rules;
use form::{Case, ExpectedError, Suite, Verb};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;
use talentdata_core::types::{Resource, VersionCheckRequest};
use talentdata_core::{Client, Error, RawRecord};
use talentdata_sandbox::Options;

/// What a verb yields.
#[derive(Default)]
struct Yield {
    records: Vec<RawRecord>,
    completeness: Option<String>,
    value: Value,
}

fn named(list: &str) -> Resource {
    list.parse().unwrap()
}

fn valued(value: impl serde::Serialize) -> Yield {
    Yield {
        value: serde_json::to_value(value).unwrap(),
        ..Yield::default()
    }
}

async fn perform(client: &Client, verb: &Verb) -> Result<Yield, Error> {
    Ok(match verb {
        Verb::Version => valued(client.version().await?),
        Verb::Permissions => valued(client.permissions().await?),
        Verb::Check {
            version,
            categories,
        } => {
            let endpoints = categories.iter().map(|name| name.as_str().into());
            let request = VersionCheckRequest {
                client_version: version.clone(),
                endpoints: endpoints.collect(),
            };
            valued(client.check_version(&request).await?)
        }
        Verb::Page {
            list,
            limit,
            offset,
        } => {
            let list = client.resource(named(list));
            Yield {
                records: list.page(Some(*limit), *offset).await?.records,
                ..Yield::default()
            }
        }
        Verb::Scan(list) => {
            let mut scan = client.resource(named(list)).list();
            let mut found = Yield::default();
            while let Some(record) = scan.next().await {
                found.records.push(record?);
            }
            let completeness = serde_json::to_value(scan.receipt().completeness).unwrap();
            found.completeness = completeness.as_str().map(str::to_owned);
            found
        }
        Verb::Repeat { repeat, verb } => {
            let mut last = Yield::default();
            for _ in 0..*repeat {
                last = Box::pin(perform(client, verb)).await?;
            }
            last
        }
    })
}

async fn run(case: &Case) {
    let defaults = Options::default();
    let lifetime = case.sandbox.token_lifetime_s.map(Duration::from_secs);
    let (sandbox, mut builder) = start(Options {
        records: case.sandbox.records.clone(),
        max_limit: case.sandbox.max_limit,
        gzip: case.sandbox.gzip,
        token_lifetime: lifetime.unwrap_or(defaults.token_lifetime),
        faults: true,
        ..defaults
    });
    post_rules(sandbox.base_url(), &case.rules);
    let secret = case.client.client_secret.as_deref();
    let secret = secret.unwrap_or(sandbox.client_secret());
    builder.client_secret(secret);
    if let Some(attempts) = case.client.max_attempts {
        builder.max_attempts(attempts);
    }
    if let Some(seconds) = case.client.attempt_s {
        builder.attempt_timeout(Duration::from_secs_f64(seconds));
    }
    let client = builder.build().unwrap();
    let outcome = perform(&client, &case.verb).await;
    match (&case.expect.error, outcome) {
        (None, Ok(found)) => compare(case, &found),
        (Some(expected), Err(error)) => compare_error(expected, &error, secret),
        (Some(expected), Ok(_)) => panic!("no error, expected {}", expected.kind),
        (None, Err(error)) => panic!("{error:?}"),
    }
    let seen = sandbox.stats().requests_by_path;
    for (path, count) in &case.expect.requests {
        assert_eq!(seen.get(path).unwrap_or(&0), count, "requests to {path}");
    }
}

fn compare(case: &Case, found: &Yield) {
    if let Some(count) = case.expect.records {
        assert_eq!(found.records.len(), count, "records");
    }
    if let Some(ids) = &case.expect.ids {
        let text = |record: &RawRecord| {
            let id = record.value().at("id").unwrap().unwrap();
            id.text().unwrap().into_owned()
        };
        let found: Vec<String> = found.records.iter().map(text).collect();
        assert_eq!(&found, ids);
    }
    if let Some(wanted) = &case.expect.completeness {
        assert_eq!(found.completeness.as_ref(), Some(wanted), "completeness");
    }
    for (pointer, value) in &case.expect.value {
        assert_eq!(found.value.pointer(pointer), Some(value), "{pointer}");
    }
}

fn compare_error(expected: &ExpectedError, error: &Error, secret: &str) {
    assert_eq!(error.kind().name(), expected.kind, "{error:?}");
    for text in &expected.says {
        assert!(
            error.message().contains(text),
            "{text:?} is not in: {error}"
        );
    }
    if expected.status.is_some() {
        assert_eq!(error.status(), expected.status);
    }
    if let Some(attempts) = expected.attempts {
        assert_eq!(error.attempts(), attempts);
    }
    if expected.offset.is_some() {
        assert_eq!(error.offset(), expected.offset);
    }
    if let Some(seconds) = expected.retry_after_s {
        assert_eq!(error.retry_after(), Some(Duration::from_secs_f64(seconds)));
    }
    let shown = format!("{error} {error:?}");
    assert!(
        !shown.contains("CANARY") && !shown.contains(secret),
        "{shown}"
    );
}

fn every_case(suite: &Suite) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    for case in &suite.cases {
        println!("{}: {}", suite.suite, case.id);
        runtime.block_on(run(case));
    }
    println!("{}: {} cases", suite.suite, suite.cases.len());
}

#[test]
fn every_suite() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases");
    let suites = form::suites(Path::new(directory)).unwrap();
    std::thread::scope(|scope| {
        for suite in &suites {
            scope.spawn(|| every_case(suite));
        }
    });
}
