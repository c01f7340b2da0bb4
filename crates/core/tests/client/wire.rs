//! Responses in the form that old servers, devices and gateways send. The client reads what curl and Python's requests
//! read. A response that nobody can read is an error of this request alone.

use crate::stub::{self, PERMISSIONS};
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use std::io::Write;
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use talentdata_core::{Client, Error, ErrorKind};
use tokio::task::JoinSet;

/// Returns a client of a service that sends these bytes and then ends the connection, and the number of requests.
pub(crate) fn service(bytes: impl Into<Vec<u8>>) -> (Client, Arc<AtomicU64>) {
    let (asked, bytes) = (Arc::new(AtomicU64::new(0)), bytes.into());
    let seen = Arc::clone(&asked);
    let base_url = stub::serve(move |request, socket| {
        if request.asks_for_a_token() {
            return stub::reply(socket, 200, "", stub::token(stub::TOKEN, 3600.0));
        }
        seen.fetch_add(1, Relaxed);
        let _ = socket.write_all(&bytes);
        let _ = socket.shutdown(Shutdown::Write);
    });
    (stub::settings(&base_url).build().unwrap(), asked)
}

/// Returns a response with this first line, these headers and this body.
fn response(first: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let headers = headers.replace('\n', "\r\n");
    [
        format!("{first}\r\n{headers}\r\n").as_bytes(),
        body.as_ref(),
    ]
    .concat()
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zlib(text: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

const OK: &str = "HTTP/1.1 200 OK";

/// Returns responses that can be read, each with its peculiarity.
fn readable() -> Vec<(&'static str, Vec<u8>)> {
    let body = PERMISSIONS;
    let length = format!("content-length: {}\n", body.len());
    let with = |headers: &str| response(OK, &format!("{headers}{length}"), body);
    let begun = |first: &str| response(first, &length, body);
    let chunked = |headers: &str, chunks: &str| {
        let chunks = chunks.replace("BODY", body).replace('\n', "\r\n");
        response(
            OK,
            &format!("transfer-encoding: chunked\n{headers}"),
            chunks,
        )
    };
    let coded = |coding: &str, bytes: Vec<u8>| {
        let headers = format!(
            "content-encoding: {coding}\ncontent-length: {}\n",
            bytes.len()
        );
        response(OK, &headers, bytes)
    };
    let (first, second) = body.as_bytes().split_at(9);
    let size = format!("{:x}", body.len());
    vec![
        ("a folded header", with("x-a: b\n c\n")),
        ("a header folded by a tab", with("x-a: b\n\tc\n")),
        ("a blank before a colon", with("x-a : b\n")),
        ("a tab before a colon", with("x-a\t: b\n")),
        ("a header without a colon", with("x-a b\n")),
        ("a header without a name", with(": b\n")),
        ("a name with a blank", with("x a: b\n")),
        ("a name with brackets", with("x(a): b\n")),
        ("a control character in a header", with("x-a: b\u{1}c\n")),
        ("UTF-8 in a header", with("x-a: Größe\n")),
        ("an empty header", with("x-a:\n")),
        ("150 headers", with(&"x-a: b\n".repeat(150))),
        (
            "a header of 60 kB",
            with(&format!("x-a: {}\n", "b".repeat(60_000))),
        ),
        (
            "Latin-1 in a header",
            [
                &begun(OK)[..OK.len()],
                b"\r\nx-a: Gr\xf6\xdfe",
                &begun(OK)[OK.len()..],
            ]
            .concat(),
        ),
        (
            "lines without carriage returns",
            String::from_utf8(with("x-a: b\n"))
                .unwrap()
                .replace('\r', "")
                .into_bytes(),
        ),
        ("no reason", begun("HTTP/1.1 200")),
        ("an empty reason", begun("HTTP/1.1 200 ")),
        ("a long reason", begun("HTTP/1.1 200 Größe is no reason")),
        ("HTTP/1.0", begun("HTTP/1.0 200 OK")),
        (
            "HTTP/1.0 until the end",
            response("HTTP/1.0 200 OK", "", body),
        ),
        ("HTTP/1.1 until the end", response(OK, "", body)),
        ("an empty line first", [b"\r\n", &*begun(OK)].concat()),
        ("two equal lengths", with(&length)),
        (
            "two equal lengths in a line",
            response(OK, &format!("content-length: {0}, {0}\n", body.len()), body),
        ),
        ("something behind the body", [&*begun(OK), b"junk"].concat()),
        ("chunks", chunked("", &format!("{size}\nBODY\n0\n\n"))),
        (
            "extensions of chunks",
            chunked("", &format!("{size};a=b; c=\"d\"\nBODY\n0;e\n\n")),
        ),
        (
            "a blank behind a size",
            chunked("", &format!("{size}  \nBODY\n0\n\n")),
        ),
        (
            "zeros before a size",
            chunked("", &format!("00000{size}\nBODY\n000\n\n")),
        ),
        (
            "trailers",
            chunked(
                "trailer: x-a\n",
                &format!("{size}\nBODY\n0\nx-a: b\nserver-timing: c\n\n"),
            ),
        ),
        (
            "chunks and a length",
            chunked(&length, &format!("{size}\nBODY\n0\n\n")),
        ),
        (
            "an interim response",
            [b"HTTP/1.1 100 Continue\r\n\r\n", &*begun(OK)].concat(),
        ),
        (
            "early hints",
            [b"HTTP/1.1 103 x\r\nlink: </x>\r\n\r\n", &*begun(OK)].concat(),
        ),
        ("gzip", coded("gzip", gzip(body.as_bytes()))),
        ("GZIP", coded("GZIP", gzip(body.as_bytes()))),
        ("x-gzip", coded("x-gzip", gzip(body.as_bytes()))),
        (
            "two members",
            coded("gzip", [gzip(first), gzip(second)].concat()),
        ),
        (
            "zeros behind gzip",
            coded("gzip", [gzip(body.as_bytes()), vec![0; 8]].concat()),
        ),
        (
            "gzip without its trailer",
            coded(
                "gzip",
                gzip(body.as_bytes())[..gzip(body.as_bytes()).len() - 8].to_vec(),
            ),
        ),
        (
            "gzip twice",
            coded("gzip, gzip", gzip(&gzip(body.as_bytes()))),
        ),
        (
            "gzip and nothing",
            coded("identity, gzip", gzip(body.as_bytes())),
        ),
        ("deflate", coded("deflate", zlib(body.as_bytes()))),
        ("identity", coded("identity", body.into())),
        ("a charset as a coding", coded("utf-8", body.into())),
        ("no coding by name", coded("none", body.into())),
        ("an empty coding", coded("", body.into())),
        ("another type", with("content-type: text/plain\n")),
        (
            "a byte order mark",
            response(OK, "", format!("\u{feff}{body}")),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn responses_that_other_clients_read_are_read() {
    let mut calls = JoinSet::new();
    for (name, bytes) in readable() {
        calls.spawn(async move {
            let (client, asked) = service(bytes);
            let outcome = client.permissions().await;
            (name, outcome.map(drop), asked.load(Relaxed))
        });
    }
    let mut failed = calls.join_all().await;
    failed.retain(|(_, outcome, asked)| outcome.is_err() || *asked != 1);
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Returns responses that cannot be read, each with a word of the reason.
fn unreadable() -> Vec<(Vec<u8>, &'static str)> {
    let with = |headers: &str| response(OK, headers, PERMISSIONS);
    vec![
        (with("content-length: abc\n"), "Content-Length"),
        (
            with("content-length: 3\ncontent-length: 4\n"),
            "Content-Length",
        ),
        (
            with(&format!("x-a: {}\n", "b".repeat(1_000_000))),
            "too large",
        ),
        (with(&"x-a: b\n".repeat(1000)), "too large"),
        (with("transfer-encoding: chunked\n"), "chunk"),
        (b"SSH-2.0-OpenSSH_9.2\r\n".to_vec(), "HTTP version"),
        (b"ICY 200 OK\r\n\r\n".to_vec(), "HTTP version"),
        (b"HTTP/1.1 2x0 OK\r\n\r\n".to_vec(), "status"),
        (b"\x15\x03\x01\x00\x02\x02\x46".to_vec(), "HTTP version"),
        (PERMISSIONS.into(), "HTTP version"),
        (
            response(OK, "content-encoding: gzip\n", PERMISSIONS),
            "Content-Encoding (gzip)",
        ),
        (
            response(
                OK,
                "content-encoding: gzip\ncontent-length: 20\n",
                &gzip(PERMISSIONS.as_bytes())[..20],
            ),
            "incomplete",
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unreadable_responses_fail_after_one_more_attempt_and_are_no_outage() {
    let mut calls = JoinSet::new();
    for (bytes, word) in unreadable() {
        calls.spawn(async move {
            let (client, asked) = service(bytes);
            // In an outage, a scan would wait for a minute.
            let error: Error = stub::count(&client).await.unwrap_err();
            assert_eq!(
                (error.kind(), asked.load(Relaxed)),
                (ErrorKind::Decode, 2),
                "{error}"
            );
            assert!(error.message().contains(word), "{error}");
            assert!(
                !error.message().contains("no request has succeeded"),
                "{error}"
            );
            assert!(!error.is_retryable());
        });
    }
    calls.join_all().await;
}
