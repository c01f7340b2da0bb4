//! Secrets: the ways they come in, and that they never come out.

use crate::support::{Ended, program, requests, run, trial};
use serde_json::{Value, json};
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

#[test]
fn the_secret_comes_from_standard_input_a_file_or_a_profile_that_nobody_else_can_read() {
    let trial = trial(&[]);
    let (url, id) = (trial.sandbox.base_url(), trial.sandbox.client_id());
    let secret = trial.sandbox.client_secret();
    let words = format!("permissions --base-url {url} --client-id {id} --client-secret-file");
    let mut command = program(&format!("{words} -"));
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    writeln!(child.stdin.take().unwrap(), "{secret}").unwrap();
    Ended::wait(child).json();

    let seen = trial.sandbox.stats().requests;
    trial.write("secret", &format!("{secret}\n"));
    let path = trial.path("secret");
    let words = format!("{words} {}", path.display());
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    let refused = run(&mut program(&words));
    let said = refused.error(2, &format!("chmod 600|{}", path.display()));
    assert!(!said.contains(secret) && trial.sandbox.stats().requests == seen);
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    run(&mut program(&words)).json();

    fs::create_dir(trial.path("talentdata")).unwrap();
    let profile = "talentdata/profiles.toml";
    let rows = format!("base_url = {url:?}\nclient_id = {id:?}\nclient_secret = {secret:?}\n");
    trial.write(profile, &format!("[mine]\n{rows}"));
    fs::set_permissions(trial.path(profile), Permissions::from_mode(0o600)).unwrap();
    let mut command = program("permissions --profile mine");
    run(command.env("XDG_CONFIG_HOME", trial.directory.path())).json();
}

#[test]
fn no_log_line_at_any_level_holds_the_secret_or_a_token() {
    let trial = trial(&[("contacts", 300)]);
    // A service that echoes what it was sent, so that the report has something to hide.
    let echo = format!("you sent {} to me", trial.sandbox.client_secret());
    trial.fault(
        json!({"path": "/v1/pools"}),
        json!({"status": 400, "body": echo}),
    );
    let mut said = trial.run("export contacts --out - -vvvv").stderr;
    said += &trial.run("page pools -vvvv").stderr;
    let mut by_variable = trial.command("export contacts --out -");
    let filter = "trace,hyper=trace,reqwest=trace,rustls=trace";
    said += &run(by_variable.env("TALENTDATA_LOG", filter)).stderr;
    for word in ["talentdata_core", "the response began"] {
        assert!(said.contains(word), "{said}");
    }
    let libraries = ["hyper", "reqwest", "rustls", "tower"].into_iter();
    for word in libraries.chain([trial.sandbox.client_secret()]) {
        assert!(!said.contains(word), "{word}: {said}");
    }
    // The sandbox's tokens are 48 hexadecimal digits, which it does not show; nothing else is as long.
    let mut words = said.split(|letter: char| !letter.is_ascii_hexdigit());
    assert_eq!(words.find(|word| word.len() >= 40), None, "{said}");
    let with_token = |request: &&Value| request["headers"]["authorization"] == "Bearer [redacted]";
    assert!(requests(&trial.sandbox).iter().filter(with_token).count() >= 8);
}
