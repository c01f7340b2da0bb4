//! What a network may do: names that lead elsewhere, proxies, old TLS, responses that never come to their point.

use crate::stub;
use std::io::{ErrorKind as IoErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use talentdata_core::ErrorKind;

/// Tells the child which address to call.
const BASE_URL: &str = "TALENTDATA_TEST_NETWORK";

/// The other end of the tests below that need a process with an environment of its own.
#[tokio::test]
async fn act_as_child() {
    let Ok(base_url) = std::env::var(BASE_URL) else {
        return;
    };
    let client = stub::settings(&base_url).max_attempts(1).build().unwrap();
    match client.permissions().await {
        Ok(_) => println!("\noutcome: done"),
        Err(error) => println!("\noutcome: {error}"),
    }
}

/// What a child says of its call.
fn outcome_of(base_url: &str, environment: &[(&str, &str)]) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "network::act_as_child", "--nocapture"]);
    for variable in ["NO_PROXY", "no_proxy"] {
        child.env_remove(variable);
    }
    child
        .env(BASE_URL, base_url)
        .envs(environment.iter().copied());
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let outcome = text.lines().find_map(|line| line.strip_prefix("outcome: "));
    outcome.unwrap_or_else(|| panic!("{output:?}")).to_owned()
}

/// A service that answers everything, and its port.
fn service() -> (String, u16) {
    let base_url = stub::serve(|request, socket| match request.asks_for_a_token() {
        true => stub::reply(socket, 200, "", stub::token("any-token", 3600.0)),
        false => stub::reply(socket, 200, "", r#"{"roles":[],"permissions":[]}"#),
    });
    let (_, port) = base_url.rsplit_once(':').unwrap();
    let port = port.parse().unwrap();
    (base_url, port)
}

/// Whether anybody has connected to this address.
fn was_visited(listener: &TcpListener) -> bool {
    listener.set_nonblocking(true).unwrap();
    match listener.accept() {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.kind(), IoErrorKind::WouldBlock);
            false
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn localhost_is_this_machine_whatever_the_name_service_says() {
    let directory = tempfile::tempdir().unwrap();
    let library = directory.path().join("names.so");
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/client/names.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"]);
    compiler.arg(&library).arg(source).arg("-ldl");
    assert!(compiler.status().unwrap().success());
    let (_, port) = service();
    let stranger = TcpListener::bind(("127.0.0.2", port)).unwrap();
    let preload = [("LD_PRELOAD", library.to_str().unwrap())];
    let outcome = outcome_of(&format!("http://localhost:{port}"), &preload);
    assert!(!was_visited(&stranger), "{outcome}");
    assert_eq!(outcome, "done");
}

#[test]
fn what_is_meant_for_this_machine_goes_through_no_proxy() {
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", proxy.local_addr().unwrap());
    let variables = [
        "https_proxy",
        "HTTPS_PROXY",
        "http_proxy",
        "HTTP_PROXY",
        "ALL_PROXY",
    ];
    let environment = variables.map(|name| (name, address.as_str()));
    for host in ["127.0.0.1", "localhost"] {
        let service = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = service.local_addr().unwrap().port();
        let visited = std::thread::spawn(move || service.accept().is_ok());
        // It speaks no TLS, which is as far as this has to go.
        let outcome = outcome_of(&format!("https://{host}:{port}"), &environment);
        assert!(!was_visited(&proxy), "{host}: {outcome}");
        assert!(visited.join().unwrap(), "{host}: {outcome}");
    }
    proxy.set_nonblocking(false).unwrap();
    let asked = std::thread::spawn(move || {
        let (mut socket, _) = proxy.accept().unwrap();
        let mut line = [0; 64];
        let read = socket.read(&mut line).unwrap();
        String::from_utf8_lossy(&line[..read]).into_owned()
    });
    let outcome = outcome_of("https://talent.example", &environment);
    let asked = asked.join().unwrap();
    assert!(
        asked.starts_with("CONNECT talent.example:443 "),
        "{asked} {outcome}"
    );
    assert!(
        outcome.contains(&format!("through the proxy {address}")),
        "{outcome}"
    );
}

#[test]
fn the_setting_goes_before_the_proxies_of_the_environment() {
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", proxy.local_addr().unwrap());
    let environment = [
        ("HTTPS_PROXY", address.as_str()),
        ("TALENTDATA_PROXY", "none"),
    ];
    // The name is known nowhere.
    let outcome = outcome_of("https://talent.invalid", &environment);
    assert!(!was_visited(&proxy), "{outcome}");
    assert!(
        outcome.contains("cannot connect to https://talent.invalid: "),
        "{outcome}"
    );
}

/// The outcome of a call to a server that answers the first bytes of a connection so, and how often it was tried.
async fn tried(answer: Vec<u8>) -> (ErrorKind, u32) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicU32::new(0));
    std::thread::spawn({
        let connections = Arc::clone(&connections);
        move || {
            for mut socket in listener.incoming().map_while(Result::ok) {
                connections.fetch_add(1, Ordering::Relaxed);
                let _ = socket.read(&mut [0; 4096]);
                let _ = socket.write_all(&answer);
                // Not closed before the client has read what it is told.
                let _ = socket.read(&mut [0; 4096]);
            }
        }
    });
    let client = stub::settings(&format!("https://{address}"))
        .build()
        .unwrap();
    let error = client.permissions().await.unwrap_err();
    (error.kind(), connections.load(Ordering::Relaxed))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_a_common_tls_version_is_not_tried_again() {
    // TLS 1.1 is all it has: it says so by an alert, or goes on in that version.
    let alert = vec![21, 3, 2, 0, 2, 2, 70];
    let mut hello = vec![22, 3, 2, 0, 42, 2, 0, 0, 38, 3, 2];
    hello.extend([7; 32]);
    hello.extend([0, 0, 0x2f, 0]);
    let plain = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n".to_vec();
    for answer in [alert, hello, plain] {
        assert_eq!(tried(answer).await, (ErrorKind::Tls, 1));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handshake_that_is_cut_is_tried_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut socket in listener.incoming().map_while(Result::ok) {
            let _ = socket.read(&mut [0; 4096]);
        }
    });
    let client = stub::settings(&format!("https://{address}"))
        .build()
        .unwrap();
    let error = client.permissions().await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Connect, 4));
}

/// Writes interim responses, so many or until nobody reads them any more.
fn interim(socket: &mut TcpStream, count: usize) {
    for _ in 0..count {
        if socket
            .write_all(b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n")
            .is_err()
        {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interim_responses_without_end_are_a_timeout() {
    let base_url = stub::serve(|_, socket| interim(socket, usize::MAX));
    let mut settings = stub::settings(&base_url);
    settings
        .attempt_timeout(Duration::from_millis(500))
        .max_attempts(1);
    let error = settings.build().unwrap().version().await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Timeout, 1));
    let wanted = format!("no complete response from {base_url} within 0.5 s");
    assert_eq!(error.message(), wanted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn some_interim_responses_are_passed_over() {
    let base_url = stub::serve(|request, socket| {
        interim(socket, 16);
        let body = match request.asks_for_a_token() {
            true => stub::token("any-token", 3600.0),
            false => r#"{"roles":[],"permissions":[]}"#.to_owned(),
        };
        stub::reply(socket, 200, "", body);
    });
    let client = stub::settings(&base_url).build().unwrap();
    client.permissions().await.unwrap();
}

#[tokio::test]
async fn a_response_that_stops_is_a_timeout() {
    let base_url = stub::serve(|_, socket| {
        let _ = socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{");
    });
    let mut settings = stub::settings(&base_url);
    settings.idle_timeout(Duration::from_millis(100));
    let client = settings.max_attempts(1).build().unwrap();
    let error = client.version().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
}
