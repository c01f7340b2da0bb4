//! Exports that go well, or nearly.

use crate::support::{Ended, against, names, program, records, run, sandbox};
use serde_json::Value;
use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use talentdata_core::ErrorKind;
use talentdata_core::types::Resource;
use talentdata_sandbox::Options;

fn ids(text: &str) -> Vec<String> {
    let id = |line| serde_json::from_str::<Value>(line).unwrap()["id"].to_string();
    text.lines().map(id).collect()
}

fn quiet(ended: &Ended) {
    assert_eq!(
        (ended.code, ended.stderr.as_str()),
        (Some(0), ""),
        "{ended:?}"
    );
}

#[test]
fn the_first_command_of_a_newcomer_works() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = program(&["export", "contacts", "--sandbox", "--out", "contacts.jsonl"]);
    let ended = run(command.current_dir(directory.path()));
    quiet(&ended);
    assert_eq!(
        (ended.stdout.as_str(), names(directory.path())),
        ("", vec!["contacts.jsonl".into()])
    );
    let text = fs::read_to_string(directory.path().join("contacts.jsonl")).unwrap();
    let ids = ids(&text);
    assert!(ids.len() > 1000);
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
}

#[test]
fn standard_output_gets_the_bytes_that_a_file_gets() {
    let sandbox = sandbox(records(&[("vacancies", 250)]));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("v.jsonl");
    quiet(&run(&mut against(
        &sandbox,
        &["export", "vacancies", "--out", path.to_str().unwrap()],
    )));
    let piped = run(&mut against(
        &sandbox,
        &["export", "vacancies", "--out", "-"],
    ));
    quiet(&piped);
    assert_eq!(piped.stdout, fs::read_to_string(path).unwrap());
    assert_eq!(ids(&piped.stdout).len(), 250);
}

#[test]
fn the_name_of_the_file_tells_its_form_unless_another_is_asked_for() {
    let sandbox = sandbox(records(&[("contacts", 20)]));
    let directory = tempfile::tempdir().unwrap();
    let cases: [(&str, &[&str], &[u8]); 6] = [
        ("out.jsonl", &[], b"{\"id\":"),
        ("out.csv", &[], b"id,"),
        ("out.parquet", &[], b"PAR1"),
        ("out.arrow", &[], b"ARROW1"),
        ("out", &[], b"{\"id\":"),
        ("other.csv", &["--format", "jsonl"], b"{\"id\":"),
    ];
    for (name, format, begins) in cases {
        let path = directory.path().join(name);
        let mut arguments = vec!["export", "contacts", "--out", path.to_str().unwrap()];
        arguments.extend(format);
        quiet(&run(&mut against(&sandbox, &arguments)));
        let written = fs::read(&path).unwrap();
        assert!(written.starts_with(begins), "{name}");
    }
}

#[test]
fn nine_lists_in_one_run_share_one_token() {
    let sandbox = sandbox(Options::default());
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("new").join("lists");
    let receipt = directory.path().join("receipts.json");
    let mut arguments = vec!["export"];
    arguments.extend(Resource::ALL.map(Resource::name));
    arguments.extend(["--out", out.to_str().unwrap()]);
    arguments.extend(["--receipt", receipt.to_str().unwrap()]);
    quiet(&run(&mut against(&sandbox, &arguments)));
    assert_eq!(sandbox.stats().token_posts, 1);

    let receipts: Value = serde_json::from_slice(&fs::read(receipt).unwrap()).unwrap();
    for (resource, receipt) in Resource::ALL.into_iter().zip(receipts.as_array().unwrap()) {
        assert_eq!(receipt["resource"], resource.name());
        assert_eq!(receipt["completeness"], "proven");
        let text = fs::read_to_string(out.join(format!("{resource}.jsonl"))).unwrap();
        assert_eq!(receipt["records"], text.lines().count());
        assert_eq!(receipt["total_last"], receipt["records"]);
    }
    assert_eq!(names(&out).len(), Resource::ALL.len());
}

#[test]
fn without_a_pace_nothing_waits_for_the_budget() {
    let sandbox = sandbox(records(&[("contacts", 8_000)]));
    let directory = tempfile::tempdir().unwrap();
    let receipt = directory.path().join("receipt.json");
    let path = receipt.to_str().unwrap();
    let verb = ["export", "contacts", "--out", "-", "--receipt", path];
    for (pace, waits) in [(None, true), (Some("--paced=false"), false)] {
        let arguments = verb.into_iter().chain(pace).collect::<Vec<_>>();
        quiet(&run(&mut against(&sandbox, &arguments)));
        let receipt: Value = serde_json::from_slice(&fs::read(&receipt).unwrap()).unwrap();
        // 80 pages at 40 a second take a second at least, if they are counted at all.
        let waited = receipt["seconds_waited_for_budget"].as_f64().unwrap();
        assert_eq!(waited > 0.5, waits, "{receipt}");
    }
}

#[test]
fn a_receipt_of_one_list_is_an_object() {
    let sandbox = sandbox(records(&[("pools", 5)]));
    let directory = tempfile::tempdir().unwrap();
    let receipt = directory.path().join("receipt.json");
    let path = receipt.to_str().unwrap();
    let verb = ["export", "pools", "--out", "-", "--receipt", path];
    quiet(&run(&mut against(&sandbox, &verb)));
    let receipt: Value = serde_json::from_slice(&fs::read(receipt).unwrap()).unwrap();
    assert_eq!(
        (&receipt["records"], &receipt["completeness"]),
        (&5.into(), &"proven".into())
    );
}

#[test]
fn head_ends_it_without_a_word() {
    let sandbox = sandbox(records(&[("contacts", 1_000_000)]));
    let mut child = against(&sandbox, &["export", "contacts", "--out", "-"])
        .spawn()
        .unwrap();
    let mut line = String::new();
    // The pipe is closed when the reader is dropped.
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let ended = Ended::of(child.wait_with_output().unwrap());
    quiet(&ended);
    assert_eq!(ids(&line).len(), 1);
    let pages = sandbox.stats().requests;
    assert!(pages < 10_000, "it did not read on to the end: {pages}");
}

#[test]
fn a_closed_standard_output_is_no_error_for_any_verb() {
    let sandbox = sandbox(Options::default());
    for verb in [
        &["resources"][..],
        &["version"],
        &["permissions"],
        &["page", "contacts"],
        &["plan", "contacts"],
        &["completions", "bash"],
        &["sandbox"],
        &["--help"],
        &["--version"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ended = run(against(&sandbox, verb).stdout(writer));
        quiet(&ended);
    }
}

#[test]
fn a_closed_standard_error_stops_nothing() {
    let sandbox = sandbox(records(&[("pools", 250)]));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = against(&sandbox, &["export", "pools", "--out", "-", "-vv"]);
    let ended = run(command.stderr(writer));
    assert_eq!((ended.code, ids(&ended.stdout).len()), (Some(0), 250));
}

#[test]
fn what_is_not_proven_is_said_and_the_file_is_there() {
    let sandbox = sandbox(Options {
        max_limit: Some(1),
        ..records(&[("contacts", 3), ("pools", 2)])
    });
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("c.jsonl");
    let shown = path.to_str().unwrap();
    let ended = run(&mut against(
        &sandbox,
        &["export", "contacts", "--out", shown],
    ));
    assert_eq!(
        ended.code,
        Some(ErrorKind::Incomplete.exit_code().into()),
        "{ended:?}"
    );
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    for word in ["contacts", "not proven", "few records", shown, "3 records"] {
        assert!(ended.stderr.contains(word), "{word}: {ended:?}");
    }
    assert_eq!(fs::read_to_string(path).unwrap().lines().count(), 3);
}

#[test]
fn one_list_that_fails_does_not_hold_up_the_others() {
    let sandbox = sandbox(records(&[
        ("contacts", 300),
        ("pools", 20),
        ("vacancies", 20),
    ]));
    crate::support::fault(
        &sandbox,
        "/v1/pools",
        serde_json::json!({"status": 403, "body": "no"}),
    );
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().to_str().unwrap();
    let verb = ["export", "contacts", "pools", "vacancies", "--out", out];
    let ended = run(&mut against(&sandbox, &verb));
    let said = ended.error(ErrorKind::Forbidden.exit_code().into());
    assert!(said.starts_with("error: pools: "), "{said}");
    assert_eq!(names(Path::new(out)), ["contacts.jsonl", "vacancies.jsonl"]);
}
