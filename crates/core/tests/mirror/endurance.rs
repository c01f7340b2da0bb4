//! Syncs, one after the other, of a list that never stands still, from a service that fails, by processes that are
//! killed: what they tell is held against the sandbox's log of what has really happened.

mod truth;

use super::{CONTACTS, changes, run};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use talentdata_core::mirror::{Generation, Mirror, Sync};
use talentdata_core::scan::ScanOptions;
use talentdata_core::{Client, ErrorKind};
use talentdata_sandbox::{Change, Drift, Options, Sandbox, limit::Policy};
use truth::Truth;

/// Tells a process that it is a child, and what it needs.
const CHILD: &str = "TALENTDATA_TEST_ENDURANCE_CHILD";

const TEST: &str = "endurance::nothing_false_is_told_and_nothing_true_is_left_out";

/// How many records the list has, more or less.
const SIZE: u64 = 400;

/// How many syncs are committed; `TALENTDATA_ROUNDS` asks for more.
fn rounds() -> u64 {
    let given = std::env::var("TALENTDATA_ROUNDS");
    given.map_or(60, |rounds| rounds.parse().unwrap())
}

/// What a child is given: the service, its credentials, and the mirror.
type Settings = (String, String, String, PathBuf);

fn settings(sandbox: &Sandbox, mirror: &Path) -> Settings {
    (
        sandbox.base_url().to_owned(),
        sandbox.client_id().to_owned(),
        sandbox.client_secret().to_owned(),
        mirror.to_owned(),
    )
}

fn client((base_url, id, secret, _): &Settings) -> Client {
    let mut builder = Client::builder();
    builder.base_url(base_url).client_id(id);
    builder.client_secret(secret).paced(false).build().unwrap()
}

fn of(mirror: &Path) -> Sync {
    Sync {
        scan: ScanOptions {
            page_size: Some(20),
            ..ScanOptions::default()
        },
        ..Sync::new(CONTACTS, mirror)
    }
}

/// Runs the child's sync, if this process is one.
async fn act_as_child() {
    let Ok(settings) = std::env::var(CHILD) else {
        return;
    };
    let settings: Settings = serde_json::from_str(&settings).unwrap();
    let done = run(&of(&settings.3), &client(&settings)).await;
    std::process::exit(i32::from(done.is_err()));
}

/// A sync in a process of its own, which is killed at some moment unless it has ended by then; whether it was.
fn killed(settings: &Settings) -> bool {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([TEST, "--exact", "--nocapture"]);
    command.env(CHILD, serde_json::to_string(settings).unwrap());
    let child = command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = child.spawn().unwrap();
    let most = 1 << fastrand::u32(10..19);
    std::thread::sleep(Duration::from_micros(fastrand::u64(..most)));
    let _ = child.kill();
    child.wait().unwrap().code().is_none()
}

/// Rules by which some of the next requests fail: those that are sent again, and now and then one that ends a sync.
fn faults() -> String {
    let some = 0..fastrand::usize(..3);
    let rules = some.map(|_| {
        let reply = match fastrand::u8(..20) {
            0 => r#"{"status":403}"#,
            1..8 => r#"{"status":503,"headers":{"retry-after":"0"}}"#,
            8..14 => r#"{"cut_at":100,"how":"rst"}"#,
            _ => r#"{"close_after_read":true,"how":"fin"}"#,
        };
        let nth = fastrand::u8(1..30);
        format!(r#"{{"match":{{"path":"/v1/contacts","nth":{nth}}},"reply":{reply}}}"#)
    });
    format!(r#"{{"rules":[{}]}}"#, rules.collect::<Vec<_>>().join(","))
}

/// The generations of the mirror, if there is one yet.
fn generations(mirror: &Path) -> Vec<Generation> {
    let mirror = Mirror::open(mirror).ok();
    let generations = mirror.and_then(|mirror| mirror.generations(CONTACTS).ok()?.to_vec().into());
    generations.unwrap_or_default()
}

/// The records of a list that does not change, which is the same as that of another sandbox in the beginning.
async fn in_the_beginning(options: Options) -> Vec<String> {
    let sandbox = Sandbox::start(options).unwrap();
    let client = client(&settings(&sandbox, Path::new("")));
    let mut scan = client.resource(CONTACTS).list();
    let mut records = Vec::new();
    while let Some(record) = scan.next().await {
        records.push(record.unwrap().as_str().to_owned());
    }
    records
}

#[tokio::test]
async fn nothing_false_is_told_and_nothing_true_is_left_out() {
    act_as_child().await;
    let still = Options {
        records: [("contacts".to_owned(), SIZE)].into(),
        policy: Policy::Unlimited,
        faults: true,
        ..Options::default()
    };
    let drifting = Options {
        drift: Some(Drift {
            every_requests: 5,
            // Were they as many as the inserts, the list would look like one whose records move.
            inserts: 2,
            deletes: 1,
            updates: 2,
            seed: 11,
            ..Drift::default()
        }),
        ..still.clone()
    };
    let mut truth = Truth::of(&in_the_beginning(still).await);
    let sandbox = Sandbox::start(drifting).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mirror = directory.path().join("mirror");
    let settings = settings(&sandbox, &mirror);
    let client = client(&settings);
    let (mut kills, mut failures) = (0, 0);
    while truth.syncs < rounds() {
        if fastrand::u8(..4) == 0 {
            let bulk = fastrand::u64(..50);
            // A longer list has more requests, with which it would grow faster and faster.
            let change = match (truth.records() as u64).checked_sub(SIZE) {
                None => Change::Insert(bulk),
                Some(more) => Change::DeleteFirst(more + bulk),
            };
            sandbox.change("contacts", change).unwrap();
        }
        sandbox.set_faults(&faults()).unwrap();
        if fastrand::u8(..3) == 0 {
            kills += u64::from(killed(&settings));
        } else if let Err(error) = run(&of(&mirror), &client).await {
            let expected = [ErrorKind::Forbidden, ErrorKind::Paging];
            assert!(expected.contains(&error.kind()), "{error}");
            failures += 1;
        }
        let generations = generations(&mirror);
        let known = truth.syncs as usize;
        assert!((known..=known + 1).contains(&generations.len()));
        if let Some(new) = generations.get(known) {
            truth.note(sandbox.changes("contacts", truth.logged).unwrap());
            truth.check(new, changes(&mirror, truth.syncs));
        }
    }
    println!("{kills} killed, {failures} failed, {truth:?}");
    assert_eq!(truth.wrong(), [0; 5], "{truth:?}");
    assert!(truth.proven * 10 > truth.syncs * 7, "{truth:?}");
    assert!(
        kills * 8 > truth.syncs && truth.deletes > truth.syncs && truth.updates > truth.syncs,
        "{kills}, {truth:?}"
    );
}
