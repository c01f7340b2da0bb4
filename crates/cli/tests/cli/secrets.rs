//! Secrets: the ways they come in, and that they never come out.

use crate::support::{against, fault, program, records, requests, run, sandbox};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::process::Stdio;
use talentdata_sandbox::{Options, Sandbox};

#[test]
fn a_secret_as_argument_is_refused_without_an_echo() {
    for arguments in [
        &["--client-secret", "CANARY", "version"][..],
        &["version", "--client-secret=CANARY"],
        &[
            "export",
            "contacts",
            "--out",
            "-",
            "--client-secret",
            "CANARY",
        ],
        &["version", "--secret=CANARY"],
        &["version", "--client_secret=CANARY"],
    ] {
        let ended = run(&mut program(arguments));
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(2), ""),
            "{ended:?}"
        );
        assert!(!ended.stderr.contains("CANARY"), "{ended:?}");
        let meant = arguments
            .iter()
            .any(|argument| argument.starts_with("--client-secret"));
        for way in [
            "--client-secret-file",
            "TALENTDATA_CLIENT_SECRET",
            "profile",
        ] {
            assert!(!meant || ended.stderr.contains(way), "{way}: {ended:?}");
        }
    }
}

/// The sandbox's address and identifier as arguments, and no secret yet.
fn without_secret<'a>(sandbox: &'a Sandbox, more: &[&'a str]) -> Vec<&'a str> {
    let url = ["permissions", "--base-url", sandbox.base_url()];
    [&url[..], &["--client-id", sandbox.client_id()], more].concat()
}

#[test]
fn the_secret_comes_from_standard_input() {
    let sandbox = sandbox(Options::default());
    let arguments = without_secret(&sandbox, &["--client-secret-file", "-"]);
    let mut child = program(&arguments).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{}", sandbox.client_secret()).unwrap();
    drop(stdin);
    crate::support::Ended::of(child.wait_with_output().unwrap()).json();
}

#[cfg(unix)]
#[test]
fn the_secret_comes_from_a_file_that_nobody_else_can_read() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = sandbox(Options::default());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("secret");
    let shown = path.to_str().unwrap();
    fs::write(&path, format!("{}\n", sandbox.client_secret())).unwrap();
    let arguments = without_secret(&sandbox, &["--client-secret-file", shown]);

    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let refused = run(&mut program(&arguments));
    let said = refused.error(2);
    assert!(said.contains("chmod 600") && said.contains(shown), "{said}");
    assert!(!said.contains(sandbox.client_secret()));
    assert_eq!(sandbox.stats().requests, 0);

    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    run(&mut program(&arguments)).json();
}

#[cfg(unix)]
#[test]
fn a_profile_holds_all_three_settings() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = sandbox(Options::default());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("talentdata").join("profiles.toml");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let text = format!(
        "[mine]\nbase_url = {:?}\nclient_id = {:?}\nclient_secret = {:?}\n",
        sandbox.base_url(),
        sandbox.client_id(),
        sandbox.client_secret()
    );
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let mut command = program(&["permissions", "--profile", "mine"]);
    run(command.env("XDG_CONFIG_HOME", directory.path())).json();
    // What goes before it is told, in case that was not meant.
    let mut command = program(&["permissions", "--profile", "mine"]);
    command.env("XDG_CONFIG_HOME", directory.path());
    command.env("TALENTDATA_BASE_URL", sandbox.base_url());
    let said = run(&mut command).stderr;
    assert!(
        said.contains("TALENTDATA_BASE_URL") && said.contains("mine"),
        "{said}"
    );
}

#[test]
fn no_log_line_at_any_level_holds_the_secret_or_a_token() {
    let sandbox = sandbox(records(&[("contacts", 300)]));
    // A service that echoes what it was sent, so that the report has something to hide.
    let echo = format!("you sent {} to me", sandbox.client_secret());
    fault(&sandbox, "/v1/pools", json!({"status": 400, "body": echo}));
    let verb = ["export", "contacts", "--out", "-", "-vvvv"];
    let failing = ["page", "pools", "-vvvv"];
    let mut said = String::new();
    for arguments in [&verb[..], &failing] {
        said += &run(&mut against(&sandbox, arguments)).stderr;
    }
    let mut by_variable = against(&sandbox, &verb[..4]);
    by_variable.env(
        "TALENTDATA_LOG",
        "trace,hyper=trace,reqwest=trace,rustls=trace",
    );
    said += &run(&mut by_variable).stderr;

    assert!(
        said.contains("talentdata_core") && said.contains("the response began"),
        "{said}"
    );
    for third in ["hyper", "reqwest", "rustls", "tower"] {
        assert!(!said.contains(third), "{third}: {said}");
    }
    assert!(!said.contains(sandbox.client_secret()), "{said}");
    // The sandbox's tokens are 48 hexadecimal digits, which it does not show; nothing else is as long.
    let mut words = said.split(|letter: char| !letter.is_ascii_hexdigit());
    assert_eq!(words.find(|word| word.len() >= 40), None, "{said}");
    let with_token = |request: &&Value| request["headers"]["authorization"] == "Bearer [redacted]";
    assert!(requests(&sandbox).iter().filter(with_token).count() >= 8);
}

#[test]
fn a_filter_that_is_none_is_a_usage_error() {
    let mut command = program(&["resources"]);
    let ended = run(command.env("TALENTDATA_LOG", "talentdata_core=loudly"));
    assert!(ended.error(2).contains("TALENTDATA_LOG"));
}
