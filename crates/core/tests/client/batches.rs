//! Lists as Arrow record batches.

use crate::start;
use std::collections::BTreeMap;
use talentdata_core::ScanOptions;
use talentdata_core::arrow::{Columns, Kind};
use talentdata_core::blocking;
use talentdata_core::scan::Completeness;
use talentdata_core::types::Resource;
use talentdata_sandbox::{Options, Sandbox, limit::Policy};

#[tokio::test]
async fn every_list_becomes_batches_of_one_schema() {
    let (_sandbox, client) = start(Options {
        policy: Policy::Unlimited,
        ..Options::default()
    });
    for resource in Resource::ALL {
        let mut scan = client.resource(resource).list().into_batches(300);
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
    while sample.len() < Columns::SAMPLE {
        sample.extend(scan.next_batch().await.unwrap().unwrap().records);
    }
    let columns = Columns::infer(Resource::Contacts.shape(), &sample);
    let kinds: Vec<(&str, Kind)> = columns
        .iter()
        .map(|column| (column.name.as_str(), column.kind))
        .collect();
    let documented = ["id", "firstName", "lastName", "email"].map(|name| (name, Kind::Text));
    assert_eq!(kinds[..4], documented);
    let kinds: BTreeMap<&str, Kind> = kinds.into_iter().collect();
    assert_eq!(kinds["location"], Kind::Json);
    assert_eq!(kinds["matchScore"], Kind::Number);
    assert_eq!(kinds["externalRef"], Kind::Unsigned);
    assert!(!kinds.contains_key("mergedFrom"), "it only appears late");
}

#[test]
fn a_thread_without_a_runtime_gets_batches_too() {
    let options = Options {
        records: [("contacts".to_owned(), 250)].into(),
        ..Options::default()
    };
    let sandbox = Sandbox::start(options).unwrap();
    let builder = blocking::Client::builder()
        .base_url(sandbox.base_url())
        .client_id(sandbox.client_id())
        .client_secret(sandbox.client_secret());
    let client = blocking::Client::new(builder).unwrap();
    let scan = client.scan(Resource::Contacts, ScanOptions::default());
    let mut scan = scan.unwrap().into_batches(100).unwrap();
    assert!(scan.schema().unwrap().fields().len() > 5);
    let rows: Vec<usize> = scan
        .by_ref()
        .map(|batch| batch.unwrap().num_rows())
        .collect();
    assert_eq!(rows, [100, 100, 50]);
    assert_eq!(scan.receipt().records, 250);
}
