//! Services that count in pages, or refuse requests that the API description does not promise: offsets that are not a
//! multiple of the limit, offsets after the end, small limits.

use crate::start;
use crate::stub::{Request, api, contacts, serve, settings};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use talentdata_core::scan::{Basis, Completeness, Receipt, ScanOptions};
use talentdata_core::{Client, Error, ErrorKind};
use talentdata_sandbox::{Options, Pages};

/// Reads all contacts, or the first `limit`.
async fn read(client: &Client, limit: Option<u64>) -> Result<Receipt, Error> {
    let mut options = ScanOptions::default();
    options.limit = limit;
    let mut scan = client.contacts().scan(options);
    while let Some(record) = scan.next().await {
        record?;
    }
    Ok(scan.receipt())
}

#[tokio::test]
async fn unchanging_lists_in_whole_pages_are_counted() {
    for pages in Pages::ALL {
        let records = [("contacts".to_owned(), 730)].into();
        let (_sandbox, mut settings) = start(Options {
            pages,
            records,
            ..Options::default()
        });
        let client = settings.paced(false).build().unwrap();
        let receipt = read(&client, None).await.unwrap();
        assert_eq!(
            (receipt.records, &receipt.doubts[..]),
            (730, &[][..]),
            "{pages}"
        );
        assert_eq!(receipt.basis, Some(Basis::Counted), "{pages}");
        // Each refusal takes one page more, which shows that the size is not the reason.
        let most = match pages {
            Pages::Fixed => 28,
            Pages::Refused => 26,
            _ => 20,
        };
        assert!(receipt.requests <= most, "{pages}: {}", receipt.requests);
    }
}

const REFUSED: (u16, &str, String) = (422, "", String::new());

/// Returns a client of a service that gives this answer to requests for pages of contacts.
fn client(
    answer: impl Fn(&Request) -> (u16, &'static str, String) + Send + Sync + 'static,
) -> Client {
    let mut settings = settings(&serve(api(answer)));
    settings.paced(false).build().unwrap()
}

#[tokio::test]
async fn a_refusal_of_every_page_but_the_first_stays_an_error() {
    let requests = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&requests);
    let client = client(move |request| {
        count.fetch_add(1, Ordering::SeqCst);
        if request.number("offset") > Some(0) {
            return REFUSED;
        }
        (200, "", contacts(request, 730))
    });
    let error = read(&client, None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadRequest);
    assert_eq!((error.status(), error.offset()), (Some(422), Some(99)));
    assert!(requests.load(Ordering::SeqCst) <= 16);
}

/// The list has 730 records at first, and only 250 from the fourth page on.
#[tokio::test]
async fn offsets_after_the_end_may_be_refused() {
    let requests = AtomicU64::new(0);
    let client = client(move |request| {
        let count = requests.fetch_add(1, Ordering::SeqCst);
        let total = if count < 4 { 730 } else { 250 };
        if request.number("offset") >= Some(total) {
            return (404, "", String::new());
        }
        (200, "", contacts(request, total))
    });
    let receipt = read(&client, None).await.unwrap();
    assert_eq!(
        receipt.completeness,
        Completeness::Proven,
        "{:?}",
        receipt.doubts
    );
    assert!(receipt.records >= 250);
}

#[tokio::test]
async fn small_limits_may_be_refused() {
    let client = client(|request| match request.number("limit") {
        Some(0..10) => REFUSED,
        _ => (200, "", contacts(request, 730)),
    });
    let receipt = read(&client, Some(1)).await.unwrap();
    assert_eq!(
        (receipt.records, receipt.completeness),
        (1, Completeness::Limited)
    );
}
