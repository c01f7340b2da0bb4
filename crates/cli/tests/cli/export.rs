//! Exports that go well.

use crate::support::{Ended, Signal, names, program, run, send, trial, wait_until};
use serde_json::Value;
use std::collections::HashSet;
use std::fs;
use std::io::Read;
use talentdata_core::types::Resource;

fn ids(text: &str) -> Vec<String> {
    let id = |line| serde_json::from_str::<Value>(line).unwrap()["id"].to_string();
    text.lines().map(id).collect()
}

#[test]
fn the_first_command_of_a_newcomer_works() {
    let trial = trial(&[]);
    let mut command = program("export contacts --sandbox --out contacts.jsonl");
    let ended = run(command.current_dir(trial.directory.path()));
    assert_eq!(
        (ended.quiet(), trial.names()),
        ("", vec!["contacts.jsonl".into()])
    );
    let ids = ids(&trial.read("contacts.jsonl"));
    assert!(ids.len() > 1000);
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
}

#[test]
fn the_name_of_the_file_tells_its_format_unless_another_is_asked_for() {
    let trial = trial(&[("contacts", 20)]);
    for (out, begins) in [
        ("out.jsonl", &b"{\"id\":"[..]),
        ("out.csv", b"id,"),
        ("out.parquet", b"PAR1"),
        ("out.arrow", b"ARROW1"),
        ("out", b"{\"id\":"),
        ("other.csv --format jsonl", b"{\"id\":"),
    ] {
        trial.run(&format!("export contacts --out {out}")).quiet();
        let written = fs::read(trial.path(out.split(' ').next().unwrap())).unwrap();
        assert!(written.starts_with(begins), "{out}");
    }
    let piped = trial.run("export contacts --out -");
    assert_eq!(piped.quiet(), trial.read("out"));
}

#[test]
fn nine_lists_in_one_run_share_one_token() {
    let trial = trial(&[]);
    let lists = Resource::ALL.map(Resource::name).join(" ");
    trial
        .run(&format!("export {lists} --out new/lists --receipt r.json"))
        .quiet();
    assert_eq!(trial.sandbox.stats().token_posts, 1);
    let receipts = trial.json("r.json");
    for (resource, receipt) in Resource::ALL.into_iter().zip(receipts.as_array().unwrap()) {
        assert_eq!(receipt["resource"], resource.name());
        assert_eq!(receipt["completeness"], "proven");
        let text = trial.read(&format!("new/lists/{resource}.jsonl"));
        assert_eq!(receipt["records"], text.lines().count());
        assert_eq!(receipt["total_last"], receipt["records"]);
    }
    assert_eq!(names(&trial.path("new/lists")).len(), Resource::ALL.len());
}

#[test]
fn a_pipe_gets_the_receipt_and_stays_one() {
    let trial = trial(&[("pools", 5)]);
    let mut pipe = trial.stalled_pipe("pipe");
    trial
        .run("export pools --out new.jsonl --receipt pipe")
        .quiet();
    assert_eq!(trial.names(), ["new.jsonl", "pipe"]);
    assert!(!fs::metadata(trial.path("pipe")).unwrap().is_file());
    let mut receipt = [0; 4096];
    let length = pipe.read(&mut receipt).unwrap();
    let receipt: Value = serde_json::from_slice(&receipt[..length]).unwrap();
    assert_eq!(receipt["records"], 5);
}

#[test]
fn interrupted_and_resumed_is_the_same_as_in_one_go() {
    // Enough pages that the client's own budget keeps it busy until it is stopped.
    let trial = trial(&[("contacts", 12_000), ("pools", 8_000)]);
    let resume = "export contacts pools --out stopped --resume";
    let files = ["stopped/contacts.jsonl", "stopped/pools.jsonl"];
    for signal in [Signal::KILL, Signal::INT, Signal::TERM] {
        let mut child = trial.start_and_wait(resume, 10);
        wait_until(&mut child, || {
            files.iter().all(|file| trial.saved_records(file).is_some())
        });
        send(&child, signal);
        assert_ne!(Ended::wait(child).code, Some(0));
        assert!(!trial.path(files[0]).exists());
    }
    trial.run(resume).quiet();
    trial.run("export contacts pools --out whole").quiet();
    for name in ["contacts.jsonl", "pools.jsonl"] {
        let [stopped, whole] = ["stopped", "whole"].map(|out| trial.read(&format!("{out}/{name}")));
        assert!(stopped == whole, "{name}");
    }
    assert_eq!(names(&trial.path("stopped")), names(&trial.path("whole")));
}
