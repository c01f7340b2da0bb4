//! Syncs over real sockets, of a list that changes between the requests, of a service that fails, and in processes that are
//! killed: no false delete, and the end is the truth.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use talentdata_core::scan::{Basis, Completeness, ScanOptions};
use talentdata_core::types::Resource;
use talentdata_core::{Client, ErrorKind};
use talentdata_mirror::{At, Mirror, Sync, SyncReceipt};
use talentdata_sandbox::{Drift, Operation, Options, Sandbox, limit::Policy};

const CONTACTS: Resource = Resource::Contacts;

/// A change as a line has it.
#[derive(serde::Deserialize)]
struct Change {
    op: String,
    key: String,
    record: Box<serde_json::value::RawValue>,
}

/// How many syncs; `TALENTDATA_ROUNDS` asks for more.
fn rounds() -> u64 {
    let given = std::env::var("TALENTDATA_ROUNDS");
    given.map_or(60, |rounds| rounds.parse().unwrap())
}

fn start(records: u64, drift: Option<Drift>) -> (Sandbox, Client) {
    let sandbox = Sandbox::start(Options {
        records: [("contacts".to_owned(), records)].into(),
        policy: Policy::Unlimited,
        faults: true,
        drift,
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

fn sync(path: &Path, confirm: bool) -> Sync {
    Sync {
        scan: ScanOptions {
            page_size: Some(20),
            ..ScanOptions::default()
        },
        confirm,
        ..Sync::new(CONTACTS, path)
    }
}

async fn run(sync: &Sync, client: &Client) -> SyncReceipt {
    sync.run(client, std::future::pending(), |_| {})
        .await
        .unwrap()
}

fn integrity(path: &Path) -> String {
    let connection = rusqlite::Connection::open(path).unwrap();
    let check = "PRAGMA integrity_check";
    connection.query_row(check, [], |row| row.get(0)).unwrap()
}

const PATH: &str = "TALENTDATA_TEST_MIRROR";

/// As the child of a test: a sync that its parent may kill.
#[tokio::test]
async fn child() {
    let Some(path) = std::env::var_os(PATH) else {
        return;
    };
    let client = Client::builder().paced(false).build().unwrap();
    run(&sync(Path::new(&path), false), &client).await;
}

/// Syncs in another process, which is killed once it has asked for so many pages; returns whether it was.
fn run_and_kill(path: &Path, sandbox: &Sandbox, pages: u64) -> bool {
    // On any machine it is faster to kill a process than to answer all of its requests.
    let slow = r#"{"rules":[{"match":{"path":"/v1/contacts"},"reply":{"delay_ms":5}}]}"#;
    sandbox.set_faults(slow).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child"])
        .env(PATH, path)
        .env("TALENTDATA_BASE_URL", sandbox.base_url())
        .env("TALENTDATA_CLIENT_ID", sandbox.client_id())
        .env("TALENTDATA_CLIENT_SECRET", sandbox.client_secret())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let before = sandbox.stats().requests;
    while child.try_wait().unwrap().is_none() && sandbox.stats().requests < before + pages {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    sandbox.set_faults(r#"{"rules":[]}"#).unwrap();
    !child.wait().unwrap().success()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_that_never_stands_still_is_followed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mirror.db");
    let drift = Drift {
        every_requests: 4,
        times: u32::try_from(rounds() * 8).unwrap(),
        inserts: 2,
        deletes: 1,
        updates: 2,
        seed: 7,
        ..Drift::default()
    };
    let (sandbox, client) = start(400, Some(drift));
    let (mut proven, mut deletes) = (0, 0);
    let mut copy: BTreeMap<String, String> = BTreeMap::new();
    let (mut random, mut told) = (fastrand::Rng::with_seed(3), 0);
    let (mut failed, mut killed) = (0, 0);
    let (mut gone, mut history) = (HashSet::<String>::new(), 0);
    for round in 0..rounds() {
        // Some end in the middle, because the service fails or the process is killed; they leave the sync before, or this one.
        match random.u8(..10) {
            0..2 => {
                let from = random.u8(1..40);
                let reply = [
                    r#"{"status":404}"#,
                    r#"{"cut_at":90}"#,
                    r#"{"body":"[]"}"#,
                    r#"{"body":{"success":true}}"#,
                ];
                let reply = reply[random.usize(..reply.len())];
                // A connection that is lost once is tried again; the others are the end of the sync.
                let which = if reply.contains("cut_at") {
                    "nth"
                } else {
                    "from"
                };
                let rule = format!(
                    r#"{{"match":{{"path":"/v1/contacts","{which}":{from}}},"reply":{reply}}}"#
                );
                sandbox
                    .set_faults(&format!(r#"{{"rules":[{rule}]}}"#))
                    .unwrap();
                let syncing = sync(&path, false);
                let ended = syncing.run(&client, std::future::pending(), |_| {}).await;
                failed += u64::from(ended.is_err());
                sandbox.set_faults(r#"{"rules":[]}"#).unwrap();
            }
            2..4 => killed += u64::from(run_and_kill(&path, &sandbox, random.u64(3..25))),
            _ => {}
        }
        if path.exists() {
            assert_eq!(integrity(&path), "ok");
        }
        let receipt = run(&sync(&path, round % 3 == 0), &client).await;
        let is_proven = receipt.scan.completeness == Completeness::Proven;
        proven += u64::from(is_proven);
        assert!(is_proven || receipt.changes.delete == 0);
        let happened = sandbox.changes("contacts", history).unwrap();
        history += happened.len();
        let deleted = happened.into_iter();
        let deleted = deleted.filter(|change| change.operation == Operation::Delete);
        gone.extend(deleted.map(|change| change.key.as_str().unwrap().to_owned()));
        for change in Mirror::open(&path)
            .unwrap()
            .changes(CONTACTS, &At::Sync(told))
            .unwrap()
        {
            let change: Change = change.unwrap().to().unwrap();
            match change.op.as_str() {
                "delete" => {
                    assert!(gone.contains(&change.key), "false delete of {}", change.key);
                    assert!(copy.remove(&change.key).is_some());
                    deletes += 1;
                }
                "missing" => {}
                _ => drop(copy.insert(change.key, change.record.get().to_owned())),
            }
        }
        told = receipt.generation;
        // The list does not grow with the rounds.
        let excess = receipt.scan.total_last.unwrap() - 400;
        if excess > 40 {
            let shrink = talentdata_sandbox::Change::DeleteFirst(excess.unsigned_abs());
            sandbox.change("contacts", shrink).unwrap();
        }
    }
    println!(
        "{} syncs, {proven} proven, {deletes} deletes; besides, {failed} failed and {killed} were killed",
        rounds()
    );
    assert!(failed > 0 && killed > rounds() / 10, "{failed}, {killed}");
    assert!(
        proven * 10 > rounds() * 7 && deletes > rounds(),
        "{proven}, {deletes}"
    );
    // Until the list stands still, and another sync has seen it so.
    let mut still = 0;
    while still < 2 {
        let receipt = run(&sync(&path, true), &client).await;
        let counted = receipt.scan.basis == Some(Basis::Counted);
        still = if counted && receipt.changes == Default::default() {
            still + 1
        } else {
            0
        };
    }
    let mut scan = client.resource(CONTACTS).list();
    let mut truth = Vec::new();
    while let Some(record) = scan.next().await {
        truth.push(record.unwrap().as_str().to_owned());
    }
    let mirror = Mirror::open(&path).unwrap();
    let current = mirror.records(CONTACTS, None).unwrap();
    let current: Vec<String> = current
        .map(|record| record.unwrap().as_str().to_owned())
        .collect();
    assert_eq!(current, truth);
    assert!(mirror.verify().unwrap().matches);
}

#[tokio::test]
async fn a_delete_during_the_scan_is_confirmed_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mirror.db");
    let (sandbox, client) = start(400, None);
    run(&sync(&path, false), &client).await;
    sandbox
        .change("contacts", talentdata_sandbox::Change::DeleteFirst(3))
        .unwrap();
    // An insert while it is read: the scan is joined, and deletes nothing by itself.
    let mut pages = 0;
    let confirming = sync(&path, true);
    let receipt = confirming.run(&client, std::future::pending(), |_| {
        pages += 1;
        if pages == 3 {
            sandbox
                .change("contacts", talentdata_sandbox::Change::Insert(1))
                .unwrap();
        }
    });
    let receipt = receipt.await.unwrap();
    let first = receipt.confirms.as_ref().expect("a second scan");
    assert_eq!(
        (first.scan.basis, first.changes.missing),
        (Some(Basis::Joined), 3)
    );
    assert_eq!((receipt.changes.delete, receipt.missing), (3, 0));
    assert_eq!((first.generation, receipt.generation), (2, 3));
}

#[tokio::test]
async fn a_service_that_fails_leaves_no_mirror() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mirror.db");
    let client = Client::builder()
        .base_url("http://127.0.0.1:9")
        .client_id("c")
        .client_secret("canary-canary")
        .max_attempts(1)
        .build()
        .unwrap();
    let failed = sync(&path, false)
        .run(&client, std::future::pending(), |_| {})
        .await;
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::Connect);
    assert!(!path.exists());
}
