//! The log of requests, and that whoever runs the test is outside of it.

use std::io::Write as _;

use serde_json::{Value, json};
use talentdata_sandbox::{Options, Sandbox};

use crate::support::{
    connect, credentials, faulty, get, hear, parse, post, send, send_raw, version,
};

fn requests(sandbox: &Sandbox) -> Vec<Value> {
    let body = send(sandbox, "GET", "/__requests", &[], "").json();
    assert_eq!(body["dropped"], 0);
    body["requests"].as_array().unwrap().clone()
}

#[test]
fn requests_are_logged_with_everything_that_was_received() {
    let rule = json!({"match": {"path": "/v1/contacts"}, "reply": {"status": 500}});
    let sandbox = faulty(&json!([{"match": {"nth": 99}, "reply": {}}, rule]));
    let credentials = credentials(&sandbox);
    post(&sandbox, "/v1/oauth/token", &credentials);
    get(&sandbox, "/v1/contacts?limit=5&offset=10", "secret");
    let logged = requests(&sandbox);
    assert!(!json!(logged).to_string().contains(sandbox.client_secret()));
    assert_eq!(logged.len(), 2);
    let (token, page) = (&logged[0], &logged[1]);
    assert_eq!(token["method"], "POST");
    assert_eq!(token["path"], "/v1/oauth/token");
    let masked = json!({"clientId": sandbox.client_id(), "clientSecret": "[redacted]"});
    assert_eq!(token["body"], masked.to_string());
    assert_eq!(token["headers"]["content-type"], "application/json");
    assert_eq!(token["fault"], Value::Null);
    assert_eq!(page["query"], "limit=5&offset=10");
    assert_eq!(page["headers"]["authorization"], "Bearer [redacted]");
    assert_eq!(page["fault"], 1);
    assert!(page["at_ms"].as_u64() >= token["at_ms"].as_u64());
    assert_ne!(page["connection"], token["connection"]);
    send(&sandbox, "DELETE", "/__faults", &[], "");
    assert!(requests(&sandbox).is_empty());
}

#[test]
fn requests_on_one_connection_share_its_number_and_repeated_headers_are_joined() {
    let sandbox = faulty(&json!([]));
    let one = "GET /v1/version HTTP/1.1\r\nhost: x\r\nx-a: 1\r\nx-a: 2\r\n\r\n";
    let last = "GET /v1/version HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    send_raw(&sandbox, &format!("{one}{last}")).end.unwrap();
    let logged = requests(&sandbox);
    assert_eq!(logged[0]["connection"], logged[1]["connection"]);
    assert_eq!(logged[0]["headers"]["x-a"], "1, 2");
}

#[test]
fn counts_can_be_asked_for_over_the_wire() {
    let options = Options {
        faults: true,
        limit: 1,
        window: std::time::Duration::from_secs(u64::MAX),
        ..Options::default()
    };
    let sandbox = Sandbox::start(options).unwrap();
    version(&sandbox);
    post(&sandbox, "/v1/oauth/token", &credentials(&sandbox));
    let stats = send(&sandbox, "GET", "/__stats", &[], "").json();
    let expected = json!({
        "requests": 2,
        "token_posts": 1,
        "limited": 1,
        "requests_by_path": {"/v1/version": 1, "/v1/oauth/token": 1},
        "most_in_a_second": 1,
    });
    assert_eq!(stats, expected);
}

#[test]
fn the_fault_endpoints_are_outside_of_limit_and_counts() {
    let options = Options {
        faults: true,
        limit: 1,
        window: std::time::Duration::from_secs(u64::MAX),
        ..Options::default()
    };
    let sandbox = Sandbox::start(options).unwrap();
    for _ in 0..3 {
        assert_eq!(
            post(&sandbox, "/__faults", &json!({"rules": []})).status,
            200
        );
        assert!(requests(&sandbox).is_empty());
    }
    assert_eq!(sandbox.stats().requests, 0);
    assert_eq!(version(&sandbox).status, 200);
    assert_eq!(version(&sandbox).status, 429);
    assert_eq!(
        send(&sandbox, "GET", "/__faults", &[], "").status,
        429,
        "no such endpoint"
    );
}

#[test]
fn no_secret_is_logged_wherever_it_stands() {
    let sandbox = faulty(&json!([]));
    let secret = "CANARY-1234";
    let body = json!({"x": [{"access_token": secret, "client_secret": [secret]}]});
    post(&sandbox, "/v1/version/check", &body);
    send(
        &sandbox,
        "POST",
        "/v1/oauth/token",
        &[],
        &format!("clientSecret={secret}"),
    );
    get(
        &sandbox,
        &format!("/v1/contacts?limit=5&access_token={secret}"),
        secret,
    );
    send(&sandbox, "GET", "/v1/version", &[("cookie", secret)], "");
    let logged = json!(requests(&sandbox)).to_string();
    assert!(!logged.contains(secret), "{logged}");
    assert!(
        logged.contains("limit=5&access_token=[redacted]"),
        "{logged}"
    );
}

#[test]
fn web_pages_cannot_use_the_fault_endpoints() {
    let sandbox = faulty(&json!([]));
    let port = sandbox.base_url().rsplit_once(':').unwrap().1;
    let own = format!("127.0.0.1:{port}");
    let by_name = format!("localhost:{port}");
    let rebound = format!("evil.example:{port}");
    for (status, host, header) in [
        (200, own.as_str(), ""),
        (200, by_name.as_str(), ""),
        (200, own.as_str(), "sec-fetch-site: none\r\n"),
        (403, rebound.as_str(), ""),
        (403, "127.0.0.1", ""),
        (403, "127.0.0.1:1", ""),
        (403, own.as_str(), "origin: https://evil.example\r\n"),
        (403, own.as_str(), "origin: null\r\n"),
        (403, own.as_str(), "sec-fetch-site: cross-site\r\n"),
    ] {
        for (method, path) in [
            ("GET", "/__requests"),
            ("POST", "/__faults"),
            ("DELETE", "/__faults"),
        ] {
            let body = r#"{"rules":[]}"#;
            let length = body.len();
            let request = format!(
                "{method} {path} HTTP/1.1\r\nhost: {host}\r\n{header}connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
            );
            let reply = parse(&send_raw(&sandbox, &request).bytes);
            assert_eq!(reply.status, status, "{method} {path} {host} {header}");
        }
    }
}

#[test]
fn a_body_that_nobody_needs_is_refused_before_it_fills_the_memory() {
    let sandbox = faulty(&json!([]));
    for (path, mebibytes) in [
        ("/v1/oauth/token", 2),
        ("/__requests", 2),
        ("/__faults", 81),
    ] {
        let mut socket = connect(&sandbox);
        let host = socket.peer_addr().unwrap();
        let length: usize = mebibytes << 20;
        let head =
            format!("POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-length: {length}\r\n\r\n");
        socket.write_all(head.as_bytes()).unwrap();
        // The refusal may come, and the connection end, before all is written.
        let piece = vec![b' '; 1 << 16];
        let written = (0..length / piece.len()).take_while(|_| socket.write_all(&piece).is_ok());
        let all = written.count() == length / piece.len();
        let bytes = hear(&mut socket).bytes;
        assert!(!all || parse(&bytes).status == 413, "{path}");
        assert!(bytes.is_empty() || parse(&bytes).status == 413, "{path}");
    }
}
