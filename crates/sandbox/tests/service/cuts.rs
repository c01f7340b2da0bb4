//! Answers that are cut at every byte, in each framing, by the end of the connection, a reset or silence.

use std::io::{ErrorKind, Read as _, Write as _};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{connect, faulty, hear_version, request, version};

/// More than two chunks of 64 bytes.
const BODY: [u8; 150] = [b'x'; 150];

/// Rules that cut the n-th request after n - 1 bytes, and the one after the last not at all.
fn cut_at_each(member: &str, count: usize, framing: &str, how: &str) -> Value {
    let body = String::from_utf8(BODY.to_vec()).unwrap();
    let rule = |cut| {
        let mut reply = json!({"body": body, "framing": framing, "how": how});
        reply[member] = json!(cut);
        json!({"match": {"nth": cut + 1}, "reply": reply})
    };
    (0..=count).map(rule).collect()
}

fn whole(framing: &str) -> Vec<u8> {
    let rules = cut_at_each("cut_at", 0, framing, "fin");
    let mut reply = rules[0]["reply"].clone();
    reply.as_object_mut().unwrap().remove("cut_at");
    let heard = hear_version(&faulty(&json!([{"reply": reply}])));
    heard.end.unwrap();
    heard.bytes
}

fn body_start(answer: &[u8]) -> usize {
    answer
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap()
        + 4
}

/// The body in chunks, as a parser finds it: complete chunks, and what is there of the last.
fn unchunk(mut wire: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = wire.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&wire[..end]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        wire = &wire[end + 2..];
        body.extend_from_slice(&wire[..size.min(wire.len())]);
        wire = wire.get(size + 2..).unwrap_or_default();
    }
    body
}

#[test]
fn whole_answers_are_well_framed() {
    let length = whole("length");
    let start = body_start(&length);
    assert!(String::from_utf8_lossy(&length[..start]).contains("content-length: 150\r\n"));
    assert_eq!(length[start..], BODY);
    let close = whole("close");
    let start = body_start(&close);
    assert!(!String::from_utf8_lossy(&close[..start]).contains("content-length"));
    assert_eq!(close[start..], BODY);
    let chunked = whole("chunked");
    let start = body_start(&chunked);
    assert!(String::from_utf8_lossy(&chunked[..start]).contains("transfer-encoding: chunked\r\n"));
    assert!(chunked.ends_with(b"\r\n0\r\n\r\n"));
    assert_eq!(unchunk(&chunked[start..]), BODY);
}

#[test]
fn a_body_is_cut_after_the_byte_asked_for() {
    for framing in ["length", "chunked", "close"] {
        let sandbox = faulty(&cut_at_each("cut_at", BODY.len(), framing, "fin"));
        for cut in 0..=BODY.len() {
            let heard = hear_version(&sandbox);
            heard.end.unwrap();
            let body = &heard.bytes[body_start(&heard.bytes)..];
            let body = match framing {
                "chunked" => unchunk(body),
                _ => body.to_vec(),
            };
            assert_eq!(body.len(), cut, "{framing}");
        }
        assert_eq!(
            whole(framing),
            hear_whole(framing),
            "a cut at the end is none"
        );
    }
}

fn hear_whole(framing: &str) -> Vec<u8> {
    let rules = cut_at_each("cut_at", BODY.len(), framing, "fin");
    let mut last = rules[BODY.len()].clone();
    last["match"] = json!({});
    hear_version(&faulty(&json!([last]))).bytes
}

#[test]
fn a_response_is_cut_after_any_byte_of_the_wire() {
    for framing in ["length", "chunked"] {
        let whole = whole(framing);
        let sandbox = faulty(&cut_at_each("cut_at_wire", whole.len(), framing, "fin"));
        for cut in 0..=whole.len() {
            let heard = hear_version(&sandbox);
            heard.end.unwrap();
            assert_eq!(heard.bytes, whole[..cut], "{framing}");
        }
    }
}

#[test]
fn a_cut_can_be_a_reset() {
    let whole = whole("length");
    let sandbox = faulty(&cut_at_each("cut_at_wire", whole.len(), "length", "rst"));
    for cut in 0..=whole.len() {
        let heard = hear_version(&sandbox);
        assert_eq!(
            heard.end.unwrap_err().kind(),
            ErrorKind::ConnectionReset,
            "{cut}"
        );
        // A reset may overtake what was sent before it.
        assert!(whole[..cut].starts_with(&heard.bytes), "{cut}");
    }
}

#[test]
fn a_cut_can_be_silence() {
    let reply = json!({"body": "silence", "cut_at": 3, "how": "stall"});
    let sandbox = faulty(&json!([{"match": {"nth": 1}, "reply": reply}]));
    let mut socket = connect(&sandbox);
    socket
        .write_all(request("GET", "/v1/version", &[], "").as_bytes())
        .unwrap();
    let mut heard = Vec::new();
    while !heard.ends_with(b"\r\n\r\nsil") {
        let mut byte = [0];
        socket.read_exact(&mut byte).unwrap();
        heard.extend(byte);
    }
    // On a slow machine more silence would pass unheard, but never a byte.
    socket
        .set_read_timeout(Some(Duration::from_millis(50)))
        .unwrap();
    let error = socket.read(&mut [0]).unwrap_err();
    assert!([ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()));
    drop(socket);
    assert_eq!(version(&sandbox).status, 200, "others are still served");
}
