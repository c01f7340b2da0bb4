//! `sync`, `changes` and `export --from`: mirrors as their users meet them.

use crate::support::{against, program, records, run, sandbox};
use serde_json::Value;
use std::fs;
use std::path::Path;
use talentdata_sandbox::{Change, Sandbox};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn sync(sandbox: &Sandbox, mirror: &Path, more: &[&str]) -> crate::support::Ended {
    let arguments = [&["sync", "contacts", "pools", "--to", text(mirror)], more].concat();
    run(&mut against(sandbox, &arguments))
}

#[test]
fn a_mirror_tells_what_has_changed_and_gives_back_what_was() {
    let sandbox = sandbox(records(&[("contacts", 250), ("pools", 20)]));
    let directory = tempfile::tempdir().unwrap();
    let mirror = directory.path().join("mirror");
    let receipt = directory.path().join("receipt.json");
    let first = sync(&sandbox, &mirror, &["--receipt", text(&receipt)]);
    assert_eq!(
        (first.code, first.stdout.as_str()),
        (Some(0), ""),
        "{first:?}"
    );
    let receipts: Value = serde_json::from_slice(&fs::read(&receipt).unwrap()).unwrap();
    assert_eq!(receipts[0]["generation"], 1);
    assert_eq!(receipts[0]["changes"]["insert"], 250);
    assert_eq!(receipts[1]["scan"]["completeness"], "proven");

    let archive = directory.path().join("archive.jsonl");
    let export = ["export", "contacts", "--out", text(&archive)];
    assert_eq!(run(&mut against(&sandbox, &export)).code, Some(0));
    sandbox.change("contacts", Change::DeleteFirst(2)).unwrap();
    assert_eq!(sync(&sandbox, &mirror, &[]).code, Some(0));

    // Neither needs a service.
    let from = ["--from", text(&mirror)];
    let changes = [&["changes", "contacts", "--since", "1"][..], &from].concat();
    let changes = run(&mut program(&changes));
    assert_eq!(changes.code, Some(0), "{changes:?}");
    let lines = changes.stdout.lines();
    let lines: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let count = |operation: &str| lines.iter().filter(|line| line["op"] == operation).count();
    assert_eq!((count("delete"), lines.len()), (2, 2));
    let deleted = lines.iter().find(|line| line["op"] == "delete").unwrap();
    assert_eq!(deleted["key"], deleted["record"]["id"]);
    assert!(deleted["last_seen"].as_str() < deleted["seen"].as_str());

    for format in ["jsonl", "csv", "parquet", "arrow"] {
        let was = directory.path().join(format!("was.{format}"));
        let out = ["--as-of", "1", "--out", text(&was)];
        let export = [&["export", "contacts"][..], &from, &out].concat();
        assert_eq!(run(&mut program(&export)).code, Some(0), "{format}");
        if format == "jsonl" {
            assert!(fs::read(&was).unwrap() == fs::read(&archive).unwrap());
        }
    }
}

#[test]
fn what_a_mirror_does_not_have_is_wrong_usage() {
    let sandbox = sandbox(records(&[("contacts", 5), ("pools", 5)]));
    let directory = tempfile::tempdir().unwrap();
    let mirror = directory.path().join("mirror");
    assert_eq!(sync(&sandbox, &mirror, &[]).code, Some(0));
    let from = text(&mirror);
    for (arguments, word) in [
        (
            &["changes", "contacts", "--since", "2", "--from", from][..],
            "since",
        ),
        (&["changes", "vacancies", "--from", from], "vacancies"),
        (
            &[
                "export", "contacts", "--as-of", "2", "--from", from, "--out", "-",
            ],
            "as_of",
        ),
        (
            &[
                "export", "contacts", "--as-of", "noon", "--from", from, "--out", "-",
            ],
            "noon",
        ),
        (
            &["export", "contacts", "--from", from, "--out", "-"],
            "--as-of",
        ),
        (
            &["changes", "contacts", "--sandbox", "--from", from],
            "no effect",
        ),
        (&["sync", "contacts", "--to", from, "--keep", "90"], "90d"),
        (
            &["sync", "contacts", "--to", from, "--sandbox"],
            "service of its own",
        ),
    ] {
        let ended = run(&mut program(arguments));
        assert_eq!(ended.code, Some(2), "{arguments:?}: {ended:?}");
        assert!(ended.stderr.contains(word), "{ended:?}");
    }
    let receipt = mirror.join("receipt.json");
    let within = sync(&sandbox, &mirror, &["--receipt", text(&receipt)]);
    assert_eq!(within.code, Some(2), "{within:?}");
}

#[test]
fn a_list_that_is_not_proven_complete_ends_with_31_and_deletes_nothing() {
    let mut options = records(&[("contacts", 250), ("pools", 5)]);
    let directory = tempfile::tempdir().unwrap();
    let mirror = directory.path().join("mirror");
    options.order = "random".parse().unwrap();
    let sandbox = sandbox(options);
    let (mut generations, mut doubted) = (0, 0);
    for _ in 0..3 {
        let ended = sync(&sandbox, &mirror, &[]);
        generations += 1;
        doubted += u64::from(ended.code == Some(31));
        if ended.code == Some(31) {
            assert!(
                ended.stderr.contains("committed without deletes"),
                "{ended:?}"
            );
        }
    }
    assert_eq!((generations, doubted), (3, 3));
    let changes = ["changes", "contacts", "--from", text(&mirror)];
    let changes = run(&mut program(&changes));
    assert!(!changes.stdout.contains("\"op\":\"delete\""));
}
