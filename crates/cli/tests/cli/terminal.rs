//! Output on a terminal, tested with a pseudo terminal.

use crate::support::{Signal, send, trial};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::json;
use std::fs::File;
use std::io::Read;
use std::process::{Child, Command};
use talentdata_sandbox::Change;

/// Returns everything that the command shows on a terminal, to which `attach` connects it, until the last writer has
/// gone.
fn shown(command: Command, attach: fn(&mut Command, File) -> &mut Command) -> String {
    let (mut master, mut child) = on_terminal(command, attach);
    let mut bytes = Vec::new();
    // Reading a terminal fails at its end.
    let _ = master.read_to_end(&mut bytes);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Starts the command on a terminal, to which `attach` connects it, and returns the other side of the terminal.
fn on_terminal(
    mut command: Command,
    attach: fn(&mut Command, File) -> &mut Command,
) -> (File, Child) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let screen = File::options().read(true).write(true).open(name);
    attach(&mut command, screen.unwrap());
    let child = command.env("TERM", "xterm").spawn().unwrap();
    // The `Command` also holds the terminal open, until it is dropped here.
    (File::from(master), child)
}

#[test]
fn progress_and_a_summary_are_shown_over_all_lists() {
    let trial = trial(&[("contacts", 1500), ("pools", 500)]);
    let export = trial.command("export contacts pools --out lists");
    let text = shown(export, Command::stderr);
    assert!(
        text.contains("connecting") && !text.contains("of 0 records"),
        "{text}"
    );
    for word in [" left", "% of the budget", "/s,"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let lines = text.trim_end().lines().rev().take(2);
    for (line, list) in lines.zip(["pools: 500", "contacts: 1500"]) {
        for word in [list, "records in ", "completeness proven (counted): lists/"] {
            assert!(line.contains(word), "{line}");
        }
    }
    let sync = trial.command("sync contacts pools --to m.db");
    let text = shown(sync, Command::stderr);
    let summary = "contacts: sync 1: 1500 records, 1500 inserted";
    assert!(
        text.contains(summary) && text.contains("pools: sync 1: 500"),
        "{text}"
    );
}

#[test]
fn the_environment_switches_the_progress_off() {
    let trial = trial(&[("contacts", 1500)]);
    let mut export = trial.command("export contacts --out c.jsonl");
    export.env("TALENTDATA_PROGRESS", "0");
    let text = shown(export, Command::stderr);
    assert!(text.starts_with("contacts: 1500 records in "), "{text:?}");
}

#[test]
fn the_history_has_a_bar_for_each_sync_except_the_first() {
    let trial = trial(&[("contacts", 250)]);
    trial.run("sync contacts --to m.db").quiet();
    trial
        .sandbox
        .change("contacts", Change::DeleteFirst(15))
        .unwrap();
    trial.sandbox.change("contacts", Change::Insert(5)).unwrap();
    trial.run("sync contacts --to m.db").quiet();
    let text = shown(
        trial.command("history contacts --from m.db"),
        Command::stdout,
    );
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    assert!(
        lines[0].ends_with("  CHANGES") && lines.len() == 3,
        "{text}"
    );
    assert!(!lines[1].contains('+'), "{text}");
    let bar = format!("  {}{}", "+".repeat(5), "-".repeat(15));
    assert!(lines[2].ends_with(&bar), "{text}");
}

#[test]
fn a_watched_budget_is_one_picture_until_ctrl_c_restores_the_screen() {
    let trial = trial(&[]);
    let (mut master, mut watch) = on_terminal(trial.command("budget --watch"), Command::stdout);
    let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
    // The second picture begins where the first one did.
    while String::from_utf8_lossy(&bytes).matches("\x1b[H").count() < 2 {
        let read = master.read(&mut part).unwrap();
        bytes.extend(&part[..read]);
    }
    send(&watch, Signal::INT);
    let _ = master.read_to_end(&mut bytes);
    assert_eq!(watch.wait().unwrap().code(), Some(130));
    let text = String::from_utf8(bytes).unwrap();
    assert!(
        text.starts_with("\x1b[?1049h\x1b[HNobody has used"),
        "{text:?}"
    );
    let (_, end) = text.rsplit_once("\x1b[?1049l").unwrap();
    assert!(end.ends_with(" within the last minute.\r\n"), "{end:?}");
}

#[test]
fn text_of_the_service_cannot_control_the_terminal() {
    let trial = trial(&[]);
    let answer = json!({
        "version": "é\u{9b}31m \u{7f}", "apiStatus": "\u{1b}]0;x\u{7}", "endpoints": {}, "\u{202e}": 1
    });
    let reply = json!({"body": answer.to_string()});
    trial.fault(json!({"path": "/v1/version"}), reply);
    let text = shown(trial.command("version"), Command::stdout);
    let drives = ['\u{9b}', '\u{1b}', '\u{7}', '\u{7f}', '\u{202e}'];
    assert!(!text.contains(drives), "{text:?}");
    assert!(text.contains("é\\u009b31m \\u007f"), "{text:?}");
    let read: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(read, answer);
}
