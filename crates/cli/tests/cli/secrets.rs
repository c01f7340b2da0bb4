//! The sources of secrets, and that no output contains one.

use crate::sharing::PERMISSIONS;
use crate::support::{Ended, code, program, requests, run, trial};
use serde_json::{Value, json};
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;
use talentdata_core::ErrorKind;

#[test]
fn the_secret_comes_from_standard_input_a_private_file_or_a_profile() {
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
fn only_the_token_file_contains_a_token_and_nothing_the_secret() {
    let trial = trial(&[("contacts", 300)]);
    let words = "export contacts -vvvv --receipt r.json --out contacts.jsonl";
    let export = run(&mut trial.member(words));
    let mut said = export.says(0, "received an access token").to_owned();
    let mut by_variable = trial.command("export contacts --out -");
    let filter = "trace,hyper=trace,reqwest=trace,rustls=trace";
    said += &run(by_variable.env("TALENTDATA_LOG", filter)).stderr;
    // The sandbox's tokens are 48 hexadecimal digits, which it does not show.
    let file = trial.token_file();
    let bytes = fs::read(&file).unwrap();
    let mut runs = bytes.split(|byte| !byte.is_ascii_hexdigit());
    let digits = runs.find(|digits| digits.len() >= 48).unwrap();
    let token = String::from_utf8(digits[digits.len() - 48..].to_vec()).unwrap();
    let secret = trial.sandbox.client_secret();
    // The service echoes the request, so that the report must redact secrets.
    for (path, words, sent) in [
        ("/v1/pools", "page pools -vvvv", secret),
        (PERMISSIONS, "permissions -vvvv", &token),
    ] {
        let echo = json!({"status": 400, "body": format!("you sent {sent} to me")});
        trial.fault(json!({"path": path}), echo);
        let ended = run(&mut trial.member(words));
        said += ended.says(code(ErrorKind::BadRequest), "the response began");
        said += &ended.stdout;
    }
    assert!(said.contains("talentdata_core"), "{said}");
    for word in ["hyper", "reqwest", "rustls", "tower"] {
        assert!(!said.contains(word), "{word}: {said}");
    }
    // No other word is as long as a token.
    let mut words = said.split(|letter: char| !letter.is_ascii_hexdigit());
    assert_eq!(words.find(|word| word.len() >= 40), None, "{said}");
    let requests = requests(&trial.sandbox);
    let with_token = |request: &&Value| request["headers"]["authorization"] == "Bearer [redacted]";
    assert!(requests.iter().filter(with_token).count() >= 8);
    said += &Value::from(requests).to_string();
    assert!(!said.contains(&token) && !said.contains(secret), "{said}");
    let kept = fs::read_dir(file.parent().unwrap()).unwrap();
    let mut files: Vec<PathBuf> = kept.map(|entry| entry.unwrap().path()).collect();
    files.extend(["r.json", "contacts.jsonl"].map(|name| trial.path(name)));
    assert!(files.len() >= 4, "{files:?}");
    for other in files.into_iter().filter(|path| *path != file) {
        let bytes = fs::read(&other).unwrap();
        let mut windows = bytes.windows(token.len());
        assert!(!windows.any(|found| found == token.as_bytes()), "{other:?}");
    }
}
