//! Writes the records of a list, with the identities that the service was told to give them.

use std::iter::repeat_n;

use crate::data::json::{Object, hexadecimal, integer};
use crate::data::{IdForm, Rng, scramble};
use crate::list::List;
use crate::name::named;
use crate::plan::{Plan, Source};

/// What tells the records of a list from each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Ids {
    /// Each record has an `id` of its own: as documented, or else a string, but an integer beyond 2^53 for tasks.
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

impl Ids {
    /// Whether records have an `id`.
    pub(crate) fn are_given(self) -> bool {
        !matches!(self, Self::None | Self::Equal | Self::Volatile)
    }
}

/// The records of one list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Records<'a> {
    pub(crate) list: &'a List,
    pub(crate) plan: &'a Plan,
    pub(crate) seed: u64,
    pub(crate) ids: Ids,
    /// Records in the list at the start.
    pub(crate) size: u64,
}

impl Records<'_> {
    /// Writes record `number` after `version` updates as a JSON object; the same one each time, unless its identity is
    /// volatile, when it depends on `read` as well.
    pub(crate) fn write(&self, number: u64, version: u32, read: u64, out: &mut Vec<u8>) {
        let mut object = Object::new(out);
        if self.has_id() {
            object.value("id", |out| self.write_id(number, out));
        }
        if self.ids == Ids::Volatile {
            object.value("photoUrl", |out| {
                out.extend_from_slice(b"\"https://files.example.com/");
                hexadecimal(out, scramble(number));
                out.extend_from_slice(b"?signature=");
                hexadecimal(out, Rng::new(number ^ scramble(read)).next());
                out.push(b'"');
            });
        }
        self.write_members(number, version, &mut object);
        object.end();
    }

    /// Writes what stays the same of record `number` whenever it is read: its `id`, or a JSON object of the members
    /// that do not change.
    pub(crate) fn write_identity(&self, number: u64, out: &mut Vec<u8>) {
        if self.has_id() {
            return self.write_id(number, out);
        }
        let mut object = Object::new(out);
        self.write_members(number, 0, &mut object);
        object.end();
    }

    /// The number of the record with this `id`, if there can be one.
    pub(crate) fn find(&self, id: &str) -> Option<u64> {
        let key = self.list.key(self.seed);
        let (first, second) = self.pair();
        let forms = [self.plan.id, IdForm::Integer(1)].into_iter();
        let candidates = forms.filter_map(|form| form.number(key, id));
        let mut candidates = candidates.chain([first, second]).filter(|_| self.has_id());
        candidates.find(|number| {
            let mut out = Vec::new();
            self.write_id(*number, &mut out);
            match serde_json::from_slice(&out) {
                Ok(serde_json::Value::String(text)) => text == id,
                _ => out == id.as_bytes(),
            }
        })
    }

    fn has_id(&self) -> bool {
        self.plan.has_id && self.ids.are_given()
    }

    fn write_members(&self, number: u64, version: u32, object: &mut Object<'_>) {
        let number = if self.ids == Ids::Equal { 0 } else { number };
        if self.plan.source == Source::Samples {
            return self.list.write_members(self.seed, number, version, object);
        }
        let members = self.plan.members(self.list, self.seed, number, version);
        for (name, value) in &members {
            object.json(name, value);
        }
        // Without an `id`, records made by a schema may be equal by chance.
        let told_apart = self.has_id() || self.ids == Ids::Equal;
        if !told_apart && !members.contains_key(NUMBER) {
            object.number(NUMBER, number);
        }
    }

    fn write_id(&self, number: u64, out: &mut Vec<u8>) {
        let key = self.list.key(self.seed);
        let (first, second) = self.pair();
        let pair = number == first || number == second;
        match self.ids {
            Ids::Numeric => integer(out, number + 1),
            Ids::Repeated if pair => self.plan.id.write(key, first, out),
            Ids::Colliding if pair => write_colliding(number == first, out),
            _ => self.plan.id.write(key, number, out),
        }
    }

    /// The two records that may have the same `id`, or `id`s with the same hash.
    fn pair(&self) -> (u64, u64) {
        (self.size / 4, self.size / 4 + self.size / 2)
    }
}

/// A member that tells records without an `id` apart.
const NUMBER: &str = "number";

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
    use crate::options::Options;

    fn texts(list: &List, ids: Ids, read: u64) -> Vec<String> {
        let plan = Plan::new(list, &Options::default());
        let records = Records {
            list,
            plan: &plan,
            seed: 3,
            ids,
            size: 400,
        };
        let text = |number| {
            let mut out = Vec::new();
            records.write(number, 0, read, &mut out);
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
                let id = |text: &String| {
                    let record: serde_json::Value = serde_json::from_str(text).unwrap();
                    record.get("id").cloned()
                };
                assert!(texts.iter().all(|text| id(text).is_none()), "{}", list.name);
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

    #[test]
    fn records_are_found_by_their_ids() {
        for list in lists() {
            let plan = Plan::new(list, &Options::default());
            for kind in Ids::ALL {
                let records = Records {
                    list,
                    plan: &plan,
                    seed: 3,
                    ids: kind,
                    size: 400,
                };
                for number in [0, 100, 300, 399] {
                    let mut id = Vec::new();
                    records.write_id(number, &mut id);
                    let id: serde_json::Value = serde_json::from_slice(&id).unwrap();
                    let text = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
                    let expected = match kind {
                        Ids::None | Ids::Equal | Ids::Volatile => None,
                        Ids::Repeated if number == 300 => Some(100),
                        _ => Some(number),
                    };
                    assert_eq!(records.find(&text), expected, "{kind} {} {text}", list.name);
                }
                assert_eq!(records.find("nobody"), None);
            }
        }
    }
}
