//! Ctrl-C, SIGTERM, failures and closed pipes: the message, the exit code, and the command that continues.

use crate::support::{Ended, Signal, Trial, code, names, run, send, trial, wait_until};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use talentdata_core::ErrorKind;
use talentdata_sandbox::Options;

/// Lists that are too long to be read completely within a test.
fn endless() -> Trial {
    trial(&[("contacts", 1_000_000_000), ("pools", 1_000_000_000)])
}

/// Waits until the pipe is full, so that its writer is blocked.
fn wait_until_full(child: &mut Child, pipe: &impl AsFd) {
    let at_once = Timespec::default();
    wait_until(child, || {
        poll(&mut [PollFd::new(pipe, PollFlags::OUT)], Some(&at_once)).unwrap() == 0
    });
}

/// The end of every message after which work can be continued.
const HINT: &str = "; to continue, run the same command with --resume; to begin again, with --restart; see talentdata help ";

/// The end of such a message if the same command would be refused again.
const HINT_AFTER_FIX: &str = "; after that is fixed, run the same command with --resume; to begin again, with --restart; see talentdata help ";

/// Returns the completeness, the list and the number of records in a receipt.
fn receipt_of(receipt: &Value) -> (&str, &str, u64) {
    let [completeness, resource] =
        ["completeness", "resource"].map(|name| receipt[name].as_str().unwrap());
    (completeness, resource, receipt["records"].as_u64().unwrap())
}

#[test]
fn an_interrupted_export_says_how_to_continue() {
    let trial = trial(&[("contacts", 6_000)]);
    let export = "export contacts --page-size 50 --receipt r.json --out new";
    let resume = format!("{export} --resume");
    let checkpoint = trial.path("new.part/checkpoint");
    let is_kept = |text: String| !text.contains(r#""progress":null"#);
    for (signal, command) in [(Signal::KILL, export), (Signal::INT, &resume)] {
        let mut child = trial.start_and_wait(command, 10);
        wait_until(&mut child, || {
            fs::read_to_string(&checkpoint).is_ok_and(is_kept)
        });
        send(&child, signal);
        let ended = Ended::wait(child);
        if signal == Signal::INT {
            assert!(ended.error(130, "records are kept in").contains(HINT));
        }
        assert_eq!(trial.receipt("r.json")["completeness"], "unfinished");
    }
    trial.run(&format!("{resume} --paced false")).quiet();
    let receipt = trial.receipt("r.json");
    assert_eq!(receipt["resumed"], 2);
    assert_eq!(receipt_of(&receipt), ("proven", "contacts", 6_000));
    assert_eq!(trial.names(), ["new", "r.json"]);
    trial
        .run("export contacts --out whole --paced false")
        .quiet();
    assert!(trial.read("new") == trial.read("whole"));
}

#[test]
fn a_failed_export_says_how_to_continue_and_replaces_an_older_receipt() {
    let trial = trial(&[("contacts", 1_000), ("pools", 10)]);
    let not_found = code(ErrorKind::NotFound);
    trial
        .run("export contacts --receipt r.json --out one")
        .quiet();
    let proven = |receipt: &Value| assert_eq!(receipt_of(receipt), ("proven", "contacts", 1000));
    // A command that is refused before it begins changes nothing.
    trial
        .run("export contacts --receipt r.json --out one --page-size 0")
        .says(2, "");
    proven(&trial.receipt("r.json"));
    let whole = trial.read("one");
    for (lists, out) in [("contacts", "one"), ("contacts pools", "several")] {
        let fourth = json!({"path": "/v1/contacts", "from": 4});
        trial.fault(fourth, json!({"status": 404}));
        let export = format!("export --receipt r.json --out {out} {lists}");
        let ended = trial.run(&export);
        let said = ended.error(not_found, "");
        assert!(said.contains(HINT_AFTER_FIX), "{ended:?}");
        assert!(trial.read("one") == whole);
        let mut receipts = trial.json("r.json");
        if lists != "contacts" {
            // Each of several lists has its own receipt.
            assert_eq!(receipt_of(&receipts[1]), ("proven", "pools", 10));
        }
        let receipt = receipts[0].take();
        let (completeness, resource, records) = receipt_of(&receipt);
        assert_eq!((completeness, resource), ("unfinished", "contacts"));
        assert!(records > 100, "{receipt}");
        // Damaged work stays until the first page of the new export arrives.
        if lists == "contacts" {
            let ids = trial.path("one.part/ids");
            let kept = fs::read(&ids).unwrap();
            fs::write(&ids, vec![0; kept.len()]).unwrap();
            let ended = trial.run(&format!("{export} --resume"));
            ended.error(not_found, "records of an earlier export are still kept in");
            fs::write(ids, kept).unwrap();
        }
        trial.sandbox.set_faults(r#"{"rules":[]}"#).unwrap();
        trial.run(&format!("{export} --resume")).quiet();
    }
    // Nothing was kept, so there is nothing to continue.
    trial.fault(json!({"path": "/v1/pools"}), json!({"status": 404}));
    let ended = trial.run("export pools --out new");
    let said = ended.error(not_found, "no partial file was kept");
    assert!(!said.contains("--resume"), "{said}");
    assert_eq!(trial.names(), ["one", "r.json", "several"]);
    // A process that is killed has no chance to write.
    trial.fault(json!({"path": "/v1/pools"}), json!({"delay_ms": 60_000}));
    let mut child = trial.start_and_wait("export pools --receipt r.json --out p.csv", 2);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(
        receipt_of(&trial.receipt("r.json")),
        ("unfinished", "pools", 0)
    );
}

/// Lists in the folder `lists`, two of which were interrupted.
fn interrupted() -> Trial {
    let trial = trial(&[("contacts", 1_000), ("vacancies", 1_000), ("pools", 10)]);
    for list in ["contacts", "vacancies"] {
        let fourth = json!({"path": format!("/v1/{list}"), "from": 4});
        trial.fault(fourth, json!({"status": 404}));
        let ended = trial.run(&format!("export {list} pools --out lists"));
        ended.error(code(ErrorKind::NotFound), "records are kept in");
    }
    fs::remove_file(trial.path("lists/pools.jsonl")).unwrap();
    trial.sandbox.set_faults(r#"{"rules":[]}"#).unwrap();
    trial
}

const SEVERAL: &str = "export contacts vacancies pools --out lists --receipt r.json";

#[test]
fn kept_work_of_several_lists_is_refused_at_once_with_advice() {
    let trial = interrupted();
    let requests = trial.sandbox.stats().requests;
    let words = "contacts.jsonl.part holds|vacancies.jsonl.part holds|; to continue, run the same command with \
         --resume; to discard them and begin again, with --restart";
    let said = trial.run(SEVERAL);
    assert_eq!(said.error(2, words).matches("--restart").count(), 1);
    let both = format!("{SEVERAL} --resume --restart");
    trial.run(&both).says(2, "--resume|--restart");
    assert_eq!(trial.sandbox.stats().requests, requests);
    let parts = ["contacts.jsonl.part", "vacancies.jsonl.part"];
    assert_eq!(names(&trial.path("lists")), parts);
    assert_eq!(trial.names(), ["lists"]);
    trial.run(&format!("{SEVERAL} --restart")).quiet();
    let receipts = trial.json("r.json");
    for (index, restarted) in [(0, true), (1, true), (2, false)] {
        assert_eq!(receipts[index]["restarted"].is_string(), restarted);
    }
}

#[test]
fn a_job_that_always_resumes_starts_over_after_a_change_and_says_so() {
    let trial = interrupted();
    let ended = trial.run(&format!("{SEVERAL} --resume --page-size 50"));
    let said = ended.says(0, "page_size was 100 and is now 50");
    for list in ["contacts", "vacancies"] {
        let warning = format!("warning: {list}: the export began again, and ");
        assert!(said.contains(&warning), "{said}");
    }
    assert_eq!(said.lines().count(), 2, "{said}");
    let receipts = trial.json("r.json");
    let restarted = receipts[0]["restarted"].as_str().unwrap();
    assert!(restarted.contains("page_size was 100"), "{restarted}");
    assert_eq!(
        (&receipts[0]["resumed"], &receipts[2]["restarted"]),
        (&json!(0), &Value::Null)
    );
    // The next run has nothing to report.
    trial.run(&format!("{SEVERAL} --resume")).quiet();
}

#[test]
fn an_export_from_a_mirror_does_not_replace_kept_work() {
    let trial = interrupted();
    trial.run("sync contacts --to m.db").quiet();
    let command = "export contacts --from m.db --out lists/contacts.jsonl";
    trial
        .run(command)
        .error(2, "contacts.jsonl.part holds|write to another path");
    trial
        .run("export contacts --resume --out lists/contacts.jsonl")
        .quiet();
    trial.run(command).says(0, "bookmark");
}

#[test]
fn several_lists_stop_together_and_none_looks_complete() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let trial = endless();
        let child = trial.start_and_wait("export contacts pools --out lists", 20);
        send(&child, signal);
        let ended = Ended::wait(child);
        let said = ended.says(code, "stopped|pools");
        assert!(
            said.starts_with("error: contacts") && ended.stdout.is_empty(),
            "{said}"
        );
        for name in ["lists/contacts.jsonl", "lists/pools.jsonl"] {
            assert!(!trial.path(name).exists(), "{name}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_that_blocks_does_not_delay_the_end() {
    let trial = endless();
    let (_stalled, writer) = std::io::pipe().unwrap();
    let mut command = trial.command("export contacts --out -");
    let mut child = command.stdout(writer.try_clone().unwrap()).spawn().unwrap();
    wait_until_full(&mut child, &writer);
    send(&child, Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(143));
    let pipe = trial.stalled_pipe("pipe");
    let mut child = trial.start("export contacts -v --out pipe");
    wait_until_full(&mut child, &pipe);
    send(&child, Signal::TERM);
    Ended::wait(child).says(143, "output is incomplete");
    // Without a reader, even opening the pipe blocks.
    drop(pipe);
    let mut child = trial.start("export contacts -v --out pipe");
    let status = format!("/proc/{}/status", child.id());
    let is_interrupt_taken_over = || {
        let text = fs::read_to_string(&status).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let mask = u64::from_str_radix(line.unwrap().trim(), 16).unwrap();
        mask & (1 << (Signal::INT.as_raw() - 1)) != 0
    };
    wait_until(&mut child, is_interrupt_taken_over);
    std::thread::sleep(std::time::Duration::from_millis(100));
    send(&child, Signal::INT);
    Ended::wait(child).says(130, "output is incomplete");
}

#[test]
fn a_second_signal_ends_what_the_first_cannot_stop() {
    let trial = endless();
    fs::create_dir(trial.path("new")).unwrap();
    // One list goes to a pipe that nobody reads, which blocks the program.
    let stalled = trial.stalled_pipe("new/pools.jsonl");
    let mut child = trial.start("export contacts pools --out new");
    wait_until_full(&mut child, &stalled);
    send(&child, Signal::INT);
    send(&child, Signal::TERM);
    let ended = Ended::wait(child);
    // Two signals at the same time have no order.
    assert!(matches!(ended.code, Some(130 | 143)), "{ended:?}");
    assert_eq!(ended.stderr, "error: stopped immediately\n");
}

#[test]
fn a_command_without_work_to_keep_dies_of_the_signal_itself() {
    use std::os::unix::process::ExitStatusExt;
    let trial = trial(&[]);
    trial.fault(json!({"path": "/v1/version"}), json!({"delay_ms": 60_000}));
    let mut child = trial.start_and_wait("version", 1);
    // Not INT, which is ignored from the start by programs that a shell runs in the background.
    send(&child, Signal::TERM);
    assert_eq!(child.wait().unwrap().signal(), Some(Signal::TERM.as_raw()));
}

/// Returns the program, started by a shell that first runs `before`.
fn after(before: &str, trial: &Trial, words: &str) -> Command {
    let program = trial.command(words);
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{before}; exec \"$0\" \"$@\"")]);
    shell.arg(program.get_program()).args(program.get_args());
    shell.current_dir(trial.directory.path());
    for (name, value) in program.get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    shell
}

#[test]
fn a_file_above_the_size_limit_is_an_error_that_says_so() {
    let trial = trial(&[("contacts", 2_000)]);
    let mut limited = after("ulimit -f 100", &trial, "export contacts --out out.jsonl");
    limited.stdout(Stdio::piped()).stderr(Stdio::piped());
    run(&mut limited).error(code(ErrorKind::StorageFull), "File too large");
}

/// Starts an export to a pipe, calls `while_full` once the pipe is full, and returns the number of records written.
fn through_a_full_pipe(
    mut export: Command,
    mode: OFlags,
    while_full: impl FnOnce(&Child),
) -> usize {
    let (mut reader, writer) = std::io::pipe().unwrap();
    fcntl_setfl(&writer, mode).unwrap();
    let mut child = export.stdout(writer.try_clone().unwrap()).spawn().unwrap();
    drop(export);
    wait_until_full(&mut child, &writer);
    drop(writer);
    while_full(&child);
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    text.lines().count()
}

#[test]
fn a_pipe_that_does_not_block_gets_every_record() {
    let trial = trial(&[("contacts", 2_000)]);
    let export = trial.command("export contacts --out -");
    assert_eq!(through_a_full_pipe(export, OFlags::NONBLOCK, |_| ()), 2_000);
}

#[test]
fn a_signal_that_was_ignored_at_the_start_stays_ignored() {
    let trial = trial(&[("contacts", 2_000)]);
    let export = after("trap '' INT", &trial, "export contacts --out -");
    let interrupt = |child: &Child| send(child, Signal::INT);
    assert_eq!(
        through_a_full_pipe(export, OFlags::empty(), interrupt),
        2_000
    );
}

#[test]
fn a_reader_that_goes_away_is_not_an_error() {
    let trial = trial(&[("contacts", 1_000_000), ("pools", 250)]);
    let mut child = trial.start("export contacts --out - --receipt r.json");
    let mut line = String::new();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    reader.read_line(&mut line).unwrap();
    drop(reader);
    Ended::wait(child).quiet();
    // Scripts that read the receipt see that the list was not read completely.
    let receipt = trial.receipt("r.json");
    assert_eq!(receipt["completeness"], "unfinished");
    assert_eq!(receipt["error"]["kind"], "Io");
    assert!(
        line.starts_with("{\"id\":") && line.ends_with("}\n"),
        "{line}"
    );
    let pages = trial.sandbox.stats().requests;
    assert!(pages < 10_000, "it read on to the end: {pages}");
    let closed = || std::io::pipe().unwrap().1;
    let rest = "resources|version|permissions|page contacts|plan contacts|completions bash|sandbox|--help|--version";
    for words in rest.split('|') {
        run(trial.command(words).stdout(closed())).quiet();
    }
    // It also does not matter if nobody reads standard error.
    let mut export = trial.command("export pools --out - -vv");
    let ended = run(export.stderr(closed()));
    assert_eq!((ended.code, ended.stdout.lines().count()), (Some(0), 250));
}

#[test]
fn a_list_that_fails_does_not_stop_others_and_common_errors_come_once() {
    let trial = trial(&[("contacts", 300), ("pools", 20), ("vacancies", 20)]);
    trial.fault(
        json!({"path": "/v1/pools"}),
        json!({"status": 403, "body": "no"}),
    );
    let ended = trial.run("export contacts pools vacancies --out lists");
    let said = ended.error(code(ErrorKind::Forbidden), "");
    assert!(said.starts_with("error: pools: "), "{said}");
    assert_eq!(
        names(&trial.path("lists")),
        ["contacts.jsonl", "vacancies.jsonl"]
    );
    let before = trial.sandbox.stats().token_posts;
    let mut command = trial.command("export contacts pools ja-tasks --out wrong");
    let ended = run(command.env("TALENTDATA_CLIENT_SECRET", "CANARY-wrong"));
    let said = ended.error(code(ErrorKind::Auth), "contacts, pools, ja-tasks: ");
    assert!(!said.contains("CANARY"), "{said}");
    assert_eq!(trial.sandbox.stats().token_posts, before + 1);
    assert!(names(&trial.path("wrong")).is_empty());
}

#[test]
fn an_unproven_export_is_reported_and_leaves_the_file() {
    let options = Options {
        max_limit: Some(1),
        ..Options::default()
    };
    let trial = Trial::new(&[("contacts", 3)], options);
    let ended = trial.run("export contacts --out c.jsonl");
    let words = "contacts|not proven|few records|c.jsonl|3 records";
    let said = ended.says(code(ErrorKind::Incomplete), words);
    assert_eq!(
        (said.lines().count(), trial.read("c.jsonl").lines().count()),
        (1, 3)
    );
}

#[test]
fn verbose_gives_the_whole_report_with_harmless_text() {
    let trial = trial(&[]);
    let reply = json!({"status": 400, "body": "bad \u{1b}[31m \u{202e}thing"});
    trial.fault(json!({"path": "/v1/version"}), reply);
    let ended = trial.run("version -v");
    let said = ended.says(code(ErrorKind::BadRequest), "the response began: bad ");
    assert!(!said.contains(['\u{1b}', '\u{202e}']), "{said}");
}
