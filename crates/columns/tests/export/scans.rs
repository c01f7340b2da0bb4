//! Lists as record batches, and blocking scans.

use super::service::settings;
use super::{Service, fails};
use arrow_array::RecordBatchReader;
use arrow_array::cast::AsArray;
use std::collections::BTreeMap;
use std::future::{poll_fn, ready};
use talentdata_columns::arrow::{
    BatchScan, ColumnKind, ColumnTypes, RecordBatches, TableOptions, TableSchema, Unit,
};
use talentdata_columns::blocking::BlockingScan;
use talentdata_core::scan::Completeness;
use talentdata_core::types::ListName;
use talentdata_core::{ErrorKind, RawRecord, Result, ScanOptions, blocking};
use tokio::runtime::Builder;

fn batches<T>(scan: talentdata_core::Scan<T>, rows: usize) -> BatchScan {
    BatchScan::new(scan, TableOptions::default().with_batch_rows(rows))
}

/// The service writes some doubles with 17 digits, also within structs. For contacts, `_extra` contains only fields
/// that appear late.
#[tokio::test]
async fn every_list_becomes_batches_of_one_schema() {
    let service = Service::start(2500);
    let client = &service.client;
    let mut extra = BTreeMap::<String, usize>::new();
    for resource in ListName::ALL {
        let mut scan = batches(client.resource(resource).list(), 300);
        let schema = scan.schema().await.unwrap();
        let documented = resource.shape().fields.iter().map(|field| field.name);
        let names = schema.fields().iter().map(|field| field.name().as_str());
        assert!(documented.zip(names).all(|(one, other)| one == other));
        let mut rows = 0;
        while let Some(batch) = scan.next().await {
            let batch = batch.unwrap();
            assert_eq!(batch.schema(), schema);
            rows += batch.num_rows() as u64;
            let last = batch.column(batch.num_columns() - 1).as_string::<i32>();
            let of_contacts = last.iter().filter(|_| resource == ListName::Contacts);
            for (name, _) in of_contacts
                .flatten()
                .flat_map(talentdata_core::internal::json::members)
            {
                *extra.entry(name.to_owned()).or_default() += 1;
            }
        }
        let receipt = scan.receipt();
        assert_eq!(receipt.completeness, Completeness::Proven, "{resource}");
        assert_eq!(receipt.records, rows, "{resource}");
    }
    assert_eq!(extra, [("mergedFrom".to_owned(), 250)].into());
    let columns = TableSchema::of_list(&client.contacts(), ColumnTypes::Typed)
        .await
        .unwrap();
    let documented = ["id", "firstName", "lastName", "email"].map(|name| (name, ColumnKind::Text));
    let columns = columns.fields.iter();
    let kinds = columns.map(|column| (column.name.as_str(), column.kind.clone()));
    assert!(kinds.clone().take(4).eq(documented));
    let kinds: BTreeMap<&str, ColumnKind> = kinds.collect();
    assert!(matches!(&kinds["location"], ColumnKind::Struct { fields } if fields.len() == 3));
    assert!(matches!(&kinds["tags"], ColumnKind::List { items } if **items == ColumnKind::Text));
    assert!(matches!(&kinds["createdAt"], ColumnKind::Timestamp(at) if at.unit == Unit::Micros));
    assert_eq!(kinds["matchScore"], ColumnKind::Number);
    assert_eq!(kinds["externalRef"], ColumnKind::Unsigned);
}

#[tokio::test]
async fn the_receipt_counts_returned_records_and_an_abandoned_wait_loses_none() {
    let service = Service::start(2000);
    let mut scan = service.client.contacts().list();
    for taken in 1..=30 {
        scan.next().await.unwrap().unwrap();
        assert_eq!(scan.receipt().records, taken);
    }
    let mut batches = batches(scan, 500);
    // The sample has been received, but not returned.
    batches.schema().await.unwrap();
    assert_eq!(batches.receipt().records, 30);
    let mut given = 30;
    loop {
        let next = tokio::select! {
            biased;
            next = batches.next() => next,
            () = ready(()) => batches.next().await,
        };
        let Some(batch) = next else { break };
        given += batch.unwrap().num_rows() as u64;
        let receipt = batches.receipt();
        assert_eq!(receipt.records, given);
        assert!(given == 2000 || receipt.completeness == Completeness::Unfinished);
    }
    let receipt = batches.receipt();
    assert_eq!((given, receipt.records), (2000, 2000));
    assert_eq!(receipt.completeness, Completeness::Proven);
}

/// Starts a service with 250 contacts, and a blocking client.
fn start_blocking() -> (Service, blocking::Client) {
    let service = Service::start(250);
    let (id, secret) = (service.sandbox.client_id(), service.sandbox.client_secret());
    let settings = settings(service.sandbox.base_url(), id, secret);
    (service, blocking::Client::new(&settings).unwrap())
}

fn blocking_scan(client: &blocking::Client) -> Result<BlockingScan> {
    let options = ScanOptions::default().with_page_size(10);
    BlockingScan::new(client, ListName::Contacts, options, TableOptions::default())
}

#[test]
fn a_thread_without_a_runtime_gets_batches_too() {
    let (_service, client) = start_blocking();
    let scan = blocking_scan(&client).unwrap();
    let batches = scan.batches().unwrap();
    assert!(batches.schema().fields().len() > 5);
    let rows = batches.map(|batch| batch.unwrap().num_rows());
    assert!(rows.eq([250]));
    assert_eq!(scan.receipt().records, 250);
}

#[test]
fn a_stopped_scan_stays_stopped_and_keeps_its_receipt() {
    let (service, client) = start_blocking();
    let scan = blocking_scan(&client).unwrap();
    // Requests begin with the first wait.
    assert_eq!(service.sandbox.stats().requests, 0);
    for _ in 0..30 {
        assert!(scan.next_record().unwrap().is_some());
    }
    let stop = scan.stop_handle();
    std::thread::spawn(move || stop.stop()).join().unwrap();
    for _ in 0..2 {
        fails(scan.next_record(), ErrorKind::Cancelled, "");
    }
    assert_eq!(scan.receipt().records, 30);
}

#[test]
fn a_closed_client_refuses_calls_and_its_scans_continue() {
    let (_service, client) = start_blocking();
    let scan = blocking_scan(&client).unwrap();
    client.close();
    fails(client.version(), ErrorKind::Closed, "");
    fails(blocking_scan(&client), ErrorKind::Closed, "");
    let records = std::iter::from_fn(|| scan.next_record().transpose());
    assert!(records.map(Result::unwrap).count() == 250);
}

#[test]
fn a_polled_scan_wakes_its_poller() {
    let (_service, client) = start_blocking();
    let scan = blocking_scan(&client).unwrap();
    let runtime = Builder::new_current_thread().build().unwrap();
    let (mut polled, mut more) = (Vec::new(), true);
    while more {
        polled.extend(std::iter::from_fn(|| scan.next_received()));
        let filled = poll_fn(|context| scan.poll_fill(context.waker()));
        more = runtime.block_on(filled).unwrap();
    }
    let waited = client.scan(ListName::Contacts, ScanOptions::default());
    let waited: Vec<RawRecord> = waited.unwrap().map(Result::unwrap).collect();
    assert_eq!((waited.len(), waited == polled), (250, true));
}

#[test]
fn the_debug_text_of_a_reader_shows_no_record() {
    let (service, client) = start_blocking();
    let mut records = client
        .scan(ListName::Contacts, ScanOptions::default())
        .unwrap();
    let first = records.next().unwrap().unwrap();
    let scan = blocking_scan(&client).unwrap();
    scan.next_record().unwrap();
    let table = TableOptions::default();
    let again = std::iter::once(Ok(first.clone()));
    let rows = RecordBatches::new(ListName::Contacts, &table, again).unwrap();
    let printed = format!("{records:?} {scan:?} {rows:?} {:?}", scan.batches().err());
    assert!(!printed.contains(first.id().unwrap()), "{printed}");
    assert!(
        !printed.contains(service.sandbox.client_secret()),
        "{printed}"
    );
    assert!(printed.contains("Contacts"), "{printed}");
}
