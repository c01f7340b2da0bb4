//! Thousands of syncs of lists that change between and during scans. The reported changes are compared with the real
//! ones.

use super::*;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A list that changes at random.
struct List {
    random: fastrand::Rng,
    /// Identities and versions, in the order of the list.
    records: Vec<(u64, u64)>,
    next: u64,
}

/// The records in the result of a scan.
struct Scan {
    late: Vec<String>,
    delivered: Vec<String>,
    proof: Proof,
}

impl List {
    fn change(&mut self) {
        let length = self.records.len();
        match self.random.u32(..4) {
            0 => {
                let at = if self.random.bool() {
                    0
                } else {
                    self.random.usize(..=length)
                };
                self.records.insert(at, (self.next, 0));
                self.next += 1;
            }
            1 if length > 25 => drop(self.records.remove(self.random.usize(..length))),
            2 if length > 0 => self.records[self.random.usize(..length)].1 += 1,
            _ => {}
        }
    }

    fn texts(&self) -> Vec<String> {
        self.records
            .iter()
            .map(|(id, version)| contact(*id, *version))
            .collect()
    }

    /// Scans the list. During a joined scan, the list changes. An inserted record may be delivered, late or unseen. A
    /// deleted record may be delivered or not. A record that is deleted and inserted again may be late. A joined scan
    /// delivers all other records, and a scan with doubts may lack any record.
    fn scan(&mut self) -> Scan {
        let before: HashMap<u64, u64> = self.records.iter().copied().collect();
        let mut scan = Scan {
            late: Vec::new(),
            delivered: self.texts(),
            proof: COUNTED,
        };
        match self.random.u32(..10) {
            0..5 => {}
            5..8 => {
                scan.proof = JOINED;
                scan.delivered.clear();
                for _ in 0..self.random.usize(1..4) {
                    self.change();
                }
                let after: HashSet<u64> = self.records.iter().map(|(id, _)| *id).collect();
                for (id, version) in &self.records {
                    // A page shows a record as it was at some time during the scan.
                    let version = match before.get(id) {
                        Some(then) if self.random.bool() => *then,
                        _ => *version,
                    };
                    match (before.contains_key(id), self.random.u32(..24)) {
                        (false, 0..8) => {}
                        (false, 8..16) | (true, 0) => scan.late.push(contact(*id, version)),
                        _ => scan.delivered.push(contact(*id, version)),
                    }
                }
                for (id, version) in before.iter().filter(|(id, _)| !after.contains(id)) {
                    if self.random.bool() {
                        scan.delivered.push(contact(*id, *version));
                    }
                }
            }
            _ => {
                scan.proof = None;
                let kept = self.random.f64();
                scan.delivered.retain(|_| self.random.f64() < kept);
            }
        }
        scan
    }
}

fn ids<'a>(texts: impl IntoIterator<Item = &'a String>) -> HashSet<String> {
    texts.into_iter().map(|text| id_of(text)).collect()
}

fn id_of(text: &str) -> String {
    crate::digest::key(&RawRecord::parse(text).unwrap()).0
}

/// Runs this number of syncs of one list. Returns the numbers of reported changes and of deletes.
fn run(seed: u64, syncs: u64) -> (usize, usize) {
    let list = CONTACTS;
    let trial = Trial::new();
    let mut truth = List {
        random: fastrand::Rng::with_seed(seed),
        records: (0..30).map(|id| (id, 0)).collect(),
        next: 30,
    };
    let (mut copy, mut applied) = (BTreeMap::new(), 0);
    let (mut lacked, mut reported, mut deletes) = (HashMap::<String, u32>::new(), 0, 0);
    let (mut known, mut seen) = (HashSet::new(), HashSet::new());
    for number in 1..=syncs {
        (0..truth.random.usize(..5)).for_each(|_| truth.change());
        let there_before = ids(&truth.texts());
        let scan = truth.scan();
        let there_after = ids(&truth.texts());
        let receipt = trial
            .sync_late(&scan.late, &scan.delivered, scan.proof)
            .unwrap();
        assert_eq!(receipt.generation, number);
        let changes = trial.changes(number - 1);
        reported += changes.len();
        let delivered = ids(&scan.delivered);
        let shown = ids(scan.late.iter().chain(&scan.delivered));
        for key in ops(&changes, "delete") {
            deletes += 1;
            assert!(
                !(there_before.contains(&key) && there_after.contains(&key)),
                "seed {seed}, sync {number}: false delete of {key}"
            );
            known.remove(&key);
        }
        for key in ops(&changes, "update") {
            assert!(delivered.contains(&key));
        }
        // A counted scan deletes a missing record immediately; otherwise, the second proven scan that lacks it does.
        let scans = |key: &String, lacked: &HashMap<String, u32>| match scan.proof {
            None => 0,
            _ => lacked.get(key).copied().unwrap_or(0) + 1,
        };
        for key in known.iter().filter(|key| !shown.contains(*key)) {
            let is_early = scan.proof != COUNTED && scans(key, &lacked) < 2;
            assert!(
                is_early || receipt.withheld.is_some(),
                "seed {seed}, sync {number}: {key} is still there"
            );
        }
        let absent = known.iter().filter(|key| !shown.contains(*key));
        lacked = absent
            .map(|key| (key.clone(), scans(key, &lacked)))
            .collect();
        // The mirror returns the list as it was read, including earlier records that came late.
        let as_of = trial.as_of(number);
        let is_delivered = |text: &&String| delivered.contains(&id_of(text));
        assert!(
            as_of.iter().filter(is_delivered).eq(&scan.delivered),
            "seed {seed}, sync {number}"
        );
        let late = shown
            .difference(&delivered)
            .filter(|key| seen.contains(*key));
        let late: HashSet<String> = late.cloned().collect();
        seen = ids(&as_of);
        assert_eq!(
            seen.difference(&delivered).cloned().collect::<HashSet<_>>(),
            late
        );
        known.extend(delivered);
        // Applying all changes, in any portions, gives the mirror's list.
        if truth.random.bool() {
            let mirror = trial.mirror();
            let again = applied.min(truth.random.u64(..number));
            let changes = mirror.changes(list, &SyncPoint::Sync(again)).unwrap();
            apply(&mut copy, changes);
            applied = number;
            let current = trial.current().into_iter().map(|text| (id_of(&text), text));
            assert_eq!(copy, current.collect(), "seed {seed}, sync {number}");
        }
    }
    assert!(trial.mirror().verify().unwrap().matches);
    (reported, deletes)
}

#[test]
fn reported_changes_happened_and_all_changes_are_reported() {
    let rounds = rounds(10);
    let (mut reported, mut deletes) = (0, 0);
    for seed in 0..rounds {
        let (changes, of_them) = run(seed, 100);
        reported += changes;
        deletes += of_them;
    }
    println!(
        "{} syncs: {reported} changes, {deletes} of them deletes",
        rounds * 100
    );
    assert!(deletes as u64 > rounds * 10);
}
