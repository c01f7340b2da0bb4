//! Mirrors of simulated lists, for tests on virtual time: the same decisions as a real sync, without files.

use super::change::Operation;
use super::difference::{Difference, Gap, of_absent, of_delivered};
use super::fingerprint::Fingerprint;
use super::second_look::{Looks, Shown, is_needed};
use super::state::{Absence, State, StateWriter};
use std::io::Cursor;
use std::path::PathBuf;

/// What is kept from one sync to the next.
#[derive(Default)]
pub(crate) struct Trial {
    state: Option<Vec<u8>>,
    started: Option<i64>,
}

/// What a scan was.
pub(crate) struct Scanned {
    /// Records and their versions.
    pub(crate) delivered: Vec<(u64, u64)>,
    pub(crate) proven: bool,
    /// Whether it was proven by joined pages.
    pub(crate) moved: bool,
    pub(crate) started: i64,
    pub(crate) page_size: u64,
}

/// A change that a sync has told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) operation: Operation,
    pub(crate) record: u64,
    pub(crate) version: u64,
    pub(crate) last_seen: Option<i64>,
}

impl Trial {
    /// Compares a scan with what was kept; `page` reads a page: its records, and whether the list ends with it.
    pub(crate) fn sync(
        &mut self,
        scan: &Scanned,
        mut page: impl FnMut(u64) -> (Vec<u64>, bool),
    ) -> Vec<Told> {
        let state = match self.state.take() {
            Some(bytes) => State::open(Box::new(Cursor::new(bytes)), PathBuf::new()).unwrap(),
            None => State::empty(),
        };
        let before = self.started.replace(scan.started);
        let mut difference = Difference::new(state);
        let mut next = StateWriter::new(Vec::new());
        let mut told = Vec::new();
        for (record, version) in &scan.delivered {
            // Every third version is written otherwise and says the same.
            let fingerprint = Fingerprint {
                identity: u128::from(record + 1),
                contents: version - version / 3,
                bytes: *version,
            };
            let known = difference
                .take(fingerprint.identity, fingerprint.bytes)
                .unwrap();
            if let Some(operation) = of_delivered(known.as_ref(), fingerprint.contents) {
                told.push(Told {
                    operation,
                    record: *record,
                    version: *version,
                    last_seen: known.and_then(|known| known.missing_since.or(before)),
                });
            }
            next.push(fingerprint).unwrap();
        }
        let gaps = difference.gaps().unwrap();
        for (gap, gone) in look(scan, gaps, &mut page) {
            for one in &gap.absent {
                let last_seen = one.missing_since.or(before);
                if let Some(operation) = of_absent(one, gone) {
                    told.push(Told {
                        operation,
                        record: one.fingerprint.identity as u64 - 1,
                        version: one.fingerprint.bytes,
                        last_seen,
                    });
                }
                if !gone {
                    let absence = Absence {
                        last_seen: last_seen.unwrap(),
                        before: gap.before.first().map_or(0, |one| one.identity),
                        behind: gap.behind.first().map_or(0, |one| one.identity),
                    };
                    next.push_missing(one.fingerprint, absence);
                }
            }
        }
        self.state = Some(next.finish().unwrap());
        told
    }
}

fn look(
    scan: &Scanned,
    gaps: Vec<Gap>,
    page: &mut impl FnMut(u64) -> (Vec<u64>, bool),
) -> Vec<(Gap, bool)> {
    if gaps.is_empty() || !scan.proven || !is_needed(scan.moved, scan.delivered.len() as u64) {
        return gaps.into_iter().map(|gap| (gap, scan.proven)).collect();
    }
    let mut looks = Looks::new(gaps, scan.page_size, 1000);
    while let Some(offset) = looks.next() {
        let (records, is_end) = page(offset);
        looks.take(&Shown {
            offset,
            identities: records
                .iter()
                .map(|record| u128::from(record + 1))
                .collect(),
            is_end,
        });
    }
    looks.finish()
}
