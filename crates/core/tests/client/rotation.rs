//! Secrets that are replaced while a client uses them: read again from a file, a command or a function, and only when
//! the service refuses the one in use.

use crate::stub::{self, reply, token};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use talentdata_core::settings::Builder;
use talentdata_core::{Client, Error, ErrorKind};

const OLD: &str = "CANARY-old-secret";
const NEW: &str = "CANARY-new-secret";
const RECORDS: u64 = 900;
/// The page of the scan after which the old secret and its token are refused.
const REPLACED_AFTER: u32 = 4;

/// A service that accepts the old secret, and from one page of the scan on only the new one.
struct Service {
    base_url: String,
    /// The secrets with which tokens were requested.
    tried: Arc<Mutex<Vec<String>>>,
}

/// Starts the service. `replaced` is called when the service begins to refuse the old secret.
fn service(replaced: impl Fn() + Send + Sync + 'static) -> Service {
    let (pages, tried) = (Mutex::new(0), Arc::new(Mutex::new(Vec::new())));
    let noted = Arc::clone(&tried);
    let base_url = stub::serve(move |request, socket| {
        let mut pages = pages.lock().unwrap();
        let accepted = if *pages < REPLACED_AFTER { OLD } else { NEW };
        if request.asks_for_a_token() {
            let body: serde_json::Value = serde_json::from_str(&request.body).unwrap();
            let secret = body["clientSecret"].as_str().unwrap().to_owned();
            if secret == accepted {
                reply(socket, 200, "", token(&format!("{secret}-token"), 3600.0));
            } else {
                reply(
                    socket,
                    401,
                    "",
                    format!(r#"{{"error":"{secret} is invalid"}}"#),
                );
            }
            noted.lock().unwrap().push(secret);
        } else if request.token == format!("{accepted}-token") {
            *pages += 1;
            if *pages == REPLACED_AFTER {
                replaced();
            }
            reply(socket, 200, "", stub::contacts(request, RECORDS));
        } else {
            reply(socket, 401, "", "");
        }
    });
    Service { base_url, tried }
}

fn settings(service: &Service) -> Builder {
    let mut settings = Client::builder();
    settings
        .base_url(&service.base_url)
        .client_id("me")
        .budget("process")
        .paced(false);
    settings
}

/// Scans the list, which must be proven.
async fn scan(settings: &Builder) -> Result<u64, Error> {
    let client = settings.build()?;
    let mut scan = client.contacts().list();
    let mut records = 0;
    while let Some(record) = scan.next().await {
        record?;
        records += 1;
    }
    scan.receipt().require_proven()?;
    Ok(records)
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Returns a file with a text, and a service that replaces the text.
fn file(old: &str, new: &'static str) -> (tempfile::TempDir, PathBuf, Service) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("the secret");
    write(&path, old);
    let replaced = path.clone();
    let service = service(move || write(&replaced, new));
    (directory, path, service)
}

fn assert_tried(service: &Service, secrets: &[&str]) {
    assert_eq!(*service.tried.lock().unwrap(), secrets);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scan_ends_proven_while_the_secret_in_a_file_is_replaced() {
    let (_directory, path, service) = file(OLD, "CANARY-new-secret\n");
    let mut settings = settings(&service);
    settings.client_secret_file(path.display());
    assert_eq!(scan(&settings).await.unwrap(), RECORDS);
    assert_tried(&service, &[OLD, OLD, NEW]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scan_ends_proven_while_a_command_prints_another_secret() {
    for (old, new) in [
        ("CANARY-old-secret\n", "CANARY-new-secret\n"),
        (
            r#"{"client_id":"me","client_secret":"CANARY-old-secret"}"#,
            r#"{"client_id":"me","client_secret":"CANARY-new-secret"}"#,
        ),
    ] {
        let (_directory, path, service) = file(old, new);
        let mut settings = settings(&service);
        settings.credential_command(format!("cat '{}'", path.display()));
        assert_eq!(scan(&settings).await.unwrap(), RECORDS);
        assert_tried(&service, &[OLD, OLD, NEW]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scan_ends_proven_while_a_function_returns_another_secret() {
    let secret = Arc::new(Mutex::new(OLD));
    let replaced = Arc::clone(&secret);
    let service = service(move || *replaced.lock().unwrap() = NEW);
    let mut settings = settings(&service);
    settings.client_secret_from(move || Ok(secret.lock().unwrap().to_string()));
    assert_eq!(scan(&settings).await.unwrap(), RECORDS);
    assert_tried(&service, &[OLD, OLD, NEW]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_secret_that_is_still_there_is_not_tried_again() {
    let (_directory, path, service) = file(OLD, OLD);
    let mut settings = settings(&service);
    settings.client_secret_file(path.display());
    let error = scan(&settings).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Auth);
    assert_tried(&service, &[OLD, OLD]);
    assert!(!format!("{error:?}").contains("CANARY"), "{error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_error_says_if_the_secret_cannot_be_read_again() {
    let (directory, path, service) = file(OLD, "");
    let mut settings = settings(&service);
    settings.client_secret_file(path.display());
    let error = scan(&settings).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Auth);
    let says = format!(
        "the secret could not be read again: client_secret_file: the content of {} must not be empty",
        path.display()
    );
    assert!(error.message().contains(&says), "{error}");
    assert_eq!(
        error.message().matches("the service says").count(),
        1,
        "{error}"
    );
    drop(directory);
}

#[test]
fn a_command_may_know_the_client_id_but_not_another_one() {
    let json = r#"["echo", "{\"client_id\":\"them\",\"client_secret\":\"CANARY-1234\"}"]"#;
    let mut settings = Client::builder();
    settings
        .base_url("https://talent.example")
        .credential_command(json);
    assert_eq!(settings.config().unwrap().client_id(), Some("them"));
    let error = settings.client_id("me").config().unwrap_err();
    assert_eq!(
        error.message(),
        r#"credential_command: its client_id is "them", but that of this client is "me""#
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scan_ends_proven_although_the_secret_is_missing_while_it_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("the secret");
    write(&path, OLD);
    let replaced = path.clone();
    let service = service(move || {
        std::fs::remove_file(&replaced).unwrap();
        let replaced = replaced.clone();
        std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(300));
            write(&replaced, NEW);
        });
    });
    let mut settings = settings(&service);
    settings.client_secret_file(path.display());
    assert_eq!(scan(&settings).await.unwrap(), RECORDS);
    assert_tried(&service, &[OLD, OLD, NEW]);
}

#[test]
fn a_secret_may_begin_with_a_byte_order_mark_and_come_through_a_pipe() {
    let mut settings = Client::builder();
    settings.base_url("https://talent.example").client_id("me");
    settings.credential_command("printf '\\357\\273\\277CANARY-1234\\n'");
    settings.build().unwrap();
    let (reader, mut writer) = std::io::pipe().unwrap();
    let mut settings = Client::builder();
    settings.base_url("https://talent.example").client_id("me");
    settings.client_secret_file(format!(
        "/dev/fd/{}",
        std::os::fd::AsRawFd::as_raw_fd(&reader)
    ));
    let late = std::thread::spawn(move || std::io::Write::write_all(&mut writer, b"CANARY-1234\n"));
    settings.build().unwrap();
    late.join().unwrap().unwrap();
}

#[test]
fn a_pipe_without_a_writer_is_not_waited_for_without_end() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let mut settings = Client::builder();
    settings.base_url("https://talent.example").client_id("me");
    let error = settings
        .client_secret_file(path.display())
        .build()
        .unwrap_err();
    let says = "it is a pipe that nobody wrote and closed within 10 s";
    assert!(error.message().ends_with(says), "{error}");
}

#[test]
fn only_one_source_has_the_secret_and_an_explicit_one_decides() {
    let mut settings = stub::settings("https://talent.example");
    settings.credential_command("echo CANARY-1234");
    let error = settings.config().unwrap_err();
    assert_eq!(
        error.message(),
        "client_secret and credential_command are both set; leave out one of them"
    );
}

/// A command, and what the error says.
const FAILING: &str = r#"
/no/such/program | cannot run /no/such/program: No such file or directory
true | true printed nothing
sh -c "exit 3" | sh failed (exit status: 3)
sh -c "echo the vault is sealed >&2; exit 1" | sh failed (exit status: 1); it says: the vault is sealed
sh -c "echo CANARY-secret; echo bad CANARY-secret >&2; exit 1" | it says: bad [redacted]
sh -c "yes CANARY | head -c 1000000" | sh printed more than 64 KiB
printf '\377\376CANARY' | printed text that is not UTF-8
echo '{"secret":"CANARY-1"}' | its output is not the secret alone, and not a JSON object
sh -c "echo CANARY; echo CANARY" | credential_command: its output must not contain control characters
echo "CANARY | credential_command must be a program with its arguments
[] | credential_command must be a program with its arguments
"#;

#[test]
fn a_command_that_fails_is_reported_without_its_output() {
    let rows = FAILING.lines().filter_map(|row| row.rsplit_once(" | "));
    let rows: Vec<_> = rows.collect();
    assert_eq!(rows.len(), 11);
    for (command, says) in rows {
        let mut settings = Client::builder();
        settings
            .base_url("https://talent.example")
            .client_id("me")
            .credential_command(command);
        let error = settings.build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.message().contains(says), "{command}: {error}");
        assert!(!format!("{error:?}").contains("CANARY"), "{error:?}");
    }
}
