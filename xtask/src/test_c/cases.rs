//! The C++ runner of `tests/cases`: each case on a sandbox of its own, by a program that uses `talentdata.hpp`.

#[path = "../../../tests/cases/form.rs"]
mod form;

use super::bench::Bench;
use super::memory::SANITIZED;
use super::tools::pkg_config;
use crate::Outcome;
use crate::sandbox::Sandbox;
use form::{Case, ClientOptions, Expect, ExpectedError, SandboxOptions, Verb};
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;
use std::process::Stdio;

/// What the program says of a case, which is JSON.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Said {
    Answer {
        records: Vec<Value>,
        completeness: Option<String>,
        value: Value,
    },
    Error {
        kind: String,
        message: String,
        status: Option<u16>,
        attempts: u32,
        offset: Option<u64>,
        retry_after_ms: Option<u64>,
    },
}

/// Runs every case; all that fail are named.
pub(super) fn run(bench: &Bench) -> Outcome {
    let libraries = pkg_config(&bench.prefix, &["--cflags", "--libs", "talentdata"])?;
    let program = bench.build(
        &bench.tests(),
        &["cases.cpp"],
        "c++17",
        // Failures leak most easily.
        &SANITIZED,
        "asan",
        &libraries,
    )?;
    let mut wrong = Vec::new();
    for suite in form::suites(&bench.root.join("tests/cases"))? {
        for case in &suite.cases {
            if let Err(error) = check(bench, &program, case) {
                wrong.push(format!("{}: {}: {error}", suite.suite, case.id));
            }
        }
        println!("{}: {} cases", suite.suite, suite.cases.len());
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(format!("\n{}", wrong.join("\n"))),
    }
}

fn check(bench: &Bench, program: &Path, case: &Case) -> Outcome {
    let sandbox = Sandbox::start(&bench.talentdata, &options(&case.sandbox))?;
    sandbox.set_faults(&case.rules)?;
    let ClientOptions {
        client_secret,
        max_attempts,
        attempt_s,
    } = &case.client;
    let secret = client_secret.as_deref().unwrap_or(sandbox.client_secret());
    let mut command = bench.command(program);
    sandbox
        .invite(&mut command)
        .env("TALENTDATA_CLIENT_SECRET", secret)
        .stdin(Stdio::null());
    if let Some(attempts) = max_attempts {
        command.args(["--max-attempts", &attempts.to_string()]);
    }
    if let Some(seconds) = attempt_s {
        command.args(["--attempt-ms", &milliseconds(*seconds).to_string()]);
    }
    command.args(words(&case.verb));
    let output = command.output().map_err(|error| error.to_string())?;
    let (said, log) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    if !output.status.success() {
        return Err(format!("the program ended with {}: {log}", output.status));
    }
    for text in [&said, &log] {
        if text.contains("CANARY") || text.contains(secret) {
            return Err(format!("a secret is told: {text}"));
        }
    }
    let said = serde_json::from_str(&said)
        .map_err(|error| format!("the program said {said:?}: {error}"))?;
    compare(&case.expect, &said)?;
    let seen = &sandbox.get("/__stats")?["requests_by_path"];
    for (path, count) in &case.expect.requests {
        same(
            &format!("requests to {path}"),
            &seen[path].as_u64().unwrap_or(0),
            count,
        )?;
    }
    Ok(())
}

fn options(sandbox: &SandboxOptions) -> Vec<String> {
    let SandboxOptions {
        records,
        max_limit,
        gzip,
        token_lifetime_s,
    } = sandbox;
    let mut arguments = vec!["--faults".to_owned(), "--policy=unlimited".to_owned()];
    arguments.extend(
        records
            .iter()
            .map(|(list, count)| format!("--records={list}={count}")),
    );
    arguments.extend(max_limit.map(|limit| format!("--max-limit={limit}")));
    arguments.extend(token_lifetime_s.map(|seconds| format!("--token-lifetime={seconds}")));
    arguments.extend(gzip.then(|| "--gzip".to_owned()));
    arguments
}

/// What the program is asked to do, as its arguments.
fn words(verb: &Verb) -> Vec<String> {
    match verb {
        Verb::Version => vec!["version".into()],
        Verb::Permissions => vec!["permissions".into()],
        Verb::Check {
            version,
            categories,
        } => [&["check".into(), version.clone()], &categories[..]].concat(),
        Verb::Scan(list) => vec!["scan".into(), list.clone()],
        Verb::Page {
            list,
            limit,
            offset,
        } => vec![
            "page".into(),
            list.clone(),
            limit.to_string(),
            offset.to_string(),
        ],
        Verb::Repeat { repeat, verb } => {
            [&["repeat".into(), repeat.to_string()], &words(verb)[..]].concat()
        }
    }
}

fn compare(expect: &Expect, said: &Said) -> Outcome {
    match (&expect.error, said) {
        (
            None,
            Said::Answer {
                records,
                completeness,
                value,
            },
        ) => {
            if let Some(count) = expect.records {
                same("records", &records.len(), &count)?;
            }
            if let Some(ids) = &expect.ids {
                let found: Vec<&str> = records
                    .iter()
                    .filter_map(|one| one["id"].as_str())
                    .collect();
                same("ids", &found, &ids.iter().map(String::as_str).collect())?;
            }
            if expect.completeness.is_some() {
                same("completeness", completeness, &expect.completeness)?;
            }
            for (pointer, wanted) in &expect.value {
                same(pointer, &value.pointer(pointer), &Some(wanted))?;
            }
            Ok(())
        }
        (Some(expected), Said::Error { .. }) => compare_error(expected, said),
        (Some(expected), Said::Answer { .. }) => Err(format!("no error, not {}", expected.kind)),
        (None, Said::Error { message, .. }) => Err(message.clone()),
    }
}

fn compare_error(expected: &ExpectedError, said: &Said) -> Outcome {
    let Said::Error {
        kind,
        message,
        status,
        attempts,
        offset,
        retry_after_ms,
    } = said
    else {
        return Err("no error".into());
    };
    same("kind", kind, &expected.kind)?;
    for text in &expected.says {
        if !message.contains(text) {
            return Err(format!("{text:?} is not in: {message}"));
        }
    }
    if expected.status.is_some() {
        same("status", status, &expected.status)?;
    }
    if let Some(wanted) = &expected.attempts {
        same("attempts", attempts, wanted)?;
    }
    if expected.offset.is_some() {
        same("offset", offset, &expected.offset)?;
    }
    if let Some(seconds) = expected.retry_after_s {
        same("retry-after", retry_after_ms, &Some(milliseconds(seconds)))?;
    }
    Ok(())
}

fn milliseconds(seconds: f64) -> u64 {
    (seconds * 1000.0).round() as u64
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, wanted: &T) -> Outcome {
    match found == wanted {
        true => Ok(()),
        false => Err(format!("{what}: {found:?}, not {wanted:?}")),
    }
}
