//! The shared token is in its file, and in no other file, no log line and no error.

use super::{Company, PERMISSIONS, sizes};
use crate::support::{fault, requests, run};
use serde_json::{Value, json};
use std::fs;
use talentdata_core::ErrorKind;

#[test]
fn the_token_is_in_its_file_and_nowhere_else() {
    let company = Company::new(sizes(300));
    let receipt = company.directory.path().join("receipt.json");
    let receipt = receipt.to_str().unwrap();
    let out = company.directory.path().join("contacts.jsonl");
    let verb = ["export", "contacts", "-vv", "--receipt", receipt, "--out"];
    let verb = [&verb[..], &[out.to_str().unwrap()]].concat();
    let mut said = run(&mut company.command("host", &verb)).stderr;
    assert!(said.contains("received an access token"), "{said}");
    // The service tells the token, in a refusal.
    let file = company.file().unwrap();
    let bytes = fs::read(&file).unwrap();
    let token = token_in(&bytes);
    let echo = json!({"status": 400, "body": {"you sent": token}});
    fault(&company.sandbox, PERMISSIONS, echo);
    let ended = run(&mut company.command("host", &["permissions", "-vv"]));
    assert_eq!(
        ended.code,
        Some(i32::from(ErrorKind::BadRequest.exit_code()))
    );
    said += &ended.stderr;
    said += &ended.stdout;
    said += &Value::from(requests(&company.sandbox)).to_string();
    assert!(!said.contains(&token) && !said.contains(company.sandbox.client_secret()));
    let mut files = vec![receipt.into(), out];
    let kept = fs::read_dir(file.parent().unwrap()).unwrap();
    files.extend(kept.map(|entry| entry.unwrap().path()));
    assert!(files.len() >= 4, "{files:?}");
    for other in files.into_iter().filter(|path| *path != file) {
        let bytes = fs::read(&other).unwrap();
        let mut windows = bytes.windows(token.len());
        assert!(!windows.any(|found| found == token.as_bytes()), "{other:?}");
    }
}

/// The token, which is 48 hexadecimal digits.
fn token_in(bytes: &[u8]) -> String {
    let mut runs = bytes.split(|byte| !byte.is_ascii_hexdigit());
    let run = runs.find(|run| run.len() >= 48).unwrap();
    String::from_utf8(run[run.len() - 48..].to_vec()).unwrap()
}
