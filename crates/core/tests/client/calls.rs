//! Calls, their tokens, and lists: which calls are sent again, which are not made at all, and what lists deliver.

use crate::start;
use crate::stub::{self, reply, serve, serve_api, settings, token};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use talentdata_core::scan::{Completeness, ScanOptions};
use talentdata_core::types::{
    CHECK_VERSION, CREATE_TOKEN, LIST_CONTACTS, Method, Operation, Resource, TokenUse,
};
use talentdata_core::{Arguments, Client, Error, ErrorKind, RawRecord};
use talentdata_sandbox::Options;
use tokio::task::JoinSet;

/// An operation that the spec does not have.
const fn operation(method: Method, idempotent: bool) -> Operation {
    Operation {
        method,
        path: "/v1/together",
        token: TokenUse::Always,
        idempotent,
        answers: false,
        parameters: &[],
        body: None,
        ..*CHECK_VERSION
    }
}

static GET: Operation = operation(Method::Get, true);
static POST: Operation = operation(Method::Post, false);
static PUT: Operation = operation(Method::Put, true);
static MARKED: Operation = operation(Method::Post, true);

/// A status with its headers; without one, the service ends the connection.
type Answer = (Option<u16>, &'static str);

/// How a call ends, and how many requests of it arrive and how many for tokens.
type Outcome = (Option<ErrorKind>, u32, u64);

/// What a service that issues such tokens answers to the requests in turn, the last again and again, and what becomes of so
/// many calls, of which all but the last succeed.
async fn calls(
    operation: &'static Operation,
    (calls, max_attempts): (u32, u32),
    (lifetime, headers): (f64, &'static str),
    answers: Vec<Answer>,
) -> Outcome {
    let tokens = Arc::new(AtomicU64::new(0));
    let requests = Arc::new(AtomicU64::new(0));
    let counts = [Arc::clone(&tokens), Arc::clone(&requests)];
    let url = serve(move |request, socket| {
        if request.asks_for_a_token() {
            let number = tokens.fetch_add(1, Ordering::SeqCst);
            let token = token(&format!("token-number-{number}"), lifetime);
            return reply(socket, 200, headers, token);
        }
        let number = requests.fetch_add(1, Ordering::SeqCst) as usize;
        match answers[number.min(answers.len() - 1)] {
            (Some(status), headers) => reply(socket, status, headers, "{}"),
            (None, _) => drop(socket.shutdown(std::net::Shutdown::Both)),
        }
    });
    let client = settings(&url).max_attempts(max_attempts).build().unwrap();
    for _ in 1..calls {
        let first = client.invoke(operation, Arguments::default()).await;
        first.unwrap();
    }
    let ended = client.invoke(operation, Arguments::default()).await;
    let [tokens, requests] = counts.map(|count| count.load(Ordering::SeqCst));
    if let Err(error) = &ended {
        assert_eq!(error.attempts(), requests as u32 + 1 - calls, "{error}");
    }
    (
        ended.err().map(|error| error.kind()),
        requests as u32,
        tokens,
    )
}

const HOUR: (f64, &str) = (3600.0, "");
const OK: Answer = (Some(200), "");
const REFUSED: Answer = (Some(401), "");
const CLOSES: Answer = (None, "");

fn limited(headers: &'static str) -> Answer {
    (Some(429), headers)
}

#[tokio::test]
async fn what_may_have_been_carried_out_is_sent_again_only_if_that_does_no_harm() {
    let server = Some(ErrorKind::Server);
    for (first, kind) in [
        ((Some(500), ""), server),
        ((Some(503), "retry-after: 0\r\n"), server),
        (CLOSES, Some(ErrorKind::Transport)),
    ] {
        let outcome = calls(&POST, (1, 4), HOUR, vec![first, OK]).await;
        assert_eq!(outcome, (kind, 1, 1), "{first:?}");
        for repeatable in [&PUT, &MARKED] {
            let outcome = calls(repeatable, (1, 4), HOUR, vec![first, OK]).await;
            assert_eq!(outcome, (None, 2, 1), "{first:?}");
        }
    }
    // These were not carried out.
    for (first, tokens) in [(limited("retry-after: 0\r\n"), 1), (REFUSED, 2)] {
        let outcome = calls(&POST, (1, 4), HOUR, vec![first, OK]).await;
        assert_eq!(outcome, (None, 2, tokens), "{first:?}");
    }
}

#[tokio::test]
async fn the_rate_limit_and_refused_tokens_share_the_attempts() {
    let rate_limited = Some(ErrorKind::RateLimited);
    let always = vec![limited("x-ratelimit-reset: 1\r\n")];
    let outcome = calls(&GET, (1, 2), HOUR, always).await;
    assert_eq!(outcome, (rate_limited, 2, 1));
    // The first token works once, and then the service refuses by turns.
    let soon = limited("x-ratelimit-reset: 0.05\r\n");
    let turns = vec![OK, soon, REFUSED, soon];
    let outcome = calls(&GET, (2, 3), HOUR, turns).await;
    assert_eq!(outcome, (rate_limited, 4, 2));
}

#[tokio::test]
async fn tokens_that_help_nothing_are_not_fetched_for_ever() {
    let refused = (Some(ErrorKind::Auth), 2, 2);
    // One that is refused as soon as it is issued is renewed once.
    assert_eq!(calls(&GET, (1, 4), HOUR, vec![REFUSED]).await, refused);
    // It expires during the wait that it came with. Its life is only what the service says; whether it still takes the token
    // is seen by trying.
    let short = (
        1.0,
        "x-ratelimit-limit: 40;w=1\r\nx-ratelimit-remaining: 0\r\nx-ratelimit-reset: 1.2\r\n",
    );
    assert_eq!(calls(&GET, (1, 4), short, vec![OK]).await, (None, 1, 1));
    assert_eq!(calls(&GET, (1, 4), short, vec![REFUSED]).await, refused);
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
    let others = async {
        loop {
            client.version().await.unwrap();
        }
    };
    tokio::select! {
        ended = client.invoke(&POST, Arguments::default()) => drop(ended.unwrap()),
        () = others => {}
    }
    let arrived = arrived.lock().unwrap();
    let gaps = arrived.windows(2).map(|pair| pair[1] - pair[0]);
    let gaps: Vec<f64> = gaps.map(|gap| gap.as_secs_f64()).collect();
    let least = [0.125, 0.25, 0.5, 1.0];
    assert_eq!(gaps.len(), REFUSALS);
    assert!(
        gaps.iter().zip(least).all(|(gap, least)| *gap >= least),
        "{gaps:?}"
    );
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

/// A thousand calls at once.
fn a_thousand(client: &Client) -> JoinSet<Result<(), Error>> {
    let mut calls = JoinSet::new();
    for _ in 0..1000 {
        let client = client.clone();
        calls.spawn(async move { client.permissions().await.map(drop) });
    }
    calls
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_concurrent_first_calls_ask_for_one_token_and_share_its_refusal() {
    let (sandbox, mut settings) = start(Options::default());
    let mut calls = a_thousand(&settings.build().unwrap());
    // The rest would only wait for the budget.
    for _ in 0..60 {
        calls.join_next().await.unwrap().unwrap().unwrap();
    }
    assert_eq!(sandbox.stats().token_posts, 1);
    drop(calls);
    let client = settings.client_secret("wrong-secret").build().unwrap();
    let mut calls = a_thousand(&client);
    while let Some(outcome) = calls.join_next().await {
        assert_eq!(outcome.unwrap().unwrap_err().kind(), ErrorKind::Auth);
    }
    assert_eq!(sandbox.stats().token_posts, 2);
}

#[tokio::test]
async fn the_caller_that_fetches_the_token_may_be_cancelled() {
    let (sandbox, settings) = start(Options {
        latency: Duration::from_millis(200),
        ..Options::default()
    });
    let client = settings.build().unwrap();
    let call = || {
        let client = client.clone();
        tokio::spawn(async move { client.permissions().await })
    };
    let first = call();
    while sandbox.stats().token_posts == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let second = call();
    first.abort();
    second.await.unwrap().unwrap();
    assert_eq!(sandbox.stats().token_posts, 2);
}

/// Scans 12,000 contacts of a service that revokes each token after nine requests, and responds to each request after
/// `delay`, by its status.
async fn with_tokens_for_nine_requests(delay: fn(u16) -> Duration) {
    const TOTAL: u64 = 12_000;
    // How many tokens were issued, and how often the latest was used.
    let state = Mutex::new((0_u64, 0_u64));
    let base_url = stub::serve(move |request, socket| {
        let (status, body) = {
            let (issued, used) = &mut *state.lock().unwrap();
            if request.asks_for_a_token() {
                (*issued, *used) = (*issued + 1, 0);
                (200, stub::token(&format!("token-number-{issued}"), 3600.0))
            } else if request.token == format!("token-number-{issued}") && *used < 9 {
                *used += 1;
                (200, stub::contacts(request, TOTAL))
            } else {
                (401, String::new())
            }
        };
        std::thread::sleep(delay(status));
        stub::reply(socket, status, "", body);
    });
    let client = stub::settings(&base_url).paced(false).build().unwrap();
    let mut scan = client.contacts().list();
    let mut records = 0;
    while let Some(record) = scan.next().await {
        record.unwrap();
        records += 1;
    }
    assert_eq!(records, TOTAL);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_that_are_revoked_every_nine_requests_do_not_end_a_scan() {
    // Long enough for many requests to be under way with each token.
    with_tokens_for_nine_requests(|_| Duration::from_millis(20)).await;
    // Refusals come before the first success.
    with_tokens_for_nine_requests(|status| {
        Duration::from_millis(if status == 200 { 100 } else { 0 })
    })
    .await;
}
