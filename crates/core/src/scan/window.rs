//! Remembers the identities of the records delivered last, in bounded memory.

use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use xxhash_rust::xxh3::xxh3_64;

/// How many identities a generation holds, unless a single page has more: as many as fit a hash table of 16,384 places. Two generations
/// are remembered: at least 140 pages of 100, 300 kB at most.
const GENERATION: usize = 14_336;

/// What tells a record from others: a hash of its `id`, else of all its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    hash: u64,
    pub(crate) by_id: bool,
}

impl Identity {
    pub(crate) fn of(bytes: &[u8], by_id: bool) -> Self {
        Identity {
            hash: xxh3_64(bytes),
            by_id,
        }
    }
}

/// The identities delivered last, in two generations: when the young one is full, the old one goes.
#[derive(Default)]
pub(crate) struct Window {
    young: Hashes,
    old: Hashes,
    forgotten: bool,
}

type Hashes = HashSet<u64, BuildHasherDefault<AsItIs>>;

impl Window {
    pub(crate) fn contains(&self, id: Identity) -> bool {
        self.young.contains(&id.hash) || self.old.contains(&id.hash)
    }

    /// Takes in the identities of a page; false when two of its records have the same `id`.
    pub(crate) fn remember(&mut self, page: impl ExactSizeIterator<Item = Identity>) -> bool {
        if !self.young.is_empty() && self.young.len() + page.len() > GENERATION {
            self.forgotten |= !self.old.is_empty();
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
        let mut distinct = true;
        for id in page {
            distinct &= self.young.insert(id.hash) || !id.by_id;
        }
        distinct
    }

    /// From here on it knows that there is more than it remembers.
    pub(crate) fn forget(&mut self) {
        self.forgotten = true;
    }

    pub(crate) fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    /// Whether anything delivered is no longer remembered.
    pub(crate) fn has_forgotten(&self) -> bool {
        self.forgotten
    }
}

/// Hashes what is a hash already.
#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64(bytes);
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_remembered_and_the_oldest_go() {
        let id = |number: usize| Identity::of(&number.to_le_bytes(), true);
        let mut window = Window::default();
        let remember = |window: &mut Window, number| window.remember([id(number)].into_iter());
        for number in 0..2 * GENERATION {
            assert!(remember(&mut window, number));
        }
        assert!(!window.has_forgotten() && window.contains(id(0)));
        for number in 2 * GENERATION..5 * GENERATION / 2 {
            remember(&mut window, number);
            assert!(window.contains(id(number)) && window.contains(id(number - GENERATION)));
        }
        assert!(window.has_forgotten() && !window.contains(id(0)));
        assert!(window.len() <= 2 * GENERATION);
    }

    #[test]
    fn two_records_of_a_page_with_one_id_are_noticed() {
        let ids = |by_id| [b"a", b"b", b"a"].map(|bytes| Identity::of(bytes, by_id));
        assert!(!Window::default().remember(ids(true).into_iter()));
        // Without an id, records may well be equal.
        assert!(Window::default().remember(ids(false).into_iter()));
    }
}
