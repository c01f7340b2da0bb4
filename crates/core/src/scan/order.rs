//! The delivered records of a scan, in the order of the list: an order-maintenance list with relabelling.
//!
//! Each record has a place, a number that grows along the list. A record that is inserted between two others gets a
//! place between theirs. If there is no room, the places of a stretch after it are spread evenly, which takes a
//! logarithmic number of steps on average (Dietz and Sleator). A record takes 32 bytes, plus at most 17 in the hash
//! table.

use crate::record::RecordId;
use hashbrown::HashTable;

/// The initial distance between the places of two records.
const GAP: u64 = 1 << 32;
/// The number of records in a block. Records are stored in blocks, so that growth copies nothing.
const BLOCK: usize = 1 << 12;
/// The value of `next` for the last record.
const NONE: u32 = u32::MAX;

/// The order of all delivered records.
#[derive(Default)]
pub(super) struct Order {
    blocks: Vec<Vec<Placed>>,
    table: HashTable<u32>,
    /// The record with the highest place.
    pub(super) last: Option<u32>,
}

/// A delivered record with its place.
#[derive(Clone, Copy)]
struct Placed {
    id: RecordId,
    place: u64,
    next: u32,
}

impl Order {
    /// Returns the number of delivered records.
    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    /// Returns the number of a record in the order of delivery.
    pub(super) fn find(&self, id: RecordId) -> Option<u32> {
        let is_it = |number: &u32| self.entry(*number).is_some_and(|entry| entry.id == id);
        self.table.find(id.short(), is_it).copied()
    }

    /// Returns the place of a record. It may be compared with other places until the next insert.
    pub(super) fn place(&self, number: u32) -> u64 {
        self.entry(number).map_or(0, |entry| entry.place)
    }

    /// Returns the record after this one.
    pub(super) fn next(&self, number: u32) -> Option<u32> {
        let next = self.entry(number)?.next;
        (next != NONE).then_some(next)
    }

    /// Adds a record directly after another one, or at the end, and returns its number.
    pub(super) fn insert(&mut self, id: RecordId, behind: Option<u32>) -> u32 {
        let number = u32::try_from(self.len()).unwrap_or(NONE - 1);
        let behind = behind.or(self.last);
        let next = behind.and_then(|behind| self.next(behind));
        let place = match (behind, next) {
            (None, _) => GAP,
            (Some(behind), None) => self.place(behind).saturating_add(GAP),
            (Some(behind), Some(next)) => {
                if self.place(next) - self.place(behind) < 2 {
                    self.spread(behind);
                }
                let before = self.place(behind);
                before + (self.place(next) - before) / 2
            }
        };
        if let Some(entry) = behind.and_then(|behind| self.entry_mut(behind)) {
            entry.next = number;
        }
        if next.is_none() {
            self.last = Some(number);
        }
        if self.blocks.last().is_none_or(|block| block.len() == BLOCK) {
            self.blocks.push(Vec::with_capacity(BLOCK));
        }
        if let Some(block) = self.blocks.last_mut() {
            block.push(Placed {
                id,
                place,
                next: next.unwrap_or(NONE),
            });
        }
        let blocks = &self.blocks;
        let hash = |number: &u32| entry(blocks, *number).map_or(0, |entry| entry.id.short());
        self.table.insert_unique(id.short(), number, hash);
        number
    }

    /// Makes room after a record: spreads the places evenly over the shortest stretch that is sparse enough.
    fn spread(&mut self, from: u32) {
        let start = self.place(from);
        let (mut count, mut at) = (1, self.next(from));
        let end = loop {
            let Some(next) = at else {
                break start.saturating_add(GAP.saturating_mul(count));
            };
            let place = self.place(next);
            if place - start > count * count + count {
                break place;
            }
            count += 1;
            at = self.next(next);
        };
        let step = (end - start) / count;
        let mut at = self.next(from);
        for index in 1..count {
            let Some(number) = at else { break };
            at = self.next(number);
            if let Some(entry) = self.entry_mut(number) {
                entry.place = start + step * index;
            }
        }
    }

    fn entry(&self, number: u32) -> Option<&Placed> {
        entry(&self.blocks, number)
    }

    fn entry_mut(&mut self, number: u32) -> Option<&mut Placed> {
        let number = number as usize;
        self.blocks.get_mut(number / BLOCK)?.get_mut(number % BLOCK)
    }
}

fn entry(blocks: &[Vec<Placed>], number: u32) -> Option<&Placed> {
    let number = number as usize;
    blocks.get(number / BLOCK)?.get(number % BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::IdentityKey;

    fn places(order: &Order) -> Vec<u32> {
        let mut numbers: Vec<u32> = (0..order.len() as u32).collect();
        numbers.sort_by_key(|number| order.place(*number));
        numbers
    }

    /// Inserts always after the first record, always in the middle, or at random.
    #[test]
    fn places_keep_the_order_wherever_records_are_inserted() {
        let key = IdentityKey::random();
        for kind in 0..3 {
            let mut random = fastrand::Rng::with_seed(kind);
            let mut order = Order::default();
            let mut truth: Vec<u32> = Vec::new();
            for number in 0..20_000_u32 {
                let before = match (truth.len(), kind) {
                    (0..2, _) => None,
                    (_, 0) => Some(0),
                    (length, 1) => Some(length / 2),
                    (length, _) => Some(random.usize(..length)),
                };
                let id = key.identify(&number.to_le_bytes(), true);
                let behind = before.map(|index| truth[index]);
                assert_eq!(order.insert(id, behind), number);
                assert_eq!(order.find(id), Some(number));
                truth.insert(before.map_or(truth.len(), |index| index + 1), number);
            }
            assert_eq!(places(&order), truth, "{kind}");
            assert_eq!(order.last, truth.last().copied());
        }
    }
}
