//! Faults of networks: names that lead elsewhere, proxies, old TLS, responses that never end.

use crate::stub::{self, PERMISSIONS, tell};
use std::io::{ErrorKind as IoErrorKind, Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::mpsc::Receiver;
use std::time::Duration;
use talentdata_core::ErrorKind;

/// Tells the child which address to call.
const BASE_URL: &str = "TALENTDATA_TEST_NETWORK";

/// The child process of the tests below that need an environment of their own.
#[tokio::test]
async fn act_as_child() {
    if let Ok(base_url) = std::env::var(BASE_URL) {
        let client = stub::settings(&base_url).max_attempts(1).build();
        let outcome = match client {
            Ok(client) => client.permissions().await,
            Err(error) => Err(error),
        };
        tell(&outcome.map_or_else(|error| error.to_string(), |_| "done".to_owned()));
    }
}

/// Returns the outcome of a child's call.
fn outcome_of(base_url: &str, environment: &[(&str, &str)]) -> String {
    let environment = [environment, &[(BASE_URL, base_url)]].concat();
    stub::child("network::act_as_child", &environment)
}

/// Returns whether anybody connected to this address, or whether that cannot be determined.
fn was_visited(listener: &TcpListener) -> bool {
    listener.set_nonblocking(true).unwrap();
    let error = listener.accept().err();
    error.is_none_or(|error| error.kind() != IoErrorKind::WouldBlock)
}

#[cfg(target_os = "linux")]
#[test]
fn localhost_is_this_machine_regardless_of_the_name_service() {
    let directory = tempfile::tempdir().unwrap();
    let library = directory.path().join("names.so");
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/client/names.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"]);
    compiler.arg(&library).arg(source).arg("-ldl");
    assert!(compiler.status().unwrap().success());
    let service = stub::serve(stub::api(|_| (200, "", PERMISSIONS.to_owned())));
    let (_, port) = service.rsplit_once(':').unwrap();
    let stranger = TcpListener::bind(("127.0.0.2", port.parse().unwrap())).unwrap();
    let preload = [("LD_PRELOAD", library.to_str().unwrap())];
    let outcome = outcome_of(&format!("http://localhost:{port}"), &preload);
    assert!(!was_visited(&stranger), "{outcome}");
    assert_eq!(outcome, "done");
}

#[tokio::test]
async fn requests_to_this_machine_use_no_proxy_and_others_follow_the_settings() {
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", proxy.local_addr().unwrap());
    let names = [
        "https_proxy",
        "HTTPS_PROXY",
        "http_proxy",
        "HTTP_PROXY",
        "ALL_PROXY",
    ];
    let all = names.map(|name| (name, address.as_str()));
    let (_taken, port) = stub::nobody();
    let [here, localhost] = ["127.0.0.1", "localhost"].map(|host| format!("https://{host}:{port}"));
    for (base_url, more) in [
        (&*here, None),
        (&*localhost, None),
        // The setting takes precedence over the environment. No name service knows this name.
        ("https://talent.invalid", Some(("TALENTDATA_PROXY", "none"))),
        (
            "https://talent.invalid",
            Some(("NO_PROXY", "other.example, .invalid")),
        ),
    ] {
        let environment: Vec<_> = all.into_iter().chain(more).collect();
        let outcome = outcome_of(base_url, &environment);
        assert!(!was_visited(&proxy), "{base_url}: {outcome}");
        let wanted = format!("cannot connect to {base_url}: ");
        assert!(outcome.starts_with(&wanted), "{outcome}");
    }
    proxy.set_nonblocking(false).unwrap();
    let asked = answers(proxy, b"".to_vec(), false);
    let outcome = outcome_of("https://talent.example", &all);
    let asked = asked.recv().unwrap();
    assert!(asked.starts_with(CONNECT.as_bytes()), "{outcome}");
    let wanted = format!("through the proxy {address}");
    assert!(outcome.contains(&wanted), "{outcome}");
}

/// The beginning of the request to a proxy for the service.
const CONNECT: &str = "CONNECT talent.example:443 ";

/// Starts a server that sends these bytes on each connection, and then ends it, or waits until the client ends it.
/// Returns the bytes that it receives.
fn answers(listener: TcpListener, answer: Vec<u8>, waits: bool) -> Receiver<Vec<u8>> {
    let (sender, sent) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for mut socket in listener.incoming().map_while(Result::ok) {
            let mut bytes = [0; 4096];
            let length = socket.read(&mut bytes).unwrap_or(0);
            let _ = sender.send(bytes[..length].to_vec());
            let _ = socket.write_all(&answer);
            while waits && matches!(socket.read(&mut bytes), Ok(1..)) {}
        }
    });
    sent
}

/// The proxy connects, but the service does not answer or ends the connection; or the proxy refuses; or there is no
/// proxy.
#[tokio::test]
async fn every_error_names_the_proxy_and_none_its_password() {
    const REFUSED: &str = "HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n";
    const CONNECTED: &str = "HTTP/1.1 200 Connection established\r\n\r\n";
    for (answer, is_silent, wanted) in [
        (Some(CONNECTED), true, "timed out connecting to"),
        (Some(CONNECTED), false, "cannot connect to"),
        (Some(REFUSED), false, "cannot connect to"),
        (None, false, "cannot connect to"),
    ] {
        let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
        let (_taken, mut port) = stub::nobody();
        let asked = answer.map(|answer| {
            port = proxy.local_addr().unwrap().port();
            answers(proxy, answer.into(), is_silent)
        });
        let mut settings = stub::settings("https://talent.example");
        settings
            // Failures of other tests at this address must not count here.
            .budget("process")
            .proxy(format!("http://user:CANARY-proxy@127.0.0.1:{port}"))
            .connect_timeout(Duration::from_millis(500))
            .max_attempts(1);
        let client = settings.build().unwrap();
        let error = client.version().await.unwrap_err();
        let wanted =
            format!("{wanted} https://talent.example through the proxy http://127.0.0.1:{port}");
        assert!(error.message().starts_with(&wanted), "{error}");
        let shown = format!("{error:?} {client:?}");
        assert!(!shown.contains("CANARY"), "{shown}");
        if let Some(asked) = asked.map(|asked| asked.recv().unwrap()) {
            let asked = String::from_utf8(asked).unwrap();
            assert!(asked.starts_with(CONNECT), "{asked}");
            let asked = asked.to_lowercase();
            assert!(asked.contains("proxy-authorization: basic "), "{asked}");
        }
    }
}

/// Every value of a proxy setting is either used, or is an error that names the setting.
#[test]
fn no_proxy_setting_is_silently_ignored() {
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = proxy.local_addr().unwrap();
    let plain = address.to_string();
    let with_path = format!("http://{address}/");
    let with_user = format!("http://us%20er:p%40ss@{address}");
    let asked = answers(proxy, b"HTTP/1.1 403 No\r\n\r\n".to_vec(), false);
    // The variables, and the message; empty if the proxy is used.
    let rows: [(&[(&str, &str)], &str); 18] = [
        (&[("HTTPS_PROXY", &plain)], ""),
        (&[("https_proxy", &with_path)], ""),
        (&[("ALL_PROXY", &with_user)], ""),
        (&[("HTTPS_PROXY", ""), ("all_proxy", &plain)], ""),
        // `REQUEST_METHOD` only matters for programs that a web server calls, and only for HTTP_PROXY.
        (&[("HTTPS_PROXY", &plain), ("REQUEST_METHOD", "GET")], ""),
        (
            &[
                ("HTTPS_PROXY", &plain),
                ("NO_PROXY", "other.example,lent.example"),
            ],
            "",
        ),
        (
            &[("HTTPS_PROXY", &plain), ("NO_PROXY", "talent.example:8443")],
            "",
        ),
        (&[("HTTPS_PROXY", &plain), ("NO_PROXY", "")], ""),
        (&[("TALENTDATA_PROXY", &plain), ("NO_PROXY", "*")], ""),
        (
            &[("HTTPS_PROXY", "socks5://127.0.0.1:1080")],
            "HTTPS_PROXY must be none or an http or https URL, such as http://proxy.example:3128: SOCKS proxies cannot be used",
        ),
        (
            &[("ALL_PROXY", "socks5h://127.0.0.1")],
            "ALL_PROXY must be ",
        ),
        (
            &[("HTTPS_PROXY", "ftp://127.0.0.1:1")],
            "HTTPS_PROXY must be ",
        ),
        (
            &[("HTTPS_PROXY", "http://127.0.0.1:port")],
            "HTTPS_PROXY must be none or an http or https URL, such as http://proxy.example:3128: its port is not a number up to 65535",
        ),
        (
            &[("HTTPS_PROXY", "http://127.0.0.1:99999")],
            "HTTPS_PROXY must be ",
        ),
        (&[("HTTPS_PROXY", "http://")], "HTTPS_PROXY must be "),
        (&[("HTTPS_PROXY", "   ")], "HTTPS_PROXY must be "),
        (
            &[("HTTPS_PROXY", "http://127.0.0.1/proxy.pac")],
            "HTTPS_PROXY must be ",
        ),
        (
            &[("TALENTDATA_PROXY", "socks5://CANARY@127.0.0.1:1")],
            "proxy must be ",
        ),
    ];
    for (environment, says) in rows {
        let outcome = outcome_of("https://talent.example", environment);
        let is_asked = asked.try_recv().is_ok();
        assert_eq!(is_asked, says.is_empty(), "{environment:?}: {outcome}");
        assert!(
            outcome.starts_with(says) && !outcome.contains("CANARY"),
            "{outcome}"
        );
        let refused = outcome.contains("the proxy refused with status 403 (No)");
        assert_eq!(refused, is_asked, "{outcome}");
    }
    // Excluded hosts are reached without the proxy. No name service knows this name.
    for excluded in [
        "*",
        "talent.invalid",
        ".invalid",
        "*.invalid",
        "TALENT.INVALID",
        "a.example talent.invalid",
        "talent.invalid:443",
        "talent.invalid.",
    ] {
        for variable in ["NO_PROXY", "no_proxy"] {
            let environment = [("HTTPS_PROXY", &*plain), (variable, excluded)];
            let outcome = outcome_of("https://talent.invalid", &environment);
            assert!(asked.try_recv().is_err(), "{excluded}: {outcome}");
            assert!(
                outcome.contains("the name talent.invalid cannot be looked up"),
                "{outcome}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_a_common_tls_version_is_not_tried_again() {
    // The server only supports TLS 1.1. It sends an alert, or continues in that version.
    let alert = vec![21, 3, 2, 0, 2, 2, 70];
    let mut hello = vec![22, 3, 2, 0, 42, 2, 0, 0, 38, 3, 2];
    hello.extend([7; 32]);
    hello.extend([0, 0, 0x2f, 0]);
    let plain = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n".to_vec();
    for (answer, kind, connections) in [
        (alert, ErrorKind::Tls, 1),
        (hello, ErrorKind::Tls, 1),
        (plain, ErrorKind::Tls, 1),
        // A handshake that is cut may succeed the next time.
        (Vec::new(), ErrorKind::Connect, 4),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        // Not closed before the client read the answer.
        let waits = !answer.is_empty();
        let tried = answers(listener, answer, waits);
        let client = stub::settings(&format!("https://{address}")).build();
        let error = client.unwrap().permissions().await.unwrap_err();
        assert_eq!(
            (error.kind(), tried.try_iter().count()),
            (kind, connections)
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn responses_that_never_end_are_timeouts() {
    // Interim responses without end are in `memory`.
    let stops = stub::serve(|_, socket| {
        let _ = socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{");
    });
    let mut settings = stub::settings(&stops);
    settings
        .idle_timeout(Duration::from_millis(100))
        .max_attempts(1);
    let error = settings.build().unwrap().version().await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Timeout, 1));
    let wanted = format!("the response of {stops} paused for longer than 0.1 s (idle_timeout)");
    assert_eq!(error.message(), wanted);
    // A few interim responses are skipped.
    let permissions = stub::api(|_| (200, "", PERMISSIONS.to_owned()));
    let base_url = stub::serve(move |request, socket| {
        let interim = b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n".repeat(16);
        let _ = socket.write_all(&interim);
        permissions(request, socket);
    });
    let client = stub::settings(&base_url).build().unwrap();
    client.permissions().await.unwrap();
}
