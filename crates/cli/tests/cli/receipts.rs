//! Where a receipt can be written, and where not, because an export writes there.

use crate::support::{Ended, against, names, records, run, sandbox};
use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::Path;
use talentdata_core::ErrorKind;
use talentdata_sandbox::Sandbox;

/// A directory in which most names are taken, and several lead to the same file.
fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::create_dir(path.join("ls")).unwrap();
    fs::write(path.join("there.jsonl"), "older").unwrap();
    fs::write(path.join("ls/pools.jsonl"), "older").unwrap();
    fs::hard_link(path.join("there.jsonl"), path.join("hard")).unwrap();
    symlink("there.jsonl", path.join("soft")).unwrap();
    symlink("soft", path.join("softer")).unwrap();
    symlink("new.jsonl", path.join("dangling")).unwrap();
    symlink("ls", path.join("linked")).unwrap();
    directory
}

fn export(sandbox: &Sandbox, directory: &Path, lists: &[&str], out: &str, receipt: &str) -> Ended {
    let more = ["--out", out, "--receipt", receipt];
    let verb = [&["export"][..], lists, &more].concat();
    run(against(sandbox, &verb).current_dir(directory))
}

#[test]
fn a_receipt_never_replaces_what_an_export_writes() {
    let sandbox = sandbox(records(&[("pools", 5), ("contacts", 5)]));
    let directory = directory();
    let before = names(directory.path());
    let absolute = directory.path().join("new.jsonl").display().to_string();
    let one = [
        ("new.jsonl", "./new.jsonl"),
        ("new.jsonl", "ls/../new.jsonl"),
        ("new.jsonl", "linked/../new.jsonl"),
        ("new.jsonl", &absolute),
        ("new.jsonl", "dangling"),
        ("dangling", "new.jsonl"),
        ("there.jsonl", "hard"),
        ("there.jsonl", "softer"),
        ("softer", "there.jsonl"),
        ("softer", "hard"),
        ("ls/new.jsonl", "linked/new.jsonl"),
        ("linked/new.jsonl", "ls/new.jsonl"),
        ("new.jsonl", "new.jsonl.part"),
        ("softer", "there.jsonl.part"),
    ];
    for (out, receipt) in one {
        let ended = export(&sandbox, directory.path(), &["pools"], out, receipt);
        assert!(ended.error(2).contains(receipt), "{out} {receipt}");
    }
    let several = [
        ("ls", "ls/pools.jsonl"),
        ("ls", "linked/contacts.jsonl"),
        ("ls", "ls/contacts.jsonl.part"),
    ];
    for (out, receipt) in several {
        let lists = ["contacts", "pools"];
        let ended = export(&sandbox, directory.path(), &lists, out, receipt);
        assert!(ended.error(2).contains(receipt), "{out} {receipt}");
    }
    let ended = export(&sandbox, directory.path(), &["pools"], "new.jsonl", "ls");
    ended.error(ErrorKind::Io.exit_code().into());
    assert_eq!(sandbox.stats().requests, 0);
    assert_eq!(names(directory.path()), before);
    assert_eq!(names(&directory.path().join("ls")), ["pools.jsonl"]);
    for path in ["there.jsonl", "ls/pools.jsonl"] {
        assert_eq!(fs::read(directory.path().join(path)).unwrap(), b"older");
    }
}

#[test]
fn a_receipt_may_lie_beside_what_an_export_writes() {
    let sandbox = sandbox(records(&[("pools", 5), ("contacts", 5)]));
    let lists = ["contacts", "pools"];
    for (lists, out, receipt) in [
        (&lists[..1], "new.jsonl", "new.json"),
        (&lists[..1], "new.jsonl", "new.jsonl.receipt"),
        (&lists[..1], "new.jsonl", "ls/new.jsonl"),
        (&lists[..1], "new.jsonl", "new.jsonl.part.one"),
        (&lists[..1], "-", "new.jsonl"),
        (&lists, "ls", "ls/receipt.json"),
        (&lists, "ls", "contacts.jsonl"),
    ] {
        let directory = directory();
        let ended = export(&sandbox, directory.path(), lists, out, receipt);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let receipt = fs::read(directory.path().join(receipt)).unwrap();
        assert!(serde_json::from_slice::<serde_json::Value>(&receipt).is_ok());
    }
}

#[test]
fn a_pipe_gets_the_receipt_and_stays_one() {
    let sandbox = sandbox(records(&[("pools", 5)]));
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    // Open on both sides, so that neither waits for the other.
    let both = fs::File::options().read(true).write(true).open(&pipe);
    let mut reader = both.unwrap();
    let ended = export(&sandbox, directory.path(), &["pools"], "new.jsonl", "pipe");
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""));
    assert_eq!(names(directory.path()), ["new.jsonl", "pipe"]);
    assert!(!fs::metadata(&pipe).unwrap().is_file());
    let mut receipt = [0; 4096];
    let length = reader.read(&mut receipt).unwrap();
    let receipt: serde_json::Value = serde_json::from_slice(&receipt[..length]).unwrap();
    assert_eq!(receipt["records"], 5);
}
