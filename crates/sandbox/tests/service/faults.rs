//! Rules: which requests they are for, and how they change a response that stays valid.

use std::io::Read as _;
use std::time::{Duration, Instant};

use serde_json::json;
use talentdata_sandbox::{Options, Sandbox};

use crate::support::{faulty, get, hear_version, parse, post, script, send, token, version};

#[test]
fn a_script_that_is_not_understood_is_refused_with_the_reason() {
    let sandbox = faulty(&json!([]));
    for (script, reason) in [
        (json!({"rules": [{"reply": {"stattus": 500}}]}), "stattus"),
        (
            json!({"rules": [{"match": {"nht": 1}, "reply": {}}]}),
            "nht",
        ),
        (json!({"rules": [{"reply": {"how": "bang"}}]}), "bang"),
        (
            json!({"rules": [{"reply": {"body_base64": "!"}}]}),
            "Invalid",
        ),
        (json!({"rules": [{}]}), "reply"),
        (
            json!({"rules": [{"reply": {}}, {"match": {"path": "/v1/contacs"}, "reply": {}}]}),
            "rules[1].match.path: the service has no path \\\"/v1/contacs\\\"",
        ),
        (
            json!({"rules": [{"match": {"path": "/v1/contacts?limit=5"}, "reply": {}}]}),
            "without a query",
        ),
        (json!({}), "rules"),
    ] {
        let reply = post(&sandbox, "/__faults", &script);
        assert_eq!(reply.status, 400, "{script}");
        let message = reply.json()["error"]["message"].to_string();
        assert!(message.contains(reason), "{message}");
        let error = sandbox.set_faults(&script.to_string()).unwrap_err();
        assert_eq!(json!(error.to_string()).to_string(), message);
    }
    assert_eq!(version(&sandbox).status, 200, "no rule is in force");
    let without = Sandbox::start(Options::default()).unwrap();
    let error = without.set_faults(r#"{"rules": []}"#).unwrap_err();
    assert!(error.to_string().contains("started with faults"), "{error}");
}

/// The body of a success would be read as that of the failure.
#[test]
fn another_status_has_a_body_of_its_own_or_none() {
    for (reply, body, kind) in [
        (json!({"status": 503}), "", None),
        (
            json!({"status": 503, "body": {"code": 7}}),
            r#"{"code":7}"#,
            Some("application/json"),
        ),
        (
            json!({"status": 503, "body": "down", "headers": {"content-type": "text/plain"}}),
            "down",
            Some("text/plain"),
        ),
    ] {
        let sandbox = faulty(&json!([{"reply": reply}]));
        let answer = version(&sandbox);
        assert_eq!(answer.status, 503);
        assert_eq!(answer.body, body.as_bytes(), "{reply}");
        assert_eq!(answer.header("content-type"), kind, "{reply}");
    }
    let sandbox = faulty(&json!([{"reply": {"status": 200}}]));
    assert_eq!(version(&sandbox).json()["apiStatus"], "operational");
}

#[test]
fn rules_choose_requests_by_method_path_and_number() {
    let sandbox = faulty(&json!([
        {"match": {"path": "/v1/version", "nth": 2}, "reply": {"status": 502}},
        {"match": {"path": "/v1/version", "from": 2}, "reply": {"status": 503}},
        {"match": {"method": "POST"}, "reply": {"status": 500}},
    ]));
    let statuses: Vec<u16> = (0..4).map(|_| version(&sandbox).status).collect();
    assert_eq!(
        statuses,
        [200, 502, 503, 503],
        "the first rule that fits decides"
    );
    let asked = json!({"clientVersion": "1", "endpoints": []});
    assert_eq!(post(&sandbox, "/v1/version/check", &asked).status, 500);
    assert_eq!(get(&sandbox, "/v1/contacts", "").status, 401);
    script(
        &sandbox,
        &json!([{"match": {"nth": 1}, "reply": {"status": 418}}]),
    );
    assert_eq!(version(&sandbox).status, 418, "new rules count anew");
    assert_eq!(version(&sandbox).status, 200);
}

#[test]
fn deleting_forgets_the_rules() {
    let sandbox = faulty(&json!([{"reply": {"status": 500}}]));
    assert_eq!(version(&sandbox).status, 500);
    assert_eq!(send(&sandbox, "DELETE", "/__faults", &[], "").status, 200);
    assert_eq!(version(&sandbox).status, 200);
}

#[test]
fn status_headers_and_body_are_replaced_and_the_rest_stays() {
    let sandbox = faulty(&json!([{"reply": {
        "status": 503,
        "headers": {
            "Content-Type": "text/html",
            "retry-after": "7",
            "x-ratelimit-remaining": ["0", "1"],
        },
        "omit_headers": ["x-ratelimit-limit"],
        "body": "<html>\n",
    }}]));
    let reply = version(&sandbox);
    assert_eq!(reply.status, 503);
    assert_eq!(reply.body, b"<html>\n");
    let all = |name: &str| -> Vec<&str> {
        let named = reply.headers.iter().filter(|(key, _)| key == name);
        named.map(|(_, value)| value.as_str()).collect()
    };
    assert_eq!(all("content-type"), ["text/html"]);
    assert_eq!(all("retry-after"), ["7"]);
    assert_eq!(all("x-ratelimit-remaining"), ["0", "1"]);
    assert!(all("x-ratelimit-limit").is_empty());
    assert_eq!(all("x-ratelimit-reset").len(), 1);
}

#[test]
fn bodies_are_json_text_or_bytes() {
    for (reply, body) in [
        (json!({"body": {"a": [1, null]}}), &br#"{"a":[1,null]}"#[..]),
        (json!({"body": null}), b"null"),
        (json!({"body": ""}), b""),
        (json!({"body": "[1e400"}), b"[1e400"),
        (json!({"body_base64": "/wA="}), b"\xff\0"),
    ] {
        let sandbox = faulty(&json!([{"reply": reply}]));
        assert_eq!(version(&sandbox).body, body, "{reply}");
    }
}

#[test]
fn a_changed_answer_does_not_cost_the_connection() {
    let sandbox = faulty(&json!([{"match": {"nth": 1}, "reply": {"status": 500}}]));
    let one = "GET /v1/version HTTP/1.1\r\nhost: x\r\n\r\n";
    let last = "GET /v1/nothing HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    let heard = crate::support::send_raw(&sandbox, &format!("{one}{last}"));
    let text = String::from_utf8(heard.bytes).unwrap();
    assert!(text.starts_with("HTTP/1.1 500 "), "{text}");
    assert!(text.contains("HTTP/1.1 404 "), "{text}");
}

#[test]
fn a_response_can_be_late() {
    let sandbox = faulty(&json!([{"reply": {"delay_ms": 50}}]));
    let start = Instant::now();
    assert_eq!(version(&sandbox).status, 200);
    assert!(start.elapsed() >= Duration::from_millis(50));
}

#[test]
fn a_body_can_be_compressed_and_can_be_a_bomb() {
    let sandbox = faulty(&json!([
        {"match": {"nth": 1}, "reply": {"gzip": true, "body": "plain"}},
        {"match": {"nth": 2}, "reply": {"gzip_bomb_mb": 3, "status": 500}},
    ]));
    let unpacked = |reply: &crate::support::Reply| {
        assert_eq!(reply.header("content-encoding"), Some("gzip"));
        let mut text = String::new();
        let mut decoder = flate2::read::GzDecoder::new(&reply.body[..]);
        decoder.read_to_string(&mut text).unwrap();
        text
    };
    assert_eq!(unpacked(&version(&sandbox)), "plain");
    let bomb = version(&sandbox);
    assert_eq!(bomb.status, 500);
    assert!(bomb.body.len() < 10_000);
    assert!(unpacked(&bomb).len() > 3 << 20);
}

#[test]
fn a_request_that_is_read_and_not_answered_was_served_all_the_same() {
    let rule = json!({"match": {"path": "/v1/version"}, "reply": {"close_after_read": true}});
    let sandbox = faulty(&json!([rule]));
    let heard = hear_version(&sandbox);
    assert!(heard.bytes.is_empty() && heard.end.is_ok());
    assert_eq!(sandbox.stats().requests_by_path["/v1/version"], 1);
    token(&sandbox);
}

#[test]
fn a_status_that_no_library_would_send_is_sent() {
    let sandbox = faulty(&json!([{"reply": {"status": 1000, "body": "x"}}]));
    let reply = parse(&hear_version(&sandbox).bytes);
    assert_eq!((reply.status, reply.body.as_slice()), (1000, &b"x"[..]));
}
