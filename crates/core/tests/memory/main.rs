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
