//! The records that a scan has not delivered, and between which others they stood.

use super::{Absent, Difference, Located};
use crate::error::Result;
use crate::mirror::between::Between;

/// Records that were known and not delivered, and stood one beside the other. As small as can be, since there may
/// be as many as records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::mirror) struct Gap {
    /// The records of the list that stood before it have positions below this,
    pub(in crate::mirror) from: u64,
    /// and those behind it this one and higher.
    pub(in crate::mirror) to: u64,
    /// How many records were delivered up to the nearest one before it.
    pub(in crate::mirror) place: u64,
    /// Its records are those of these positions that were not delivered.
    pub(in crate::mirror) first: u64,
    pub(in crate::mirror) end: u64,
    /// Whether their positions do not say where they stood: strays, and those that were missing before.
    pub(in crate::mirror) apart: bool,
    /// Whether a record that was delivered stood before it, and behind it.
    pub(in crate::mirror) begins: bool,
    pub(in crate::mirror) ends: bool,
    /// Whether its records are gone.
    pub(in crate::mirror) gone: bool,
}

/// A record that was not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mirror) struct Undelivered {
    pub(in crate::mirror) position: u64,
    /// As that of a gap.
    pub(in crate::mirror) apart: bool,
}

impl Difference {
    /// The records that were known and not delivered, in the order of before, strays and missing ones last.
    pub(in crate::mirror) fn gaps(&mut self) -> Result<Vec<Gap>> {
        self.stretch = None;
        let (mut gaps, mut strays) = (Vec::new(), Vec::new());
        let listed = self.previous.listed();
        let mut position = 0;
        while position < listed {
            let mut absent = false;
            let from = position;
            while position < listed && !self.is_witness(position) {
                match (self.is_delivered(position), self.previous.stray(position)) {
                    (true, _) => {}
                    (false, Some(between)) => strays.push((position, between)),
                    (false, None) => absent = true,
                }
                position += 1;
            }
            if absent {
                gaps.push(self.gap((from, position), (from, position), false));
            }
            position += 1;
        }
        for (position, between) in strays {
            let stretch = match self.positions(between)? {
                // It stood right beside the other one where its page showed only one.
                (None, Some(to)) => (to, to),
                (Some(from), None) => (from, from),
                (from, to) => (from.unwrap_or(0), to.unwrap_or(listed)),
            };
            gaps.push(self.gap(stretch, (position, position + 1), true));
        }
        self.missing_again(&mut gaps)?;
        Ok(gaps)
    }

    /// The gaps of records that were missing before. Those that follow each other mostly stood in the same place.
    fn missing_again(&mut self, gaps: &mut Vec<Gap>) -> Result<()> {
        let listed = self.previous.listed();
        let mut last: Option<Between> = None;
        for position in listed..self.previous.len() {
            let Some(absence) = self.previous.absence(position)? else {
                continue;
            };
            if self.is_delivered(position) {
                continue;
            }
            match gaps.last_mut() {
                Some(gap) if last.replace(absence.between) == Some(absence.between) => {
                    gap.end = position + 1;
                }
                _ => {
                    let (from, to) = self.positions(absence.between)?;
                    let stretch = (from.unwrap_or(0), to.unwrap_or(listed));
                    gaps.push(self.gap(stretch, (position, position + 1), true));
                    last = Some(absence.between);
                }
            }
        }
        Ok(())
    }

    /// The positions between those of two records of the list, as far as it has them; where they have changed sides, the
    /// record may be anywhere.
    fn positions(&mut self, between: Between) -> Result<(Option<u64>, Option<u64>)> {
        let before = self.position_in_list(between.before)?;
        let from = before.map(|before| before + 1);
        let to = self.position_in_list(between.behind)?;
        Ok(match (from, to) {
            (Some(from), Some(to)) if from > to => (None, None),
            sides => sides,
        })
    }

    /// Of records at these positions, which stood between the one before `from` and the one at `to`.
    fn gap(&mut self, (from, to): (u64, u64), (first, end): (u64, u64), apart: bool) -> Gap {
        let before = self.witness_before(from);
        Gap {
            from,
            to,
            place: before.map_or(0, |position| self.place(position)),
            first,
            end,
            apart,
            begins: before.is_some(),
            ends: self.witness_from(to).is_some(),
            gone: false,
        }
    }

    /// The nearest witness before a position.
    fn witness_before(&mut self, position: u64) -> Option<u64> {
        self.stretch_at(position).0.checked_sub(1)
    }

    /// The nearest witness at a position or behind it.
    fn witness_from(&mut self, position: u64) -> Option<u64> {
        let end = self.stretch_at(position).1;
        (end < self.previous.listed()).then_some(end)
    }

    /// The stretch without a witness that begins, ends or lies around a position.
    fn stretch_at(&mut self, position: u64) -> (u64, u64) {
        // Many gaps may lie in one, which is long where most of the list is gone.
        let known = self
            .stretch
            .filter(|(from, to)| (*from..=*to).contains(&position));
        if let Some(known) = known {
            return known;
        }
        let before = (0..position).rev().find(|one| self.is_witness(*one));
        let behind = (position..self.previous.listed()).find(|one| self.is_witness(*one));
        let from = before.map_or(0, |before| before + 1);
        let stretch = (from, behind.unwrap_or(self.previous.listed()));
        self.stretch = Some(stretch);
        stretch
    }

    /// The first record of a gap at this position or behind it.
    pub(in crate::mirror) fn next_of(&self, gap: &Gap, position: u64) -> Option<u64> {
        (position.max(gap.first)..gap.end).find(|position| self.is_of(gap, *position))
    }

    /// How many records a gap has.
    pub(in crate::mirror) fn count(&self, gap: &Gap) -> u64 {
        let all = gap.first..gap.end;
        all.filter(|position| self.is_of(gap, *position)).count() as u64
    }

    fn is_of(&self, gap: &Gap, position: u64) -> bool {
        !self.is_delivered(position) && (gap.apart || self.previous.stray(position).is_none())
    }

    /// The identities of the records that a gap lies between.
    pub(in crate::mirror) fn between(&mut self, gap: &Gap) -> Result<Between> {
        let (before, behind) = (self.witness_before(gap.from), self.witness_from(gap.to));
        Ok(Between {
            before: self.identity_at(before)?,
            behind: self.identity_at(behind)?,
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

    /// What a page shows of an identity: where the record of the list of before was, if it was delivered now and is no
    /// stray, and all of this identity that were not delivered.
    pub(in crate::mirror) fn shown(
        &mut self,
        identity: u128,
    ) -> Result<(Option<Located>, Vec<Undelivered>)> {
        let listed = self.previous.listed();
        let found = self.previous.find(identity)?;
        let first = found.iter().copied().find(|position| *position < listed);
        let witness = first.filter(|position| self.is_witness(*position));
        let located = witness.map(|position| Located {
            position,
            place: self.place(position),
        });
        let rest = found.into_iter().filter(|it| !self.is_delivered(*it));
        let undelivered = rest.map(|position| Undelivered {
            position,
            apart: position >= listed || self.previous.stray(position).is_some(),
        });
        let undelivered = undelivered.collect();
        Ok((located, undelivered))
    }

    /// What is known of a record that was not delivered.
    pub(in crate::mirror) fn absent(&mut self, position: u64) -> Result<Absent> {
        let missing_since = self.previous.absence(position)?;
        Ok(Absent {
            position,
            missing_since: missing_since.map(|absence| absence.last_seen),
            fingerprint: self.previous.at(position)?,
        })
    }
}
