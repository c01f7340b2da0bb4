//! A list in parts: planned by one client, read by others, while it changes; held against the sandbox's own log.

use crate::start;
use std::collections::HashSet;
use talentdata_core::blocking;
use talentdata_core::mirror::Sync;
use talentdata_core::scan::{Basis, Completeness, Consistency, Doubt, Receipt, ScanOptions};
use talentdata_core::types::Resource;
use talentdata_core::{Client, ErrorKind, Part, Result};
use talentdata_sandbox::{Change, Drift, Operation, Options, Sandbox, limit::Policy};

const CONTACTS: Resource = Resource::Contacts;

fn sandbox(records: u64, drift: Option<Drift>) -> Sandbox {
    let sandbox = Sandbox::start(Options {
        records: [("contacts".to_owned(), records)].into(),
        policy: Policy::Unlimited,
        drift,
        ..Options::default()
    });
    sandbox.unwrap()
}

/// Another client of it, as another process would have one.
fn client(sandbox: &Sandbox) -> Client {
    let mut builder = Client::builder();
    builder
        .base_url(sandbox.base_url())
        .client_id(sandbox.client_id())
        .client_secret(sandbox.client_secret());
    builder.paced(false).build().unwrap()
}

/// The part as another process gets it.
fn sent(part: &Part) -> Part {
    let text = part.to_json().unwrap();
    Part::from_json(&text).unwrap()
}

async fn read(client: &Client, part: &Part) -> Result<(Vec<String>, Receipt)> {
    let mut scan = client.scan_part(part);
    let mut ids = Vec::new();
    while let Some(record) = scan.next().await {
        ids.push(record?.text_field("id")?.unwrap().into_owned());
    }
    Ok((ids, scan.receipt()))
}

#[tokio::test]
async fn parts_of_a_list_that_changes_are_the_list_and_prove_it() {
    for seed in 0..2 {
        let drift = Drift {
            every_requests: 2,
            inserts: 3,
            deletes: 2,
            seed,
            ..Drift::default()
        };
        let sandbox = sandbox(8_000, Some(drift));
        let parts = client(&sandbox).contacts().parts(8).await.unwrap();
        assert_eq!(parts.len(), 8);
        let mut reads = tokio::task::JoinSet::new();
        for part in &parts {
            let (client, part) = (client(&sandbox), sent(part));
            reads.spawn(async move { read(&client, &part).await.unwrap() });
        }
        let (mut delivered, mut receipts) = (Vec::new(), Vec::new());
        while let Some(part) = reads.join_next().await {
            let (ids, receipt) = part.unwrap();
            delivered.extend(ids);
            receipts.push(receipt);
        }
        let receipt = Receipt::of_parts(receipts).unwrap();
        assert_eq!(receipt.completeness, Completeness::Proven, "{receipt:?}");
        assert_eq!(receipt.basis, Some(Basis::Joined));
        assert_eq!(receipt.records, delivered.len() as u64);
        let changes = sandbox.changes("contacts", 0).unwrap();
        let keys = |operation: Operation| -> HashSet<&str> {
            let changes = changes.iter().filter(|one| one.operation == operation);
            changes.map(|one| one.key.as_str().unwrap()).collect()
        };
        let (inserted, deleted) = (keys(Operation::Insert), keys(Operation::Delete));
        assert!(deleted.len() > 50, "{}", deleted.len());
        let distinct: HashSet<&str> = delivered.iter().map(String::as_str).collect();
        assert_eq!(distinct.len(), delivered.len());
        let stable = distinct
            .iter()
            .filter(|id| !inserted.contains(*id) && !deleted.contains(*id));
        let from_the_beginning = deleted.difference(&inserted).count();
        assert_eq!(stable.count(), 8_000 - from_the_beginning);
    }
}

#[tokio::test]
async fn a_part_is_read_again_after_a_worker_died_and_counts_once() {
    let sandbox = sandbox(1_000, None);
    let planner = client(&sandbox);
    let parts = planner.contacts().parts(4).await.unwrap();
    let mut dying = client(&sandbox).scan_part(&sent(&parts[1]));
    dying.next().await.unwrap().unwrap();
    let died = dying.receipt();
    drop(dying);
    assert_eq!(died.completeness, Completeness::Unfinished);

    let (mut all, mut receipts) = (Vec::new(), Vec::new());
    for part in &parts {
        let (ids, receipt) = read(&client(&sandbox), &sent(part)).await.unwrap();
        assert_eq!(ids.len() as u64, part.records());
        all.extend(ids);
        receipts.push(receipt);
    }
    let (_, again) = read(&client(&sandbox), &parts[1]).await.unwrap();
    assert_eq!(again.records, receipts[1].records);
    let whole = Receipt::of_parts(receipts.clone()).unwrap();
    assert_eq!(whole.basis, Some(Basis::Joined));
    assert_eq!((whole.records, all.len()), (1_000, 1_000));
    let mut scan = planner.contacts().list();
    let mut list = Vec::new();
    while let Some(contact) = scan.next().await {
        list.push(contact.unwrap().id);
    }
    assert_eq!(all, list);

    let twice = [receipts.clone(), vec![again]].concat();
    assert!(Receipt::of_parts(twice).is_err());
    receipts[1] = died;
    let unfinished = Receipt::of_parts(receipts).unwrap();
    assert_eq!(unfinished.completeness, Completeness::Unfinished);
}

#[tokio::test]
async fn where_an_anchor_is_deleted_the_list_is_not_proven() {
    let sandbox = sandbox(1_000, None);
    let client = client(&sandbox);
    let parts = client.contacts().parts(2).await.unwrap();
    sandbox
        .change("contacts", Change::DeleteFirst(600))
        .unwrap();
    let mut receipts = Vec::new();
    let mut distinct = HashSet::new();
    for part in &parts {
        let (ids, receipt) = read(&client, part).await.unwrap();
        assert_eq!(receipt.doubts, [Doubt::MovedTooFar]);
        distinct.extend(ids);
        receipts.push(receipt);
    }
    assert_eq!(distinct.len(), 400);
    let whole = Receipt::of_parts(receipts).unwrap();
    assert_eq!(whole.completeness, Completeness::NotProven);
}

#[tokio::test]
async fn small_lists_have_fewer_parts() {
    for (records, count) in [(0, 1), (1, 1), (100, 1), (199, 1), (200, 2), (450, 4)] {
        let sandbox = sandbox(records, None);
        let client = client(&sandbox);
        let parts = client.contacts().parts(8).await.unwrap();
        assert_eq!(parts.len(), count, "{records}");
        let mut receipts = Vec::new();
        for part in &parts {
            receipts.push(read(&client, part).await.unwrap().1);
        }
        let whole = Receipt::of_parts(receipts).unwrap();
        let basis = match count {
            1 => Basis::Counted,
            _ => Basis::Joined,
        };
        assert_eq!((whole.records, whole.basis), (records, Some(basis)));
    }
}

#[tokio::test]
async fn a_part_is_of_one_service_and_one_version_and_as_it_was_planned() {
    let (sandbox, planner) = start(Options {
        records: [("contacts".to_owned(), 500)].into(),
        ..Options::default()
    });
    let parts = planner.contacts().parts(3).await.unwrap();
    let text = parts[1].to_json().unwrap();
    for hidden in [sandbox.client_secret(), sandbox.client_id()] {
        assert!(!text.contains(hidden));
    }
    let cut_off = &text[..text.len() - 9];
    for (altered, reason) in [
        (text.replace("\"part\":2", "\"part\":1"), "altered"),
        (
            text.replace("\"talentdata_part\":1", "\"talentdata_part\":2"),
            "version 2",
        ),
        (cut_off.to_owned(), "not a part"),
        ("{}".to_owned(), "not a part"),
    ] {
        let error = Part::from_json(&altered).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains(reason), "{error}");
    }

    let (foreign, other) = start(Options::default());
    let error = read(&other, &parts[1]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("base_url or client_id"), "{error}");
    assert_eq!(foreign.stats().token_posts, 0);
    let sync = Sync {
        scan: parts[1].options(),
        ..Sync::new(CONTACTS, std::path::Path::new("nowhere"))
    };
    let error = sync.check().unwrap_err();
    assert!(error.message().contains("reads the whole list"), "{error}");
    let mut pools = other.pools().scan(parts[1].options());
    let error = pools.next().await.unwrap().unwrap_err();
    assert!(error.message().contains("a part of contacts"), "{error}");
}

#[tokio::test]
async fn what_cannot_be_divided_is_refused_before_anything_is_sent() {
    let (sandbox, client) = start(Options::default());
    let refused = [
        (0, ScanOptions::default(), "between 1 and 10000"),
        (
            2,
            ScanOptions {
                consistency: Consistency::Snapshot,
                ..ScanOptions::default()
            },
            "snapshot",
        ),
        (
            2,
            ScanOptions {
                limit: Some(5),
                ..ScanOptions::default()
            },
            "limit",
        ),
        (
            2,
            ScanOptions {
                page_size: Some(101),
                ..ScanOptions::default()
            },
            "page_size",
        ),
    ];
    for (count, options, reason) in refused {
        let error = client.parts(CONTACTS, count, options).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains(reason), "{error}");
    }
    assert_eq!(sandbox.stats().token_posts, 0);
}

#[test]
fn blocking_clients_plan_and_read_parts() {
    let sandbox = sandbox(700, None);
    let mut builder = blocking::Client::builder();
    builder
        .base_url(sandbox.base_url())
        .client_id(sandbox.client_id())
        .client_secret(sandbox.client_secret());
    let client = blocking::Client::new(&builder).unwrap();
    let options = ScanOptions {
        consistency: Consistency::Fast,
        page_size: Some(50),
        ..ScanOptions::default()
    };
    let parts = client.parts(CONTACTS, 3, options).unwrap();
    let mut receipts = Vec::new();
    for part in &parts {
        let scan = client.scan_part(part).unwrap().batches().unwrap();
        let mut rows = 0;
        while let Some(batch) = scan.next_batch().unwrap() {
            rows += batch.num_rows() as u64;
        }
        assert_eq!(rows, part.records());
        receipts.push(scan.receipt());
    }
    let whole = Receipt::of_parts(receipts).unwrap();
    assert_eq!(whole.records, 700);
    assert_eq!(whole.completeness, Completeness::NotChecked);
}
