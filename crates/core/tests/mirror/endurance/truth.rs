//! What has really happened to a list, a copy that follows what syncs tell of it, and how the two differ.

use serde_json::Value;
use std::collections::HashMap;
use std::fmt;
use talentdata_core::mirror::{AsOf, Change, Generation, Operation};
use talentdata_core::scan::Completeness;
use talentdata_sandbox::{Logged, Operation as Happened};

/// What is known of a record.
#[derive(Default)]
struct Life {
    /// Since when, in microseconds since 1970.
    versions: Vec<(i64, Value)>,
    died: Option<i64>,
    /// The record as a consumer of the changes has it.
    copy: Option<Value>,
}

/// All records that ever were in the list, and what was counted.
#[derive(Default)]
pub(super) struct Truth {
    lives: HashMap<String, Life>,
    /// Changes of the log that were noted.
    pub(super) logged: usize,
    pub(super) syncs: u64,
    pub(super) proven: u64,
    pub(super) deletes: u64,
    pub(super) updates: u64,
    missing: u64,
    false_deletes: u64,
    false_updates: u64,
    false_inserts: u64,
    deletes_without_proof: u64,
    /// Changes before a proven sync that it has not told.
    untold: u64,
}

impl Truth {
    /// Of a list that begins with these records.
    pub(super) fn of(records: &[String]) -> Self {
        let mut truth = Truth::default();
        for record in records {
            let record: Value = serde_json::from_str(record).unwrap();
            let key = record["id"].as_str().unwrap().to_owned();
            let life = truth.lives.entry(key).or_default();
            life.versions.push((0, record));
        }
        truth
    }

    /// How many records the copy has.
    pub(super) fn records(&self) -> usize {
        let copies = self.lives.values().filter(|life| life.copy.is_some());
        copies.count()
    }

    /// Takes what has happened.
    pub(super) fn note(&mut self, log: Vec<Logged>) {
        self.logged += log.len();
        for one in log {
            let at = i64::try_from(one.at.as_micros()).unwrap();
            let key = one.key.as_str().unwrap().to_owned();
            let life = self.lives.entry(key).or_default();
            match one.operation {
                Happened::Delete => life.died = Some(at),
                Happened::Insert | Happened::Update => life.versions.push((at, one.record)),
            }
        }
    }

    /// Holds what a sync has told against it.
    pub(super) fn check(&mut self, sync: &Generation, told: Vec<Change>) {
        let is_proven = sync.receipt.completeness == Completeness::Proven;
        self.syncs += 1;
        self.proven += u64::from(is_proven);
        for change in told {
            self.follow(&change, is_proven);
        }
        let (started, ended) = (micros(&sync.started), micros(&sync.ended));
        if is_proven {
            let lives = self.lives.values();
            let untold = lives.filter(|life| life.is_untold(started, ended));
            self.untold += untold.count() as u64;
        }
    }

    fn follow(&mut self, change: &Change, is_proven: bool) {
        let record: Value = serde_json::from_str(change.record.as_str()).unwrap();
        let life = self.lives.entry(change.key.clone()).or_default();
        let was = |at: &i64| change.last_seen < Some(*at) && *at <= change.seen;
        match change.operation {
            Operation::Insert => {
                self.false_inserts += u64::from(life.copy.is_some());
                life.copy = Some(record);
            }
            Operation::Update => {
                self.updates += 1;
                let happened = life
                    .versions
                    .iter()
                    .any(|(at, is)| was(at) && *is == record);
                let known = life.copy.replace(record.clone());
                let same = known.is_none_or(|known| known == record);
                self.false_updates += u64::from(same || !happened);
            }
            Operation::Delete => {
                self.deletes += 1;
                self.deletes_without_proof += u64::from(!is_proven);
                let known = life.copy.take().is_some();
                let died = life.died.is_some_and(|died| was(&died));
                self.false_deletes += u64::from(!known || !died);
            }
            Operation::Missing => self.missing += 1,
            Operation::Return => assert!(life.copy.is_some()),
        }
    }

    /// What must never be told, or left out.
    pub(super) fn wrong(&self) -> [u64; 5] {
        [
            self.false_deletes,
            self.false_updates,
            self.false_inserts,
            self.deletes_without_proof,
            self.untold,
        ]
    }
}

impl Life {
    /// Whether a proven sync of this time should have told something of it and has not.
    fn is_untold(&self, started: i64, ended: i64) -> bool {
        match self.died {
            Some(died) if died <= started => return self.copy.is_some(),
            // It was there at one moment, and not at another.
            Some(died) if died <= ended => return false,
            _ => {}
        }
        let before = self.versions.iter().rposition(|(at, _)| *at <= started);
        // One that is newer than the sync need not be told.
        let Some(before) = before else { return false };
        let copy = self.copy.as_ref();
        !self.versions[before..]
            .iter()
            .any(|(_, version)| Some(version) == copy)
    }
}

impl fmt::Debug for Truth {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut counts = formatter.debug_struct("Truth");
        counts
            .field("syncs", &self.syncs)
            .field("proven", &self.proven)
            .field("deletes", &self.deletes)
            .field("updates", &self.updates)
            .field("missing", &self.missing)
            .field("changes", &self.logged)
            .field("false_deletes", &self.false_deletes)
            .field("false_updates", &self.false_updates)
            .field("false_inserts", &self.false_inserts)
            .field("deletes_without_proof", &self.deletes_without_proof)
            .field("untold", &self.untold)
            .finish()
    }
}

fn micros(time: &str) -> i64 {
    match time.parse() {
        Ok(AsOf::Time(micros)) => micros,
        other => panic!("{time}: {other:?}"),
    }
}
