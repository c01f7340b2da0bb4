//! Compares a scan, record by record, with what the sync before has seen. Pure but for reading the state.

use super::change::Operation;
use super::fingerprint::Fingerprint;
use super::state::State;
use crate::error::Result;
pub(super) use gaps::{Gap, Undelivered};

mod gaps;

/// A running comparison.
pub(super) struct Difference {
    previous: State,
    /// For each position of before, the place among the records delivered now, plus 1; 0 where it was not delivered.
    places: Vec<u32>,
    /// The position of before that comes next if nothing has changed.
    next: u64,
    delivered: u64,
    /// The stretch of before without a witness that was looked for last.
    stretch: Option<(u64, u64)>,
}

/// A record that was known before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// Its position among those of before.
    pub(super) position: u64,
    pub(super) fingerprint: Fingerprint,
    /// When it was last seen, if it was missing.
    pub(super) missing_since: Option<i64>,
}

/// Where a record was, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Located {
    /// Its position in the list of before.
    pub(super) position: u64,
    /// How many records were delivered up to it.
    pub(super) place: u64,
}

/// What is known of a record that was not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Absent {
    /// Its position among those of before.
    pub(super) position: u64,
    pub(super) fingerprint: Fingerprint,
    /// When it was last seen, if it was missing before.
    pub(super) missing_since: Option<i64>,
}

/// What is told of a record that was delivered with these contents.
pub(super) fn of_delivered(known: Option<&Known>, contents: u64) -> Option<Operation> {
    match known {
        None => Some(Operation::Insert),
        Some(known) if known.fingerprint.contents != contents => Some(Operation::Update),
        Some(known) => known.missing_since.map(|_| Operation::Return),
    }
}

/// What is told of a record that was not delivered, and is gone or not known to be.
pub(super) fn of_absent(absent: &Absent, gone: bool) -> Option<Operation> {
    match (gone, absent.missing_since) {
        (true, _) => Some(Operation::Delete),
        (false, None) => Some(Operation::Missing),
        (false, Some(_)) => None,
    }
}

impl Difference {
    pub(super) fn new(previous: State) -> Self {
        Difference {
            places: vec![0; usize::try_from(previous.len()).unwrap_or(usize::MAX)],
            previous,
            next: 0,
            delivered: 0,
            stretch: None,
        }
    }

    /// Takes the next record of the scan; `bytes` is the hash of its bytes. Returns what was known of it.
    pub(super) fn take(&mut self, identity: u128, bytes: u64) -> Result<Option<Known>> {
        self.delivered += 1;
        let found = self.find(identity, bytes)?;
        let Some((position, fingerprint)) = found else {
            return Ok(None);
        };
        if let Some(place) = self.places.get_mut(position as usize) {
            *place = self.delivered as u32;
        }
        self.next = position + 1;
        let absence = self.previous.absence(position)?;
        Ok(Some(Known {
            position,
            fingerprint,
            missing_since: absence.map(|absence| absence.last_seen),
        }))
    }

    fn find(&mut self, identity: u128, bytes: u64) -> Result<Option<(u64, Fingerprint)>> {
        if self.next < self.previous.len() && !self.is_delivered(self.next) {
            let expected = self.previous.at(self.next)?;
            if expected.identity == identity {
                return Ok(Some((self.next, expected)));
            }
        }
        if self.places.is_empty() {
            return Ok(None);
        }
        let mut found: Option<(u64, Fingerprint)> = None;
        for position in self.previous.find(identity)? {
            let fingerprint = self.previous.at(position)?;
            // Of several of one identity each has its own; which was delivered now is best told by its bytes.
            let rank = |position, fingerprint: &Fingerprint| {
                (!self.is_delivered(position), fingerprint.bytes == bytes)
            };
            let better = found
                .is_none_or(|(other, known)| rank(position, &fingerprint) > rank(other, &known));
            if better {
                found = Some((position, fingerprint));
            }
        }
        Ok(found)
    }

    fn is_delivered(&self, position: u64) -> bool {
        self.place(position) > 0
    }

    /// How many records were delivered up to this one; 0 if it was not.
    fn place(&self, position: u64) -> u64 {
        let place = self.places.get(position as usize);
        place.map_or(0, |place| u64::from(*place))
    }
}
