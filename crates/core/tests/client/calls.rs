//! Calls, their tokens, and lists: which calls are sent again or refused, and what lists deliver.

use crate::start;
use crate::stub::{self, Request, reply, serve, settings, token};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use talentdata_core::scan::{Completeness, ScanOptions};
use talentdata_core::types::{
    CHECK_VERSION, CREATE_TOKEN, FieldKind, LIST_CONTACTS, ListName, Location, Method, Operation,
    Parameter, RequestBody, TokenUse,
};
use talentdata_core::{Arguments, Client, Error, ErrorKind, RawRecord};
use talentdata_sandbox::Options;
use tokio::task::JoinSet;

/// Returns an operation that the API description does not contain.
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

/// A status with its headers. Without a status, the service ends the connection.
type Answer = (Option<u16>, &'static str);

const OK: Answer = (Some(200), "");
const FAILS: Answer = (Some(500), "");
const BUSY: Answer = (Some(503), "retry-after: 0\r\n");
const CLOSES: Answer = (None, "");
const LIMITED: Answer = (Some(429), "x-ratelimit-reset: 0.05\r\n");
const REFUSED: Answer = (Some(401), "");

/// The lifetime of tokens, and the headers that come with them.
type Tokens = (f64, &'static str);

const HOUR: Tokens = (3600.0, "");
/// These tokens expire during the wait that the service asks for.
const SHORT: Tokens = (
    1.0,
    "x-ratelimit-limit: 40;w=1\r\nx-ratelimit-remaining: 0\r\nx-ratelimit-reset: 1.2\r\n",
);

/// Starts a service that issues such tokens, and answers with these responses in turn; the last one is repeated.
/// Returns the times of the requests for tokens, and of the other requests.
fn service(
    (lifetime, headers): Tokens,
    answers: &'static [Answer],
) -> (String, Arc<Mutex<[Vec<Instant>; 2]>>) {
    let requests: Arc<Mutex<[Vec<Instant>; 2]>> = Arc::default();
    let seen = Arc::clone(&requests);
    let url = serve(move |request: &Request, socket: &mut TcpStream| {
        if request.path == "/v1/version" {
            let body = r#"{"version":"1","apiStatus":"operational","endpoints":{}}"#;
            return reply(socket, 200, "", body);
        }
        let kind = usize::from(!request.asks_for_a_token());
        let number = {
            let times = &mut seen.lock().unwrap()[kind];
            times.push(Instant::now());
            times.len() - 1
        };
        match (kind, answers[number.min(answers.len() - 1)]) {
            (0, _) => {
                let token = token(&format!("token-number-{number}"), lifetime);
                reply(socket, 200, headers, token);
            }
            (_, (Some(status), headers)) => reply(socket, status, headers, "{}"),
            (_, (None, _)) => drop(socket.shutdown(std::net::Shutdown::Both)),
        }
    });
    (url, requests)
}

/// An operation with media types of its own for body and response, and with separated values.
static DOCUMENTED: Operation = Operation {
    id: "documented",
    answers: true,
    accept: "application/vnd.talent.v2+json",
    parameters: &[Parameter {
        name: "ids",
        wire: "ids",
        argument: "ids",
        flag: "ids",
        location: Location::Query,
        required: false,
        repeated: true,
        separator: Some(","),
        positional: false,
        nonblank: false,
        kind: FieldKind::Text,
        known_values: &[],
        description: "",
    }],
    body: Some(RequestBody {
        media_type: "application/merge-patch+json",
        required: true,
        fields: &[],
    }),
    ..operation(Method::Patch, true)
};

#[tokio::test]
async fn requests_are_as_documented_and_a_status_may_come_without_a_body() {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = Arc::clone(&seen);
    let url = serve(stub::api(move |request| {
        let mut seen = noted.lock().unwrap();
        seen.push(format!("{} {}", request.path, request.media.join(" ")));
        let status = [204, 200][seen.len() - 1];
        (status, "", String::new())
    }));
    let client = settings(&url).max_attempts(1).build().unwrap();
    let call = || {
        let arguments = Arguments::default().with("ids", vec!["a", "b&c"]);
        client.invoke(&DOCUMENTED, arguments.with_json("{}".to_owned()))
    };
    assert_eq!(call().await.unwrap().as_deref(), Some("null"));
    // A status 200 without a body is still an error.
    assert_eq!(call().await.unwrap_err().kind(), ErrorKind::Decode);
    let sent =
        "/v1/together?ids=a,b%26c application/merge-patch+json application/vnd.talent.v2+json";
    assert_eq!(*seen.lock().unwrap(), [sent, sent]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_are_sent_again_if_that_is_safe_and_as_often_as_allowed() {
    use ErrorKind::{Auth, RateLimited, Server, Transport};
    // The number of calls, of which all but the last succeed, and `max_attempts`; then the error, the number of
    // requests for tokens, and the number of requests for the calls.
    type Row = (
        &'static Operation,
        (u32, u32),
        Tokens,
        &'static [Answer],
        (Option<ErrorKind>, usize, usize),
    );
    let rows: &[Row] = &[
        // A request that may have been carried out is sent again only if that does no harm.
        (&POST, (1, 4), HOUR, &[FAILS, OK], (Some(Server), 1, 1)),
        (&POST, (1, 4), HOUR, &[BUSY, OK], (Some(Server), 1, 1)),
        (&POST, (1, 4), HOUR, &[CLOSES, OK], (Some(Transport), 1, 1)),
        (&PUT, (1, 4), HOUR, &[FAILS, BUSY, OK], (None, 1, 3)),
        (&PUT, (1, 4), HOUR, &[CLOSES, OK], (None, 1, 2)),
        (
            &MARKED,
            (1, 4),
            HOUR,
            &[FAILS, CLOSES, BUSY, OK],
            (None, 1, 4),
        ),
        (&GET, (1, 4), HOUR, &[CLOSES], (Some(Transport), 1, 4)),
        // These requests were not carried out.
        (&POST, (1, 4), HOUR, &[LIMITED, OK], (None, 1, 2)),
        (&POST, (1, 4), HOUR, &[REFUSED, OK], (None, 2, 2)),
        // The rate limit and refused tokens share the attempts. A token that has worked may be refused by turns.
        (&GET, (1, 2), HOUR, &[LIMITED], (Some(RateLimited), 1, 2)),
        (
            &GET,
            (2, 3),
            HOUR,
            &[OK, LIMITED, REFUSED, LIMITED],
            (Some(RateLimited), 2, 4),
        ),
        // A token that is refused right after it was issued is renewed once. Its lifetime is only a claim of the
        // service, so the client tries it to see whether the service accepts it.
        (&GET, (1, 4), HOUR, &[REFUSED], (Some(Auth), 2, 2)),
        (&GET, (1, 4), SHORT, &[OK], (None, 1, 1)),
        (&GET, (1, 4), SHORT, &[REFUSED], (Some(Auth), 2, 2)),
    ];
    let mut calls = JoinSet::new();
    for (index, &(operation, (count, max_attempts), tokens, answers, wanted)) in
        rows.iter().enumerate()
    {
        let (url, requests) = service(tokens, answers);
        let client = settings(&url).max_attempts(max_attempts).build().unwrap();
        calls.spawn(async move {
            let call = || client.invoke(operation, Arguments::default());
            for _ in 1..count {
                call().await.unwrap();
            }
            let error = call().await.err();
            let [tokens, sent] = requests.lock().unwrap().each_ref().map(Vec::len);
            let kind = error.as_ref().map(Error::kind);
            assert_eq!((kind, tokens, sent), wanted, "row {index}: {error:?}");
            let attempts = error.map(|error| error.attempts() as usize + count as usize - 1);
            assert!(attempts.is_none_or(|attempts| attempts == sent), "{index}");
        });
    }
    calls.join_all().await;
}

/// Only the gate decides when. No response to another call may shorten the wait of a refused call.
#[tokio::test]
async fn a_call_that_is_refused_again_waits_longer_while_others_succeed() {
    const AT_ONCE: Answer = (Some(429), "retry-after: 0\r\n");
    let (url, requests) = service(HOUR, &[AT_ONCE, AT_ONCE, AT_ONCE, AT_ONCE, OK]);
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
    let [_, sent] = &*requests.lock().unwrap();
    let gaps = sent.windows(2).map(|pair| pair[1] - pair[0]);
    let least = [125, 250, 500, 1000].map(Duration::from_millis);
    assert!(
        gaps.len() == 4 && gaps.zip(least).all(|(gap, least)| gap >= least),
        "{sent:?}"
    );
}

#[tokio::test]
async fn calls_that_cannot_be_made_fail_before_anything_is_sent() {
    let (sandbox, settings) = start(Options::default());
    let client = settings.build().unwrap();
    for operation in [CREATE_TOKEN, LIST_CONTACTS] {
        let outcome = client.invoke(operation, Arguments::default()).await;
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains("cannot be called"), "{error}");
    }
    for page_size in [0, 101] {
        let options = ScanOptions::default().with_page_size(page_size);
        let mut scan = client.contacts().scan(options);
        let error = scan.next().await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains("page_size"), "{error}");
        assert!(scan.next().await.is_none());
    }
    assert_eq!(sandbox.stats().requests, 0);
}

#[tokio::test]
async fn every_list_arrives_once_and_in_order() {
    let sizes = ListName::ALL.map(|resource| (resource.name().to_owned(), 80));
    let (sandbox, settings) = start(Options {
        records: sizes.into(),
        max_limit: Some(37),
        ..Options::default()
    });
    let client = settings.build().unwrap();
    for resource in ListName::ALL {
        let list = client.resource(resource);
        let mut scan = list.list();
        let mut records = Vec::new();
        while let Some(record) = scan.next().await {
            records.push(record.unwrap());
        }
        let receipt = scan.receipt();
        assert_eq!(receipt.completeness, Completeness::Proven, "{resource}");
        let mut serial = Vec::new();
        for offset in [0, 37, 74] {
            serial.append(&mut list.page(Some(37), offset).await.unwrap().records);
        }
        let same = |(one, other): (&RawRecord, &RawRecord)| one.as_str() == other.as_str();
        assert!(records.iter().zip(&serial).all(same), "{resource}");
        assert_eq!((records.len(), serial.len()), (80, 80), "{resource}");
    }
    assert_eq!(sandbox.stats().token_posts, 1);
}

#[tokio::test]
async fn pages_that_wait_for_their_turn_are_not_out_of_time() {
    let (_sandbox, mut settings) = start(Options {
        records: [("contacts".to_owned(), 1500)].into(),
        ..Options::default()
    });
    // Eight pages a second, which are requested at the same time, so the last one waits for two seconds.
    let client = settings.share(0.2).timeout(Duration::from_secs(1)).build();
    assert_eq!(stub::count(&client.unwrap()).await.unwrap(), 1500);
}

/// Starts a thousand calls at the same time.
fn a_thousand(client: &Client) -> JoinSet<Result<(), Error>> {
    let clients = std::iter::repeat_n(client.clone(), 1000);
    let call = |client: Client| async move { client.permissions().await.map(drop) };
    clients.map(call).collect()
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
    for outcome in a_thousand(&client).join_all().await {
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Auth);
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

/// The service revokes each token after nine requests.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_that_are_revoked_every_nine_requests_do_not_end_a_scan() {
    const TOTAL: u64 = 12_000;
    // Milliseconds until a request is served, and until one is refused. The first pair is long enough for many requests
    // to be under way with each token; in the second pair, refusals come before the first success.
    for (served, refused) in [(20, 20), (100, 0)] {
        // The number of issued tokens, and of the uses of the latest one.
        let state = Mutex::new((0_u64, 0_u64));
        let base_url = stub::serve(move |request, socket| {
            let (status, delay, body) = {
                let (issued, used) = &mut *state.lock().unwrap();
                if request.asks_for_a_token() {
                    (*issued, *used) = (*issued + 1, 0);
                    let token = token(&format!("token-number-{issued}"), 3600.0);
                    (200, served, token)
                } else if request.token == format!("token-number-{issued}") && *used < 9 {
                    *used += 1;
                    (200, served, stub::contacts(request, TOTAL))
                } else {
                    (401, refused, String::new())
                }
            };
            std::thread::sleep(Duration::from_millis(delay));
            reply(socket, status, "", body);
        });
        let client = settings(&base_url).paced(false).build().unwrap();
        assert_eq!(stub::count(&client).await.unwrap(), TOTAL);
    }
}
