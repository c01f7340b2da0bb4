//! Syncs over real sockets, with a list that changes between requests, a service that fails, and processes that are
//! killed. There is no false delete, and the last sync has the real list.

use super::*;
use std::collections::{BTreeMap, HashSet};
use std::process::Stdio;
use talentdata_sandbox::{Change as Changed, ChangeKind, Drift, Options, Sandbox, limit::Policy};

fn start(drift: Option<Drift>) -> (Sandbox, Client) {
    let sandbox = Sandbox::start(Options {
        records: [("contacts".to_owned(), 400)].into(),
        policy: Policy::Unlimited,
        faults: true,
        drift,
        ..Options::default()
    });
    let sandbox = sandbox.unwrap();
    let mut builder = Client::builder();
    let builder = builder.base_url(sandbox.base_url()).paced(false);
    let builder = builder.client_id(sandbox.client_id());
    let client = builder.client_secret(sandbox.client_secret()).build();
    (sandbox, client.unwrap())
}

async fn try_sync(path: &Path, client: &Client, confirm: bool) -> Result<SyncReceipt> {
    let mut sync = Sync::new(CONTACTS, path);
    (sync.scan.page_size, sync.confirm) = (Some(20), confirm);
    sync.run(client, std::future::pending(), |_| {}).await
}

/// The child of a test: a sync that its parent may kill.
#[tokio::test]
async fn child() {
    if let Some(path) = std::env::var_os(PATH) {
        let client = Client::builder().paced(false).build().unwrap();
        try_sync(Path::new(&path), &client, false).await.unwrap();
    }
}

/// Syncs in another process, and kills it after this many page requests. Returns whether it was killed.
fn run_and_kill(path: &Path, sandbox: &Sandbox, pages: u64) -> bool {
    // The kill is always faster than the responses to all requests.
    let slow = r#"{"rules":[{"match":{"path":"/v1/contacts"},"reply":{"delay_ms":5}}]}"#;
    sandbox.set_faults(slow).unwrap();
    let mut child = program("drift::child", path)
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

/// Syncs from a service that fails. Returns whether the sync failed.
async fn run_and_fail(path: &Path, sandbox: &Sandbox, client: &Client, rule: &str) -> bool {
    let rule = rule.replace("\"match\":{", "\"match\":{\"path\":\"/v1/contacts\",");
    let rules = format!(r#"{{"rules":[{{{rule}}}]}}"#);
    sandbox.set_faults(&rules).unwrap();
    let ended = try_sync(path, client, false).await;
    sandbox.set_faults(r#"{"rules":[]}"#).unwrap();
    ended.is_err()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_that_changes_all_the_time_is_followed() {
    let rounds = rounds(60);
    let trial = Trial::new();
    let path = &trial.path;
    let drift = Drift {
        every_requests: 4,
        times: u32::try_from(rounds * 8).unwrap(),
        inserts: 2,
        deletes: 1,
        updates: 2,
        seed: 7,
        ..Drift::default()
    };
    let (sandbox, client) = start(Some(drift));
    let not_found = r#""match":{"from":5},"reply":{"status":404}"#;
    assert!(run_and_fail(path, &sandbox, &client, not_found).await);
    assert!(!path.exists(), "a mirror without lists");
    let (mut proven, mut failed, mut killed) = (0, 0, 0);
    let (mut copy, mut deletes, mut known) = (BTreeMap::new(), 0, 0);
    let mut random = fastrand::Rng::with_seed(3);
    let (mut gone, mut history) = (HashSet::<String>::new(), 0);
    for round in 0..rounds {
        // Some syncs end early, because the service fails or the process is killed. They leave the previous sync or a
        // complete one.
        match random.u8(..10) {
            0..2 => {
                // A request on a lost connection is repeated. The other faults end the sync.
                let (which, reply) = [
                    ("from", r#"{"status":404}"#),
                    ("nth", r#"{"cut_at":90}"#),
                    ("from", r#"{"body":"[]"}"#),
                    ("from", r#"{"body":{"success":true}}"#),
                ][random.usize(..4)];
                let page = random.u8(1..40);
                let rule = format!(r#""match":{{"{which}":{page}}},"reply":{reply}"#);
                failed += u64::from(run_and_fail(path, &sandbox, &client, &rule).await);
            }
            2..4 => killed += u64::from(run_and_kill(path, &sandbox, random.u64(3..25))),
            _ => {}
        }
        if path.exists() {
            assert!(trial.mirror().verify().unwrap().matches);
        }
        let receipt = try_sync(path, &client, round % 3 == 0).await.unwrap();
        let is_proven = receipt.scan.completeness == Completeness::Proven;
        proven += u64::from(is_proven);
        assert!(is_proven || receipt.changes.delete == 0);
        let happened = sandbox.changes("contacts", history).unwrap();
        history += happened.len();
        let deleted = happened.into_iter();
        let deleted = deleted.filter(|change| change.operation == ChangeKind::Delete);
        gone.extend(deleted.map(|change| change.key.as_str().unwrap().to_owned()));
        let changes = trial
            .mirror()
            .changes(CONTACTS, &SyncPoint::Sync(known))
            .unwrap();
        for key in apply(&mut copy, changes) {
            assert!(gone.contains(&key), "false delete of {key}");
            deletes += 1;
        }
        known = receipt.generation;
        // The list does not grow with the rounds.
        let excess = receipt.scan.total_last.unwrap() - 400;
        if excess > 40 {
            let shrink = Changed::DeleteFirst(excess.unsigned_abs());
            sandbox.change("contacts", shrink).unwrap();
        }
    }
    println!(
        "{rounds} syncs, {proven} proven, {deletes} deletes; besides, {failed} failed and {killed} were killed"
    );
    assert!(failed > 0 && killed > rounds / 10, "{failed}, {killed}");
    assert!(
        proven * 10 > rounds * 7 && deletes > rounds,
        "{proven}, {deletes}"
    );
    // After the list stops changing, further syncs see its final state.
    let mut still = 0;
    while still < 2 {
        let receipt = try_sync(path, &client, true).await.unwrap();
        let counted = receipt.scan.basis == Some(Basis::Counted);
        let is_still = counted && receipt.changes == Default::default();
        still = if is_still { still + 1 } else { 0 };
    }
    let mut scan = client.resource(CONTACTS).list();
    let mut truth = Vec::new();
    while let Some(record) = scan.next().await {
        truth.push(record.unwrap().as_str().to_owned());
    }
    assert_eq!(trial.current(), truth);
    assert!(trial.mirror().verify().unwrap().matches);
}

#[tokio::test]
async fn a_delete_during_the_scan_is_confirmed_at_once() {
    let trial = Trial::new();
    let (sandbox, client) = start(None);
    let change = |change| sandbox.change("contacts", change).unwrap();
    try_sync(&trial.path, &client, false).await.unwrap();
    change(Changed::DeleteFirst(3));
    // The list gets an insert during the scan, so the scan is joined, and deletes nothing on its own.
    let mut confirming = trial.sync.clone();
    (confirming.scan.page_size, confirming.confirm) = (Some(20), true);
    let mut pages = 0;
    let receipt = confirming.run(&client, std::future::pending(), |_| {
        pages += 1;
        if pages == 3 {
            change(Changed::Insert(1));
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
