//! Runs the cases of `tests/cases`, which every language's client passes, over real sockets.

#[path = "../../../../tests/cases/form.rs"]
mod form;

use crate::start;
use form::{Case, ExpectedError, Suite, Verb};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;
use talentdata_core::types::VersionCheckRequest;
use talentdata_core::{Client, Error, RawRecord, drives_terminal};
use talentdata_sandbox::Options;

/// What a verb yields: records, and what else it tells.
type Yield = (Vec<RawRecord>, Value);

fn valued(value: impl serde::Serialize) -> Yield {
    (Vec::new(), serde_json::to_value(value).unwrap())
}

async fn perform(client: &Client, verb: &Verb) -> Result<Yield, Error> {
    let list = |list: &str| client.resource(list.parse().unwrap());
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
            list: name,
            limit,
            offset,
        } => {
            let page = list(name).page(Some(*limit), *offset).await?;
            (page.records, Value::Null)
        }
        Verb::Scan(name) => {
            let mut scan = list(name).list();
            let mut records = Vec::new();
            while let Some(record) = scan.next().await {
                records.push(record?);
            }
            (records, serde_json::to_value(scan.receipt()).unwrap())
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
    let rules = serde_json::json!({ "rules": case.rules });
    sandbox.set_faults(&rules.to_string()).unwrap();
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

fn compare(case: &Case, (records, value): &Yield) {
    if let Some(count) = case.expect.records {
        assert_eq!(records.len(), count, "records");
    }
    if let Some(ids) = &case.expect.ids {
        let text = |record: &RawRecord| {
            let id = record.value().at("id").unwrap().unwrap();
            id.text().unwrap().into_owned()
        };
        assert_eq!(&records.iter().map(text).collect::<Vec<_>>(), ids);
    }
    if let Some(wanted) = &case.expect.completeness {
        assert_eq!(&value["completeness"], wanted, "completeness");
    }
    for (pointer, wanted) in &case.expect.value {
        assert_eq!(value.pointer(pointer), Some(wanted), "{pointer}");
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
    for text in &expected.shows {
        assert!(shown.contains(text), "{text:?} is not in: {shown}");
    }
    // Of a token that says it again and again, no piece of eight letters either.
    let (upper, canary) = (shown.to_uppercase(), "CANARY-".repeat(2));
    let is_shown = |at| upper.contains(&canary[at..at + 8]);
    let is_secret = upper.contains("CANARY") || shown.contains(secret) || (0..7).any(is_shown);
    assert!(!is_secret, "{shown}");
    let drives_terminal = shown.replace('\n', "").contains(drives_terminal);
    assert!(!drives_terminal && shown.len() < 2500, "{shown:?}");
    assert!(error.to_string().len() < 1000, "{error}");
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
    let suites = form::suites(Path::new(directory));
    std::thread::scope(|scope| {
        for suite in &suites {
            scope.spawn(|| every_case(suite));
        }
    });
}
