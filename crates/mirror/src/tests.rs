//! Syncs without a service. The scans are simulated, and the contents of the mirror are compared with them.

mod damage;
mod drift;
mod erasing;
#[path = "../../columns/tests/export/fails.rs"]
mod fails;
mod history;
mod kills;
mod refusals;
mod rules;
mod simulation;
mod stories;
mod types;
mod versions;
mod views;

use crate::commit::Staging;
use crate::file::{Claim, at};
use crate::{Mirror, Sync, SyncPoint, SyncReceipt};
use fails::fails;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};
use talentdata_core::scan::{Basis, Completeness, Doubt, Receipt};
use talentdata_core::types::ListName;
use talentdata_core::{Arguments, Client, Config, ErrorKind, RawRecord, Result};

const CONTACTS: ListName = ListName::Contacts;

/// A change, as a line of JSON Lines has it.
#[derive(Deserialize)]
struct Change {
    op: String,
    key: String,
    record: Box<RawValue>,
}

/// The proof of a scan, if any.
type Proof = Option<Basis>;
const COUNTED: Proof = Some(Basis::Counted);
const JOINED: Proof = Some(Basis::Joined);

/// A mirror, and the options of the next sync.
struct Trial {
    _directory: tempfile::TempDir,
    path: PathBuf,
    sync: Sync,
    ended: Option<SystemTime>,
}

impl Trial {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mirror.db");
        Trial {
            _directory: directory,
            sync: Sync::new(CONTACTS, &path),
            path,
            ended: None,
        }
    }

    /// Creates a mirror that has these contacts.
    fn of(ids: impl IntoIterator<Item = u64>) -> Self {
        let trial = Trial::new();
        trial.sync(&contacts(ids), COUNTED);
        trial
    }

    fn mirror(&self) -> Mirror {
        Mirror::open(&self.path).unwrap()
    }

    /// Runs a sync that delivers these texts.
    fn sync(&self, texts: &[String], proof: Proof) -> SyncReceipt {
        self.sync_late(&[], texts, proof).unwrap()
    }

    /// Runs a sync that delivers these texts, and returns the changes that it reports. The mirror has the same texts.
    fn step(&self, texts: &[String], proof: Proof) -> String {
        let receipt = self.sync(texts, proof);
        assert_eq!(self.as_of(receipt.generation), texts);
        self.reported(&receipt)
    }

    /// Returns the changes that a sync reports, and compares them with its counts.
    fn reported(&self, receipt: &SyncReceipt) -> String {
        let changes = self.changes(receipt.generation - 1);
        let counts = serde_json::to_value(receipt.changes).unwrap();
        for (op, count) in counts.as_object().unwrap() {
            assert_eq!(ops(&changes, op).len() as u64, *count, "{op}");
        }
        let shown = changes.iter().map(|(op, key)| format!("{op} {key}"));
        shown.collect::<Vec<_>>().join(", ")
    }

    /// Returns the single value of a query.
    fn ask<T: rusqlite::types::FromSql>(&self, sql: &str) -> T {
        let connection = rusqlite::Connection::open(&self.path).unwrap();
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    fn sync_late(&self, late: &[String], texts: &[String], proof: Proof) -> Result<SyncReceipt> {
        let claim = Claim::acquire(&self.path)?.with_mode(self.sync.mode);
        let run = || {
            let mut staging = Staging::begin(&claim, &self.sync, &config("c"))?;
            // No test here cuts the power, and thousands of syncs would wait for the disk.
            (staging.connection).execute_batch("PRAGMA synchronous = OFF")?;
            staging.take(&records(late), &[])?;
            for page in texts.chunks(7) {
                staging.take(&[], &records(page))?;
            }
            let ended = self.ended.unwrap_or_else(SystemTime::now);
            staging.commit(receipt(texts.len(), proof), ended)
        };
        run().map_err(at(&self.path))
    }

    /// Returns the records of the list as a sync read it.
    fn as_of(&self, sync: u64) -> Vec<String> {
        let at = SyncPoint::Sync(sync);
        texts(self.mirror().records(CONTACTS, Some(&at)).unwrap())
    }

    fn current(&self) -> Vec<String> {
        texts(self.mirror().records(CONTACTS, None).unwrap())
    }

    /// Returns the operations and keys of the changes since a sync.
    fn changes(&self, since: u64) -> Vec<(String, String)> {
        let changes = self.mirror().changes(CONTACTS, &SyncPoint::Sync(since));
        let changes = changes.unwrap().map(|change| change.unwrap().to().unwrap());
        changes
            .map(|change: Change| (change.op, change.key))
            .collect()
    }
}

fn config(client: &str) -> Config {
    let mut builder = Client::builder();
    let builder = builder.base_url("http://127.0.0.1:9").client_id(client);
    builder.client_secret("canary-canary").config().unwrap()
}

fn records(texts: &[String]) -> Vec<RawRecord> {
    RawRecord::parse_all(texts).unwrap()
}

fn receipt(records: usize, basis: Proof) -> Receipt {
    let mut receipt = Receipt::default();
    receipt.completeness = Completeness::Proven;
    receipt.basis = basis;
    receipt.records = records as u64;
    if basis.is_none() {
        receipt.completeness = Completeness::NotProven;
        receipt.doubts.push(Doubt::OrderChanged);
    }
    receipt
}

fn texts(records: impl Iterator<Item = Result<RawRecord>>) -> Vec<String> {
    records
        .map(|record| record.unwrap().as_str().to_owned())
        .collect()
}

/// Returns the record with this number, in this version.
fn contact(id: u64, version: u64) -> String {
    format!("{{\"id\":\"c-{id}\",\"firstName\":\"A{version}\",\"score\":{version}}}")
}

fn contacts(ids: impl IntoIterator<Item = u64>) -> Vec<String> {
    ids.into_iter().map(|id| contact(id, 0)).collect()
}

fn ops(changes: &[(String, String)], op: &str) -> Vec<String> {
    let of = changes.iter().filter(|(one, _)| one == op);
    of.map(|(_, key)| key.clone()).collect()
}

/// Applies changes to a copy of the list, and returns the keys of the deleted records.
fn apply(copy: &mut BTreeMap<String, String>, changes: crate::Rows) -> Vec<String> {
    let mut deleted = Vec::new();
    for change in changes {
        let change: Change = change.unwrap().to().unwrap();
        match change.op.as_str() {
            "insert" | "update" | "reappeared" => {
                copy.insert(change.key, change.record.get().to_owned());
            }
            "delete" | "erased" => {
                copy.remove(&change.key);
                deleted.push(change.key);
            }
            op => assert_eq!(op, "missing"),
        }
    }
    deleted
}

/// The environment variable with the path of the mirror, for a test that runs in a child process.
const PATH: &str = "TALENTDATA_TEST_MIRROR";

/// Returns the command that runs a test in a child process, with a mirror at this path.
fn program(test: &str, path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("tests::{test}")]);
    command.env(PATH, path);
    command
}

/// Returns the number of rounds of a simulation, which `TALENTDATA_ROUNDS` can increase.
fn rounds(usual: u64) -> u64 {
    let given = std::env::var("TALENTDATA_ROUNDS");
    given.map_or(usual, |rounds| rounds.parse().unwrap())
}
