//! Lists as Arrow record batches.

use crate::start;
use arrow_array::cast::AsArray;
use std::collections::BTreeMap;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use talentdata_columns::arrow::{
    BatchScan, Columns, Kind, RecordBatch, TableOptions, TableSchema, Unit,
};
use talentdata_columns::blocking::Scan;
use talentdata_core::blocking;
use talentdata_core::scan::Completeness;
use talentdata_core::types::Resource;
use talentdata_core::{Result, ScanOptions};
use talentdata_sandbox::{Options, Sandbox, limit::Policy};

#[tokio::test]
async fn every_list_becomes_batches_of_one_schema() {
    let (_sandbox, client) = start(Options {
        policy: Policy::Unlimited,
        ..Options::default()
    });
    for resource in Resource::ALL {
        let scan = client.resource(resource).list();
        let mut scan = BatchScan::new(scan, TableOptions::default(), 300);
        let schema = scan.schema().await.unwrap();
        let documented = resource.shape().fields.iter().map(|field| field.name);
        let names = schema.fields().iter().map(|field| field.name().as_str());
        assert!(
            documented
                .zip(names)
                .all(|(documented, name)| documented == name)
        );
        let mut rows = 0;
        while let Some(batch) = scan.next().await {
            let batch = batch.unwrap();
            assert_eq!(batch.schema(), schema);
            rows += batch.num_rows() as u64;
        }
        let receipt = scan.receipt();
        assert_eq!(receipt.completeness, Completeness::Proven, "{resource}");
        assert_eq!(receipt.records, rows, "{resource}");
    }
}

#[tokio::test]
async fn contacts_have_their_columns_in_order_and_of_their_kinds() {
    let (_sandbox, client) = start(Options {
        policy: Policy::Unlimited,
        ..Options::default()
    });
    let mut scan = client.resource(Resource::Contacts).list();
    let mut sample = Vec::new();
    while sample.len() < TableSchema::SAMPLE {
        sample.extend(scan.next_batch().await.unwrap().unwrap().records);
    }
    let columns = TableSchema::infer(Resource::Contacts, &sample, Columns::Typed);
    let kinds: Vec<(&str, Kind)> = columns
        .iter()
        .map(|column| (column.name.as_str(), column.kind.clone()))
        .collect();
    let documented = ["id", "firstName", "lastName", "email"].map(|name| (name, Kind::Text));
    assert_eq!(kinds[..4], documented);
    let kinds: BTreeMap<&str, Kind> = kinds.into_iter().collect();
    assert!(matches!(&kinds["location"], Kind::Struct { fields } if fields.len() == 3));
    assert!(matches!(&kinds["tags"], Kind::List { items } if **items == Kind::Text));
    assert!(matches!(&kinds["createdAt"], Kind::Timestamp(at) if at.unit == Unit::Micros));
    assert_eq!(kinds["matchScore"], Kind::Number);
    assert_eq!(kinds["externalRef"], Kind::Unsigned);
    assert!(!kinds.contains_key("mergedFrom"), "it only appears late");
}

/// The service writes some doubles with 17 digits, also within structs.
#[tokio::test]
async fn numbers_in_another_spelling_are_not_in_extra() {
    let (_sandbox, client) = start(Options {
        policy: Policy::Unlimited,
        ..Options::default()
    });
    let scan = client.resource(Resource::Contacts).list();
    let mut scan = BatchScan::new(scan, TableOptions::default(), 8192);
    let (mut rows, mut fields) = (0, BTreeMap::<String, usize>::new());
    while let Some(batch) = scan.next().await {
        let batch = batch.unwrap();
        rows += batch.num_rows();
        let extra = batch.column(batch.num_columns() - 1);
        for text in extra.as_string::<i32>().iter().flatten() {
            for (name, _) in talentdata_core::json::members(text) {
                *fields.entry(name.to_owned()).or_default() += 1;
            }
        }
    }
    // It only appears late.
    assert_eq!(fields, [("mergedFrom".to_owned(), rows / 10)].into());
}

#[tokio::test]
async fn the_receipt_counts_what_was_given() {
    let (_sandbox, client) = start(Options {
        policy: Policy::Unlimited,
        records: [("contacts".to_owned(), 2000)].into(),
        ..Options::default()
    });
    let mut scan = client.resource(Resource::Contacts).list();
    for taken in 1..=30 {
        scan.next().await.unwrap().unwrap();
        assert_eq!(scan.receipt().records, taken);
    }
    let mut batches = BatchScan::new(scan, TableOptions::default(), 500);
    // The sample is received, and not yet given.
    batches.schema().await.unwrap();
    assert_eq!(batches.receipt().records, 30);
    let mut given = 30;
    loop {
        // A caller that stops waiting, whenever that is, loses nothing.
        let waiting = asked_once(&mut batches);
        let next = match waiting {
            Some(next) => next,
            None => batches.next().await,
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

/// What the next batch is when it is asked for once, by a caller who then stops waiting.
fn asked_once(batches: &mut BatchScan) -> Option<Option<Result<RecordBatch>>> {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(batches.next()).poll(&mut context) {
        Poll::Ready(next) => Some(next),
        Poll::Pending => None,
    }
}

fn blocking_client(sandbox: &Sandbox) -> blocking::Client {
    let mut builder = blocking::Client::builder();
    builder
        .base_url(sandbox.base_url())
        .client_id(sandbox.client_id())
        .client_secret(sandbox.client_secret());
    blocking::Client::new(&builder).unwrap()
}

fn sandbox_of_250() -> Sandbox {
    let options = Options {
        records: [("contacts".to_owned(), 250)].into(),
        ..Options::default()
    };
    Sandbox::start(options).unwrap()
}

#[test]
fn a_thread_without_a_runtime_gets_batches_too() {
    let sandbox = sandbox_of_250();
    let client = blocking_client(&sandbox);
    let mut scan = blocking_scan(&client).unwrap().batches().unwrap();
    assert!(scan.schema().unwrap().fields().len() > 5);
    let rows: Vec<usize> = scan
        .by_ref()
        .map(|batch| batch.unwrap().num_rows())
        .collect();
    assert_eq!(rows, [250]);
    assert_eq!(scan.receipt().records, 250);
}

fn blocking_scan(client: &blocking::Client) -> talentdata_core::Result<Scan> {
    let (options, table) = (ScanOptions::default(), TableOptions::default());
    Scan::new(client, Resource::Contacts, options, table)
}
