//! Runs the cases of `tests/cases`, which every language's client passes, over real sockets.

use crate::start;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use talentdata_core::types::VersionCheckRequest;
use talentdata_core::{Client, Error, RawRecord, drives_terminal};
use talentdata_sandbox::Options;

/// The form of a case is described in `README.md` there; what is not known is an error.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Suite {
    schema_version: u32,
    suite: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    id: String,
    #[serde(rename = "docs")]
    _docs: String,
    #[serde(default)]
    sandbox: SandboxOptions,
    /// Settings by their names, which the client knows.
    #[serde(default)]
    client: Map<String, Value>,
    rules: Vec<Value>,
    #[serde(rename = "do")]
    verb: Verb,
    expect: Expect,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct SandboxOptions {
    records: BTreeMap<String, u64>,
    max_limit: Option<u64>,
    gzip: bool,
    token_lifetime: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Verb {
    Version,
    Permissions,
    Check {
        version: String,
        categories: Vec<String>,
    },
    /// The name of a list.
    Scan(String),
    Page {
        list: String,
        limit: u64,
        offset: u64,
    },
    #[serde(untagged)]
    Repeat {
        repeat: u32,
        verb: Box<Verb>,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    error: Option<Map<String, Value>>,
    records: Option<usize>,
    ids: Option<Vec<String>>,
    completeness: Option<String>,
    #[serde(default)]
    value: BTreeMap<String, Value>,
    #[serde(default)]
    requests: BTreeMap<String, u64>,
}

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
    let lifetime = case.sandbox.token_lifetime.map(Duration::from_secs);
    let (sandbox, mut builder) = start(Options {
        records: case.sandbox.records.clone(),
        max_limit: case.sandbox.max_limit,
        gzip: case.sandbox.gzip,
        token_lifetime: lifetime.unwrap_or(defaults.token_lifetime),
        faults: true,
        ..defaults
    });
    let rules = json!({ "rules": case.rules });
    sandbox.set_faults(&rules.to_string()).unwrap();
    for (name, value) in &case.client {
        let text = value.as_str().map(str::to_owned);
        builder.set(name, text.unwrap_or_else(|| value.to_string()));
    }
    let secret = case.client.get("client_secret").and_then(Value::as_str);
    let secret = secret.unwrap_or(sandbox.client_secret());
    let client = builder.build().unwrap();
    let outcome = perform(&client, &case.verb).await;
    match (&case.expect.error, outcome) {
        (None, Ok(found)) => compare(case, &found),
        (Some(expected), Err(error)) => compare_error(expected, &error, secret),
        (Some(expected), Ok(_)) => panic!("no error, expected {expected:?}"),
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

fn compare_error(expected: &Map<String, Value>, error: &Error, secret: &str) {
    let shown = format!("{error} {error:?}");
    let facts = json!({
        "kind": error.kind().name(),
        "status": error.status(),
        "attempts": error.attempts(),
        "offset": error.offset(),
        "retry_after_s": error.retry_after().map(|wait| wait.as_secs_f64()),
    });
    let is_whole = ["kind", "says"].map(|name| expected.contains_key(name));
    assert_eq!(is_whole, [true; 2], "{expected:?}");
    for (name, wanted) in expected {
        let text = match name.as_str() {
            "says" => error.message(),
            "shows" => &shown,
            _ => {
                assert_eq!(facts.get(name), Some(wanted), "{name}: {error:?}");
                continue;
            }
        };
        for words in wanted.as_array().unwrap() {
            let words = words.as_str().unwrap();
            assert!(text.contains(words), "{words:?} is not in: {text}");
        }
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

fn read(path: &Path) -> Suite {
    let text = std::fs::read_to_string(path).unwrap();
    let suite: Suite =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let is_known = suite.schema_version == 1 && path.file_stem() == Some(suite.suite.as_ref());
    assert!(is_known, "{}: another version or name", path.display());
    suite
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
    let entries = std::fs::read_dir(directory).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let paths = paths.filter(|path| path.extension().is_some_and(|one| one == "json"));
    let suites: Vec<Suite> = paths.map(|path| read(&path)).collect();
    assert!(!suites.is_empty(), "{directory} holds no cases");
    std::thread::scope(|scope| {
        for suite in &suites {
            scope.spawn(|| every_case(suite));
        }
    });
}
