//! References from records to those of other lists, by `id` and name, so that lists join.

use super::json::{Object, integer, string};
use super::{List, Rng, job};
use crate::list::lists;

/// References go to so many records at the beginning of a list, which most lists have.
const REFERENCED: u64 = 100;

/// A record that others refer to.
#[derive(Clone, Copy)]
pub(super) struct Related {
    list: &'static List,
    seed: u64,
    number: u64,
}

impl Related {
    /// One of the first records of this list; none where the document has no such list.
    pub(super) fn random(list: &str, seed: u64, rng: &mut Rng) -> Option<Self> {
        let size = find(list)?.default_size();
        Self::at(list, seed, rng.below(size.min(REFERENCED)))
    }

    pub(super) fn at(list: &str, seed: u64, number: u64) -> Option<Self> {
        let list = find(list)?;
        Some(Self { list, seed, number })
    }

    /// Writes its `id`.
    pub(super) fn write_id(&self, out: &mut Vec<u8>) {
        let key = self.list.key(self.seed);
        self.list.id_form().write(key, self.number, out);
    }

    /// Writes its name, as it has it itself.
    pub(super) fn write_name(&self, out: &mut Vec<u8>) {
        let mut rng = self.list.rng(self.seed, self.number, 0);
        string(out, rng.pick(job::texts(self.list.name)));
        out.pop();
        out.push(b' ');
        integer(out, self.number);
        out.push(b'"');
    }

    /// Members that say which record it is.
    pub(super) fn write_members(&self, object: &mut Object<'_>) {
        object.value("id", |out| self.write_id(out));
        object.value("name", |out| self.write_name(out));
    }
}

/// Different records of a list, in order.
pub(super) fn several(list: &str, seed: u64, count: u64, rng: &mut Rng) -> Vec<Related> {
    let random = (0..count).filter_map(|_| Related::random(list, seed, rng));
    let mut related: Vec<Related> = random.collect();
    related.sort_unstable_by_key(|related| related.number);
    related.dedup_by_key(|related| related.number);
    related
}

fn find(list: &str) -> Option<&'static List> {
    lists().iter().find(|known| known.name == list)
}
