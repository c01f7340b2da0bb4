//! A service that is down for a while: scans wait for it, single calls say so within seconds, and it is asked seldom.

use crate::stub::{self, PERMISSIONS, Request};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use talentdata_core::ErrorKind;

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
    requests: Mutex<Vec<Instant>>,
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
                _ => PERMISSIONS.to_owned(),
            };
            return stub::reply(socket, 200, "", body);
        };
        self.requests.lock().unwrap().push(Instant::now());
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
            let scan = tokio::spawn(async move { stub::count(&client).await });
            served(&outage, 8).await;
            outage.set(Some(down));
            let known = Instant::now() + Duration::from_secs(1);
            tokio::time::sleep(Duration::from_millis(2500)).await;
            outage.set(None);
            let records = scan.await.unwrap();
            assert_eq!(records.unwrap(), TOTAL, "{down:?}");
            let requests = outage.requests.lock().unwrap();
            // How many are sent before the first of them times out depends on the usual round trip.
            let most = if down == Down::Hangs { 40 } else { DOZEN };
            assert!(
                (2..=most).contains(&requests.len()),
                "{down:?}: {requests:?}"
            );
            // The back-off is at least half a second by then, and doubles.
            let probes = requests.iter().filter(|at| **at > known).count();
            assert!(probes <= 3, "{down:?}: {requests:?}");
        });
    }
    while let Some(scan) = scans.join_next().await {
        scan.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scan_waits_for_a_service_that_refuses_connections() {
    // Its address is taken, and nothing listens there yet.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = socket.local_addr().unwrap();
    let settings = stub::settings(&format!("http://{address}"));
    let client = settings.build().unwrap();
    let scan = tokio::spawn(async move { stub::count(&client).await });
    tokio::time::sleep(Duration::from_millis(2500)).await;
    let listener = socket.listen(64).unwrap().into_std().unwrap();
    listener.set_nonblocking(false).unwrap();
    let outage = Outage::default();
    stub::serve_on(listener, move |request, socket| {
        outage.answer(request, socket)
    });
    assert_eq!(scan.await.unwrap().unwrap(), TOTAL);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_share_a_budget_share_the_probes() {
    let (outage, base_url) = start();
    let mut scans = tokio::task::JoinSet::new();
    for _ in 0..4 {
        // Each is a member of its own, as if it were in a process of its own.
        let client = stub::settings(&base_url).budget("host").build().unwrap();
        scans.spawn(async move { stub::count(&client).await });
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
    // In the second row, the token cannot be had already: its own call would wait for more than eleven seconds.
    for (pages, max_outage, status) in [(4, 1500, 502), (0, 2000, 503)] {
        let (outage, base_url) = start();
        let mut settings = stub::settings(&base_url);
        settings.max_outage(Duration::from_millis(max_outage));
        let client = settings.build().unwrap();
        if pages == 0 {
            outage.set(Some(Down::Status(status)));
        }
        let began = Instant::now();
        let scanning = tokio::spawn(async move { stub::count(&client).await });
        served(&outage, pages).await;
        outage.set(Some(Down::Status(status)));
        let error = scanning.await.unwrap().unwrap_err();
        assert!(began.elapsed() < Duration::from_secs(9), "{error}");
        assert_eq!(error.kind(), ErrorKind::Server);
        // Where the last call for a token was never sent, too.
        assert_eq!(error.status(), Some(status), "{error}");
        let message = error.message();
        let middle = "; no request has succeeded for ";
        assert!(message.contains(middle), "{message}");
        let limit = max_outage as f64 / 1000.0;
        let ends = format!(" have failed in a row (max_outage is {limit} s)");
        assert!(message.ends_with(&ends), "{message}");
        assert_eq!(message.matches("in a row").count(), 1, "{message}");
        assert!(outage.requests() <= DOZEN);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_single_call_does_not_queue_behind_a_scan_that_waits() {
    let (outage, base_url) = start();
    let mut settings = stub::settings(&base_url);
    settings
        .max_outage(Duration::from_secs(600))
        .max_attempts(2);
    let client = settings.build().unwrap();
    let other = client.clone();
    let scanning = tokio::spawn(async move { stub::count(&other).await });
    served(&outage, 8).await;
    outage.set(Some(Down::Status(500)));
    tokio::time::sleep(Duration::from_secs(1)).await;
    // The pages of the scan would wait for ten minutes.
    let error = client.permissions().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Server);
    let message = error.message();
    assert!(message.contains("no request has succeeded for"), "{error}");
    scanning.abort();
}

#[tokio::test]
async fn a_scan_keeps_its_time_limit_under_the_rate_limit() {
    const WAIT: &str =
        "x-ratelimit-limit: 40;w=1\r\nx-ratelimit-remaining: 0\r\nx-ratelimit-reset: 30\r\n";
    let limited = stub::serve_api(|_| (429, "x-ratelimit-reset: 0.2\r\n", String::new()));
    // The wait comes with the token.
    let slow = stub::serve(|request, socket| {
        assert!(request.asks_for_a_token());
        stub::reply(socket, 200, WAIT, stub::token("any-token", 3600.0));
    });
    for (base_url, says) in [(limited, ""), (slow, "timeout is 1 s")] {
        let mut settings = stub::settings(&base_url);
        settings.timeout(Duration::from_secs(1)).max_attempts(20);
        let client = settings.build().unwrap();
        let began = Instant::now();
        let error = stub::count(&client).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::RateLimited);
        assert!(error.message().contains(says), "{error}");
        assert!(began.elapsed() < Duration::from_secs(10), "{error}");
    }
}
