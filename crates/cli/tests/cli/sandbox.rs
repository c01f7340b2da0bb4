//! The sandbox as a separate process.

use crate::support::{Ended, Signal, program, run, send};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

/// Starts the sandbox, and reads the line that says it is ready.
fn start(options: &str) -> (Child, Value) {
    let mut command = program(&format!("sandbox {options}"));
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let stdout = child.stdout.as_mut().unwrap();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    (child, serde_json::from_str(&line).unwrap())
}

fn ask(ready: &Value, words: &str) -> Ended {
    let mut command = program(words);
    for name in ["base_url", "client_id", "client_secret"] {
        let variable = format!("TALENTDATA_{}", name.to_uppercase());
        command.env(variable, ready[name].as_str().unwrap());
    }
    run(&mut command)
}

#[test]
fn it_serves_until_standard_input_is_closed() {
    let sizes = "--records ja-skills=123,contacts=4 --max-limit 7 --until-stdin-closes";
    let (mut child, ready) = start(sizes);
    let page = &ask(&ready, "page ja-skills --limit 50").json()["pagination"];
    assert_eq!((&page["total"], &page["limit"]), (&123.into(), &7.into()));
    let page = &ask(&ready, "page contacts").json()["pagination"];
    assert_eq!(page["total"], 4);
    let (_, port) = ready["base_url"]
        .as_str()
        .unwrap()
        .rsplit_once(':')
        .unwrap();
    run(&mut program(&format!("sandbox --port {port}"))).error(38, "sandbox");
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(!ask(&ready, "version").stderr.is_empty(), "it has ended");
}

#[test]
fn its_behaviour_can_be_configured() {
    let (child, ready) = start(
        "--policy=token-bucket --rounding=fractional --latency-ms=1 --token-lifetime=60 --order=updated --ids=none \
         --drift=every=1,inserts=3,deletes=1,updates=2 --replicas=count=2,lag-percent=0 --warnings \
         --records=pools=50 --faults",
    );
    let total = || ask(&ready, "page pools").json()["pagination"]["total"].clone();
    assert_eq!((total(), total()), (50.into(), 52.into()));
    send(&child, Signal::TERM);
    let ended = Ended::wait(child);
    assert_eq!((ended.code, &*ended.stderr), (Some(143), ""));
    let (child, ready) = start("--total=zero --ignore-offset --records=pools=50");
    let list = |offset| ask(&ready, &format!("page pools --limit=10 --offset={offset}")).json();
    let [first, second] = [0, 10].map(list);
    let page = &second["pagination"];
    assert_eq!((&page["total"], &page["offset"]), (&0.into(), &10.into()));
    assert_eq!(first["records"], second["records"]);
    send(&child, Signal::INT);
    assert_eq!(Ended::wait(child).code, Some(130));
}

#[test]
fn lists_in_whole_pages_are_exported_completely() {
    for pages in ["rounded", "told", "refused", "fixed"] {
        let (child, ready) = start(&format!("--pages={pages} --records=pools=250"));
        let ended = ask(&ready, "export pools --out -");
        assert_eq!(ended.code, Some(0), "{pages}: {}", ended.stderr);
        assert_eq!(ended.stdout.lines().count(), 250, "{pages}");
        send(&child, Signal::INT);
        Ended::wait(child);
    }
}

/// Every member that the sandbox accepts in a rule, according to its message about an unknown one, must be in the help.
#[test]
fn the_help_documents_every_member_of_a_fault_rule() {
    let sandbox = crate::support::trial(&[]).sandbox;
    let help = run(&mut program("sandbox --help")).stdout;
    let (_, format) = help.split_once("A fault rule").unwrap();
    for rule in [
        r#"{"reply": {"?": 1}}"#,
        r#"{"match": {"?": 1}, "reply": {}}"#,
        r#"{"reply": {"how": "?"}}"#,
        r#"{"reply": {"framing": "?"}}"#,
    ] {
        let refused = sandbox.set_faults(&format!("{{\"rules\": [{rule}]}}"));
        let message = refused.unwrap_err().to_string();
        let known: Vec<&str> = message.split('`').skip(3).step_by(2).collect();
        assert!(known.len() > 2, "{message}");
        for name in known {
            assert!(format.contains(name), "{name}: {format}");
        }
    }
}
