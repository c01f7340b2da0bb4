//! Runs the cases of `tests/cases`, which the client of every language passes, over real sockets. The README there
//! describes their form. Unknown fields are errors.

use crate::start;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use talentdata_core::internal::is_terminal_control;
use talentdata_core::types::VersionCheckRequest;
use talentdata_core::{Client, Error};
use talentdata_sandbox::Options;
use tokio::task::JoinSet;

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
    /// Settings by the names that the client uses.
    #[serde(default)]
    client: Map<String, Value>,
    rules: Vec<Value>,
    #[serde(rename = "do")]
    verb: Verb,
    expect: Map<String, Value>,
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

/// Runs a verb, and returns the members of its result that are compared.
async fn perform(client: &Client, verb: &Verb) -> Result<Value, Error> {
    let list = |list: &str| client.resource(list.parse().unwrap());
    Ok(match verb {
        Verb::Version => json!({ "value": client.version().await? }),
        Verb::Permissions => json!({ "value": client.permissions().await? }),
        Verb::Check {
            version,
            categories,
        } => {
            let endpoints = categories.iter().map(|name| name.as_str().into());
            let request = VersionCheckRequest {
                client_version: version.clone(),
                endpoints: endpoints.collect(),
            };
            json!({ "value": client.check_version(&request).await? })
        }
        Verb::Page {
            list: name,
            limit,
            offset,
        } => {
            let page = list(name).page(Some(*limit), *offset).await?;
            let records = page.records.iter().map(|record| record.to::<Value>());
            json!({ "records": records.collect::<Result<Vec<_>, _>>()? })
        }
        Verb::Scan(name) => {
            let mut scan = list(name).list();
            let mut records = Vec::new();
            while let Some(record) = scan.next().await {
                records.push(record?.to::<Value>()?);
            }
            json!({ "records": records, "completeness": scan.receipt().completeness })
        }
        Verb::Repeat { repeat, verb } => {
            let mut last = Value::Null;
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
    let secret = case.client.get("client_secret").and_then(Value::as_str);
    let secret = secret.unwrap_or(sandbox.client_secret());
    for (name, value) in &case.client {
        let text = value.as_str().map_or(value.to_string(), str::to_owned);
        builder.set(name, text);
    }
    let client = builder.build().unwrap();
    let outcome = perform(&client, &case.verb).await;
    let fails = case.expect.contains_key("error");
    assert_eq!(outcome.is_err(), fails, "{outcome:?}");
    for (name, wanted) in &case.expect {
        match (name.as_str(), &outcome) {
            ("requests", _) => {
                let seen = json!(sandbox.stats().requests_by_path);
                for (path, count) in wanted.as_object().unwrap() {
                    let seen = seen.get(path).cloned().unwrap_or(0.into());
                    assert_eq!(seen, *count, "requests to {path}");
                }
            }
            ("error", Err(error)) => compare_error(wanted, error, secret),
            ("records", Ok(found)) => {
                let count = found[name].as_array().unwrap().len();
                assert_eq!(json!(count), *wanted, "records");
            }
            ("ids", Ok(found)) => {
                let records = found["records"].as_array().unwrap().iter();
                let ids: Vec<&Value> = records.map(|record| &record["id"]).collect();
                assert_eq!(json!(ids), *wanted, "ids");
            }
            ("completeness", Ok(found)) => assert_eq!(found[name], *wanted, "{name}"),
            ("value", Ok(found)) => {
                for (pointer, wanted) in wanted.as_object().unwrap() {
                    assert_eq!(found[name].pointer(pointer), Some(wanted), "{pointer}");
                }
            }
            _ => panic!("{name} cannot be expected of {outcome:?}"),
        }
    }
}

fn compare_error(expected: &Value, error: &Error, secret: &str) {
    let shown = format!("{error} {error:?}");
    let found = json!({
        "kind": error.kind().name(),
        "says": error.message(),
        "shows": shown,
        "status": error.status(),
        "attempts": error.attempts(),
        "offset": error.offset(),
        "retry_after_s": error.retry_after().map(|wait| wait.as_secs_f64()),
    });
    for name in ["kind", "says"] {
        assert!(expected.get(name).is_some(), "{name} has to be expected");
    }
    for (name, wanted) in expected.as_object().unwrap() {
        let found = &found[name];
        let is_as_wanted = match (wanted, found) {
            (Value::Array(wanted), Value::String(text)) => {
                let mut wanted = wanted.iter().map(|one| one.as_str().unwrap());
                wanted.all(|one| text.contains(one))
            }
            (Value::Number(_), _) => found.as_f64() == wanted.as_f64(),
            _ => found == wanted,
        };
        assert!(is_as_wanted, "{name}: {found}, not {wanted}: {error:?}");
    }
    // If a token repeats the canary, no piece of eight letters may be shown either.
    let (upper, canary) = (shown.to_uppercase(), "CANARY-".repeat(2));
    let pieces = (0..7).map(|at| &canary[at..at + 8]);
    for piece in pieces.chain(["CANARY", &secret.to_uppercase()]) {
        assert!(!upper.contains(piece), "{shown}");
    }
    let is_terminal_control = shown.replace('\n', "").contains(is_terminal_control);
    assert!(!is_terminal_control && shown.len() < 2500, "{shown:?}");
    assert!(error.to_string().len() < 1000, "{error}");
}

async fn every_case(path: PathBuf) {
    let text = std::fs::read_to_string(&path).unwrap();
    let suite: Suite =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let is_known = suite.schema_version == 1 && path.file_stem() == Some(suite.suite.as_ref());
    assert!(is_known, "{}: another version or name", path.display());
    for case in &suite.cases {
        println!("{}: {}", suite.suite, case.id);
        run(case).await;
    }
    println!("{}: {} cases", suite.suite, suite.cases.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_suite() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases");
    let entries = std::fs::read_dir(directory).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|one| one == "json"));
    assert!(!paths.is_empty());
    let suites: JoinSet<()> = paths.into_iter().map(every_case).collect();
    suites.join_all().await;
}
