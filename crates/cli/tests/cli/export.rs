//! Exports that go well.

use crate::support::{names, program, run, trial};
use serde_json::Value;
use std::collections::HashSet;
use std::fs;
use std::io::Read;
use talentdata_core::types::Resource;

#[test]
fn the_first_command_of_a_newcomer_works() {
    let trial = trial(&[]);
    let mut command = program("export contacts --sandbox --out contacts.jsonl");
    let ended = run(command.current_dir(trial.directory.path()));
    assert_eq!(
        (ended.quiet(), trial.names()),
        ("", vec!["contacts.jsonl".into()])
    );
    let text = trial.read("contacts.jsonl");
    let id = |line| serde_json::from_str::<Value>(line).unwrap()["id"].to_string();
    let ids: HashSet<String> = text.lines().map(id).collect();
    assert!(ids.len() > 1000 && ids.len() == text.lines().count());
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
