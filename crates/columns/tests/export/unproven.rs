//! Unproven lists that were read to their end, through every reader of Rust.

use super::service::{client, settings};
use super::{export, fails, place};
use std::sync::{Arc, Mutex};
use talentdata_columns::arrow::{BatchScan, TableOptions};
use talentdata_columns::blocking::BlockingScan;
use talentdata_columns::export::Format;
use talentdata_core::internal::log::{self, Level, ThreadLog};
use talentdata_core::scan::{Completeness, Receipt, Unproven};
use talentdata_core::types::ListName;
use talentdata_core::{Error, ErrorKind, ScanOptions, blocking};
use talentdata_sandbox::{Drift, ListOrder, Options, Sandbox, limit::Policy};

/// The option, and whether the end is an error, for record batches.
const BATCHES: [(Option<Unproven>, bool); 4] = [
    (None, true),
    (Some(Unproven::Fail), true),
    (Some(Unproven::Warn), false),
    (Some(Unproven::Accept), false),
];

/// The option, and whether the end is an error, for records.
const RECORDS: [(Option<Unproven>, bool); 4] = [
    (None, false),
    (Some(Unproven::Fail), true),
    (Some(Unproven::Warn), false),
    (Some(Unproven::Accept), false),
];

/// Starts a service whose 300 contacts come in another order each time.
fn unordered() -> Sandbox {
    start(Options {
        order: ListOrder::Random,
        ..Options::default()
    })
}

fn start(options: Options) -> Sandbox {
    let options = Options {
        records: [("contacts".to_owned(), 300)].into(),
        policy: Policy::Unlimited,
        faults: true,
        ..options
    };
    Sandbox::start(options).unwrap()
}

/// Starts a service with two identical records, which cause a doubt.
fn twins() -> Sandbox {
    let service = start(Options::default());
    let pagination = r#"{"total":2,"limit":100,"offset":0,"hasMore":false}"#;
    let body = format!(
        r#"{{"contacts":[{{"firstName":"A"}},{{"firstName":"A"}}],"pagination":{pagination}}}"#
    );
    let rule = format!(r#"{{"match":{{"path":"/v1/contacts"}},"reply":{{"body":{body}}}}}"#);
    let rules = format!(r#"{{"rules":[{rule}]}}"#);
    service.set_faults(&rules).unwrap();
    service
}

/// The warnings of this thread.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

impl log::Listener for Warnings {
    fn level(&self) -> Option<Level> {
        Some(Level::WARN)
    }

    fn hear(&self, message: log::Message) {
        self.0.lock().unwrap().push(message.line);
    }
}

fn options(unproven: Option<Unproven>) -> ScanOptions {
    let mut options = ScanOptions::default();
    options.unproven = unproven;
    options
}

fn connect(service: &Sandbox) -> talentdata_core::Client {
    let (id, secret) = (service.client_id(), service.client_secret());
    client(service.base_url(), id, secret)
}

fn connect_blocking(service: &Sandbox) -> blocking::Client {
    let (id, secret) = (service.client_id(), service.client_secret());
    blocking::Client::new(&settings(service.base_url(), id, secret)).unwrap()
}

/// Reads batches to their end. Returns the number of rows, the error, and the receipt.
async fn read(service: &Sandbox, options: ScanOptions) -> (u64, Option<Error>, Receipt) {
    let scan = connect(service).contacts().scan(options);
    let mut scan = BatchScan::new(scan, TableOptions::default().with_batch_rows(100));
    let (mut rows, mut failed) = (0, None);
    while let Some(batch) = scan.next().await {
        assert!(failed.is_none(), "nothing comes after an error");
        match batch {
            Ok(batch) => rows += batch.num_rows() as u64,
            Err(error) => failed = Some(error),
        }
    }
    (rows, failed, scan.receipt())
}

#[tokio::test]
async fn batches_end_as_the_option_says_and_the_receipt_stays_available() {
    let service = unordered();
    for (unproven, is_error) in BATCHES {
        let (rows, failed, receipt) = read(&service, options(unproven)).await;
        assert_eq!(receipt.completeness, Completeness::NotProven);
        assert!(receipt.records == rows && rows > 0, "{unproven:?}");
        assert_eq!(failed.is_some(), is_error, "{unproven:?}");
        let words = "contacts: |records were received|it is not proven that they are all: |the option unproven to accept";
        if let Some(error) = failed {
            fails(Err::<(), _>(error), ErrorKind::Incomplete, words);
        }
    }
}

#[tokio::test]
async fn a_list_that_moves_or_is_cut_short_or_repeats_its_first_page_fails() {
    let moves = Options {
        order: ListOrder::Anywhere,
        drift: Some(Drift {
            updates: 100,
            ..Drift::default()
        }),
        ..Options::default()
    };
    let repeats = Options {
        ignore_offset: true,
        ..Options::default()
    };
    let short = start(Options::default());
    let page = |nth: &str, offset, records| {
        let pagination =
            format!(r#"{{"total":300,"limit":100,"offset":{offset},"hasMore":false}}"#);
        let body = format!(r#"{{"contacts":[{records}],"pagination":{pagination}}}"#);
        let wanted = format!(r#"{{"path":"/v1/contacts"{nth}}}"#);
        format!(r#"{{"match":{wanted},"reply":{{"body":{body}}}}}"#)
    };
    let first = page(r#","nth":1"#, 0, r#"{"id":"1"},{"id":"2"}"#);
    let later = page("", 1, r#"{"id":"2"}"#);
    short
        .set_faults(&format!(r#"{{"rules":[{first},{later}]}}"#))
        .unwrap();
    for service in [start(moves), start(repeats), short] {
        let (rows, failed, receipt) = read(&service, ScanOptions::default()).await;
        assert_eq!(receipt.completeness, Completeness::NotProven);
        assert!(rows > 0 && receipt.records == rows);
        let words = receipt.doubts[0].reason();
        fails(failed.map_or(Ok(()), Err), ErrorKind::Incomplete, words);
    }
}

#[tokio::test]
async fn a_reached_limit_needs_no_proof() {
    let service = unordered();
    let limited = options(Some(Unproven::Fail)).with_limit(150);
    let (rows, failed, receipt) = read(&service, limited).await;
    assert!(rows == 150 && failed.is_none(), "{failed:?}");
    assert!(!receipt.doubts.is_empty() || receipt.completeness == Completeness::Limited);
    // This is also so if the limit is the end of the list.
    let (service, mut ends) = (twins(), Vec::new());
    for limit in [Some(2), None] {
        let mut limited = options(Some(Unproven::Fail));
        limited.limit = limit;
        ends.push(read(&service, limited.clone()).await.1.is_some());
        let mut scan = connect(&service).contacts().raw().scan(limited);
        let records = [scan.next().await, scan.next().await];
        assert!(records.iter().all(|record| matches!(record, Some(Ok(_)))));
        ends.push(scan.next().await.is_some());
    }
    assert_eq!(ends, [false, false, true, true]);
}

#[tokio::test]
async fn a_warning_is_logged_once_and_names_the_doubts() {
    let heard = Warnings::default();
    ThreadLog::new(heard.clone()).attach();
    let service = twins();
    let told = || std::mem::take(&mut *heard.0.lock().unwrap());
    let words = "contacts: 2 records were received, and it is not proven that they are all: several records without an id are identical";
    for (unproven, count) in [
        (Unproven::Warn, 1),
        (Unproven::Accept, 0),
        (Unproven::Fail, 0),
    ] {
        read(&service, options(Some(unproven))).await;
        let batches = told();
        let mut scan = connect(&service)
            .contacts()
            .raw()
            .scan(options(Some(unproven)));
        while scan.next().await.is_some() {}
        for told in [batches, told()] {
            assert_eq!(told.len(), count, "{unproven:?}: {told:?}");
            assert!(told.iter().all(|text| text.starts_with(words)), "{told:?}");
        }
    }
}

#[tokio::test]
async fn records_only_have_a_receipt_unless_the_option_says_otherwise() {
    let service = unordered();
    let client = connect(&service);
    for (unproven, is_error) in RECORDS {
        let mut scan = client.contacts().scan(options(unproven));
        let mut failed = Vec::new();
        while let Some(record) = scan.next().await {
            failed.extend(record.err());
        }
        assert_eq!(scan.receipt().completeness, Completeness::NotProven);
        let kinds: Vec<ErrorKind> = failed.iter().map(Error::kind).collect();
        assert_eq!(kinds, [ErrorKind::Incomplete; 1][usize::from(!is_error)..]);
    }
}

#[test]
fn readers_without_a_runtime_end_in_the_same_ways_and_stay_failed() {
    let service = unordered();
    let client = connect_blocking(&service);
    let scan = |unproven| {
        let table = TableOptions::default();
        BlockingScan::new(&client, ListName::Contacts, options(unproven), table).unwrap()
    };
    for (unproven, is_error) in BATCHES {
        let scan = scan(unproven);
        let mut batches = scan.batches().unwrap();
        assert!(batches.next_batch().unwrap().is_some());
        for _ in 0..3 {
            let end = batches.next_batch();
            let is_incomplete = matches!(&end, Err(error) if error.kind() == ErrorKind::Incomplete);
            assert!(is_incomplete == is_error && (is_error || end.unwrap().is_none()));
        }
        assert_eq!(scan.receipt().completeness, Completeness::NotProven);
    }
    for (unproven, is_error) in RECORDS {
        let scan = scan(unproven);
        let read = std::iter::from_fn(|| scan.next_record().transpose());
        assert_eq!(
            read.take(1000).any(|record| record.is_err()),
            is_error,
            "{unproven:?}"
        );
    }
}

#[tokio::test]
async fn an_export_keeps_its_rows_and_its_receipt_and_has_no_such_option() {
    let service = unordered();
    let client = connect(&service);
    let (_directory, path) = place();
    let mut export = export(Format::Parquet, &path);
    let receipt = super::run(&export, &client).await.unwrap();
    assert_eq!(receipt.completeness, Completeness::NotProven);
    export.scan.unproven = Some(Unproven::Fail);
    fails(
        export.check(),
        ErrorKind::InvalidArgument,
        "unproven: an export",
    );
}
