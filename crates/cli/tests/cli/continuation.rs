//! What an interrupted export leaves: the command that continues it, and a receipt that claims nothing.

use crate::support::{
    Ended, against, fault, names, program, records, request, run, sandbox, saved_records,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::Duration;
use talentdata_core::ErrorKind;
use talentdata_sandbox::Sandbox;

fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Waits until the checkpoint says that some records are saved.
fn wait_for_records(child: &mut Child, path: &Path) {
    while saved_records(path).is_none() {
        assert_eq!(child.try_wait().unwrap(), None, "it ended by itself");
        sleep(Duration::from_millis(5));
    }
}

/// The command at the end of the message, run by a shell in the same environment.
fn continue_by_shell(ended: &Ended, sandbox: &Sandbox, directory: &Path) -> Ended {
    let (_, command) = ended
        .stderr
        .trim_end()
        .split_once("; to continue: ")
        .unwrap();
    assert!(command.ends_with(" --resume"), "{ended:?}");
    assert!(!ended.stderr.contains(sandbox.client_secret()), "{ended:?}");
    let like = against(sandbox, &[]);
    let mut shell = Command::new("bash");
    shell.args(["-c", command]).current_dir(directory);
    run(shell.env_clear().envs(
        like.get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    ))
}

#[test]
fn ctrl_c_ends_with_the_command_that_continues() {
    let sandbox = sandbox(records(&[("contacts", 6_000)]));
    let directory = tempfile::tempdir().unwrap();
    let out = "it's $HOME.jsonl";
    let verb = ["--page-size", "50", "--receipt", "r.json"];
    let verb = [&["export", "contacts", "--out", out][..], &verb].concat();
    let mut command = against(&sandbox, &verb);
    let mut child = command.current_dir(directory.path()).spawn().unwrap();
    wait_for_records(&mut child, &directory.path().join(out));
    send(&child, Signal::INT);
    let ended = Ended::of(child.wait_with_output().unwrap());
    assert!(
        ended.error(130).contains("records are kept in"),
        "{ended:?}"
    );
    assert!(
        ended.stderr.contains("talentdata export contacts --out"),
        "{ended:?}"
    );
    let continued = continue_by_shell(&ended, &sandbox, directory.path());
    assert_eq!((continued.code, &*continued.stderr), (Some(0), ""));
    let text = fs::read_to_string(directory.path().join(out)).unwrap();
    assert_eq!(text.lines().count(), 6_000);
    let receipt: Value =
        serde_json::from_slice(&fs::read(directory.path().join("r.json")).unwrap()).unwrap();
    assert_eq!(
        (&receipt["resumed"], &receipt["records"]),
        (&1.into(), &6_000.into())
    );
    assert_eq!(names(directory.path()), [out, "r.json"]);
}

#[test]
fn so_does_a_failure_that_leaves_something() {
    let sandbox = sandbox(records(&[("contacts", 1_000), ("pools", 10)]));
    let script = r#"{"rules":[{"match":{"path":"/v1/contacts","from":4},"reply":{"status":404}}]}"#;
    request(&sandbox, "POST", "/__faults", script);
    for lists in [&["contacts"][..], &["contacts", "pools"]] {
        let directory = tempfile::tempdir().unwrap();
        let verb = [&["export", "--out", "new"], lists].concat();
        let ended = run(against(&sandbox, &verb).current_dir(directory.path()));
        ended.error(ErrorKind::NotFound.exit_code().into());
        request(&sandbox, "DELETE", "/__faults", "");
        let continued = continue_by_shell(&ended, &sandbox, directory.path());
        assert_eq!((continued.code, &*continued.stderr), (Some(0), ""));
        request(&sandbox, "POST", "/__faults", script);
    }
    // Nothing was kept, so there is nothing to continue.
    fault(&sandbox, "/v1/pools", json!({"status": 404}));
    let directory = tempfile::tempdir().unwrap();
    let verb = ["export", "pools", "--out", "new"];
    let ended = run(against(&sandbox, &verb).current_dir(directory.path()));
    let said = ended.error(ErrorKind::NotFound.exit_code().into());
    assert!(said.contains("no partial file was kept"), "{said}");
    assert!(!said.contains("to continue"), "{said}");
    assert!(names(directory.path()).is_empty());
}

#[test]
fn a_second_signal_says_it_too() {
    let sandbox = sandbox(records(&[("contacts", 1_000_000), ("pools", 1_000_000)]));
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().to_str().unwrap();
    let contacts = directory.path().join("contacts.jsonl");
    let verb = ["export", "contacts", "--out", contacts.to_str().unwrap()];
    let mut child = against(&sandbox, &verb).spawn().unwrap();
    wait_for_records(&mut child, &contacts);
    send(&child, Signal::INT);
    child.wait().unwrap();
    // One list goes to a pipe that nobody reads, and holds up the program.
    let pipe = directory.path().join("pools.jsonl");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let options = fs::File::options().read(true).write(true).open(&pipe);
    let stalled = options.unwrap();
    let verb = ["export", "contacts", "pools", "--resume", "--out", out];
    let mut child = against(&sandbox, &verb).spawn().unwrap();
    crate::signals::wait_until_full(&mut child, &stalled);
    send(&child, Signal::INT);
    send(&child, Signal::TERM);
    let ended = Ended::of(child.wait_with_output().unwrap());
    assert!(matches!(ended.code, Some(130 | 143)), "{ended:?}");
    assert!(ended.stderr.contains("; to continue: "), "{ended:?}");
    let end = format!("talentdata export contacts pools --resume --out {out}\n");
    assert!(ended.stderr.ends_with(&end), "{ended:?}");
}

#[test]
fn what_came_from_the_embedded_service_cannot_be_continued() {
    let directory = tempfile::tempdir().unwrap();
    // In pages so small that the budget keeps it busy.
    let verb = [
        "export",
        "contacts",
        "--sandbox",
        "--page-size",
        "1",
        "--out",
        "c",
    ];
    let mut command = program(&verb);
    let mut child = command.current_dir(directory.path()).spawn().unwrap();
    wait_for_records(&mut child, &directory.path().join("c"));
    send(&child, Signal::INT);
    let ended = Ended::of(child.wait_with_output().unwrap());
    let said = ended.error(130).trim_end();
    assert!(
        said.contains("the sandbox has ended, so begin again: "),
        "{said}"
    );
    assert!(
        said.ends_with("talentdata export contacts --sandbox --page-size 1 --out c"),
        "{said}"
    );
}

#[test]
fn an_older_receipt_does_not_speak_for_a_run_that_failed() {
    let sandbox = sandbox(records(&[("contacts", 1_000), ("pools", 10)]));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("r.json");
    let read = || serde_json::from_slice::<Value>(&fs::read(&path).unwrap()).unwrap();
    let export = |lists: &[&str], more: &[&str]| {
        let verb = ["export", "--out", "new", "--receipt", "r.json"];
        let mut command = against(&sandbox, &[&verb, lists, more].concat());
        command.current_dir(directory.path());
        command
    };
    let ended = run(&mut export(&["contacts"], &[]));
    assert_eq!(
        (ended.code, &read()["completeness"]),
        (Some(0), &"proven".into())
    );
    // What is refused before it begins changes nothing.
    let refused = run(&mut export(&["contacts"], &["--page-size", "0"]));
    assert_eq!(
        (refused.code, &read()["completeness"]),
        (Some(2), &"proven".into())
    );

    let script = r#"{"rules":[{"match":{"path":"/v1/contacts","from":4},"reply":{"status":404}}]}"#;
    request(&sandbox, "POST", "/__faults", script);
    run(&mut export(&["contacts"], &[])).error(ErrorKind::NotFound.exit_code().into());
    let receipt = read();
    assert_eq!(receipt["completeness"], "unfinished", "{receipt}");
    assert_eq!(receipt["resource"], "contacts", "{receipt}");
    assert!(receipt["records"].as_u64().unwrap() > 100, "{receipt}");

    // Of several, each speaks for itself.
    fs::remove_file(directory.path().join("new")).unwrap();
    run(&mut export(&["contacts", "pools"], &[]));
    let receipts = read();
    let said = |index: usize| receipts[index]["completeness"].as_str().unwrap();
    assert_eq!((said(0), said(1)), ("unfinished", "proven"), "{receipts}");

    // A process that is killed has no last word.
    fs::remove_dir_all(directory.path().join("new")).unwrap();
    request(&sandbox, "DELETE", "/__faults", "");
    fault(&sandbox, "/v1/pools", json!({"delay_ms": 60_000}));
    let before = sandbox.stats().requests;
    let mut child = export(&["pools"], &["--format", "csv"]).spawn().unwrap();
    while sandbox.stats().requests < before + 2 {
        assert_eq!(child.try_wait().unwrap(), None, "it ended by itself");
        sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let receipt = read();
    assert_eq!(receipt["completeness"], "unfinished", "{receipt}");
    assert_eq!(
        (&receipt["resource"], &receipt["records"]),
        (&"pools".into(), &0.into())
    );
}
