//! Mirrors of simulated lists, for tests on virtual time: the same decisions as a real sync, without files.

use super::between::{Absence, Between};
use super::change::Operation;
use super::difference::{Difference, Gap, of_absent, of_delivered};
use super::fingerprint::Fingerprint;
use super::second_look::{Looks, Shown, is_needed};
use super::state::{State, StateWriter};
use std::collections::HashMap;
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
    /// Strays, and the records between which each stood.
    pub(crate) strays: HashMap<u64, (Option<u64>, Option<u64>)>,
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
    /// Compares a scan with what was kept; `page` reads a page: its records, and how many there are in all.
    pub(crate) fn sync(
        &mut self,
        scan: &Scanned,
        mut page: impl FnMut(u64) -> (Vec<u64>, u64),
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
            let stray = scan.strays.get(record).map(|(before, behind)| Between {
                before: before.map_or(0, |before| u128::from(before + 1)),
                behind: behind.map_or(0, |behind| u128::from(behind + 1)),
            });
            next.push(fingerprint, stray).unwrap();
        }
        let gaps = difference.gaps().unwrap();
        for gap in look(scan, gaps, &mut difference, &mut page) {
            let mut position = gap.first;
            while let Some(found) = difference.next_of(&gap, position) {
                position = found + 1;
                let one = difference.absent(found).unwrap();
                let last_seen = one.missing_since.or(before);
                if let Some(operation) = of_absent(&one, gap.gone) {
                    told.push(Told {
                        operation,
                        record: one.fingerprint.identity as u64 - 1,
                        version: one.fingerprint.bytes,
                        last_seen,
                    });
                }
                if !gap.gone {
                    let absence = Absence {
                        last_seen: last_seen.unwrap(),
                        between: difference.between(&gap).unwrap(),
                    };
                    next.push_missing(one.fingerprint, absence).unwrap();
                }
            }
        }
        self.state = Some(next.finish().unwrap());
        told
    }
}

fn look(
    scan: &Scanned,
    mut gaps: Vec<Gap>,
    difference: &mut Difference,
    page: &mut impl FnMut(u64) -> (Vec<u64>, u64),
) -> Vec<Gap> {
    if gaps.is_empty() || !scan.proven || !is_needed(scan.moved, scan.delivered.len() as u64) {
        gaps.iter_mut().for_each(|gap| gap.gone = scan.proven);
        return gaps;
    }
    let mut looks = Looks::new(gaps, scan.page_size, 1000);
    while let Some(offset) = looks.next() {
        let (records, total) = page(offset);
        let identities: Vec<u128> = records.iter().map(|it| u128::from(it + 1)).collect();
        let shown = identities.iter().map(|it| difference.shown(*it).unwrap());
        let (located, undelivered): (Vec<_>, Vec<_>) = shown.unzip();
        looks.take(&Shown {
            offset,
            identities,
            records: located,
            undelivered: undelivered.concat(),
            is_end: offset + records.len() as u64 >= total,
            total,
        });
    }
    looks.finish()
}
