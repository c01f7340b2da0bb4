//! `export --resume` goes on where a signal or a kill broke an export off.

use crate::support::{Ended, against, names, records, run, sandbox, saved_records};
use rustix::process::{Pid, Signal, kill_process};
use std::thread::sleep;
use std::time::Duration;

const LISTS: [&str; 2] = ["contacts", "pools"];

#[test]
fn broken_off_and_resumed_is_the_same_as_in_one_go() {
    // Enough pages that the client's own budget keeps it busy until it is broken off.
    let sandbox = sandbox(records(&[("contacts", 12_000), ("pools", 8_000)]));
    let directory = tempfile::tempdir().unwrap();
    let whole = directory.path().join("whole");
    let broken = directory.path().join("broken");
    let export = |out: &std::path::Path, more: &[&str]| {
        let out = out.to_str().unwrap();
        let verb = [&["export"][..], &LISTS, &["--out", out], more].concat();
        against(&sandbox, &verb)
    };
    let saved = |list: &&str| saved_records(&broken.join(format!("{list}.jsonl"))).is_some();
    let full = |name: &str| std::fs::read(whole.join(name)).unwrap();
    for signal in [Signal::KILL, Signal::INT, Signal::TERM] {
        let before = sandbox.stats().requests;
        let mut child = export(&broken, &["--resume"]).spawn().unwrap();
        while !LISTS.iter().all(saved) || sandbox.stats().requests < before + 10 {
            assert_eq!(child.try_wait().unwrap(), None, "it ended by itself");
            sleep(Duration::from_millis(5));
        }
        kill_process(
            Pid::from_raw(child.id().try_into().unwrap()).unwrap(),
            signal,
        )
        .unwrap();
        let ended = Ended::of(child.wait_with_output().unwrap());
        assert_ne!(ended.code, Some(0), "{ended:?}");
        assert!(!broken.join("contacts.jsonl").exists());
    }
    for (out, more) in [(&whole, &[][..]), (&broken, &["--resume"])] {
        let ended = run(&mut export(out, more));
        assert_eq!(
            (ended.code, ended.stderr.as_str()),
            (Some(0), ""),
            "{ended:?}"
        );
        assert_eq!(names(out), ["contacts.jsonl", "pools.jsonl"]);
    }
    for name in ["contacts.jsonl", "pools.jsonl"] {
        assert!(
            std::fs::read(broken.join(name)).unwrap() == full(name),
            "{name}"
        );
    }
}
