//! Peak memory of a client that receives large responses, and of a scan per record. Each client runs in a process of
//! its own.

use crate::{start, stub};
use flate2::{Compression, write::GzEncoder};
use std::io::Write;
use std::time::Duration;
use talentdata_core::{Client, ErrorKind};
use talentdata_sandbox::Options;
use tokio::task::JoinSet;

const MIB: usize = 1024 * 1024;
/// The size of a page, decompressed.
const PAGE: usize = 16 * MIB;
/// Tells a child what to read.
const CHILD: &str = "TALENTDATA_TEST_MEMORY";

/// Returns the peak memory of this process, in bytes.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().nth(1));
    kibibytes.unwrap().parse::<usize>().unwrap() * 1024
}

/// The child process of the tests below. Reads what the environment names, and reports the memory that it took and its
/// outcome.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn act_as_child() {
    let Ok(what) = std::env::var(CHILD) else {
        return;
    };
    let client = Client::builder().paced(false).max_attempts(1).build();
    let client = client.unwrap();
    let before = peak();
    let ended = match what.as_str() {
        "version" => client.version().await.map(drop),
        // This many pages at the same time.
        "pages" => {
            let mut pages = JoinSet::new();
            for offset in 0..16 {
                let client = client.clone();
                pages.spawn(async move { client.contacts().page(None, offset).await });
            }
            // None of them can be read.
            let mut ended = pages.join_all().await;
            assert!(ended.iter().all(Result::is_err));
            ended.swap_remove(0).map(drop)
        }
        "scan" => {
            let mut scan = client.pools().raw().list();
            while let Some(batch) = scan.next_batch().await {
                drop(batch.unwrap());
            }
            scan.receipt().require_proven().map(drop)
        }
        offset => {
            let contacts = client.contacts();
            contacts.page(None, offset.parse().unwrap()).await.map(drop)
        }
    };
    let ended = ended.map_or_else(|error| error.kind().name(), |()| "");
    stub::tell(&(peak() - before, ended));
}

/// Returns the memory that a child takes to read this, and its outcome.
fn taken(what: &str, base_url: &str, id: &str, secret: &str) -> (usize, String) {
    let environment = [
        (CHILD, what),
        ("TALENTDATA_BASE_URL", base_url),
        ("TALENTDATA_CLIENT_ID", id),
        ("TALENTDATA_CLIENT_SECRET", secret),
        (
            "TALENTDATA_ATTEMPT_TIMEOUT",
            if what == "version" { "3" } else { "60" },
        ),
    ];
    stub::child("memory::act_as_child", &environment)
}

#[test]
fn small_compressed_pages_share_a_budget_once_they_are_large() {
    /// The limit: 64 MiB for all pages and one page that may exceed them, doubled because growing may copy, plus the
    /// memory that the allocator keeps. Without the shared limit it would be the sum of all pages.
    const MOST: usize = 2 * (64 * MIB + PAGE) + 40 * MIB;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let piece = vec![0xff; MIB];
    (0..PAGE / MIB).for_each(|_| encoder.write_all(&piece).unwrap());
    let page = encoder.finish().unwrap();
    assert!(page.len() < 100_000, "{}", page.len());
    // The body is not UTF-8, so only reading the body takes time and memory.
    let head = format!(
        "HTTP/1.1 200 x\r\ncontent-encoding: gzip\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\r\n",
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
    let (taken, ended) = taken("pages", &base_url, "me", stub::SECRET);
    assert_eq!(ended, ErrorKind::Decode.name());
    assert!(taken < MOST, "{} MiB", taken / MIB);
}

/// Returns a page filled with one kind of thing: open brackets, nested brackets, records, fields, or members.
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
        3 => {
            let fields = filled("\"\":0,");
            format!("{{{pagination},\"contacts\":[{{{fields}\"\":0}}]}}")
        }
        _ => format!("{{{pagination},{}\"contacts\":[]}}", filled("\"\":0,")),
    }
}

#[test]
fn hostile_pages_take_memory_in_proportion_to_their_text() {
    let base_url = stub::serve(stub::api(|request| {
        (200, "", hostile(request.number("offset").unwrap()))
    }));
    for (kind, wanted) in ["Decode", "TooLarge", "TooLarge", "TooLarge", "TooLarge"]
        .into_iter()
        .enumerate()
    {
        let (taken, ended) = taken(&kind.to_string(), &base_url, "me", stub::SECRET);
        assert_eq!(ended, wanted, "{kind}");
        // The body once or, while it grows, twice; then as much again for serde_json to track open brackets.
        assert!(taken < 3 * PAGE + 16 * MIB, "{kind}: {} MiB", taken / MIB);
    }
}

#[test]
fn interim_responses_without_end_take_no_memory() {
    let piece = b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n".repeat(1000);
    let base_url = stub::serve(move |_, socket| while socket.write_all(&piece).is_ok() {});
    let (taken, ended) = taken("version", &base_url, "me", stub::SECRET);
    assert_eq!(ended, ErrorKind::Timeout.name());
    assert!(taken < 16 * MIB, "{} MiB", taken / MIB);
}

#[test]
fn a_scan_keeps_at_most_a_hundred_bytes_of_a_record() {
    let scanned = |records: u64| {
        let (sandbox, _) = start(Options {
            records: [("pools".to_owned(), records)].into(),
            ..Options::default()
        });
        let (id, secret) = (sandbox.client_id(), sandbox.client_secret());
        let (taken, ended) = taken("scan", sandbox.base_url(), id, secret);
        assert_eq!(ended, "");
        taken
    };
    // The first scan is large enough to include the memory that a client takes regardless of the records.
    let (few, many) = (scanned(20_000), scanned(220_000));
    let each = many.saturating_sub(few) / 200_000;
    println!("{each} bytes a record ({few} and {many} bytes)");
    assert!(
        each <= 100,
        "{each} bytes a record ({few} and {many} bytes)"
    );
}
