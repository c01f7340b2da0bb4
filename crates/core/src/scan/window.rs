//! Remembers the identities of the records delivered last, in bounded memory.

use serde::{Deserialize, Serialize};
use std::collections::{HashMap, VecDeque};
use xxhash_rust::xxh3::xxh3_64;

/// How many identities are remembered: 650 pages of 100, about 3 MB at most.
const CAPACITY: usize = 65_536;

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

    /// From here on it knows that there is more than it remembers.
    pub(crate) fn forget(&mut self) {
        self.forgotten = true;
    }

    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether anything delivered is no longer remembered.
    pub(crate) fn has_forgotten(&self) -> bool {
        self.forgotten
    }
}
