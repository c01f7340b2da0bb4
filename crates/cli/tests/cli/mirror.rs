//! `sync`, `changes`, `forget`, `export --from` and `verify FILE.db`: mirrors as their users meet them.

use crate::support::{Ended, against, program, records, run, sandbox};
use serde_json::Value;
use std::fs;
use std::path::Path;
use talentdata_sandbox::{Change, Sandbox};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn sync(sandbox: &Sandbox, mirror: &Path, more: &[&str]) -> Ended {
    let arguments = [&["sync", "contacts", "pools", "--to", text(mirror)], more].concat();
    run(&mut against(sandbox, &arguments))
}

#[test]
fn a_mirror_reports_what_has_changed_and_gives_back_what_was() {
    let sandbox = sandbox(records(&[("contacts", 250), ("pools", 20)]));
    let directory = tempfile::tempdir().unwrap();
    let mirror = directory.path().join("mirror.db");
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
    sandbox.change("contacts", Change::Update(3)).unwrap();
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
    let deleted: Vec<&Value> = lines.iter().filter(|line| line["op"] == "delete").collect();
    assert_eq!(deleted.len(), 2);
    assert_eq!(deleted[0]["key"], deleted[0]["record"]["id"]);
    assert!(deleted[0]["last_seen"].as_str() < deleted[0]["seen"].as_str());

    for format in ["jsonl", "csv", "parquet", "arrow"] {
        let was = directory.path().join(format!("was.{format}"));
        let receipt = directory.path().join(format!("{format}.json"));
        let out = [
            "--as-of",
            "1",
            "--out",
            text(&was),
            "--receipt",
            text(&receipt),
        ];
        let export = [&["export", "contacts"][..], &from, &out].concat();
        assert_eq!(run(&mut program(&export)).code, Some(0), "{format}");
        if format == "jsonl" {
            assert!(fs::read(&was).unwrap() == fs::read(&archive).unwrap());
        }
        let verified = run(&mut program(&["verify", text(&was), text(&receipt)]));
        assert_eq!(verified.code, Some(0), "{verified:?}");
        let changes = directory.path().join(format!("changes.{format}"));
        let arguments = [&["changes", "contacts", "--out", text(&changes)][..], &from].concat();
        assert_eq!(run(&mut program(&arguments)).code, Some(0), "{format}");
        assert!(fs::metadata(&changes).unwrap().len() > 250);
    }
    let now = run(&mut program(
        &[&["export", "contacts", "--out", "-"][..], &from].concat(),
    ));
    assert_eq!(now.stdout.lines().count(), 248);
    assert_eq!(run(&mut program(&["verify", text(&mirror)])).code, Some(0));
    let forgotten = run(&mut program(&[&["forget", "contacts"][..], &from].concat()));
    assert_eq!(forgotten.code, Some(0), "{forgotten:?}");
    let changes = run(&mut program(
        &[&["changes", "contacts"][..], &from].concat(),
    ));
    assert!(
        changes.error(2).contains("does not have contacts"),
        "{changes:?}"
    );
}

#[test]
fn what_a_mirror_does_not_have_is_wrong_usage() {
    let sandbox = sandbox(records(&[("contacts", 5), ("pools", 5)]));
    let directory = tempfile::tempdir().unwrap();
    let mirror = directory.path().join("mirror.db");
    assert_eq!(sync(&sandbox, &mirror, &[]).code, Some(0));
    let from = text(&mirror);
    for (arguments, word) in [
        ("changes contacts --since 2 --from MIRROR", "since"),
        ("changes vacancies --from MIRROR", "vacancies"),
        ("export contacts --as-of 2 --from MIRROR --out -", "as_of"),
        ("export contacts --as-of noon --from MIRROR --out -", "noon"),
        ("export contacts --as-of 1 --out -", "--from"),
        ("changes contacts --sandbox --from MIRROR", "no effect"),
        ("sync contacts --to MIRROR --keep 90", "90d"),
        ("sync contacts --to MIRROR --max-deletes lots", "25%"),
        ("sync contacts --to MIRROR --sandbox", "service of its own"),
    ] {
        let arguments = arguments.split(' ').map(|word| match word {
            "MIRROR" => from,
            word => word,
        });
        let ended = run(&mut program(&arguments.collect::<Vec<_>>()));
        assert_eq!(ended.code, Some(2), "{word}: {ended:?}");
        assert!(ended.stderr.contains(word), "{ended:?}");
    }
    let receipt = sync(&sandbox, &mirror, &["--receipt", from]);
    assert_eq!(receipt.code, Some(2), "{receipt:?}");
    let folder = sync(&sandbox, directory.path(), &[]);
    assert!(folder.stderr.contains("a mirror is one file"), "{folder:?}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
}

#[test]
fn deletes_that_are_too_many_to_be_believed_are_withheld_until_they_are_accepted() {
    let sandbox = sandbox(records(&[("contacts", 250), ("pools", 5)]));
    let directory = tempfile::tempdir().unwrap();
    let mirror = directory.path().join("mirror.db");
    assert_eq!(sync(&sandbox, &mirror, &[]).code, Some(0));
    sandbox
        .change("contacts", Change::DeleteFirst(100))
        .unwrap();
    for _ in 0..2 {
        let ended = sync(&sandbox, &mirror, &["--confirm"]);
        assert_eq!(ended.code, Some(31), "{ended:?}");
        assert!(ended.stderr.contains("100 of the 250 records"), "{ended:?}");
        assert!(ended.stderr.contains("--max-deletes 100"), "{ended:?}");
    }
    assert_eq!(
        sync(&sandbox, &mirror, &["--max-deletes", "40%"]).code,
        Some(0)
    );
    let changes = run(&mut program(&[
        "changes",
        "contacts",
        "--from",
        text(&mirror),
    ]));
    assert_eq!(changes.stdout.matches("\"op\":\"delete\"").count(), 100);
}

#[test]
fn a_list_that_is_not_proven_complete_ends_with_31_and_deletes_nothing() {
    let mut options = records(&[("contacts", 250), ("pools", 5)]);
    let directory = tempfile::tempdir().unwrap();
    let mirror = directory.path().join("mirror.db");
    options.order = "random".parse().unwrap();
    let sandbox = sandbox(options);
    for _ in 0..3 {
        let ended = sync(&sandbox, &mirror, &[]);
        assert_eq!(ended.code, Some(31), "{ended:?}");
        assert!(ended.stderr.contains("deleted nothing"), "{ended:?}");
    }
    let changes = run(&mut program(&[
        "changes",
        "contacts",
        "--from",
        text(&mirror),
    ]));
    assert!(!changes.stdout.contains("\"op\":\"delete\""));
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_the_mirror_as_it_was() {
    use rustix::process::{Pid, Signal, kill_process};
    let sandbox = sandbox(records(&[("contacts", 1_000_000_000), ("pools", 5)]));
    let directory = tempfile::tempdir().unwrap();
    let mirror = directory.path().join("mirror.db");
    let pools = ["sync", "pools", "--to", text(&mirror)];
    assert_eq!(run(&mut against(&sandbox, &pools)).code, Some(0));
    let before = fs::read(&mirror).unwrap();
    let contacts = ["sync", "contacts", "--to", text(&mirror)];
    let mut child = against(&sandbox, &contacts).spawn().unwrap();
    while sandbox.stats().requests < 30 {
        assert_eq!(child.try_wait().unwrap(), None, "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let second = run(&mut against(&sandbox, &pools));
    assert!(second.stderr.contains("another sync"), "{second:?}");
    kill_process(
        Pid::from_raw(child.id().try_into().unwrap()).unwrap(),
        Signal::INT,
    )
    .unwrap();
    let ended = Ended::of(child.wait_with_output().unwrap());
    assert!(
        ended.error(130).contains("the mirror is as it was"),
        "{ended:?}"
    );
    assert_eq!(fs::read(&mirror).unwrap(), before);
}
