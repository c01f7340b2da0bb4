//! Writes the records of a list, with the identities that the service was told to give them.

use std::iter::repeat_n;

use crate::data::json::{Object, hexadecimal, integer};
use crate::data::{Dice, scramble};
use crate::list::List;
use crate::name::named;

/// What tells the records of a list from each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Ids {
    /// Each record has an `id` of its own: a string, but an integer beyond 2^53 for tasks.
    #[default]
    Unique,
    /// Each record has an `id` of its own, an integer from 1 on.
    Numeric,
    /// No record has an `id`; their other members differ.
    None,
    /// No record has an `id`, and all of them are equal, byte for byte.
    Equal,
    /// No record has an `id`, and one member of each record, a signed URL, is another one at every read.
    Volatile,
    /// Two records, half of the list apart, share one `id`.
    Repeated,
    /// Two records, half of the list apart, have different `id`s with the same 64-bit XXH3 hash (without a seed).
    Colliding,
}

named!(Ids {
    Unique = "unique",
    Numeric = "numeric",
    None = "none",
    Equal = "equal",
    Volatile = "volatile",
    Repeated = "repeated",
    Colliding = "colliding",
});

/// The records of one list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Records<'a> {
    pub(crate) list: &'a List,
    pub(crate) seed: u64,
    pub(crate) ids: Ids,
    /// Records in the list at the start.
    pub(crate) size: u64,
}

impl Records<'_> {
    /// Writes record `number` as a JSON object; the same one each time, unless its identity is volatile, when it
    /// depends on `read` as well.
    pub(crate) fn write(&self, number: u64, read: u64, out: &mut Vec<u8>) {
        let mut object = Object::new(out);
        if self.has_id() {
            object.value("id", |out| self.write_id(number, out));
        }
        if self.ids == Ids::Volatile {
            object.value("photoUrl", |out| {
                out.extend_from_slice(b"\"https://files.example.com/");
                hexadecimal(out, scramble(number));
                out.extend_from_slice(b"?signature=");
                hexadecimal(out, Dice::new(number ^ scramble(read)).next());
                out.push(b'"');
            });
        }
        self.write_members(number, &mut object);
        object.end();
    }

    /// Writes what stays the same of record `number` whenever it is read: its `id`, or a JSON object of the members
    /// that do not change.
    pub(crate) fn write_identity(&self, number: u64, out: &mut Vec<u8>) {
        if self.has_id() {
            return self.write_id(number, out);
        }
        let mut object = Object::new(out);
        self.write_members(number, &mut object);
        object.end();
    }

    fn has_id(&self) -> bool {
        !matches!(self.ids, Ids::None | Ids::Equal | Ids::Volatile)
    }

    fn write_members(&self, number: u64, object: &mut Object<'_>) {
        let number = if self.ids == Ids::Equal { 0 } else { number };
        self.list.write_members(self.seed, number, object);
    }

    fn write_id(&self, number: u64, out: &mut Vec<u8>) {
        let (first, second) = (self.size / 4, self.size / 4 + self.size / 2);
        let pair = number == first || number == second;
        match self.ids {
            Ids::Numeric => integer(out, number + 1),
            Ids::Repeated if pair => self.list.write_id(self.seed, first, out),
            Ids::Colliding if pair => write_colliding(number == first, out),
            _ => self.list.write_id(self.seed, number, out),
        }
    }
}

/// One of two strings of 720 bytes, quotes included, with the XXH3 hash ab743eb91d4c03a7.
///
/// XXH3 multiplies the halves of each eight bytes with a mask applied. Where the masked bytes of one half are zero,
/// which those outside ASCII here see to, the product no longer depends on the other half; what is left is a sum, in
/// which a letter that is one more in one place makes up for a letter that is one less in another.
fn write_colliding(first: bool, out: &mut Vec<u8>) {
    let (one, other) = if first { ('a', 'b') } else { ('b', 'a') };
    let mut text = String::with_capacity(720);
    text.push('"');
    text.extend(repeat_n('a', 15));
    text.push(one);
    text.push_str("aa\u{43417}\u{6c0}");
    text.extend(repeat_n('a', 567));
    text.push(other);
    text.push_str("aa\u{e9}\u{7ac}\u{628}");
    text.extend(repeat_n('a', 118));
    text.push('"');
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use xxhash_rust::xxh3::xxh3_64;

    use super::*;
    use crate::list::lists;

    fn texts(list: &List, ids: Ids, read: u64) -> Vec<String> {
        let records = Records {
            list,
            seed: 3,
            ids,
            size: 400,
        };
        let text = |number| {
            let mut out = Vec::new();
            records.write(number, read, &mut out);
            String::from_utf8(out).unwrap()
        };
        (0..400).map(text).collect()
    }

    fn ids(list: &List, ids: Ids) -> Vec<String> {
        let id = |text: &String| {
            let record: serde_json::Value = serde_json::from_str(text).unwrap();
            record["id"].to_string()
        };
        texts(list, ids, 0).iter().map(id).collect()
    }

    #[test]
    fn without_ids_records_differ_unless_they_are_to_be_equal() {
        for list in lists() {
            for kind in [Ids::None, Ids::Volatile] {
                let texts = texts(list, kind, 0);
                assert!(texts.iter().all(|text| !text.contains("\"id\":")));
                let distinct: HashSet<&String> = texts.iter().collect();
                assert_eq!(distinct.len(), 400, "{kind} {}", list.name);
            }
            let equal: HashSet<String> = texts(list, Ids::Equal, 0).into_iter().collect();
            assert_eq!(equal.len(), 1, "{}", list.name);
        }
    }

    #[test]
    fn only_volatile_records_are_other_ones_at_the_next_read() {
        let list = &lists()[0];
        for kind in Ids::ALL {
            let same = texts(list, kind, 0) == texts(list, kind, 1);
            assert_eq!(same, kind != Ids::Volatile, "{kind}");
        }
    }

    #[test]
    fn two_records_share_an_id_or_its_hash() {
        let list = &lists()[0];
        let repeated = ids(list, Ids::Repeated);
        assert_eq!(repeated[100], repeated[300]);
        assert_eq!(repeated.iter().collect::<HashSet<_>>().len(), 399);
        let colliding = ids(list, Ids::Colliding);
        assert_eq!(colliding.iter().collect::<HashSet<_>>().len(), 400);
        assert_ne!(colliding[100], colliding[300]);
        for id in [&colliding[100], &colliding[300]] {
            assert_eq!(xxh3_64(id.as_bytes()), 0xab74_3eb9_1d4c_03a7);
        }
        assert_eq!(ids(list, Ids::Numeric)[41], "42");
    }
}
