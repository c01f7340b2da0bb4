//! Starting and stopping, and what is said about every response.

use std::io::{ErrorKind, Read as _};
use std::net::TcpListener;

use talentdata_sandbox::{Options, Sandbox};

use crate::support::{connect, get, send, token, unlimited};

#[test]
fn it_listens_on_loopback_and_is_gone_when_dropped() {
    let sandbox = unlimited(Options::default());
    assert!(sandbox.base_url().starts_with("http://127.0.0.1:"));
    let mut open = connect(&sandbox);
    drop(sandbox);
    // Another sandbox may listen there by now, but this connection is no part of it.
    let gone = match open.read(&mut [0]) {
        Ok(count) => count == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    };
    assert!(gone);
}

#[test]
fn a_port_can_be_chosen_and_a_taken_one_is_an_error() {
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let options = Options {
        port,
        ..Options::default()
    };
    assert!(Sandbox::start(options.clone()).is_err());
    drop(taken);
    let sandbox = Sandbox::start(options).unwrap();
    assert_eq!(sandbox.base_url(), format!("http://127.0.0.1:{port}"));
}

#[test]
fn a_list_that_is_not_there_is_an_error_that_names_it() {
    let records = [("kontakte".to_owned(), 1)].into();
    let error = Sandbox::start(Options {
        records,
        ..Options::default()
    })
    .unwrap_err();
    assert!(error.to_string().contains("kontakte"));
}

#[test]
fn it_starts_and_stops_within_an_async_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let sandbox = unlimited(Options::default());
        assert_eq!(get(&sandbox, "/v1/version", "").status, 200);
    });
}

#[test]
fn credentials_differ_from_start_to_start() {
    let (one, other) = (unlimited(Options::default()), unlimited(Options::default()));
    assert_ne!(one.client_id(), other.client_id());
    assert_ne!(one.client_secret(), other.client_secret());
    assert!(!format!("{one:?}").contains(one.client_secret()));
    let token = token(&one);
    assert_eq!(get(&other, "/v1/contacts", &token).status, 401);
}

#[test]
fn every_answer_has_the_limit_headers_and_says_that_it_is_sample_data() {
    let sandbox = unlimited(Options::default());
    let token = token(&sandbox);
    let bearer = format!("Bearer {token}");
    for (status, method, path, bearer) in [
        (200, "GET", "/v1/version", ""),
        (200, "GET", "/v1/contacts", bearer.as_str()),
        (400, "GET", "/v1/contacts?limit=x", bearer.as_str()),
        (401, "GET", "/v1/contacts", ""),
        (401, "GET", "/v1/contacts", "Bearer wrong"),
        (404, "GET", "/v1/nothing", bearer.as_str()),
        (404, "GET", "/__requests", bearer.as_str()),
        (405, "DELETE", "/v1/contacts", bearer.as_str()),
        (405, "GET", "/v1/oauth/token", ""),
        (415, "POST", "/v1/oauth/token", ""),
    ] {
        let headers = [("authorization", bearer)];
        let reply = send(&sandbox, method, path, &headers, "");
        assert_eq!(reply.status, status, "{method} {path}");
        let Options { limit, window, .. } = Options::default();
        let limit = format!("{limit};w={}", window.as_secs());
        assert_eq!(reply.header("x-ratelimit-limit"), Some(limit.as_str()));
        assert!(reply.header("x-ratelimit-remaining").is_some());
        assert!(reply.header("x-ratelimit-reset").is_some());
        assert_eq!(reply.header("x-talentdata-sandbox"), Some("sample data"));
        assert_eq!(reply.header("content-type"), Some("application/json"));
        assert!(reply.json().is_object());
    }
}

#[test]
fn answers_are_compressed_only_when_both_sides_want_it() {
    for (gzip, accept, expected) in [
        (true, "gzip, deflate", Some("gzip")),
        (true, "identity", None),
        (false, "gzip", None),
    ] {
        let sandbox = unlimited(Options {
            gzip,
            ..Options::default()
        });
        let headers = [("accept-encoding", accept)];
        let reply = send(&sandbox, "GET", "/v1/version", &headers, "");
        assert_eq!(reply.header("content-encoding"), expected);
        let mut text = String::new();
        match expected {
            Some(_) => flate2::read::GzDecoder::new(&reply.body[..]).read_to_string(&mut text),
            None => (&reply.body[..]).read_to_string(&mut text),
        }
        .unwrap();
        assert!(text.contains("apiStatus"));
    }
}

#[test]
fn stats_count_requests_by_path() {
    let sandbox = unlimited(Options::default());
    let token = token(&sandbox);
    for path in [
        "/v1/contacts",
        "/v1/contacts?offset=5",
        "/v1/what",
        "/v1/ever",
    ] {
        get(&sandbox, path, &token);
    }
    let stats = sandbox.stats();
    assert_eq!(
        (stats.requests, stats.token_posts, stats.limited),
        (5, 1, 0)
    );
    assert_eq!(stats.requests_by_path["/v1/contacts"], 2);
    assert_eq!(stats.requests_by_path["other"], 2);
    assert!((1..=5).contains(&stats.most_in_a_second));
}
