//! Calls of operations: which are sent again, and which are not made at all.

use crate::stub::{reply, serve, settings, token};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use talentdata_core::types::{CREATE_TOKEN, LIST_CONTACTS, Method, Operation, TokenUse};
use talentdata_core::{Arguments, ErrorKind};

/// An operation that the spec does not have.
const fn operation(method: Method, idempotent: bool) -> Operation {
    Operation {
        id: "putTogether",
        name: "put_together",
        command: "put-together",
        method,
        path: "/v1/together",
        group: "",
        summary: "",
        description: "",
        token: TokenUse::Always,
        idempotent,
        deprecated: false,
        answers: false,
        callable: true,
        parameters: &[],
        body: None,
    }
}

static POST: Operation = operation(Method::Post, false);
static PUT: Operation = operation(Method::Put, true);
static MARKED: Operation = operation(Method::Post, true);

/// How often an operation arrives at a service that first answers with this status, or closes the connection where there
/// is none, and then answers with success; and how the call ends.
async fn sent(operation: &'static Operation, first: Option<u16>) -> (usize, Option<ErrorKind>) {
    let arrived = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&arrived);
    let issued = AtomicUsize::new(0);
    let url = serve(move |request, socket| {
        if request.asks_for_a_token() {
            let number = issued.fetch_add(1, Ordering::SeqCst);
            reply(
                socket,
                200,
                "",
                token(&format!("access-token-{number}"), 3600.0),
            );
        } else if counter.fetch_add(1, Ordering::SeqCst) == 0 {
            match first {
                None => drop(socket.shutdown(std::net::Shutdown::Both)),
                Some(status) => reply(socket, status, "retry-after: 0\r\n", "{}"),
            }
        } else {
            reply(socket, 200, "", "{}");
        }
    });
    let client = settings(&url).build().unwrap();
    let ended = client.invoke(operation, Arguments::default()).await;
    (
        arrived.load(Ordering::SeqCst),
        ended.err().map(|error| error.kind()),
    )
}

#[tokio::test]
async fn what_may_have_been_carried_out_is_sent_again_only_if_that_does_no_harm() {
    for (first, kind) in [
        (Some(500), ErrorKind::Server),
        (Some(503), ErrorKind::Server),
        (None, ErrorKind::Transport),
    ] {
        assert_eq!(sent(&POST, first).await, (1, Some(kind)), "{first:?}");
        for repeatable in [&PUT, &MARKED] {
            assert_eq!(sent(repeatable, first).await, (2, None), "{first:?}");
        }
    }
}

#[tokio::test]
async fn what_was_not_carried_out_is_sent_again() {
    for first in [Some(429), Some(401)] {
        assert_eq!(sent(&POST, first).await, (2, None), "{first:?}");
    }
}

/// The gate alone decides when, and nothing may make the next request of a refused call come sooner than before.
#[tokio::test]
async fn a_call_that_is_refused_again_waits_longer_though_others_are_served() {
    const REFUSALS: usize = 4;
    let arrived = Arc::new(Mutex::new(Vec::new()));
    let times = Arc::clone(&arrived);
    let url = serve(move |request, socket| {
        if request.asks_for_a_token() {
            return reply(socket, 200, "", token("access-token", 3600.0));
        }
        if request.path != POST.path {
            let body = r#"{"version":"1","apiStatus":"operational","endpoints":{}}"#;
            return reply(socket, 200, "", body);
        }
        let mut times = times.lock().unwrap();
        times.push(Instant::now());
        let status = if times.len() > REFUSALS { 200 } else { 429 };
        reply(socket, status, "retry-after: 0\r\n", "{}");
    });
    let client = settings(&url).max_attempts(5).build().unwrap();
    let others = {
        let client = client.clone();
        tokio::spawn(async move {
            loop {
                client.version().await.unwrap();
            }
        })
    };
    client.invoke(&POST, Arguments::default()).await.unwrap();
    others.abort();
    let arrived = arrived.lock().unwrap();
    let gaps: Vec<f64> = arrived
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).as_secs_f64())
        .collect();
    assert_eq!(gaps.len(), REFUSALS);
    for (gap, least) in gaps.iter().zip([0.125, 0.25, 0.5, 1.0]) {
        assert!(*gap >= least, "{gaps:?}");
    }
}

#[tokio::test]
async fn lists_and_tokens_are_no_calls() {
    let client = settings("http://127.0.0.1:9").build().unwrap();
    for operation in [CREATE_TOKEN, LIST_CONTACTS] {
        let error = client
            .invoke(operation, Arguments::default())
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains("cannot be called"), "{error}");
    }
}
