//! Answers that no HTTP library would send: raw bytes, wrong lengths, drops, endless bodies, lost connections.

use std::io::{ErrorKind, Read as _, Write as _};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{connect, faulty, hear, hear_version, parse, request, script, version};

#[test]
fn raw_bytes_are_sent_as_they_are() {
    let header = "x".repeat(1 << 20);
    for (reply, bytes) in [
        (json!({"raw": "<html>HTTP/0.9"}), b"<html>HTTP/0.9".to_vec()),
        (json!({"raw_base64": "gAA="}), vec![0x80, 0]),
        (json!({"raw": header}), header.clone().into_bytes()),
        (
            json!({"raw": "HTTP/1.1 099 x\r\n", "cut_at_wire": 12}),
            b"HTTP/1.1 099".to_vec(),
        ),
    ] {
        let heard = hear_version(&faulty(&json!([{"reply": reply}])));
        heard.end.unwrap();
        assert_eq!(heard.bytes, bytes);
    }
}

#[test]
fn lengths_can_be_lies() {
    let headers = json!({"content-length": "10000000000"});
    let sandbox = faulty(&json!([
        {"match": {"nth": 1}, "reply": {"headers": headers, "body": "short"}},
        {"match": {"nth": 2}, "reply": {"headers": {"content-length": ["5", "6"]}, "body": "short"}},
        {"match": {"nth": 3}, "reply": {
            "headers": {"content-length": "5"}, "framing": "chunked", "body": "short",
        }},
    ]));
    for (lengths, rest) in [
        (vec!["content-length: 10000000000"], "\r\n\r\nshort"),
        (
            vec!["content-length: 5", "content-length: 6"],
            "\r\n\r\nshort",
        ),
        (
            vec!["content-length: 5", "transfer-encoding: chunked"],
            "\r\n\r\n5\r\nshort\r\n0\r\n\r\n",
        ),
    ] {
        let heard = String::from_utf8(hear_version(&sandbox).bytes).unwrap();
        for length in lengths {
            assert_eq!(
                heard.matches(&format!("{length}\r\n")).count(),
                1,
                "{heard}"
            );
        }
        assert!(heard.ends_with(rest), "{heard}");
    }
}

/// The client cannot know that the connection is about to end, and may send its next request into the void.
#[test]
fn a_connection_can_end_unannounced_after_a_whole_answer() {
    let sandbox = faulty(&json!([{"reply": {"body": "whole", "how": "fin"}}]));
    let heard = hear_version(&sandbox);
    heard.end.unwrap();
    let reply = parse(&heard.bytes);
    assert_eq!(reply.body, b"whole");
    assert_eq!(reply.header("connection"), None);
    script(
        &sandbox,
        &json!([{"reply": {"body": "whole", "framing": "length"}}]),
    );
    let reply = parse(&hear_version(&sandbox).bytes);
    assert_eq!(
        reply.header("connection"),
        Some("close"),
        "no fault, so it is said"
    );
}

#[test]
fn a_connection_can_be_lost_before_its_request_is_read() {
    let rules = json!([{"match": {"accept": true, "nth": 2}, "reply": {"how": "rst"}}]);
    let sandbox = faulty(&rules);
    assert_eq!(version(&sandbox).status, 200);
    let mut socket = connect(&sandbox);
    let error = hear(&mut socket).end.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert_eq!(version(&sandbox).status, 200);
}

#[test]
fn a_body_can_trickle() {
    let trickle = json!({"bytes": 100, "every_ms": 5});
    let sandbox = faulty(&json!([{"reply": {"body": "y".repeat(1000), "trickle": trickle}}]));
    let start = Instant::now();
    let heard = hear_version(&sandbox);
    assert_eq!(parse(&heard.bytes).body, [b'y'; 1000]);
    // More than ten pieces, because the head is sent in the same manner.
    assert!(start.elapsed() >= Duration::from_millis(50));
}

#[test]
fn a_body_can_be_sent_byte_by_byte_without_a_pause() {
    let sandbox = faulty(&json!([{"reply": {"trickle": {"bytes": 1}}}]));
    let reply = parse(&hear_version(&sandbox).bytes);
    assert_eq!(reply.json()["apiStatus"], "operational");
}

#[test]
fn a_body_can_go_on_for_ever() {
    for (framing, first, next) in [
        (
            "chunked",
            "\r\n\r\n2\r\n{}\r\n4000\r\n    ",
            " \r\n4000\r\n ",
        ),
        ("close", "\r\n\r\n{}    ", "        "),
    ] {
        let reply = json!({"body": "{}", "endless": true, "framing": framing});
        let sandbox = faulty(&json!([{"match": {"nth": 1}, "reply": reply}]));
        let mut socket = connect(&sandbox);
        socket
            .write_all(request("GET", "/v1/version", &[], "").as_bytes())
            .unwrap();
        let mut heard = vec![0; 1 << 20];
        socket.read_exact(&mut heard).unwrap();
        let heard = String::from_utf8(heard).unwrap();
        assert!(heard.contains(first) && heard.contains(next), "{framing}");
        drop(socket);
        assert_eq!(version(&sandbox).status, 200, "others are still served");
    }
}
