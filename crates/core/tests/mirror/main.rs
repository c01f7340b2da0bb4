//! Syncs over real sockets: what they tell, what they leave when they are killed, and what they refuse.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod changes;
#[cfg(target_os = "linux")]
mod crashes;
mod drift;
mod endurance;
mod list;
mod places;
#[cfg(target_os = "linux")]
mod power;
mod retention;
mod schemas;
// The whole of it serves the tests of the client.
#[allow(dead_code)]
#[path = "../client/stub.rs"]
mod stub;
mod unproven;

use list::List;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use talentdata_core::export::{Format, Target};
use talentdata_core::mirror::{AsOf, Change, Mirror, Operation, Sync, SyncReceipt};
use talentdata_core::types::Resource;
use talentdata_core::{Client, Result};

const CONTACTS: Resource = Resource::Contacts;

/// Syncs contacts into a mirror.
async fn sync(client: &Client, mirror: &Path) -> Result<SyncReceipt> {
    run(&Sync::new(CONTACTS, mirror), client).await
}

async fn run(sync: &Sync, client: &Client) -> Result<SyncReceipt> {
    sync.run(client, std::future::pending(), |_| {}).await
}

/// What has changed after a generation.
fn changes(mirror: &Path, since: u64) -> Vec<Change> {
    let mirror = Mirror::open(mirror).unwrap();
    let changes = mirror.changes(CONTACTS, since).unwrap();
    changes.map(Result::unwrap).collect()
}

/// Operations and keys of changes.
fn told(changes: &[Change]) -> Vec<(Operation, &str)> {
    let changes = changes.iter();
    changes
        .map(|one| (one.operation, one.key.as_str()))
        .collect()
}

/// What a consumer has who applies all changes, each generation twice over: records by key.
fn applied(mirror: &Path) -> BTreeMap<String, String> {
    let all = changes(mirror, 0);
    let mut copy = BTreeMap::new();
    for generation in all.chunk_by(|one, other| one.generation == other.generation) {
        for change in generation.iter().chain(generation) {
            match change.operation {
                Operation::Delete => {
                    copy.remove(&change.key);
                }
                Operation::Missing => {}
                _ => {
                    let record = change.record.as_str().to_owned();
                    copy.insert(change.key.clone(), record);
                }
            }
        }
    }
    copy
}

/// The list as of a generation, as JSON Lines.
fn as_of(mirror: &Path, generation: u64) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.jsonl");
    let records = Mirror::open(mirror).unwrap();
    let records = records
        .as_of(CONTACTS, AsOf::Generation(generation))
        .unwrap();
    let target = Target::File(path.clone());
    records
        .write(Format::Jsonl, &target, Default::default())
        .unwrap();
    fs::read_to_string(path).unwrap()
}

/// Every file of a mirror, by path, and its bytes.
fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            let name = path.strip_prefix(root).unwrap().to_str().unwrap();
            found.insert(name.to_owned(), fs::read(&path).unwrap());
        }
    }
    found
}
