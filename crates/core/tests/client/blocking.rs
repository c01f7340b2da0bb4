//! Records for a thread that waits, without an async runtime.

use super::start;
use talentdata_core::blocking::Client;
use talentdata_core::scan::Completeness;
use talentdata_core::types::ListName;
use talentdata_core::{ErrorKind, ScanOptions};
use talentdata_sandbox::Options;

#[test]
fn an_iterator_has_every_record_and_a_receipt_also_after_a_close() {
    let (sandbox, settings) = start(Options::default());
    let client = Client::new(&settings).unwrap();
    let options = ScanOptions::default().with_page_size(100);
    let mut records = client.scan(ListName::Pools, options.clone()).unwrap();
    records.next().unwrap().unwrap();
    client.close();
    let error = client.scan(ListName::Pools, options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
    let rest = records.by_ref().map(Result::unwrap).count() as u64;
    let receipt = records.receipt();
    assert_eq!(
        (receipt.records, receipt.completeness),
        (rest + 1, Completeness::Proven)
    );
    drop(sandbox);
}

#[test]
fn an_error_is_the_last_item() {
    let (_sandbox, settings) = start(Options::default());
    let client = Client::new(&settings).unwrap();
    let too_large = ScanOptions::default().with_page_size(10_000);
    let mut records = client.scan(ListName::Pools, too_large).unwrap();
    let error = records.next().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(records.next().is_none());
    // A thread of an async runtime must not wait.
    let mut records = client
        .scan(ListName::Pools, ScanOptions::default())
        .unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let kinds = runtime.block_on(async {
        records
            .by_ref()
            .map(|record| record.unwrap_err().kind())
            .collect::<Vec<_>>()
    });
    assert_eq!(kinds, [ErrorKind::InvalidArgument]);
}
