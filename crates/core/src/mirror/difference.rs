//! Compares a scan, record by record, with what the sync before has seen. Pure but for reading the state.

use super::change::Operation;
use super::fingerprint::Fingerprint;
use super::state::State;
use crate::error::Result;
use std::ops::Range;

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

/// So many delivered records on either side of a gap are known: some may be gone by the time it is looked at.
const NEIGHBOURS: usize = 4;

/// Records that were known and not delivered, one beside the other, and the delivered ones around them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Gap {
    /// The nearest first; few or none at an end of the list.
    pub(super) before: Vec<Neighbour>,
    pub(super) behind: Vec<Neighbour>,
    pub(super) absent: Vec<Absent>,
}

/// A record that was delivered beside others that were not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Neighbour {
    pub(super) identity: u128,
    /// Its place among the records delivered now.
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
        let place = self.places.get(position as usize);
        place.is_some_and(|place| *place > 0)
    }

    /// The records that were known and not delivered, in the order of before, the missing ones last.
    pub(super) fn gaps(&mut self) -> Result<Vec<Gap>> {
        let mut gaps = Vec::new();
        let mut position = 0;
        while position < self.previous.listed() {
            let end = (position..self.previous.listed())
                .find(|position| self.is_delivered(*position))
                .unwrap_or(self.previous.listed());
            if end > position {
                gaps.push(self.gap(position.checked_sub(1), end, position..end)?);
            }
            position = end + 1;
        }
        for position in self.previous.listed()..self.previous.len() {
            if !self.is_delivered(position) {
                // Where it stood before it was missing.
                let absence = self.previous.absence(position).copied();
                let (before, behind) = absence.map_or((0, 0), |known| (known.before, known.behind));
                let before = self.position_in_list(before)?;
                let behind = self.position_in_list(behind)?.unwrap_or(u64::MAX);
                gaps.push(self.gap(before, behind, position..position + 1)?);
            }
        }
        Ok(gaps)
    }

    /// Of records that stood between these two positions of the list.
    fn gap(&mut self, before: Option<u64>, behind: u64, absent: Range<u64>) -> Result<Gap> {
        let before = before.map_or(0..0, |before| 0..before + 1);
        let behind = behind..self.previous.listed();
        Ok(Gap {
            before: self.neighbours(before.rev())?,
            behind: self.neighbours(behind)?,
            absent: absent.map(|one| self.absent(one)).collect::<Result<_>>()?,
        })
    }

    fn position_in_list(&mut self, identity: u128) -> Result<Option<u64>> {
        if identity == 0 {
            return Ok(None);
        }
        let listed = self.previous.listed();
        let found = self.previous.find(identity)?;
        Ok(found.into_iter().find(|position| *position < listed))
    }

    /// The first delivered records among these.
    fn neighbours(&mut self, positions: impl Iterator<Item = u64>) -> Result<Vec<Neighbour>> {
        let places = &self.places;
        let place = |position: u64| {
            let place = u64::from(*places.get(position as usize)?).checked_sub(1)?;
            Some((position, place))
        };
        let delivered = positions.filter_map(place).take(NEIGHBOURS);
        delivered
            .map(|(position, place)| {
                Ok(Neighbour {
                    identity: self.previous.at(position)?.identity,
                    place,
                })
            })
            .collect()
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
