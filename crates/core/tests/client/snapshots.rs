//! Snapshots: the list as it was between two passes that agree, or the word that no two did.

use crate::fault::post_rules;
use serde_json::json;
use talentdata_core::scan::{
    Basis, Completeness, Consistency, Doubt, Position, Receipt, ScanOptions,
};
use talentdata_core::types::Resource;
use talentdata_core::{Client, ErrorKind, Scan};
use talentdata_sandbox::{Drift, Ids, Options, Sandbox, limit::Policy};

/// A sandbox with 300 contacts, and a client of it.
fn start(options: Options) -> (Sandbox, Client) {
    let sandbox = Sandbox::start(Options {
        records: [("contacts".to_owned(), 300)].into(),
        policy: Policy::Unlimited,
        faults: true,
        ..options
    });
    let sandbox = sandbox.unwrap();
    let client = Client::builder()
        .base_url(sandbox.base_url())
        .client_id(sandbox.client_id())
        .client_secret(sandbox.client_secret())
        .paced(false)
        .build()
        .unwrap();
    (sandbox, client)
}

fn drifting(drift: Drift) -> Options {
    Options {
        drift: Some(drift),
        ..Options::default()
    }
}

fn scan(client: &Client, consistency: Consistency) -> Scan {
    client.resource(Resource::Contacts).scan(ScanOptions {
        consistency,
        page_size: Some(30),
        ..ScanOptions::default()
    })
}

/// The texts of all contacts, and the receipt.
async fn read(client: &Client, consistency: Consistency) -> (Vec<String>, Receipt) {
    let mut scan = scan(client, consistency);
    let mut records = Vec::new();
    while let Some(record) = scan.next().await {
        records.push(record.unwrap().as_str().to_owned());
    }
    let receipt = scan.receipt();
    assert_eq!(receipt.records, records.len() as u64);
    (records, receipt)
}

fn assert_twice(receipt: &Receipt) {
    assert_eq!(receipt.completeness, Completeness::Proven);
    assert_eq!(receipt.basis, Some(Basis::Twice));
    assert_eq!(receipt.doubts, []);
    let instant = receipt.snapshot_at.as_deref().unwrap();
    assert!(instant.ends_with('Z') && instant.len() == 27, "{instant}");
}

#[tokio::test]
async fn a_list_that_keeps_still_is_read_twice_and_delivered_once() {
    let (_sandbox, client) = start(Options::default());
    let (expected, complete) = read(&client, Consistency::Complete).await;
    assert_eq!(
        (complete.basis, complete.snapshot_at),
        (Some(Basis::Counted), None)
    );
    let (records, receipt) = read(&client, Consistency::Snapshot).await;
    assert_twice(&receipt);
    assert!(records == expected && records.len() == 300);
    assert_eq!(receipt.pages, 2 * complete.pages);
    assert_eq!(receipt.requests, 2 * complete.requests);
    assert_eq!(
        (receipt.total_first, receipt.total_last),
        (Some(300), Some(300))
    );
}

#[tokio::test]
async fn nothing_is_delivered_before_two_passes_agree() {
    let (_sandbox, client) = start(Options::default());
    let (_, complete) = read(&client, Consistency::Complete).await;
    let mut scan = scan(&client, Consistency::Snapshot);
    scan.next().await.unwrap().unwrap();
    assert_eq!(scan.receipt().pages, 2 * complete.pages);
}

#[tokio::test]
async fn a_list_that_changes_during_the_first_pass_is_read_three_times() {
    for seed in 0..4 {
        // After the first request, which is answered before any other is sent.
        let (_sandbox, client) = start(drifting(Drift {
            times: 1,
            inserts: 9,
            deletes: 3,
            seed,
            ..Drift::default()
        }));
        let (records, receipt) = read(&client, Consistency::Snapshot).await;
        assert_twice(&receipt);
        let (expected, complete) = read(&client, Consistency::Complete).await;
        assert!(records == expected && records.len() == 306, "seed {seed}");
        assert_eq!(receipt.total_first, Some(306), "seed {seed}");
        let passes = receipt.pages as f64 / complete.pages as f64;
        assert!((2.8..3.5).contains(&passes), "seed {seed}: {passes} passes");
    }
}

#[tokio::test]
async fn a_list_that_never_settles_is_read_five_times_and_not_proven() {
    let (_sandbox, client) = start(drifting(Drift {
        inserts: 1,
        deletes: 1,
        ..Drift::default()
    }));
    let (records, receipt) = read(&client, Consistency::Snapshot).await;
    assert_eq!(receipt.completeness, Completeness::NotProven);
    assert!(
        receipt.doubts.contains(&Doubt::Unsettled),
        "{:?}",
        receipt.doubts
    );
    assert_eq!((receipt.basis, receipt.snapshot_at), (None, None));
    assert!(records.len() > 250, "{}", records.len());
    // A pass takes at least ten pages.
    assert!(receipt.pages >= 50, "{}", receipt.pages);
}

#[tokio::test]
async fn doubts_of_the_passes_are_not_outvoted() {
    let (_sandbox, client) = start(Options {
        ids: Ids::Equal,
        ..Options::default()
    });
    let (_, receipt) = read(&client, Consistency::Snapshot).await;
    assert_eq!(receipt.completeness, Completeness::NotProven);
    assert_eq!(receipt.doubts, [Doubt::EqualRecords, Doubt::Unsettled]);
}

#[tokio::test]
async fn a_field_that_changes_is_a_change_of_the_list() {
    let (sandbox, client) = start(Options::default());
    let contacts = client.resource(Resource::Contacts);
    let page = contacts.page(Some(30), 0).await.unwrap().records;
    let (expected, complete) = read(&client, Consistency::Complete).await;
    let mut before: Vec<&str> = page.iter().map(|record| record.as_str()).collect();
    let changed = before[7].replacen(r#""firstName":""#, r#""firstName":"Ann-"#, 1);
    assert_ne!(before[7], changed);
    before[7] = &changed;
    let pagination = r#""pagination":{"total":300,"limit":30,"offset":0,"hasMore":true}"#;
    let body = format!("{{\"contacts\":[{}],{pagination}}}", before.join(","));
    // The first page of the first pass alone is of before the change.
    let first = json!({"path": "/v1/contacts", "nth": 1});
    post_rules(
        sandbox.base_url(),
        &[json!({"match": first, "reply": {"body": body}})],
    );
    let (records, receipt) = read(&client, Consistency::Snapshot).await;
    assert_twice(&receipt);
    assert!(records == expected);
    assert_eq!(receipt.pages, 3 * complete.pages);
}

#[tokio::test]
async fn a_scan_that_would_go_on_from_a_position_is_refused() {
    let (sandbox, client) = start(Options::default());
    let mut scan = client.contacts().scan(ScanOptions {
        consistency: Consistency::Snapshot,
        resume: Some(Position::default()),
        ..ScanOptions::default()
    });
    let error = scan.next().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().starts_with("resume: "), "{error}");
    assert_eq!(sandbox.stats().requests, 0);
}
