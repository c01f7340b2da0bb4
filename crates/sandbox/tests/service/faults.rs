//! Rules: which requests they are for, how they change a response, and answers that no HTTP library would send.

use crate::{Heard, Reply, faulty, hear, limited, request};
use serde_json::{Value, json};
use std::io::{ErrorKind, Read as _};
use std::time::{Duration, Instant};

#[test]
fn a_script_that_is_not_understood_is_refused_with_the_reason() {
    let service = faulty(&json!([]));
    for (script, reason) in [
        (r#"{"rules": [{"reply": {"stattus": 500}}]}"#, "stattus"),
        (r#"{"rules": [{"match": {"nht": 1}, "reply": {}}]}"#, "nht"),
        (r#"{"rules": [{"reply": {"how": "bang"}}]}"#, "bang"),
        (r#"{"rules": [{"reply": {"status": 1000}}]}"#, "status"),
        (
            r#"{"rules": [{"reply": {"headers": {"a": "\n"}}}]}"#,
            "header",
        ),
        (r#"{"rules": [{"reply": {"body_base64": "!"}}]}"#, "Invalid"),
        (r#"{"rules": [{}]}"#, "reply"),
        (
            r#"{"rules": [{"reply": {}}, {"match": {"path": "/v1/contacs"}, "reply": {}}]}"#,
            r#"rules[1].match.path: the service has no path "/v1/contacs""#,
        ),
        (
            r#"{"rules": [{"match": {"path": "/v1/contacts?limit=5"}, "reply": {}}]}"#,
            "without a query",
        ),
        ("{}", "rules"),
    ] {
        let reply = service.ask("POST /__faults", script);
        assert_eq!(reply.status, 400, "{script}");
        let message = reply.json()["error"]["message"].clone();
        assert!(message.as_str().unwrap().contains(reason), "{message}");
        let error = service.set_faults(script).unwrap_err();
        assert_eq!(message, error.to_string());
    }
    assert_eq!(service.version().status, 200, "no rule is in force");
    let without = limited(|_| ());
    let error = without.set_faults(r#"{"rules": []}"#).unwrap_err();
    assert!(error.to_string().contains("started with faults"), "{error}");
}

#[test]
fn rules_choose_requests_by_method_path_and_number() {
    let service = faulty(&json!([
        {"match": {"path": "/v1/version", "nth": 2}, "reply": {"status": 502}},
        {"match": {"path": "/v1/version", "from": 2}, "reply": {"status": 503}},
        {"match": {"method": "POST"}, "reply": {"status": 500}},
    ]));
    let statuses = [(); 4].map(|()| service.version().status);
    assert_eq!(
        statuses,
        [200, 502, 503, 503],
        "the first rule that fits decides"
    );
    assert_eq!(service.ask("POST /v1/version/check", "").status, 500);
    assert_eq!(service.ask("GET /v1/contacts", "").status, 401);
    service.set_rules(&json!([{"match": {"nth": 1}, "reply": {"status": 418}}]));
    let statuses = [(); 2].map(|()| service.version().status);
    assert_eq!(statuses, [418, 200], "new rules count anew");
    service.set_rules(&json!([{"reply": {"status": 500}}]));
    assert_eq!(service.version().status, 500);
    assert_eq!(service.ask("DELETE /__faults", "").status, 200);
    assert_eq!(service.version().status, 200);
}

/// Without a body of its own, another status has none: that of the success would be read as that of the failure.
#[test]
fn status_headers_and_body_are_replaced_and_the_rest_stays() {
    let (none, json, html) = (&[][..], &["application/json"][..], &["text/html"][..]);
    let replaced = json!({
        "status": 503,
        "headers": {"Content-Type": "text/html", "x-ratelimit-remaining": ["0", "1"]},
        "omit_headers": ["x-ratelimit-limit"],
        "body": "<html>\n",
    });
    for (reply, status, body, kind) in [
        (json!({"status": 503}), 503, &b""[..], none),
        (
            json!({"status": 503, "body": {"code": 7}}),
            503,
            br#"{"code":7}"#,
            json,
        ),
        (replaced, 503, b"<html>\n", html),
        (
            json!({"body": {"a": [1, null]}}),
            200,
            br#"{"a":[1,null]}"#,
            json,
        ),
        (json!({"body": null}), 200, b"null", json),
        (json!({"body": ""}), 200, b"", json),
        (json!({"body": "[1e400"}), 200, b"[1e400", json),
        (json!({"body_base64": "/wA="}), 200, b"\xff\0", json),
    ] {
        let service = faulty(&json!([{"reply": reply}]));
        let answer = service.version();
        let all = |name: &str| -> Vec<&str> {
            let named = answer.headers.iter().filter(|(key, _)| key == name);
            named.map(|(_, value)| value.as_str()).collect()
        };
        assert_eq!(
            (answer.status, answer.body.as_slice()),
            (status, body),
            "{reply}"
        );
        assert_eq!(all("content-type"), kind, "{reply}");
        let omitted = reply.get("omit_headers").is_some();
        assert_eq!(all("x-ratelimit-limit").is_empty(), omitted);
        assert_eq!(
            all("x-ratelimit-remaining").len(),
            if omitted { 2 } else { 1 }
        );
        assert_eq!(all("x-ratelimit-reset").len(), 1);
    }
    let service = faulty(&json!([{"reply": {"status": 200}}]));
    assert_eq!(service.version().json()["apiStatus"], "operational");
}

#[test]
fn a_changed_answer_does_not_cost_the_connection() {
    let service = faulty(&json!([{"match": {"nth": 1}, "reply": {"status": 500}}]));
    let first = request("GET /v1/version", &[], "");
    let last = request("GET /v1/nothing", &[("connection", "close")], "");
    let heard = hear(&mut service.begin(&(first + &last)));
    let text = String::from_utf8(heard.bytes).unwrap();
    assert!(text.starts_with("HTTP/1.1 500 "), "{text}");
    assert!(text.contains("HTTP/1.1 404 "), "{text}");
}

#[test]
fn a_response_can_be_late_or_trickle() {
    let delay = json!({"delay_ms": 50});
    let trickle = json!({"body": "y".repeat(1000), "trickle": {"bytes": 100, "every_ms": 5}});
    for reply in [delay, trickle] {
        let service = faulty(&json!([{"reply": reply}]));
        let start = Instant::now();
        assert_eq!(service.version().status, 200);
        // More than ten pieces trickle, because the head is sent in the same manner.
        assert!(start.elapsed() >= Duration::from_millis(50), "{reply}");
    }
    let service = faulty(&json!([{"reply": {"trickle": {"bytes": 1}}}]));
    let reply = Reply::parse(&service.hear_version().bytes);
    assert_eq!(reply.json()["apiStatus"], "operational");
}

#[test]
fn a_body_can_be_compressed_and_can_be_a_bomb() {
    let service = faulty(&json!([
        {"match": {"nth": 1}, "reply": {"gzip": true, "body": "plain"}},
        {"match": {"nth": 2}, "reply": {"gzip_bomb_mb": 3, "status": 500}},
    ]));
    let unpacked = |reply: &Reply| {
        assert_eq!(reply.header("content-encoding"), Some("gzip"));
        let mut text = String::new();
        let mut decoder = flate2::read::GzDecoder::new(&reply.body[..]);
        decoder.read_to_string(&mut text).unwrap();
        text
    };
    assert_eq!(unpacked(&service.version()), "plain");
    let bomb = service.version();
    assert!(bomb.status == 500 && bomb.body.len() < 10_000);
    assert!(unpacked(&bomb).len() > 3 << 20);
}

/// The request was served all the same.
#[test]
fn a_request_can_be_read_and_not_answered() {
    let rule = json!({"match": {"path": "/v1/version"}, "reply": {"close_after_read": true}});
    let service = faulty(&json!([rule]));
    let heard = service.hear_version();
    assert!(heard.bytes.is_empty() && heard.end.is_ok());
    assert_eq!(service.stats().requests_by_path["/v1/version"], 1);
    service.new_token();
}

#[test]
fn raw_bytes_are_sent_as_they_are() {
    let header = "x".repeat(1 << 20);
    for (reply, bytes) in [
        (json!({"raw": "<html>HTTP/0.9"}), &b"<html>HTTP/0.9"[..]),
        (json!({"raw": header}), header.as_bytes()),
        (
            json!({"raw": "HTTP/1.1 099 x\r\n", "cut_at_wire": 12}),
            b"HTTP/1.1 099",
        ),
    ] {
        let heard = faulty(&json!([{"reply": reply}])).hear_version();
        heard.end.unwrap();
        assert_eq!(heard.bytes, bytes);
    }
}

#[test]
fn lengths_can_be_lies() {
    let chunked = "\r\n\r\n5\r\nshort\r\n0\r\n\r\n";
    for (reply, lengths, rest) in [
        (
            json!({"headers": {"content-length": "10000000000"}}),
            &["content-length: 10000000000"][..],
            "\r\n\r\nshort",
        ),
        (
            json!({"headers": {"content-length": ["5", "6"]}}),
            &["content-length: 5", "content-length: 6"],
            "\r\n\r\nshort",
        ),
        (
            json!({"headers": {"content-length": "5"}, "framing": "chunked"}),
            &["content-length: 5", "transfer-encoding: chunked"],
            chunked,
        ),
    ] {
        let mut reply = reply;
        reply["body"] = json!("short");
        let heard = faulty(&json!([{"reply": reply}])).hear_version();
        let heard = String::from_utf8(heard.bytes).unwrap();
        for length in lengths {
            let count = heard.matches(&format!("{length}\r\n")).count();
            assert_eq!(count, 1, "{heard}");
        }
        assert!(heard.ends_with(rest), "{heard}");
    }
}

/// The client cannot know that the connection is about to end, and may send its next request into the void.
#[test]
fn a_connection_can_end_unannounced_after_a_whole_answer() {
    for (reply, announced) in [
        (json!({"body": "whole", "how": "fin"}), None),
        (json!({"body": "whole", "framing": "length"}), Some("close")),
    ] {
        let heard = faulty(&json!([{"reply": reply}])).hear_version();
        heard.end.unwrap();
        let answer = Reply::parse(&heard.bytes);
        assert_eq!(answer.body, b"whole");
        assert_eq!(answer.header("connection"), announced, "{reply}");
    }
}

#[test]
fn a_connection_can_be_lost_before_its_request_is_read() {
    let rules = json!([{"match": {"accept": true, "nth": 2}, "reply": {"how": "rst"}}]);
    let service = faulty(&rules);
    assert_eq!(service.version().status, 200);
    let error = hear(&mut service.connect()).end.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert_eq!(service.version().status, 200);
}

#[test]
fn a_body_can_go_on_for_ever() {
    let chunked = (
        "chunked",
        "\r\n\r\n2\r\n{}\r\n4000\r\n    ",
        " \r\n4000\r\n ",
    );
    let close = ("close", "\r\n\r\n{}    ", "        ");
    for (framing, first, next) in [chunked, close] {
        let reply = json!({"body": "{}", "endless": true, "framing": framing});
        let service = faulty(&json!([{"match": {"nth": 1}, "reply": reply}]));
        let mut socket = service.begin(&request("GET /v1/version", &[], ""));
        let mut heard = vec![0; 1 << 20];
        socket.read_exact(&mut heard).unwrap();
        let heard = String::from_utf8(heard).unwrap();
        assert!(heard.contains(first) && heard.contains(next), "{framing}");
        drop(socket);
        assert_eq!(service.version().status, 200, "others are still served");
    }
}

/// More than two chunks of 64 bytes.
const BODY: [u8; 150] = [b'x'; 150];

/// A whole answer, or one that is cut.
fn reply(framing: &str, how: &str, cut: Option<(&str, usize)>) -> Value {
    let body = String::from_utf8_lossy(&BODY);
    let mut reply = json!({"body": body, "framing": framing, "how": how});
    if let Some((member, bytes)) = cut {
        reply[member] = bytes.into();
    }
    reply
}

/// What is heard of answers that are cut after 0, 1, 2, ... bytes.
fn cut_at_each(member: &str, count: usize, framing: &str, how: &str) -> Vec<Heard> {
    let rule = |cut| {
        let reply = reply(framing, how, Some((member, cut)));
        json!({"match": {"nth": cut + 1}, "reply": reply})
    };
    let service = faulty(&(0..=count).map(rule).collect());
    (0..=count).map(|_| service.hear_version()).collect()
}

fn whole(framing: &str) -> Vec<u8> {
    let heard = faulty(&json!([{"reply": reply(framing, "fin", None)}])).hear_version();
    heard.end.unwrap();
    heard.bytes
}

/// The head, and the body as a parser finds it: of a chunked one complete chunks, and what is there of the last.
fn parts(answer: &[u8], framing: &str) -> (String, Vec<u8>) {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let (head, mut wire) = answer.split_at(end.unwrap() + 4);
    let head = String::from_utf8(head.to_vec()).unwrap();
    if framing != "chunked" {
        return (head, wire.to_vec());
    }
    let mut body = Vec::new();
    while let Some(end) = wire.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&wire[..end]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        wire = &wire[end + 2..];
        body.extend_from_slice(&wire[..size.min(wire.len())]);
        wire = wire.get(size + 2..).unwrap_or_default();
    }
    (head, body)
}

#[test]
fn an_answer_is_cut_after_any_byte_in_each_framing() {
    for (framing, header) in [
        ("length", "content-length: 150\r\n"),
        ("chunked", "transfer-encoding: chunked\r\n"),
        ("close", ""),
    ] {
        let whole = whole(framing);
        let (head, body) = parts(&whole, framing);
        assert!(head.contains(header) && body == BODY, "{framing}");
        assert_eq!(head.contains("content-length"), framing == "length");
        assert_eq!(whole.ends_with(b"\r\n0\r\n\r\n"), framing == "chunked");
        let bodies = cut_at_each("cut_at", BODY.len(), framing, "fin");
        for (cut, heard) in bodies.into_iter().enumerate() {
            heard.end.unwrap();
            assert_eq!(parts(&heard.bytes, framing).1.len(), cut, "{framing}");
            assert!(
                cut < BODY.len() || heard.bytes == whole,
                "a cut at the end is none"
            );
        }
        let wires = cut_at_each("cut_at_wire", whole.len(), framing, "fin");
        for (cut, heard) in wires.into_iter().enumerate() {
            heard.end.unwrap();
            assert_eq!(heard.bytes, whole[..cut], "{framing}");
        }
    }
    let whole = whole("length");
    let resets = cut_at_each("cut_at_wire", whole.len(), "length", "rst");
    for (cut, heard) in resets.into_iter().enumerate() {
        let error = heard.end.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{cut}");
        // A reset may overtake what was sent before it.
        assert!(whole[..cut].starts_with(&heard.bytes), "{cut}");
    }
}

#[test]
fn a_cut_can_be_silence() {
    let reply = json!({"body": "silence", "cut_at": 3, "how": "stall"});
    let service = faulty(&json!([{"match": {"nth": 1}, "reply": reply}]));
    let mut socket = service.begin(&request("GET /v1/version", &[], ""));
    let mut heard = Vec::new();
    while !heard.ends_with(b"\r\n\r\nsil") {
        let mut byte = [0];
        socket.read_exact(&mut byte).unwrap();
        heard.extend(byte);
    }
    // On a slow machine more silence would pass unheard, but never a byte.
    let patience = Duration::from_millis(50);
    socket.set_read_timeout(Some(patience)).unwrap();
    let error = socket.read(&mut [0]).unwrap_err();
    assert!([ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()));
    drop(socket);
    assert_eq!(service.version().status, 200, "others are still served");
}
