//! What a person at a terminal sees, by a pseudo terminal.

use crate::support::{against, fault, records, sandbox};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::json;
use std::fs::File;
use std::io::Read;
use talentdata_sandbox::Options;

/// The two ends of a pseudo terminal: what the program writes to the second is read at the first.
fn terminal() -> (File, File) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let screen = File::options().read(true).write(true).open(name).unwrap();
    (master.into(), screen)
}

/// Everything shown until the last writer has gone, which the system tells as an error.
fn shown(mut master: File) -> String {
    let mut bytes = Vec::new();
    let _ = master.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn progress_and_a_summary_are_shown_over_all_lists() {
    let sandbox = sandbox(records(&[("contacts", 1500), ("pools", 500)]));
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().to_str().unwrap();
    let (master, screen) = terminal();
    let mut command = against(&sandbox, &["export", "contacts", "pools", "--out", out]);
    let mut child = command.env("TERM", "xterm").stderr(screen).spawn().unwrap();
    // The command holds the screen open, too.
    drop(command);
    let text = shown(master);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    for word in [" left", "% of the budget", "/s,"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let last = text.trim_end().rsplit('\r').next().unwrap();
    assert!(
        last.contains("2000 records") && last.contains("completeness proven (counted)"),
        "{last}"
    );
    assert!(last.contains(out), "{last}");
}

#[test]
fn text_of_the_service_cannot_drive_the_terminal() {
    let sandbox = sandbox(Options::default());
    let answer = json!({
        "version": "1\u{9b}31m", "apiStatus": "\u{1b}]0;x\u{7}", "endpoints": {}, "\u{202e}": 1
    });
    fault(&sandbox, "/v1/version", json!({"body": answer.to_string()}));
    let (master, screen) = terminal();
    let mut command = against(&sandbox, &["version"]);
    let mut child = command.stdout(screen).spawn().unwrap();
    drop(command);
    let text = shown(master);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(
        !text.contains(['\u{9b}', '\u{1b}', '\u{7}', '\u{202e}']),
        "{text:?}"
    );
    let read: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(read, answer);
}
