//! Output on a terminal, tested with a pseudo terminal.

use crate::support::trial;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::json;
use std::fs::File;
use std::io::Read;
use std::process::Command;

/// Returns everything that the command shows on a terminal, to which `attach` connects it, until the last writer has
/// gone.
fn shown(mut command: Command, attach: fn(&mut Command, File) -> &mut Command) -> String {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let screen = File::options().read(true).write(true).open(name);
    attach(&mut command, screen.unwrap());
    let mut child = command.env("TERM", "xterm").spawn().unwrap();
    // The command holds the terminal open, too.
    drop(command);
    let mut bytes = Vec::new();
    // The end of a terminal is an error.
    let _ = File::from(master).read_to_end(&mut bytes);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    String::from_utf8_lossy(&bytes).into_owned()
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
