//! Syncs of a sandbox whose list changes between the requests: no false word, and the end is the truth.

use super::{CONTACTS, applied, run};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use talentdata_core::Client;
use talentdata_core::mirror::{Mirror, Operation, Sync};
use talentdata_core::scan::{Basis, Completeness, ScanOptions};
use talentdata_sandbox::{Drift, Options, Sandbox, limit::Policy};

/// How many syncs; `TALENTDATA_ROUNDS` asks for more.
fn rounds() -> u64 {
    let given = std::env::var("TALENTDATA_ROUNDS");
    given.map_or(40, |rounds| rounds.parse().unwrap())
}

/// A sandbox whose list changes so many times.
fn start(times: u64, seed: u64) -> (Sandbox, Client) {
    let sandbox = Sandbox::start(Options {
        records: [("contacts".to_owned(), 400)].into(),
        policy: Policy::Unlimited,
        faults: true,
        drift: Some(Drift {
            every_requests: 4,
            times: u32::try_from(times).unwrap(),
            inserts: 2,
            deletes: 1,
            seed,
            ..Drift::default()
        }),
        ..Options::default()
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

/// The records of the list now, by `id`, while it stands still.
async fn truth(client: &Client) -> BTreeMap<String, String> {
    let mut scan = client.resource(CONTACTS).list();
    let mut records = BTreeMap::new();
    while let Some(record) = scan.next().await {
        let record = record.unwrap();
        let id = record.text_field("id").unwrap().unwrap().into_owned();
        records.insert(id, record.as_str().to_owned());
    }
    assert_eq!(scan.receipt().completeness, Completeness::Proven);
    records
}

#[tokio::test]
async fn a_list_that_never_stands_still_is_followed() {
    let directory = tempfile::tempdir().unwrap();
    let mirror = directory.path();
    // More than these syncs have requests.
    let (_sandbox, client) = start(rounds() * 8, 7);
    let sync = Sync {
        scan: ScanOptions {
            page_size: Some(20),
            ..ScanOptions::default()
        },
        ..Sync::new(CONTACTS, mirror)
    };
    let (mut proven, mut deletes, mut confirmed) = (0, 0, 0);
    for _ in 0..rounds() {
        let receipt = run(&sync, &client).await.unwrap();
        let is_proven = receipt.scan.completeness == Completeness::Proven;
        proven += u64::from(is_proven);
        assert!(is_proven || receipt.changes.delete == 0);
        deletes += receipt.changes.delete;
        confirmed += receipt.second_look.map_or(0, |look| look.confirmed);
    }
    println!(
        "{} syncs, {proven} proven, {deletes} deletes, {confirmed} confirmed",
        rounds()
    );
    assert!(proven * 10 > rounds() * 7, "{proven}");
    assert!(
        deletes > rounds() && confirmed > rounds(),
        "{deletes}, {confirmed}"
    );

    // What was deleted never comes back, since the sandbox uses no id twice.
    let opened = Mirror::open(mirror).unwrap();
    let mut gone = BTreeSet::new();
    for change in opened.changes(CONTACTS, 0).unwrap() {
        let change = change.unwrap();
        match change.operation {
            Operation::Delete => assert!(gone.insert(change.key.clone()), "{}", change.key),
            _ => assert!(
                !gone.contains(&change.key),
                "{} {}",
                change.operation,
                change.key
            ),
        }
    }
    stand_still(&client).await;
    let receipt = run(&sync, &client).await.unwrap();
    assert_eq!(receipt.scan.completeness, Completeness::Proven);
    assert_eq!(receipt.missing, 0);
    assert_eq!(applied(mirror), truth(&client).await);
    current_is(mirror, &truth(&client).await);
}

/// Reads the list until it changes no more.
async fn stand_still(client: &Client) {
    let mut before = None;
    loop {
        let list = client.resource(CONTACTS);
        let page = list.page(Some(1), 0).await.unwrap();
        let receipt = {
            let mut scan = list.list();
            while scan.next().await.is_some() {}
            scan.receipt()
        };
        let now = (
            page.pagination.total,
            receipt.total_last,
            receipt.seams_repaired,
        );
        if receipt.basis == Some(Basis::Counted) && before.replace(now) == Some(now) {
            return;
        }
    }
}

fn current_is(mirror: &Path, truth: &BTreeMap<String, String>) {
    let records = Mirror::open(mirror).unwrap().current(CONTACTS).unwrap();
    let texts: BTreeSet<String> = records
        .map(|record| record.unwrap().as_str().to_owned())
        .collect();
    assert_eq!(texts, truth.values().cloned().collect());
}
