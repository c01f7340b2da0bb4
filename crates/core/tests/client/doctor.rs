//! The check-up on set-ups that are broken in one way each: it names the cause, and shows no secret.

use crate::certificates::{Authority, acceptor};
use crate::company;
use crate::start;
use crate::stub::{self, PERMISSIONS, Request, reply, tell, token};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};
use talentdata_core::Builder;
use talentdata_core::types::{CheckStatus, Diagnosis};
use talentdata_sandbox::Options;

const VERSION: &str = r#"{"version":"1.8.2","apiStatus":"operational","endpoints":{}}"#;
const CHECKED: &str = r#"{"compatible":true,"supported":true,"endpointCompatibility":{}}"#;
const GRANTED: &str = r#"{"roles":[],"permissions":["read:contacts"]}"#;

/// Answers like a service that works.
fn works(request: &Request) -> (u16, String) {
    match &*request.path {
        "/v1/oauth/token" => (200, token("CANARY-token", 3600.0)),
        "/v1/version" => (200, VERSION.to_owned()),
        "/v1/version/check" => (200, CHECKED.to_owned()),
        "/v1/oauth/token/permissions" => (200, GRANTED.to_owned()),
        _ => (404, String::new()),
    }
}

/// Returns settings of a client of a service that works, except for one path.
fn except(path: &'static str, status: u16, body: &'static str) -> Builder {
    let base_url = stub::serve(move |request, socket| {
        let (status, body) = match works(request) {
            _ if request.path == path => (status, body.to_owned()),
            usual => usual,
        };
        reply(socket, status, "", body);
    });
    settings(&base_url)
}

fn settings(base_url: &str) -> Builder {
    let mut settings = stub::settings(base_url);
    settings.budget("process").proxy("none");
    settings
}

/// Checks that only this check failed, with these words.
async fn fails(settings: &Builder, name: &str, words: &str) {
    only_fails(&settings.diagnose().await, name, words);
}

fn only_fails(diagnosis: &Diagnosis, name: &str, words: &str) {
    let failed = diagnosis.checks.iter();
    let failed = failed.filter(|check| check.status == CheckStatus::Failed);
    let failed: Vec<_> = failed.map(|check| (check.name, &*check.message)).collect();
    assert!(!diagnosis.healthy);
    assert_eq!(failed.len(), 1, "{diagnosis:?}");
    assert_eq!(failed[0].0, name, "{diagnosis:?}");
    assert!(failed[0].1.contains(words), "{diagnosis:?}");
    assert!(
        !format!("{diagnosis:?}").contains("CANARY"),
        "{diagnosis:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_works_is_healthy_after_five_requests_at_most() {
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sent);
    let base_url = stub::serve(move |request, socket| {
        counted.fetch_add(1, Ordering::Relaxed);
        let (status, body) = works(request);
        let date = httpdate(SystemTime::now());
        reply(socket, status, &format!("date: {date}\r\n"), body);
    });
    let diagnosis = settings(&base_url).diagnose().await;
    assert!(diagnosis.healthy, "{diagnosis:?}");
    assert!((1..=5).contains(&sent.load(Ordering::Relaxed)));
    for name in ["service", "clock", "token", "permissions", "compatibility"] {
        let mut checks = diagnosis.checks.iter();
        let check = checks.find(|check| check.name == name).unwrap();
        assert_eq!(check.status, CheckStatus::Ok, "{check:?}");
    }
    let (_sandbox, settings) = start(Options::default());
    let diagnosis = settings.diagnose().await;
    assert!(diagnosis.healthy, "{diagnosis:?}");
}

#[tokio::test]
async fn every_setting_is_shown_with_its_source_but_no_secret() {
    let mut settings = settings("http://127.0.0.1:1");
    settings.proxy("http://user:CANARY-proxy@proxy.example:3128");
    let diagnosis = settings.diagnose().await;
    let shown = |name: &str| {
        let mut rows = diagnosis.settings.iter();
        let row = rows.find(|row| row.name == name).unwrap();
        (row.value.clone().unwrap_or_default(), row.source.clone())
    };
    for (name, value, source) in [
        ("client_secret", "(hidden)", "given"),
        ("proxy", "http://proxy.example:3128/", "given"),
        ("max_attempts", "4", "default"),
        ("ca_file", "", "not set"),
    ] {
        assert_eq!(shown(name), (value.to_owned(), source.to_owned()));
    }
    assert!(
        !format!("{diagnosis:?}").contains("CANARY"),
        "{diagnosis:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_network_is_checked_step_by_step() {
    fails(
        &settings("https://talent.invalid"),
        "host_name",
        "cannot be looked up",
    )
    .await;
    let (_taken, port) = stub::nobody();
    let nobody = format!("http://127.0.0.1:{port}");
    fails(&settings(&nobody), "connection", "Connection refused").await;
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", proxy.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut socket in proxy.incoming().map_while(Result::ok) {
            let _ = socket.read(&mut [0; 4096]);
            let _ = socket.write_all(b"HTTP/1.1 407 No\r\n\r\n");
        }
    });
    let mut behind = settings("https://talent.example");
    behind.proxy(address);
    fails(&behind, "proxy", "the proxy refused with status 407").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_authority_is_found_and_a_known_one_is_named() {
    let (authority, other) = (Authority::new(), Authority::new());
    let own = authority.issue("127.0.0.1");
    let mut settings = company::service(acceptor(&own, None, false)).await;
    settings.ca_file(other.file().display());
    fails(&settings, "tls", "does not contain its root certificate").await;
    settings.ca_file(authority.file().display());
    let diagnosis = settings.diagnose().await;
    let tls = diagnosis.checks.iter().find(|check| check.name == "tls");
    let message = &tls.unwrap().message;
    assert!(
        message.starts_with("certificate issued by Authority "),
        "{message}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_service_is_checked_call_by_call() {
    for (path, status, body, name, words) in [
        (
            "/v1/version",
            200,
            "<html><title>Log in</title>",
            "service",
            "a proxy or login page",
        ),
        (
            "/v1/version",
            503,
            "",
            "service",
            "try again later, or ask the operator of the service (Server",
        ),
        (
            "/v1/oauth/token",
            401,
            "",
            "token",
            "the service refused client_id",
        ),
        (
            "/v1/oauth/token/permissions",
            403,
            "",
            "permissions",
            "the token may not do this",
        ),
        (
            "/v1/oauth/token/permissions",
            200,
            PERMISSIONS,
            "permissions",
            "has no permission",
        ),
    ] {
        fails(&except(path, status, body), name, words).await;
    }
    let base_url = stub::serve(|_, socket| reply(socket, 404, "", ""));
    let diagnosis = settings(&format!("{base_url}/wrong")).diagnose().await;
    let failed = diagnosis
        .checks
        .iter()
        .find(|check| check.status == CheckStatus::Failed);
    let failed = failed.unwrap();
    assert_eq!((failed.name, failed.kind), ("service", Some("NotFound")));
    assert!(failed.message.contains("check base_url"), "{failed:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_an_hour_off_is_found() {
    // Even if the first call fails.
    let base_url = stub::serve(|request: &Request, socket: &mut TcpStream| {
        let date = httpdate(SystemTime::now() + Duration::from_secs(3600));
        let (status, body) = match works(request) {
            _ if request.path == "/v1/version" => (404, String::new()),
            usual => usual,
        };
        reply(socket, status, &format!("date: {date}\r\n"), body);
    });
    let checks = settings(&base_url).diagnose().await.checks;
    let clock = checks.iter().find(|check| check.name == "clock").unwrap();
    assert!(clock.message.contains("behind"), "{clock:?}");
    for (seconds, is_ahead, words) in [(3600, true, "behind"), (3600, false, "ahead of")] {
        let base_url = stub::serve(move |request: &Request, socket: &mut TcpStream| {
            let off = Duration::from_secs(seconds);
            let now = SystemTime::now();
            let date = httpdate(if is_ahead { now + off } else { now - off });
            let (status, body) = works(request);
            reply(socket, status, &format!("date: {date}\r\n"), body);
        });
        fails(&settings(&base_url), "clock", words).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_budget_on_a_server_that_nobody_reaches_is_found() {
    let (_taken, port) = stub::nobody();
    let mut settings = except("", 200, "");
    settings.budget(format!("redis://127.0.0.1:{port}"));
    fails(
        &settings,
        "budget",
        "check the setting budget and the server",
    )
    .await;
}

#[tokio::test]
async fn missing_settings_are_a_finding() {
    let mut settings = Builder::default();
    settings.environment(false);
    fails(
        &settings,
        "settings",
        "base_url, client_id, client_secret are not set",
    )
    .await;
}

/// Tells the child its base URL.
const CHILD: &str = "TALENTDATA_TEST_DOCTOR";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn act_as_child() {
    if let Ok(base_url) = std::env::var(CHILD) {
        let mut settings = stub::settings(&base_url);
        settings.budget("host");
        tell(&serde_json::to_value(settings.diagnose().await).unwrap());
    }
}

#[test]
fn directories_that_cannot_be_written_are_found() {
    let base_url = stub::serve(|request, socket| {
        let (status, body) = works(request);
        reply(socket, status, "", body);
    });
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    for (variable, name) in [
        ("XDG_RUNTIME_DIR", "runtime_directory"),
        ("TMPDIR", "temporary_directory"),
    ] {
        let environment = [(CHILD, &*base_url), (variable, file.to_str().unwrap())];
        let diagnosis: serde_json::Value = stub::child("doctor::act_as_child", &environment);
        let checks = diagnosis["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["name"] == name).unwrap();
        assert_eq!(check["status"], "failed", "{diagnosis}");
        let message = check["message"].as_str().unwrap();
        assert!(message.contains(&format!("set {variable}")), "{message}");
    }
}

/// Returns a time in the form of a header.
fn httpdate(time: SystemTime) -> String {
    httpdate::fmt_http_date(time)
}
