//! What a sync holds in memory grows by some bytes a record, whatever has changed: ten million need less than 400 MiB.
//!
//! Each sync is a process of its own, whose peak is measured. `TALENTDATA_RECORDS` asks for a larger list.

use super::{MIB, child, child::peak, stub};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use talentdata_core::mirror::{Sync, SyncReceipt};
use talentdata_core::types::Resource;

/// The most bytes of a record, whatever has become of it: its place, its place in the index, and a run of its own.
const RECORD: usize = 30;

/// What grows with the list only up to a bound: what is left of memory that was freed,
const FREED: usize = 12 * MIB;
/// and texts of records that were not delivered, with what is read along with them.
const TEXTS: usize = 48 * MIB;

/// A list of contacts, each with a version.
#[derive(Default)]
struct Contents {
    records: Vec<(u32, u32)>,
    /// Added to the total, which leaves a doubt.
    surplus: usize,
}

fn page(request: &stub::Request, contents: &Contents) -> String {
    let all = contents.records.len();
    let offset = request.number("offset").unwrap_or(0) as usize;
    let limit = request.number("limit").unwrap_or(20) as usize;
    let (from, to) = (offset.min(all), (offset + limit).min(all));
    let records: Vec<String> = (contents.records[from..to].iter())
        .map(|(id, version)| {
            format!(
                r#"{{"id":"c-{id}","firstName":"A{version}","lastName":"B{id}","email":"c{id}@example.com","title":"Engineer of many things","city":"Springfield","score":{id}}}"#
            )
        })
        .collect();
    format!(
        r#"{{"success":true,"contacts":[{}],"pagination":{{"total":{},"limit":{},"offset":{offset},"hasMore":{}}}}}"#,
        records.join(","),
        all + contents.surplus,
        to - from,
        to < all
    )
}

/// Runs the child's sync, if this process is one; tells its peak, and what it has done.
async fn act_as_child() {
    let Some((base_url, path)) = child::input::<(String, PathBuf)>() else {
        return;
    };
    let client = stub::settings(&base_url).paced(false).build().unwrap();
    let sync = Sync::new(Resource::Contacts, path);
    let receipt = sync.run(&client, std::future::pending(), |_| {}).await;
    child::tell(&(peak(), receipt.unwrap()));
}

/// The peak of a sync, and what it has done.
fn sync(base_url: &str, path: &Path) -> (usize, SyncReceipt) {
    child::run(TEST, &(base_url, path))
}

/// A sync that was measured.
struct Measured {
    what: &'static str,
    peak: usize,
    /// Whether it has read texts of records that were not delivered.
    texts: bool,
}

/// Syncs of a list of so many records, one after the other into one mirror.
fn measured(records: u32) -> Vec<Measured> {
    let contents: Arc<Mutex<Contents>> = Arc::default();
    let shown = Arc::clone(&contents);
    let base_url = stub::serve(move |request, socket| {
        let body = match request.asks_for_a_token() {
            true => stub::token("any-token", 36_000.0),
            false => page(request, &shown.lock().unwrap()),
        };
        stub::reply(socket, 200, "", body);
    });
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mirror");
    let mut all = Vec::new();
    let mut run = |what, change: &mut dyn FnMut(&mut Contents)| {
        change(&mut contents.lock().unwrap());
        let (peak, receipt) = sync(&base_url, &path);
        println!(
            "{records} records, {what}: {} MiB, {:?}, {} missing",
            peak / MIB,
            receipt.changes,
            receipt.missing
        );
        let changes = receipt.changes;
        let texts = changes.delete + changes.missing > 0;
        all.push(Measured { what, peak, texts });
        changes
    };
    let half = u64::from(records / 2);
    let changes = run("the first sync", &mut |list| {
        list.records = (0..records).map(|id| (id, 0)).collect();
    });
    assert_eq!(changes.insert, u64::from(records));
    let changes = run("some inserts, updates and deletes", &mut |list| {
        list.records.retain(|(id, _)| id % 200 != 7);
        let updated = list.records.iter_mut().filter(|one| one.0 % 100 == 3);
        updated.for_each(|one| one.1 = 1);
        list.records
            .extend((records..records + records / 100).map(|id| (id, 0)));
    });
    assert!(changes.insert > 0 && changes.update > 0 && changes.delete > 0);
    let changes = run("half updated at random", &mut |list| {
        let mut random = fastrand::Rng::with_seed(1);
        let all = list.records.iter_mut();
        all.for_each(|one| one.1 = random.u32(..2));
    });
    assert!(changes.update > half / 2 && changes.delete == 0);
    let changes = run("a part absent, not proven", &mut |list| {
        list.records.retain(|(id, _)| id % 10 != 1);
        list.records.truncate(half as usize);
        list.surplus = 1;
    });
    assert!(changes.missing > half / 2 && changes.delete == 0);
    let changes = run("the same, proven", &mut |list| list.surplus = 0);
    assert!(changes.delete > half / 2);
    let changes = run("another order", &mut |list| {
        fastrand::Rng::with_seed(2).shuffle(&mut list.records);
    });
    assert_eq!(changes.sum(), 0);
    all
}

const TEST: &str = "syncs::a_sync_holds_some_bytes_a_record";

/// How many records; `TALENTDATA_RECORDS` asks for more.
fn records() -> u32 {
    let given = std::env::var("TALENTDATA_RECORDS");
    given.map_or(200_000, |records| records.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sync_holds_some_bytes_a_record() {
    act_as_child().await;
    let (small, large) = (records() / 10, records());
    let (few, many) = (measured(small), measured(large));
    for (few, many) in few.into_iter().zip(many) {
        let texts = if many.texts { TEXTS } else { 0 };
        let most = few.peak + RECORD * (large - small) as usize + FREED + texts;
        let (what, few, many) = (many.what, few.peak, many.peak);
        assert!(many <= most, "{what}: {few} and {many} bytes");
    }
}
