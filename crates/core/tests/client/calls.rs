//! Calls and lists: which calls are sent again, which are not made at all, and what lists deliver.

use crate::start;
use crate::stub::{reply, serve, serve_api, settings, token};
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use talentdata_core::scan::{Completeness, ScanOptions};
use talentdata_core::types::{CREATE_TOKEN, LIST_CONTACTS, Method, Operation, Resource, TokenUse};
use talentdata_core::{Arguments, ErrorKind, RawRecord};
use talentdata_sandbox::Options;

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
            let token = token(&format!("access-token-{number}"), 3600.0);
            return reply(socket, 200, "", token);
        }
        match counter.fetch_add(1, Ordering::SeqCst) {
            0 => match first {
                None => drop(socket.shutdown(std::net::Shutdown::Both)),
                Some(status) => reply(socket, status, "retry-after: 0\r\n", "{}"),
            },
            _ => reply(socket, 200, "", "{}"),
        }
    });
    let client = settings(&url).build().unwrap();
    let ended = client.invoke(operation, Arguments::default()).await;
    let kind = ended.err().map(|error| error.kind());
    (arrived.load(Ordering::SeqCst), kind)
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
    // These were not carried out.
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
    let url = serve_api(move |request| {
        if request.path != POST.path {
            let body = r#"{"version":"1","apiStatus":"operational","endpoints":{}}"#;
            return (200, "", body.to_owned());
        }
        let mut times = times.lock().unwrap();
        times.push(Instant::now());
        let status = if times.len() > REFUSALS { 200 } else { 429 };
        (status, "retry-after: 0\r\n", "{}".to_owned())
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
    let gaps = arrived
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).as_secs_f64());
    let gaps: Vec<f64> = gaps.collect();
    assert_eq!(gaps.len(), REFUSALS);
    for (gap, least) in gaps.iter().zip([0.125, 0.25, 0.5, 1.0]) {
        assert!(*gap >= least, "{gaps:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_called_is_refused_before_anything_is_sent() {
    let (sandbox, settings) = start(Options::default());
    let client = settings.build().unwrap();
    for operation in [CREATE_TOKEN, LIST_CONTACTS] {
        let outcome = client.invoke(operation, Arguments::default()).await;
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains("cannot be called"), "{error}");
    }
    for page_size in [0, 101] {
        let mut scan = client.contacts().scan(ScanOptions {
            page_size: Some(page_size),
            ..ScanOptions::default()
        });
        let error = scan.next().await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains("page_size"), "{error}");
        assert!(scan.next().await.is_none());
    }
    assert_eq!(sandbox.stats().requests, 0);
}

#[tokio::test]
async fn every_list_arrives_once_and_in_order() {
    let sizes = Resource::ALL.map(|resource| (resource.name().to_owned(), 80));
    let (sandbox, settings) = start(Options {
        records: sizes.into(),
        max_limit: Some(37),
        ..Options::default()
    });
    let client = settings.build().unwrap();
    let id = |record: &RawRecord| record.id().unwrap().to_owned();
    for resource in Resource::ALL {
        let list = client.resource(resource);
        let mut scan = list.list();
        let (mut ids, mut serial) = (Vec::new(), Vec::new());
        while let Some(record) = scan.next().await {
            ids.push(id(&record.unwrap()));
        }
        let receipt = scan.receipt();
        assert_eq!(receipt.completeness, Completeness::Proven, "{resource}");
        assert_eq!(Some(ids.len() as i64), receipt.total_last, "{resource}");
        while serial.len() < ids.len() {
            let page = list.page(Some(37), serial.len() as u64).await.unwrap();
            serial.extend(page.records.iter().map(id));
        }
        assert_eq!(ids, serial, "{resource}");
        let distinct = ids.iter().collect::<HashSet<_>>().len();
        assert_eq!(distinct, ids.len(), "{resource}");
    }
    assert_eq!(sandbox.stats().token_posts, 1);
}

#[tokio::test]
async fn pages_that_wait_for_their_turn_are_not_out_of_time() {
    let (_sandbox, mut settings) = start(Options {
        records: [("pools".to_owned(), 1500)].into(),
        ..Options::default()
    });
    // Eight pages a second, which are asked for at once: the last one waits for two seconds.
    let client = settings.share(0.2).timeout(Duration::from_secs(1)).build();
    let mut scan = client.unwrap().pools().list();
    while let Some(record) = scan.next().await {
        record.unwrap();
    }
    assert_eq!(scan.receipt().records, 1500);
}
