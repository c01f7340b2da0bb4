//! Talks to the sandbox's own endpoints: gives it fault rules, and asks what it saw.

use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;

/// Gives the sandbox fault rules.
pub(crate) fn post_rules(base_url: &str, rules: &[Value]) {
    exchange(
        base_url,
        "POST",
        "/__faults",
        &serde_json::json!({ "rules": rules }).to_string(),
    );
}

/// What the sandbox tells of itself.
pub(crate) fn get(base_url: &str, path: &str) -> String {
    exchange(base_url, "GET", path, "")
}

fn exchange(base_url: &str, method: &str, path: &str, body: &str) -> String {
    let host = base_url.trim_start_matches("http://");
    let length = body.len();
    let mut socket = TcpStream::connect(host).unwrap();
    write!(
        socket,
        "{method} {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 2"), "{answer}");
    answer
}
