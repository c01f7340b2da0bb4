//! The blocking client: stopped and closed from other threads, and polled with a waker.

use std::sync::Arc;
use std::task::{Poll, Wake, Waker};
use std::thread::Thread;
use talentdata_columns::arrow::TableOptions;
use talentdata_columns::blocking::Scan;
use talentdata_core::blocking::Client;
use talentdata_core::types::Resource;
use talentdata_core::{ErrorKind, ScanOptions};
use talentdata_sandbox::{Options, Sandbox, limit::Policy};

fn start() -> (Sandbox, Client) {
    let sandbox = Sandbox::start(Options {
        policy: Policy::Unlimited,
        ..Options::default()
    })
    .unwrap();
    let mut settings = Client::builder();
    settings
        .base_url(sandbox.base_url())
        .client_id(sandbox.client_id())
        .client_secret(sandbox.client_secret());
    let client = Client::new(&settings).unwrap();
    (sandbox, client)
}

#[test]
fn a_stopped_scan_stays_stopped_and_keeps_its_receipt() {
    let (_sandbox, client) = start();
    let mut scan = Scan::new(
        &client,
        Resource::Contacts,
        ScanOptions::default(),
        TableOptions::default(),
    )
    .unwrap();
    assert_eq!(scan.by_ref().take(30).count(), 30);
    let stop = scan.stop_handle();
    std::thread::spawn(move || stop.stop()).join().unwrap();
    for _ in 0..2 {
        let error = scan.next_record().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    }
    // As any iterator that has failed.
    assert!(scan.next().unwrap().is_err() && scan.next().is_none());
    assert_eq!(scan.receipt().records, 30);
}

#[test]
fn a_closed_client_refuses_calls_and_its_scans_go_on() {
    let (_sandbox, client) = start();
    let scan = Scan::new(
        &client,
        Resource::Pools,
        ScanOptions::default(),
        TableOptions::default(),
    )
    .unwrap();
    client.close();
    assert_eq!(client.version().unwrap_err().kind(), ErrorKind::Closed);
    let again = Scan::new(
        &client,
        Resource::Pools,
        ScanOptions::default(),
        TableOptions::default(),
    );
    assert_eq!(again.err().unwrap().kind(), ErrorKind::Closed);
    let records: Result<Vec<_>, _> = scan.collect();
    assert!(!records.unwrap().is_empty());
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[test]
fn a_polled_scan_wakes_whoever_polls_it() {
    let (_sandbox, client) = start();
    let options = ScanOptions {
        page_size: Some(10),
        ..ScanOptions::default()
    };
    let scan = Scan::new(
        &client,
        Resource::Contacts,
        options.clone(),
        TableOptions::default(),
    )
    .unwrap();
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut polled = Vec::new();
    loop {
        polled.extend(std::iter::from_fn(|| scan.next_received()));
        match scan.poll_fill(&waker) {
            Poll::Ready(Ok(true)) => {}
            Poll::Ready(ended) => {
                assert!(!ended.unwrap());
                break;
            }
            Poll::Pending => std::thread::park(),
        }
    }
    let waited = Scan::new(
        &client,
        Resource::Contacts,
        options,
        TableOptions::default(),
    )
    .unwrap();
    assert!(waited.map(|record| record.unwrap()).eq(polled));
}

#[tokio::test]
async fn a_blocking_call_within_a_runtime_is_refused() {
    let (_sandbox, client) = start();
    assert_eq!(
        client.version().unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
}
