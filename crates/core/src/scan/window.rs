//! Remembers the identities of the records delivered last, in bounded memory.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, VecDeque};
use std::hash::Hasher;

/// How many identities are remembered: 650 pages of 100, about 3 MB at most.
const CAPACITY: usize = 65_536;

/// What tells a record from others: a hash of its `id`, else of all its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    hash: u64,
    pub(crate) by_id: bool,
}

impl Identity {
    pub(crate) fn of(bytes: &[u8], by_id: bool) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(bytes);
        Identity {
            hash: hasher.finish(),
            by_id,
        }
    }
}

/// The identities delivered last.
#[derive(Default)]
pub(crate) struct Window {
    order: VecDeque<u64>,
    count: HashMap<u64, u32>,
    forgotten: bool,
}

impl Window {
    pub(crate) fn contains(&self, id: Identity) -> bool {
        self.count.contains_key(&id.hash)
    }

    pub(crate) fn insert(&mut self, id: Identity) {
        if self.order.len() == CAPACITY {
            self.forgotten = true;
            if let Some(oldest) = self.order.pop_front()
                && let Some(count) = self.count.get_mut(&oldest)
            {
                *count -= 1;
                if *count == 0 {
                    self.count.remove(&oldest);
                }
            }
        }
        self.order.push_back(id.hash);
        *self.count.entry(id.hash).or_default() += 1;
    }

    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether anything delivered is no longer remembered.
    pub(crate) fn has_forgotten(&self) -> bool {
        self.forgotten
    }
}
