//! A service that is down for a while: scans wait for it, single calls say so within seconds, and it is asked seldom.

use crate::stub::{self, Request};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use talentdata_core::{Client, Error, ErrorKind};

/// Contacts of the service.
const TOTAL: u64 = 3000;
/// The most requests that go into an outage of a few seconds.
const DOZEN: usize = 12;

/// How a service is down.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Down {
    Status(u16),
    /// It ends connections in place of a response.
    Closes,
    /// It ends them within the body.
    Breaks,
    /// It responds with nothing.
    Hangs,
}

/// A service that is down for a while.
#[derive(Default)]
struct Outage {
    down: Mutex<Option<Down>>,
    /// Requests that came meanwhile.
    requests: Mutex<Vec<String>>,
    served: AtomicU64,
}

impl Outage {
    fn set(&self, down: Option<Down>) {
        *self.down.lock().unwrap() = down;
    }

    fn requests(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    fn answer(&self, request: &Request, socket: &mut TcpStream) {
        let down = *self.down.lock().unwrap();
        let Some(down) = down else {
            self.served.fetch_add(1, Ordering::Relaxed);
            let body = match request.path.split('?').next() {
                Some("/v1/oauth/token") => stub::token("any-token", 3600.0),
                Some("/v1/contacts") => stub::contacts(request, TOTAL),
                _ => r#"{"roles":[],"permissions":[]}"#.to_owned(),
            };
            return stub::reply(socket, 200, "", body);
        };
        self.requests.lock().unwrap().push(request.path.clone());
        match down {
            Down::Status(status) => return stub::reply(socket, status, "", "down"),
            Down::Closes => {}
            Down::Breaks => {
                use std::io::Write;
                let _ = socket.write_all(b"HTTP/1.1 200 x\r\ncontent-length: 100\r\n\r\n{\"con");
            }
            Down::Hangs => {
                // Until the client has had enough of it.
                let mut gone = [0];
                while matches!(socket.peek(&mut gone), Ok(1..)) {}
            }
        }
        let _ = socket.shutdown(Shutdown::Both);
    }
}

fn start() -> (Arc<Outage>, String) {
    let outage = Arc::new(Outage::default());
    let service = Arc::clone(&outage);
    let base_url = stub::serve(move |request, socket| service.answer(request, socket));
    (outage, base_url)
}

/// How many records a scan delivers.
async fn scan(client: &Client) -> Result<u64, Error> {
    let mut scan = client.contacts().list();
    let mut records = 0;
    while let Some(record) = scan.next().await {
        record?;
        records += 1;
    }
    Ok(records)
}

/// Waits until the service has served some pages.
async fn served(outage: &Outage, pages: u64) {
    while outage.served.load(Ordering::Relaxed) < pages {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scan_waits_for_a_service_that_is_down_however_it_is_down() {
    let mut scans = tokio::task::JoinSet::new();
    let statuses = [500, 502, 503, 504].map(Down::Status);
    let others = [Down::Closes, Down::Breaks, Down::Hangs];
    for down in statuses.into_iter().chain(others) {
        scans.spawn(async move {
            let (outage, base_url) = start();
            let mut settings = stub::settings(&base_url);
            if down == Down::Hangs {
                settings.idle_timeout(Duration::from_millis(400));
            }
            let client = settings.build().unwrap();
            let scan = tokio::spawn(async move { scan(&client).await });
            served(&outage, 8).await;
            outage.set(Some(down));
            tokio::time::sleep(Duration::from_millis(2500)).await;
            outage.set(None);
            let records = scan.await.unwrap();
            assert_eq!(records.unwrap(), TOTAL, "{down:?}");
            let requests = outage.requests();
            assert!((2..=DOZEN).contains(&requests), "{down:?}: {requests}");
        });
    }
    while let Some(scan) = scans.join_next().await {
        scan.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scan_waits_for_a_service_that_refuses_connections() {
    let outage = Arc::new(Outage::default());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let listen = |listener: TcpListener| {
        let outage = Arc::clone(&outage);
        // It takes one connection, and then listens no more.
        std::thread::spawn(move || {
            let (socket, _) = listener.accept().unwrap();
            drop(listener);
            stub::converse(socket, &|request: &Request, socket: &mut TcpStream| {
                outage.answer(request, socket);
                if outage.served.load(Ordering::Relaxed) == 8 {
                    outage.served.fetch_add(1, Ordering::Relaxed);
                    let _ = socket.shutdown(Shutdown::Both);
                }
            });
        })
    };
    let first = listen(listener);
    let client = stub::settings(&format!("http://{address}"))
        .build()
        .unwrap();
    let scan = tokio::spawn(async move { scan(&client).await });
    tokio::task::spawn_blocking(move || first.join().unwrap())
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(2500)).await;
    let service = Arc::clone(&outage);
    stub::serve_on(
        TcpListener::bind(address).unwrap(),
        move |request, socket| {
            service.answer(request, socket);
        },
    );
    assert_eq!(scan.await.unwrap().unwrap(), TOTAL);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_share_a_budget_share_the_probes() {
    let (outage, base_url) = start();
    let mut scans = tokio::task::JoinSet::new();
    for _ in 0..4 {
        // Each is a member of its own, as if it were in a process of its own.
        let client = stub::settings(&base_url).budget("host").build().unwrap();
        scans.spawn(async move { scan(&client).await });
    }
    served(&outage, 12).await;
    outage.set(Some(Down::Status(500)));
    tokio::time::sleep(Duration::from_secs(4)).await;
    outage.set(None);
    let requests = outage.requests();
    while let Some(scanned) = scans.join_next().await {
        assert_eq!(scanned.unwrap().unwrap(), TOTAL);
    }
    assert!(requests <= DOZEN, "{requests}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scan_gives_up_when_the_outage_has_lasted_too_long_and_says_so() {
    let (outage, base_url) = start();
    let mut settings = stub::settings(&base_url);
    settings.max_outage(Duration::from_millis(1500));
    let client = settings.build().unwrap();
    let scanning = tokio::spawn(async move { scan(&client).await });
    served(&outage, 4).await;
    outage.set(Some(Down::Status(502)));
    let error = scanning.await.unwrap().unwrap_err();
    assert_eq!(
        (error.kind(), error.status()),
        (ErrorKind::Server, Some(502))
    );
    let message = error.message();
    assert!(
        message.starts_with("the service failed; no request has succeeded for "),
        "{message}"
    );
    assert!(
        message.ends_with(" have failed in a row (max_outage is 1.5 s)"),
        "{message}"
    );
    assert!(outage.requests() <= DOZEN);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_single_call_ends_with_its_attempts_and_says_for_how_long_it_tried() {
    let (outage, base_url) = start();
    outage.set(Some(Down::Closes));
    let client = stub::settings(&base_url).build().unwrap();
    let error = client.version().await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Transport, 4));
    assert_eq!(outage.requests(), 4);
    assert!(
        error.message().ends_with("4 have failed in a row"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_single_call_does_not_queue_behind_a_scan_that_waits() {
    let (outage, base_url) = start();
    let mut settings = stub::settings(&base_url);
    settings
        .max_outage(Duration::from_secs(600))
        .max_attempts(2);
    let client = settings.build().unwrap();
    let scanning = tokio::spawn({
        let client = client.clone();
        async move { scan(&client).await }
    });
    served(&outage, 8).await;
    outage.set(Some(Down::Status(500)));
    tokio::time::sleep(Duration::from_secs(1)).await;
    // The pages of the scan would wait for ten minutes.
    let error = client.permissions().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Server);
    assert!(
        error.message().contains("no request has succeeded for"),
        "{error}"
    );
    scanning.abort();
}

#[tokio::test]
async fn the_rate_limit_is_met_no_more_often_than_there_are_attempts() {
    let requests = Arc::new(AtomicU64::new(0));
    let base_url = stub::serve({
        let requests = Arc::clone(&requests);
        move |_, socket| {
            requests.fetch_add(1, Ordering::Relaxed);
            stub::reply(socket, 429, "x-ratelimit-reset: 1\r\n", "");
        }
    });
    let client = stub::settings(&base_url).max_attempts(2).build().unwrap();
    let error = client.version().await.unwrap_err();
    assert_eq!(
        (error.kind(), error.attempts()),
        (ErrorKind::RateLimited, 2)
    );
    assert_eq!(requests.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn refusals_of_tokens_and_of_the_rate_limit_share_the_attempts() {
    // Each token works once, and then the service refuses by turns.
    let requests = Arc::new(AtomicU64::new(0));
    let base_url = stub::serve({
        let (requests, tokens) = (Arc::clone(&requests), AtomicU64::new(0));
        move |request, socket| match request.asks_for_a_token() {
            true => {
                let number = tokens.fetch_add(1, Ordering::Relaxed);
                stub::reply(
                    socket,
                    200,
                    "",
                    stub::token(&format!("token-number-{number}"), 3600.0),
                );
            }
            false => match requests.fetch_add(1, Ordering::Relaxed) {
                0 => stub::reply(socket, 200, "", r#"{"roles":[],"permissions":[]}"#),
                number if number % 2 == 1 => {
                    stub::reply(socket, 429, "x-ratelimit-reset: 0.05\r\n", "");
                }
                _ => stub::reply(socket, 401, "", ""),
            },
        }
    });
    let client = stub::settings(&base_url).max_attempts(3).build().unwrap();
    client.permissions().await.unwrap();
    let error = client.permissions().await.unwrap_err();
    assert_eq!(
        (error.kind(), error.attempts()),
        (ErrorKind::RateLimited, 3)
    );
    assert_eq!(requests.load(Ordering::Relaxed), 4);
}

/// The error of a scan with a time limit of a second, and how long it took.
async fn in_a_second(base_url: &str) -> (Error, Duration) {
    let mut settings = stub::settings(base_url);
    settings.timeout(Duration::from_secs(1)).max_attempts(20);
    let client = settings.build().unwrap();
    let began = Instant::now();
    (scan(&client).await.unwrap_err(), began.elapsed())
}

#[tokio::test]
async fn a_scan_keeps_its_time_limit_under_the_rate_limit() {
    let base_url = stub::serve(|request, socket| match request.asks_for_a_token() {
        true => stub::reply(socket, 200, "", stub::token("any-token", 3600.0)),
        false => stub::reply(socket, 429, "x-ratelimit-reset: 0.2\r\n", ""),
    });
    let (error, took) = in_a_second(&base_url).await;
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[tokio::test]
async fn a_wait_that_comes_with_the_token_does_not_exceed_the_time_limit() {
    let base_url = stub::serve(|request, socket| {
        assert!(request.asks_for_a_token());
        let wait =
            "x-ratelimit-limit: 40;w=1\r\nx-ratelimit-remaining: 0\r\nx-ratelimit-reset: 30\r\n";
        stub::reply(socket, 200, wait, stub::token("any-token", 3600.0));
    });
    let (error, took) = in_a_second(&base_url).await;
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    assert!(error.message().contains("timeout is 1 s"), "{error}");
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scan_that_meets_an_outage_gives_up_in_time() {
    let (outage, base_url) = start();
    outage.set(Some(Down::Status(503)));
    let mut settings = stub::settings(&base_url);
    settings.max_outage(Duration::from_secs(2));
    let client = settings.build().unwrap();
    let began = Instant::now();
    let error = scan(&client).await.unwrap_err();
    // The call for the token would wait for more than eleven.
    assert!(began.elapsed() < Duration::from_secs(9), "{error}");
    let message = error.message();
    assert!(message.ends_with("(max_outage is 2 s)"), "{message}");
    assert_eq!(message.matches("in a row").count(), 1, "{message}");
}
