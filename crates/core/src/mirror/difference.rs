//! Compares a scan, record by record, with what the sync before has seen. Pure but for reading the state.

use super::between::Between;
use super::change::Operation;
use super::fingerprint::Fingerprint;
use super::state::State;
use crate::error::Result;

/// A running comparison.
pub(super) struct Difference {
    previous: State,
    /// For each position of before, the place among the records delivered now, plus 1; 0 where it was not delivered.
    places: Vec<u32>,
    /// The position of before that comes next if nothing has changed.
    next: u64,
    delivered: u64,
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

/// Records that were known and not delivered, and stood one beside the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Gap {
    /// The records of the list that stood before it have positions below this,
    pub(super) from: u64,
    /// and those behind it this one and higher.
    pub(super) to: u64,
    /// How many records were delivered up to the nearest one before it.
    pub(super) place: u64,
    /// The nearest delivered records on either side.
    pub(super) between: Between,
    pub(super) absent: Vec<Absent>,
}

/// Where a record was, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Located {
    /// Its position in the list of before.
    pub(super) position: u64,
    /// How many records were delivered up to it.
    pub(super) place: u64,
}

/// A record that was not delivered.
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
        let absence = self.previous.absence(position);
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

    /// The records that were known and not delivered, in the order of before, strays and missing ones last.
    pub(super) fn gaps(&mut self) -> Result<Vec<Gap>> {
        let (mut gaps, mut apart) = (Vec::new(), Vec::new());
        let listed = self.previous.listed();
        let mut position = 0;
        while position < listed {
            let mut absent = Vec::new();
            let from = position;
            while position < listed && !self.is_witness(position) {
                match (self.is_delivered(position), self.previous.stray(position)) {
                    (true, _) => {}
                    (false, Some(between)) => apart.push((position, between, true)),
                    (false, None) => absent.push(position),
                }
                position += 1;
            }
            if !absent.is_empty() {
                gaps.push(self.gap(from, position, &absent)?);
            }
            position += 1;
        }
        for position in listed..self.previous.len() {
            if let Some(absence) = self.previous.absence(position)
                && !self.is_delivered(position)
            {
                apart.push((position, absence.between, false));
            }
        }
        for (position, between, stray) in apart {
            let before = self.position_in_list(between.before)?;
            let behind = self.position_in_list(between.behind)?;
            let from = before.map(|before| before + 1);
            // A stray stood right beside the other one where its page showed only one.
            let (from, to) = match (from, behind) {
                (None, Some(to)) if stray => (to, to),
                (Some(from), None) if stray => (from, from),
                (from, to) => (from.unwrap_or(0), to.unwrap_or(listed)),
            };
            gaps.push(self.gap(from, to, &[position])?);
        }
        Ok(gaps)
    }

    /// Of records that stood between the one before `from` and the one at `to`.
    fn gap(&mut self, from: u64, to: u64, absent: &[u64]) -> Result<Gap> {
        let before = (0..from).rev().find(|position| self.is_witness(*position));
        let behind = (to..self.previous.listed()).find(|position| self.is_witness(*position));
        Ok(Gap {
            from,
            to,
            place: before.map_or(0, |position| self.place(position)),
            between: Between {
                before: self.identity_at(before)?,
                behind: self.identity_at(behind)?,
            },
            absent: absent
                .iter()
                .map(|position| self.absent(*position))
                .collect::<Result<_>>()?,
        })
    }

    /// Whether a record was delivered, and stood where its position says.
    fn is_witness(&self, position: u64) -> bool {
        self.is_delivered(position) && self.previous.stray(position).is_none()
    }

    fn identity_at(&mut self, position: Option<u64>) -> Result<u128> {
        let at = position.map(|position| self.previous.at(position));
        Ok(at.transpose()?.map_or(0, |found| found.identity))
    }

    fn position_in_list(&mut self, identity: u128) -> Result<Option<u64>> {
        if identity == 0 {
            return Ok(None);
        }
        let listed = self.previous.listed();
        let found = self.previous.find(identity)?;
        Ok(found.into_iter().find(|position| *position < listed))
    }

    /// Where a record of the list of before was, if it was delivered now and is no stray.
    pub(super) fn locate(&mut self, identity: u128) -> Result<Option<Located>> {
        let position = self.position_in_list(identity)?;
        let witness = position.filter(|position| self.is_witness(*position));
        Ok(witness.map(|position| Located {
            position,
            place: self.place(position),
        }))
    }

    fn absent(&mut self, position: u64) -> Result<Absent> {
        let missing_since = self.previous.absence(position);
        Ok(Absent {
            position,
            missing_since: missing_since.map(|absence| absence.last_seen),
            fingerprint: self.previous.at(position)?,
        })
    }
}
