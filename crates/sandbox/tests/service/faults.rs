//! Fault rules: the requests to which they apply, the ways in which they change a response, and responses that no HTTP
//! library would send.

use crate::{Heard, Reply, faulty, hear, limited, request, table};
use serde_json::{Value, json};
use std::io::{ErrorKind, Read as _};
use std::time::{Duration, Instant};

#[test]
fn a_script_that_is_not_understood_is_refused_with_the_reason() {
    let service = faulty(&json!([]));
    for (rule, reason) in table::<Vec<(Value, String)>>("refused") {
        let script = format!(r#"{{"rules": [{{"reply": {{}}}}, {rule}]}}"#);
        let reply = service.ask("POST /__faults", &script);
        assert_eq!(reply.status, 400, "{rule}");
        let message = reply.json()["error"]["message"].clone();
        assert!(message.as_str().unwrap().contains(&reason), "{message}");
        let error = service.set_faults(&script).unwrap_err();
        assert_eq!(message, error.to_string());
    }
    assert_eq!(service.version().status, 200, "no rule is in force");
    let error = limited(|_| ()).set_faults(r#"{"rules": []}"#).unwrap_err();
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
    assert_eq!(statuses, [200, 502, 503, 503], "the first rule decides");
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

/// The change to the version report, and texts that the client receives until the connection ends: each occurs once, at
/// the end (`$`), or not at all (`!`). With another status and no body of its own, the response has no body: the body
/// of the success would look like that of the failure.
#[test]
fn a_response_is_changed_as_its_rule_says_and_the_rest_stays() {
    for (reply, expected) in table::<Vec<(Value, Vec<String>)>>("replies") {
        let service = faulty(&json!([{"reply": reply}]));
        // If the connection could be kept, the library announces its end on this request. A fault ends it without
        // notice.
        let own = ["status", "headers", "omit_headers", "body", "body_base64"];
        let own = |name: &String| own.contains(&name.as_str());
        let plain = reply.as_object().unwrap().keys().all(own);
        let close: &[_] = if plain && reply["headers"]["content-length"].is_null() {
            &[("connection", "close")]
        } else {
            &[]
        };
        let heard = hear(&mut service.begin(&request("GET /v1/version", close, "")));
        heard.end.unwrap();
        let heard = String::from_utf8(heard.bytes).unwrap();
        for text in expected {
            let fits = match (text.strip_prefix('!'), text.strip_prefix('$')) {
                (Some(absent), _) => !heard.contains(absent),
                (_, Some(end)) => heard.ends_with(end),
                _ => heard.matches(&text).count() == 1,
            };
            assert!(fits, "{reply} {text:?} {heard:?}");
        }
        // The request was served all the same.
        assert_eq!(service.stats().requests_by_path["/v1/version"], 1);
    }
}

#[test]
fn a_response_can_be_late_or_trickle() {
    let delay = json!({"delay_ms": 50});
    let trickle = json!({"body": "y".repeat(1000), "trickle": {"bytes": 100, "every_ms": 5}});
    for reply in [delay, trickle] {
        let service = faulty(&json!([{"reply": reply}]));
        let start = Instant::now();
        assert_eq!(service.version().status, 200);
        // More than ten pieces trickle, because the head is sent in the same way.
        assert!(start.elapsed() >= Duration::from_millis(50), "{reply}");
    }
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
fn a_body_can_be_endless() {
    let chunks = ("\r\n\r\n2\r\n{}\r\n4000\r\n    ", " \r\n4000\r\n ");
    for (framing, (first, next)) in [
        ("chunked", chunks),
        ("close", ("\r\n\r\n{}    ", "        ")),
    ] {
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

/// Returns the received parts of responses that are cut after 0, 1, 2, ... bytes of a body of more than two chunks of
/// 64 bytes.
fn cut_at_each(member: &str, count: usize, framing: &str, how: &str) -> Vec<Heard> {
    let rule = |cut| {
        let reply = json!({"body": "~".repeat(150), "framing": framing, "how": how, member: cut});
        json!({"match": {"nth": cut + 1}, "reply": reply})
    };
    let service = faulty(&(0..=count).map(rule).collect());
    let heard = (0..=count).map(|_| hear(&mut service.begin(&request("GET /v1/version", &[], ""))));
    heard.collect()
}

#[test]
fn a_response_can_be_cut_after_any_byte_in_each_framing() {
    for (framing, header) in [
        ("length", "content-length: 150\r\n"),
        ("chunked", "transfer-encoding: chunked\r\n"),
        ("close", ""),
    ] {
        let mut bodies = cut_at_each("cut_at", 150, framing, "fin");
        for (cut, heard) in bodies.iter().enumerate() {
            assert!(heard.end.is_ok());
            let arrived = heard.bytes.iter().filter(|byte| **byte == b'~');
            assert_eq!(arrived.count(), cut, "{framing}");
        }
        // A cut at the end changes nothing.
        let whole = bodies.pop().unwrap().bytes;
        let text = String::from_utf8_lossy(&whole);
        assert!(text.contains(header), "{text}");
        assert_eq!(text.contains("content-length"), framing == "length");
        assert_eq!(text.ends_with("\r\n0\r\n\r\n"), framing == "chunked");
        for how in ["fin", "rst"] {
            let heard = cut_at_each("cut_at_wire", whole.len(), framing, how);
            for (cut, heard) in heard.into_iter().enumerate() {
                if how == "fin" {
                    assert!(heard.end.is_ok());
                    assert_eq!(heard.bytes, whole[..cut], "{framing}");
                    continue;
                }
                let error = heard.end.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{cut}");
                // A reset may overtake bytes that were sent before it.
                assert!(whole[..cut].starts_with(&heard.bytes), "{cut}");
            }
        }
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
    // On a slow machine the silence may be longer, but no byte may come.
    let patience = Duration::from_millis(50);
    socket.set_read_timeout(Some(patience)).unwrap();
    let error = socket.read(&mut [0]).unwrap_err();
    assert!([ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()));
    drop(socket);
    assert_eq!(service.version().status, 200, "others are still served");
}
