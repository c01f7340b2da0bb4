//! Remembers the records delivered last and the order they were delivered in, in bounded memory.

use crate::record::Identity;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::collections::VecDeque;
use std::ops::Range;

/// How many records are remembered: as many as a hash table of 16,384 slots holds, which is more than
/// 140 pages of 100.
pub(super) const CAPACITY: usize = 14_336;

/// Where a record stands in the order of the list, as far as it is known.
///
/// Records appended to the frontier have ranks 1, 2, 3 and so on, and stand at twice their rank. A record
/// that was found between others stands somewhere between theirs: `low` and `high` differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) low: u64,
    pub(super) high: u64,
    /// Whether a page has shown that it is no longer there.
    pub(super) gone: bool,
}

impl Place {
    /// Somewhere behind one place, if there is one, and before another; two records between the same
    /// neighbours may share a place.
    pub(super) fn between(before: Option<Place>, next: u64) -> Self {
        let low = match before {
            Some(before) if before.is_appended() => before.low + 1,
            Some(before) => before.low,
            None => 0,
        };
        // An odd number stands between appended records.
        let low = low.min(next) | 1;
        Place {
            low,
            high: next.max(low),
            gone: false,
        }
    }

    /// The last place before this one.
    pub(super) fn before(&self) -> u64 {
        match self.is_appended() {
            true => self.high.saturating_sub(1),
            false => self.high,
        }
    }

    /// Whether the record was appended to the frontier.
    pub(super) fn is_appended(&self) -> bool {
        self.low.is_multiple_of(2)
    }

    /// Its own rank, or that of the last appended record that is known to stand before it.
    pub(super) fn rank(&self) -> u64 {
        self.low / 2
    }
}

/// The records delivered last.
#[derive(Default)]
pub(crate) struct Memory {
    /// In the order of delivery, the oldest first.
    entries: VecDeque<(Identity, Place)>,
    /// How many entries have been dropped: the serial number of the oldest one left. Serial numbers begin
    /// again when they are used up, long after what had them before was dropped.
    dropped: u32,
    /// The serial number of the latest entry of each identity.
    serials: HashTable<u32>,
    /// The rank of the frontier: how many records have been appended.
    frontier: u64,
    /// Most records that a page has held; several pages are always remembered.
    largest_page: usize,
    /// Whether records were delivered that are no longer remembered.
    forgotten: bool,
}

impl Memory {
    /// Where a record stands; none when it is not remembered.
    pub(super) fn find(&self, id: Identity) -> Option<Place> {
        let is_it = |serial: &u32| self.entry(*serial).is_some_and(|(known, _)| *known == id);
        let serial = self.serials.find(id.short(), is_it)?;
        self.entry(*serial).map(|(_, place)| *place)
    }

    /// Remembers a record at the new frontier; false when one of that identity is remembered already.
    pub(super) fn append(&mut self, id: Identity) -> bool {
        self.frontier += 1;
        let at = 2 * self.frontier;
        let place = Place {
            low: at,
            high: at,
            gone: false,
        };
        self.push(id, place)
    }

    /// Notes that the appended records of these ranks are gone.
    pub(super) fn note_gone(&mut self, ranks: Range<u64>) {
        for place in self.appended_from(ranks.start) {
            place.gone |= ranks.contains(&place.rank());
        }
    }

    /// Takes the appended records behind this rank for such that may stand behind what is appended next.
    pub(super) fn loosen(&mut self, rank: u64) {
        for place in self.appended_from(rank + 1) {
            place.high = u64::MAX;
        }
    }

    fn appended_from(&mut self, rank: u64) -> impl Iterator<Item = &mut Place> {
        let places = self.entries.iter_mut().rev().map(|(_, place)| place);
        let appended = places.filter(|place| place.is_appended());
        appended.take_while(move |place| place.rank() >= rank)
    }

    /// How many appended records behind this rank are not known to be gone.
    pub(super) fn left_behind(&self, rank: u64) -> u64 {
        let appended = self.entries.iter().rev().map(|(_, place)| place);
        let behind = appended
            .filter(|place| place.is_appended())
            .take_while(|place| place.rank() > rank);
        let remembered = behind.clone().count() as u64;
        let gone = behind.filter(|place| place.gone).count() as u64;
        // What is forgotten may still be there.
        let forgotten = self
            .frontier
            .saturating_sub(rank)
            .saturating_sub(remembered);
        forgotten + remembered - gone
    }

    /// Remembers a record that stands behind the frontier; false as with `append`.
    pub(super) fn insert(&mut self, id: Identity, place: Place) -> bool {
        self.push(id, place)
    }

    fn push(&mut self, id: Identity, place: Place) -> bool {
        let serial = self.dropped.wrapping_add(self.entries.len() as u32);
        let entries = &self.entries;
        let id_of = |serial: &u32| entry(entries, self.dropped, *serial).map(|(id, _)| *id);
        let is_it = |serial: &u32| id_of(serial) == Some(id);
        let hash = |serial: &u32| id_of(serial).map_or(0, Identity::short);
        let new = match self.serials.entry(id.short(), is_it, hash) {
            Entry::Occupied(mut earlier) => {
                *earlier.get_mut() = serial;
                false
            }
            Entry::Vacant(vacant) => {
                vacant.insert(serial);
                true
            }
        };
        self.entries.push_back((id, place));
        let capacity = self.capacity();
        while self.entries.len() > capacity {
            self.drop_oldest();
        }
        new
    }

    /// Takes the memory for all records at once, since pieces that grow leave holes behind; what is not used yet
    /// takes only addresses.
    fn reserve(&mut self) {
        let capacity = self.capacity() + 1;
        self.entries
            .reserve_exact(capacity.saturating_sub(self.entries.len()));
    }

    fn capacity(&self) -> usize {
        CAPACITY.max(4 * self.largest_page)
    }

    fn drop_oldest(&mut self) {
        self.forgotten = true;
        if let Some((id, _)) = self.entries.pop_front() {
            // Unless a later record of the same identity has taken the slot over.
            let is_it = |serial: &u32| *serial == self.dropped;
            if let Ok(slot) = self.serials.find_entry(id.short(), is_it) {
                slot.remove();
            }
        }
        self.dropped = self.dropped.wrapping_add(1);
    }

    fn entry(&self, serial: u32) -> Option<&(Identity, Place)> {
        entry(&self.entries, self.dropped, serial)
    }

    /// The rank of the record at the frontier.
    pub(super) fn frontier(&self) -> u64 {
        self.frontier
    }

    /// A page of this many records has come.
    pub(super) fn note_page(&mut self, records: usize) {
        self.largest_page = self.largest_page.max(records);
        self.reserve();
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Notes that more has been delivered than is remembered.
    pub(super) fn forget(&mut self) {
        self.forgotten = true;
    }

    pub(super) fn has_forgotten(&self) -> bool {
        self.forgotten
    }
}

/// The entry of a serial number, when `dropped` is that of the first.
fn entry(
    entries: &VecDeque<(Identity, Place)>,
    dropped: u32,
    serial: u32,
) -> Option<&(Identity, Place)> {
    entries.get(serial.wrapping_sub(dropped) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::IdentityKey;

    fn id(number: usize) -> Identity {
        IdentityKey::default().identify(&number.to_le_bytes(), true)
    }

    fn append(memory: &mut Memory, number: usize) -> bool {
        memory.append(id(number))
    }

    #[test]
    fn the_latest_are_remembered_and_the_oldest_are_dropped() {
        let mut memory = Memory::default();
        for number in 0..CAPACITY {
            assert!(append(&mut memory, number));
        }
        assert!(!memory.has_forgotten() && memory.find(id(0)).is_some());
        for number in CAPACITY..3 * CAPACITY {
            assert!(append(&mut memory, number));
            assert!(memory.find(id(number)).is_some());
            assert!(memory.find(id(number - CAPACITY)).is_none());
        }
        assert!(memory.has_forgotten() && memory.len() == CAPACITY);
        assert_eq!(memory.serials.len(), CAPACITY);
    }

    #[test]
    fn serial_numbers_begin_again() {
        let mut memory = Memory {
            dropped: u32::MAX - 2,
            ..Memory::default()
        };
        for number in 0..2 * CAPACITY {
            assert!(append(&mut memory, number));
        }
        for number in 0..CAPACITY {
            assert!(memory.find(id(number)).is_none());
            let rank = memory.find(id(number + CAPACITY)).unwrap().rank();
            assert_eq!(rank, (number + CAPACITY + 1) as u64);
        }
        assert_eq!(memory.serials.len(), CAPACITY);
    }

    #[test]
    fn a_second_record_of_an_identity_is_noticed() {
        let mut memory = Memory::default();
        assert!(append(&mut memory, 1) && append(&mut memory, 2));
        assert!(!append(&mut memory, 1));
        assert_eq!(memory.find(id(1)).unwrap().rank(), 3);
    }
}
