//! The sandbox as a process of its own.

use crate::support::{Ended, program, run};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

/// Starts it, and reads the line that says it is ready.
fn start(arguments: &[&str]) -> (Child, Value) {
    let arguments = [&["sandbox", "--until-stdin-closes"], arguments].concat();
    let mut child = program(&arguments).stdin(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    (child, serde_json::from_str(&line).unwrap())
}

fn ask(ready: &Value, arguments: &[&str]) -> Ended {
    run(program(arguments)
        .env("TALENTDATA_BASE_URL", ready["base_url"].as_str().unwrap())
        .env("TALENTDATA_CLIENT_ID", ready["client_id"].as_str().unwrap())
        .env(
            "TALENTDATA_CLIENT_SECRET",
            ready["client_secret"].as_str().unwrap(),
        ))
}

#[test]
fn it_serves_until_standard_input_is_closed() {
    let (mut child, ready) = start(&["--records", "ja-skills=123,contacts=4", "--max-limit", "7"]);
    let page = ask(&ready, &["page", "ja-skills", "--limit", "50"]).json();
    assert_eq!(page["pagination"]["total"], 123);
    assert_eq!(page["pagination"]["limit"], 7);
    let page = ask(&ready, &["page", "contacts"]).json();
    assert_eq!(page["pagination"]["total"], 4);
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(!ask(&ready, &["version"]).stderr.is_empty(), "it has ended");
}

#[test]
fn its_ways_can_be_chosen() {
    let (_child, ready) = start(&[
        "--policy=token-bucket",
        "--rounding=fractional",
        "--latency-ms=1",
        "--token-lifetime=60",
        "--drift=every=1,inserts=3,deletes=1,updates=2",
        "--order=updated",
        "--ids=none",
        "--replicas=count=2,lag-percent=0,random=1",
        "--warnings",
        "--records=pools=50",
        "--faults",
    ]);
    let total = || ask(&ready, &["page", "pools"]).json()["pagination"]["total"].clone();
    let before = total();
    assert_eq!((before, total()), (50.into(), 52.into()));
}

#[test]
fn its_pages_can_tell_nothing() {
    let (_child, ready) = start(&["--total=zero", "--ignore-offset", "--records=pools=50"]);
    let list = |offset| ask(&ready, &["page", "pools", "--limit=10", offset]).json();
    let [first, second] = ["--offset=0", "--offset=10"].map(list);
    assert_eq!(second["pagination"]["total"], 0);
    assert_eq!(second["pagination"]["offset"], 10);
    assert_eq!(first["records"], second["records"]);
}

#[test]
fn wrong_ways_are_refused_with_the_right_ones() {
    for (argument, words) in [
        ("--records=nope=3", &["nope", "contacts"][..]),
        ("--records=contacts", &["LIST=N"]),
        ("--records=contacts=-1", &["whole number"]),
        ("--policy=fair", &["fair", "clock-window"]),
        ("--rounding=off", &["off", "fractional"]),
        ("--drift=every=2,moves=1", &["moves", "inserts"]),
        ("--drift=inserts", &["bulk-deletes"]),
        ("--order=sorted", &["sorted", "updated-desc"]),
        ("--ids=some", &["some", "volatile"]),
        ("--total=one", &["one", "unknown"]),
        ("--replicas=lag-percent=101", &["lag-percent", "100"]),
        ("--port=70000", &["70000"]),
    ] {
        let ended = run(&mut program(&["sandbox", argument]));
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(2), ""),
            "{ended:?}"
        );
        for word in words {
            assert!(ended.stderr.contains(word), "{argument} {word}: {ended:?}");
        }
    }
}

#[test]
fn a_port_that_is_taken_is_an_error() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let ended = run(&mut program(&["sandbox", "--port", &port]));
    assert!(ended.error(32).contains("sandbox"));
}

/// What the sandbox expects in a rule, by its own words for an unknown member, is in the help.
#[test]
fn the_help_documents_every_member_of_a_fault_rule() {
    let options = talentdata_sandbox::Options {
        faults: true,
        ..Default::default()
    };
    let sandbox = talentdata_sandbox::Sandbox::start(options).unwrap();
    let help = run(&mut program(&["sandbox", "--help"])).stdout;
    let (_, format) = help.split_once("A fault rule").unwrap();
    for script in [
        r#"{"rules": [{"reply": {"?": 1}}]}"#,
        r#"{"rules": [{"match": {"?": 1}, "reply": {}}]}"#,
        r#"{"rules": [{"reply": {"how": "?"}}]}"#,
        r#"{"rules": [{"reply": {"framing": "?"}}]}"#,
    ] {
        let message = sandbox.set_faults(script).unwrap_err().to_string();
        let known: Vec<&str> = message.split('`').skip(3).step_by(2).collect();
        assert!(known.len() > 2, "{message}");
        for name in known {
            assert!(format.contains(name), "{name}: {format}");
        }
    }
}
