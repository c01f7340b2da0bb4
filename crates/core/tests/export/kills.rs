//! A process that is killed at any moment, or whose disk is full, leaves an export that goes on.

#![cfg(unix)]

use super::service::client;
use super::{Service, beside, export, names, run};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Tells a process that it is a child, and what it needs: base URL, id, secret and path.
const CHILD: &str = "TALENTDATA_TEST_EXPORT_CHILD";

/// How many times a process is killed.
fn rounds() -> usize {
    let given = std::env::var("TALENTDATA_ROUNDS");
    given.map_or(30, |rounds| rounds.parse().unwrap())
}

/// Runs the child's export, if this process is one.
async fn act_as_child() {
    let Ok(settings) = std::env::var(CHILD) else {
        return;
    };
    let [base_url, id, secret, path]: [String; 4] = serde_json::from_str(&settings).unwrap();
    let code = match run(&export(Path::new(&path)), &client(&base_url, &id, &secret)).await {
        Ok(_) => 0,
        Err(error) => {
            println!("{error}");
            error.kind().exit_code()
        }
    };
    std::process::exit(code.into());
}

/// A process that runs `test` as a child, within `limits` of the shell.
fn child(test: &str, limits: &str, service: &Service, path: &Path) -> Child {
    let sandbox = &service.sandbox;
    let path = path.to_str().unwrap();
    let settings = [
        sandbox.base_url(),
        sandbox.client_id(),
        sandbox.client_secret(),
        path,
    ];
    Command::new("sh")
        .args(["-c", &format!("{limits} exec \"$0\" \"$@\"")])
        .arg(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(CHILD, serde_json::to_string(&settings).unwrap())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[tokio::test]
async fn killed_at_any_moment_nothing_is_lost_or_repeated() {
    act_as_child().await;
    let service = Service::start(400);
    let expected = service.lines().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.jsonl");
    let (mut killed, mut finished, mut resumed) = (0, 0, 0);
    while killed < rounds() {
        resumed += usize::from(beside(&path, ".checkpoint").exists());
        let test = "kills::killed_at_any_moment_nothing_is_lost_or_repeated";
        let mut child = child(test, "", &service, &path);
        std::thread::sleep(Duration::from_micros(fastrand::u64(..300_000)));
        child.kill().unwrap();
        let status = child.wait().unwrap();
        killed += usize::from(status.code().is_none());
        if path.exists() {
            finished += 1;
            assert_eq!(fs::read_to_string(&path).unwrap(), expected);
            fs::remove_file(&path).unwrap();
        }
    }
    let receipt = run(&export(&path), &service.client).await.unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
    assert_eq!(receipt.records, 400);
    assert_eq!(names(folder.path()), ["out.jsonl"]);
    println!("{killed} kills, {resumed} resumed, {finished} finished before");
}

#[tokio::test]
async fn a_full_disk_is_an_error_and_then_resumed() {
    act_as_child().await;
    let service = Service::start(400);
    let expected = service.lines().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.jsonl");
    // A signal would end the process; ignored, it becomes an error of the write.
    let limits = "trap '' XFSZ; ulimit -f 80;";
    let test = "kills::a_full_disk_is_an_error_and_then_resumed";
    let child = child(test, limits, &service, &path);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(32), "{said}");
    for words in [
        "out.jsonl.part: File too large",
        "records are kept in",
        "to be resumed",
    ] {
        assert!(said.contains(words), "{words:?} in {said}");
    }
    assert_eq!(
        names(folder.path()),
        ["out.jsonl.checkpoint", "out.jsonl.part"]
    );
    let part = fs::read_to_string(beside(&path, ".part")).unwrap();
    assert!(part.len() > 1000 && expected.starts_with(&part));
    let receipt = run(&export(&path), &service.client).await.unwrap();
    assert_eq!((receipt.resumed, receipt.records), (1, 400));
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
}
