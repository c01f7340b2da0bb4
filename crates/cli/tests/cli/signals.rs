//! Ctrl-C and SIGTERM, by real signals.

use crate::support::{Ended, against, program, records, sandbox};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::process::Child;
use std::thread::sleep;
use std::time::Duration;
use talentdata_sandbox::{Options, Sandbox};

fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Waits until the sandbox has seen so many requests of the child.
fn wait_for(child: &mut Child, sandbox: &Sandbox, requests: u64) {
    while sandbox.stats().requests < requests {
        assert_eq!(child.try_wait().unwrap(), None, "it ended by itself");
        sleep(Duration::from_millis(5));
    }
}

/// Waits until nothing more goes into the pipe, so that whoever writes to it is stuck.
pub(crate) fn wait_until_full(child: &mut Child, pipe: &impl AsFd) {
    let at_once = Timespec::default();
    while poll(&mut [PollFd::new(pipe, PollFlags::OUT)], Some(&at_once)).unwrap() > 0 {
        assert_eq!(child.try_wait().unwrap(), None, "it ended by itself");
        sleep(Duration::from_millis(5));
    }
}

/// A list that no run reads to its end within a test.
fn endless() -> Sandbox {
    sandbox(records(&[
        ("contacts", 1_000_000_000),
        ("pools", 1_000_000_000),
    ]))
}

#[test]
fn an_export_to_a_file_stops_and_is_not_taken_for_a_whole_one() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let sandbox = endless();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("c.jsonl");
        let verb = ["export", "contacts", "--out", path.to_str().unwrap()];
        let mut child = against(&sandbox, &verb).spawn().unwrap();
        wait_for(&mut child, &sandbox, 20);
        send(&child, signal);
        let ended = Ended::of(child.wait_with_output().unwrap());
        assert!(ended.error(code).contains("stopped"), "{ended:?}");
        assert!(!path.exists());
    }
}

#[test]
fn several_lists_stop_together() {
    let sandbox = endless();
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().to_str().unwrap();
    let verb = ["export", "contacts", "pools", "--out", out];
    let mut child = against(&sandbox, &verb).spawn().unwrap();
    wait_for(&mut child, &sandbox, 20);
    send(&child, Signal::INT);
    let ended = Ended::of(child.wait_with_output().unwrap());
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(130), ""),
        "{ended:?}"
    );
    assert!(ended.stderr.starts_with("error: contacts"), "{ended:?}");
    assert!(ended.stderr.contains("pools"), "{ended:?}");
    for name in ["contacts.jsonl", "pools.jsonl"] {
        assert!(!directory.path().join(name).exists(), "{name}");
    }
}

#[test]
fn a_reader_that_stalls_does_not_hold_up_the_end() {
    let sandbox = endless();
    let (_stalled, writer) = std::io::pipe().unwrap();
    let mut command = against(&sandbox, &["export", "contacts", "--out", "-"]);
    command.stdout(writer.try_clone().unwrap());
    let mut child = command.spawn().unwrap();
    wait_until_full(&mut child, &writer);
    send(&child, Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

#[test]
fn the_sandbox_ends_as_shells_say_it() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let mut child = program(&["sandbox"]).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut ready)
            .unwrap();
        send(&child, signal);
        let ended = Ended::of(child.wait_with_output().unwrap());
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(code), ""));
    }
}

#[test]
fn a_verb_that_leaves_nothing_behind_dies_of_the_signal_itself() {
    use std::os::unix::process::ExitStatusExt;
    let sandbox = sandbox(Options::default());
    crate::support::fault(
        &sandbox,
        "/v1/version",
        serde_json::json!({"delay_ms": 60_000}),
    );
    let mut child = against(&sandbox, &["version"]).spawn().unwrap();
    wait_for(&mut child, &sandbox, 1);
    // Not INT, which is ignored from the start in what a shell runs in the background.
    send(&child, Signal::TERM);
    assert_eq!(child.wait().unwrap().signal(), Some(Signal::TERM.as_raw()));
}

#[test]
fn a_second_signal_ends_what_the_first_cannot_stop() {
    let sandbox = endless();
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    // Held open and never read, so that the program is stuck in writing to it.
    let options = std::fs::File::options().read(true).write(true).open(&pipe);
    let stalled = options.unwrap();
    let verb = ["export", "contacts", "--out", pipe.to_str().unwrap()];
    let mut child = against(&sandbox, &verb).spawn().unwrap();
    wait_until_full(&mut child, &stalled);
    send(&child, Signal::INT);
    send(&child, Signal::TERM);
    // Two signals at the same time have no order.
    let code = child.wait().unwrap().code();
    assert!(matches!(code, Some(130 | 143)), "{code:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_that_blocks_does_not_keep_an_export_from_ending() {
    for (reader, signal, code) in [(false, Signal::INT, 130), (true, Signal::TERM, 143)] {
        let sandbox = endless();
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let mut options = std::fs::File::options();
        let stalled = reader.then(|| options.read(true).write(true).open(&pipe).unwrap());
        let verb = ["export", "contacts", "-v", "--out", pipe.to_str().unwrap()];
        let mut child = against(&sandbox, &verb).spawn().unwrap();
        match &stalled {
            Some(stalled) => wait_until_full(&mut child, stalled),
            // Without a reader not even opening it comes to an end.
            None => wait_until_handled(&child),
        }
        send(&child, signal);
        assert_eq!(child.wait().unwrap().code(), Some(code));
    }
}

/// Waits until the program has taken its signals over, and a moment more.
#[cfg(target_os = "linux")]
fn wait_until_handled(child: &Child) {
    let status = format!("/proc/{}/status", child.id());
    let is_caught = || {
        let text = std::fs::read_to_string(&status).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let mask = u64::from_str_radix(line.unwrap().trim(), 16).unwrap();
        mask & (1 << (Signal::INT.as_raw() - 1)) != 0
    };
    while !is_caught() {
        sleep(Duration::from_millis(5));
    }
    sleep(Duration::from_millis(100));
}

#[test]
fn a_limit_of_the_file_size_is_an_error_that_says_so() {
    let sandbox = sandbox(records(&[("contacts", 2_000)]));
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out.jsonl");
    let verb = ["export", "contacts", "--out", out.to_str().unwrap()];
    let program = against(&sandbox, &verb);
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", "ulimit -f 100; exec \"$0\" \"$@\""]);
    limited.arg(program.get_program()).args(program.get_args());
    for (name, value) in program.get_envs() {
        limited.env(name, value.unwrap_or_default());
    }
    let ended = Ended::of(limited.output().unwrap());
    let said = ended.error(32);
    assert!(said.contains("File too large"), "{said}");
}
