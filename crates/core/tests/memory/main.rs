//! What responses of the service can make a client take of the memory: each client is a process of its own, whose peak is
//! measured.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code, reason = "shared with the tests of the client")]
#[path = "../client/stub.rs"]
mod stub;

mod child;

use child::peak;
use flate2::{Compression, write::GzEncoder};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use talentdata_core::ErrorKind;
use tokio::task::JoinSet;

const MIB: usize = 1024 * 1024;
/// Pages asked for at the same time.
const PAGES: u64 = 16;
/// The size of each, decompressed.
const PAGE: usize = 16 * MIB;
/// What they may take: 64 MiB for all and one page that may exceed them, which growing can copy, and what the allocator
/// keeps. Without the budget it would be all of them.
const MOST: usize = 2 * (64 * MIB + PAGE) + 40 * MIB;

const TEST: &str = "small_compressed_pages_share_a_budget_once_they_are_large";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn small_compressed_pages_share_a_budget_once_they_are_large() {
    if let Some(base_url) = child::input::<String>() {
        child::tell(&taken_by_pages(&base_url).await);
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let piece = vec![b'a'; MIB];
    (0..PAGE / MIB).for_each(|_| encoder.write_all(&piece).unwrap());
    let page = encoder.finish().unwrap();
    assert!(page.len() < 100_000, "{}", page.len());
    // An encoding that is not read, so that nothing but reading the body takes time and memory.
    let head = format!(
        "HTTP/1.1 200 x\r\ncontent-encoding: gzip\r\ncontent-type: text/plain; charset=latin1\r\ncontent-length: {}\r\n\r\n",
        page.len()
    );
    let base_url = stub::serve(move |request, socket| {
        if request.asks_for_a_token() {
            return stub::reply(socket, 200, "", stub::token("any-token", 3600.0));
        }
        // The end comes late, so that all pages are under way at the same time.
        let (most, end) = page.split_at(page.len() - 64);
        let _ = socket.write_all(head.as_bytes());
        let _ = socket.write_all(most);
        std::thread::sleep(Duration::from_secs(5));
        let _ = socket.write_all(end);
    });
    let taken: usize = child::run(TEST, &base_url);
    assert!(taken < MOST, "{} MiB", taken / MIB);
}

/// What a client takes that asks for all pages at once, in bytes.
async fn taken_by_pages(base_url: &str) -> usize {
    let client = stub::settings(base_url).build().unwrap();
    let before = peak();
    let mut pages = JoinSet::new();
    for offset in 0..PAGES {
        let client = client.clone();
        pages.spawn(async move { client.contacts().page(None, offset).await.map(drop) });
    }
    while let Some(page) = pages.join_next().await {
        assert_eq!(page.unwrap().unwrap_err().kind(), ErrorKind::Decode);
    }
    peak() - before
}

/// Pages that hold as much of one thing as fits: brackets without and with their ends, records, fields, members.
fn hostile(kind: u64) -> String {
    let pagination =
        format!(r#""pagination":{{"total":99,"limit":1,"offset":{kind},"hasMore":true}}"#);
    let filled = |piece: &str| piece.repeat(PAGE / piece.len());
    match kind {
        0 => format!("{{\"contacts\":[{}", filled("[")),
        1 => {
            let (open, close) = ("[".repeat(PAGE / 2), "]".repeat(PAGE / 2));
            format!("{{{pagination},\"contacts\":[{{\"a\":{open}{close}}}]}}")
        }
        2 => format!("{{{pagination},\"contacts\":[{}{{}}]}}", filled("{},")),
        3 => format!(
            "{{{pagination},\"contacts\":[{{{}\"\":0}}]}}",
            filled("\"\":0,")
        ),
        _ => format!("{{{pagination},{}\"contacts\":[]}}", filled("\"\":0,")),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_pages_take_memory_in_proportion_to_their_text() {
    if let Some((base_url, kind)) = child::input::<(String, u64)>() {
        let client = stub::settings(&base_url).max_attempts(1).build().unwrap();
        let before = peak();
        let page = client.contacts().page(None, kind).await;
        child::tell(&(format!("{:?}", page.unwrap_err().kind()), peak() - before));
    }
    let base_url = stub::serve(move |request, socket| match request.number("offset") {
        Some(kind) => stub::reply(socket, 200, "", hostile(kind)),
        None => stub::reply(socket, 200, "", stub::token("any-token", 3600.0)),
    });
    let test = "hostile_pages_take_memory_in_proportion_to_their_text";
    for (kind, expected) in
        (0_u64..).zip(["Decode", "TooLarge", "TooLarge", "TooLarge", "TooLarge"])
    {
        let (error, taken): (String, usize) = child::run(test, &(&base_url, kind));
        assert_eq!(error, expected, "{kind}");
        // The body once or, while it grows, twice; then as much again for serde_json to remember open brackets.
        assert!(taken < 3 * PAGE + 16 * MIB, "{kind}: {} MiB", taken / MIB);
    }
}

const INTERIM: &str = "interim_responses_without_end_take_no_memory";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interim_responses_without_end_take_no_memory() {
    if let Some(base_url) = child::input::<String>() {
        let before = peak();
        let mut settings = stub::settings(&base_url);
        settings
            .attempt_timeout(Duration::from_secs(3))
            .max_attempts(1);
        let error = settings.build().unwrap().version().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout);
        child::tell(&(peak() - before));
    }
    let piece = b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n".repeat(1000);
    let sent = Arc::new(AtomicUsize::new(0));
    let base_url = stub::serve({
        let sent = Arc::clone(&sent);
        move |_, socket| {
            while socket.write_all(&piece).is_ok() {
                sent.fetch_add(piece.len(), Ordering::Relaxed);
            }
        }
    });
    let taken: usize = child::run(INTERIM, &base_url);
    let sent = sent.load(Ordering::Relaxed);
    assert!(
        taken < 16 * MIB,
        "{} MiB of {} MiB",
        taken / MIB,
        sent / MIB
    );
}
