//! The records of a list and the fixed members of its pages, as documented.

use crate::clock::lock;
use crate::options::{Ids, Options};
use crate::samples::{
    IdForm, ObjectWriter, Rng, SampleRecord, hexadecimal, id_form, key, members_of, object, put,
    scramble,
};
use crate::schema::{Direction, Maker, Schemas, scalar};
use crate::spec::{PAGINATION, ServedList, ServiceSpec};
use crate::state::{ChangeEntry, Logged, RecordsState};
use serde_json::{Map, Value};
use std::io;
use std::sync::{Mutex, MutexGuard};

/// The member that distinguishes records without an `id`.
const NUMBER: &str = "number";

/// The number of sample records that are compared with the API description: the first ones, and some of those with late
/// members.
const COMPARED: u64 = 40;

/// The records of one list, and the properties of its pages that are computed once.
#[derive(Debug)]
pub(crate) struct ListRecords {
    spec: &'static ServiceSpec,
    pub(crate) list: &'static ServedList,
    seed: u64,
    ids: Ids,
    /// The number of records at the start.
    size: u64,
    /// The members of the page that are neither records nor pagination.
    pub(crate) members: Map<String, Value>,
    /// The members of the pagination object other than the four of section 2.
    pub(crate) pagination: Map<String, Value>,
    id: IdForm,
    /// True if records have an `id`.
    has_id: bool,
    /// The schema of a record; it allows anything if the fields are not documented.
    record: Value,
    /// True if records are the unchanged sample records.
    sampled: bool,
    state: Mutex<RecordsState>,
}

impl ListRecords {
    /// Creates the records of a list.
    ///
    /// # Errors
    /// If `drift` is set, but the list is too large for it.
    pub(crate) fn new(
        spec: &'static ServiceSpec,
        list: &'static ServedList,
        options: &Options,
    ) -> io::Result<Self> {
        let schemas = &spec.schemas;
        let schema = &list.success.schema;
        let page = schemas.shape(schema);
        let mut maker = Maker::new(schemas, key(&list.name, options.seed));
        // Returns the documented members of an object except some.
        let mut others = |schema: &Value, but: &[&str]| {
            let shape = schemas.shape(schema);
            let Value::Object(mut made) = maker.make(schema) else {
                return Map::new();
            };
            made.retain(|name, _| !but.contains(&name.as_str()) && shape.property(name).is_some());
            made
        };
        let members = others(schema, &[list.served_key(), "pagination"]);
        let pagination = page.property("pagination").unwrap_or(true.into());
        let records = page.property(list.served_key()).unwrap_or(true.into());
        let record = schemas.shape(&records).items();
        let shape = schemas.shape(&record);
        let (id, id_form) = (shape.property("id"), id_form(&list.name));
        let is_open = id.is_some() || !shape.is_closed();
        // A closed schema that does not document an `id` does not allow one.
        let has_id = is_open && !matches!(options.ids, Ids::None | Ids::Equal | Ids::Volatile);
        let given = options.records.get(&list.name).copied();
        let size = given.unwrap_or(list.default_size());
        let mut new = Self {
            spec,
            list,
            seed: options.seed,
            ids: options.ids,
            size,
            members,
            pagination: others(&pagination, &PAGINATION),
            id: id.map_or(id_form, |id| id_form.allowed(schemas, &id)),
            has_id,
            state: Mutex::new(RecordsState::new(options, size, has_id)?),
            sampled: false,
            record: record.clone(),
        };
        new.sampled = new.samples_fit() || !shape.has_properties();
        Ok(new)
    }

    /// Returns the current state of the list.
    pub(crate) fn state(&self) -> MutexGuard<'_, RecordsState> {
        lock(&self.state)
    }

    /// Returns the changes since the start, in order, without the first `skip`.
    pub(crate) fn changes(&self, skip: usize) -> Vec<Logged> {
        let logged = |entry: &ChangeEntry| Logged {
            at: entry.at,
            operation: entry.operation,
            key: self.identity(entry.number),
            record: self.value(entry.number, entry.version, 0),
        };
        self.state().log().iter().skip(skip).map(logged).collect()
    }

    /// Returns the record with this `id`, if it is one of the first million.
    pub(crate) fn record(&self, id: &str) -> Option<Value> {
        let state = self.state();
        let (number, version) = state.find(|number| self.is_called(number, id))?;
        Some(self.value(number, version, state.requests()))
    }

    /// Returns whether there are sample records that are as documented and lack no documented member.
    fn samples_fit(&self) -> bool {
        let Some(members) = members_of(&self.list.name) else {
            return false;
        };
        let schemas = &self.spec.schemas;
        let mut names = schemas.shape(&self.record).names().into_iter();
        let late = self.list.default_size().saturating_sub(COMPARED);
        let mut compared = (0..COMPARED).chain(late..late + COMPARED);
        let fits =
            |number| schemas.accepts(&self.record, &self.sample(number, 0), Direction::Response);
        names.all(|name| name == "id" || members.contains_key(name)) && compared.all(fits)
    }

    /// Returns record `number` of the samples, with its `id`.
    fn sample(&self, number: u64, version: u32) -> Value {
        read(|out| {
            object(out, |object| {
                object.member("id", |out| self.id.write(self.key(), number, out));
                self.sample_of(number, version).write_members(object);
            })
        })
    }

    fn sample_of(&self, number: u64, version: u32) -> SampleRecord<'_> {
        SampleRecord::new(&self.list.name, self.seed, number, version)
    }

    fn key(&self) -> u64 {
        key(&self.list.name, self.seed)
    }

    /// Returns record `number` after `version` updates. It is made from the schema, and then receives the members of
    /// the sample record, which are altered where the schema requires it.
    fn made(&self, number: u64, version: u32) -> Value {
        let (schemas, schema) = (&self.spec.schemas, &self.record);
        let seed = self.key() ^ scramble(number) ^ u64::from(version);
        let mut maker = Maker::new(schemas, seed);
        let value = maker.make(schema);
        match members_of(&self.list.name) {
            Some(_) => maker.completed(schema, value, self.sample(number, version)),
            None => value,
        }
    }

    /// Writes record `number` after `version` updates as a JSON object. It is the same each time, unless its identity
    /// is volatile: then it also depends on `read`.
    pub(crate) fn write(&self, number: u64, version: u32, read: u64, out: &mut Vec<u8>) {
        object(out, |object| {
            if self.has_id {
                object.member("id", |out| self.write_id(number, out));
            }
            if self.ids == Ids::Volatile {
                let photo = hexadecimal(scramble(number));
                let signature = hexadecimal(Rng::new(number ^ scramble(read)).next());
                let url = format!("https://files.example.com/{photo}?signature={signature}");
                object.json("photoUrl", &url.into());
            }
            self.write_members(number, version, object);
        });
    }

    /// Returns record `number` after `version` updates.
    pub(crate) fn value(&self, number: u64, version: u32, read: u64) -> Value {
        self::read(|out| self.write(number, version, read, out))
    }

    /// Returns the part of record `number` that never changes: its `id`, or an object of its constant members.
    pub(crate) fn identity(&self, number: u64) -> Value {
        read(|out| {
            if self.has_id {
                self.write_id(number, out)
            } else {
                object(out, |object| self.write_members(number, 0, object))
            }
        })
    }

    /// Returns whether record `number` has this `id`.
    pub(crate) fn is_called(&self, number: u64, id: &str) -> bool {
        let identity = self.identity(number);
        self.has_id
            && identity
                .as_str()
                .map_or(identity == scalar(id), |text| text == id)
    }

    fn write_members(&self, number: u64, version: u32, object: &mut ObjectWriter<'_>) {
        let number = if self.ids == Ids::Equal { 0 } else { number };
        if self.sampled {
            return self.sample_of(number, version).write_members(object);
        }
        let made = self.made(number, version);
        let members = made.as_object().into_iter().flatten();
        for (name, value) in members.filter(|(name, _)| *name != "id") {
            object.json(name, value);
        }
        // Without an `id`, records made from a schema may be equal by chance.
        let told_apart = self.has_id || self.ids == Ids::Equal || made.get(NUMBER).is_some();
        if !told_apart {
            object.member(NUMBER, |out| put(out, number));
        }
    }

    fn write_id(&self, number: u64, out: &mut Vec<u8>) {
        let [first, second] = self.pair();
        let pair = number == first || number == second;
        match self.ids {
            Ids::Repeated if pair => self.id.write(self.key(), first, out),
            Ids::Colliding if pair => write_colliding(number == first, out),
            _ => self.id.write(self.key(), number, out),
        }
    }

    /// Returns the two records that may have the same `id`, or `id`s with the same hash.
    fn pair(&self) -> [u64; 2] {
        [self.size / 4, self.size / 4 + self.size / 2]
    }
}

/// Writes one of two strings of 720 bytes, including the quotes, with the XXH3 hash ab743eb91d4c03a7.
///
/// XXH3 applies a mask to each eight bytes and multiplies their halves. If the masked bytes of one half are zero, which
/// the letters outside ASCII achieve here, the product does not depend on the other half. A sum remains, in which a
/// letter that is one more in one place compensates for a letter that is one less in another.
fn write_colliding(first: bool, out: &mut Vec<u8>) {
    let (one, other) = if first { ("a", "b") } else { ("b", "a") };
    let [start, middle, end] = [15, 567, 118].map(|count| "a".repeat(count));
    let text = [
        "\"",
        &start,
        one,
        "aa\u{43417}\u{6c0}",
        &middle,
        other,
        "aa\u{e9}\u{7ac}\u{628}",
        &end,
        "\"",
    ];
    out.extend_from_slice(text.concat().as_bytes());
}

/// Returns the value that `write` writes.
fn read(write: impl FnOnce(&mut Vec<u8>)) -> Value {
    let mut out = Vec::new();
    write(&mut out);
    serde_json::from_slice(&out).unwrap_or_default()
}

impl IdForm {
    /// Returns this form if the API description allows it, otherwise the first one that it allows.
    pub(crate) fn allowed(self, schemas: &Schemas, schema: &Value) -> Self {
        let shape = schemas.shape(schema);
        if shape.values("format").any(|format| format == "uuid") {
            return IdForm::Uuid;
        }
        let least = shape.range()[0].unwrap_or_default().ceil();
        let first = IdForm::Integer(least.max(1.0) as u64);
        let allowed = |form: &IdForm| {
            let id = read(|out| form.write(0, 0, out));
            schemas.accepts(schema, &id, Direction::Response)
        };
        let mut forms = [self, IdForm::Hexadecimal, first].into_iter();
        forms.find(allowed).unwrap_or(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::table;
    use crate::spec::lists;
    use std::collections::HashSet;
    use xxhash_rust::xxh3::xxh3_64;

    #[test]
    fn records_are_distinct_as_configured_and_found_by_their_ids() {
        let lists = lists().iter();
        for (list, kind) in lists.flat_map(|list| Ids::ALL.map(|kind| (list, kind))) {
            let options = Options {
                records: [(list.name.clone(), 400)].into(),
                seed: 3,
                ids: kind,
                ..Options::default()
            };
            let records = ListRecords::new(ServiceSpec::embedded(), list, &options).unwrap();
            let texts = |read| -> Vec<Vec<u8>> {
                let text = |number| {
                    let mut out = Vec::new();
                    records.write(number, 0, read, &mut out);
                    out
                };
                (0..400).map(text).collect()
            };
            let texts = [texts(0), texts(1)];
            let same = texts[0] == texts[1];
            assert_eq!(same, kind != Ids::Volatile, "{kind} {}", list.name);
            let distinct: HashSet<&Vec<u8>> = texts[0].iter().collect();
            let count = if kind == Ids::Equal { 1 } else { 400 };
            assert_eq!(distinct.len(), count, "{kind} {}", list.name);
            let mut ids = HashSet::new();
            for (number, text) in (0..).zip(&texts[0]) {
                let record: Value = serde_json::from_slice(text).unwrap();
                ids.insert(record["id"].to_string());
                let without = matches!(kind, Ids::None | Ids::Equal | Ids::Volatile);
                assert_eq!(record.get("id").is_none(), without, "{kind} {}", list.name);
                if ![0, 100, 300, 399].contains(&number) {
                    continue;
                }
                let mut id = Vec::new();
                records.write_id(number, &mut id);
                let plain = std::str::from_utf8(&id).unwrap().trim_matches('"');
                let named = (0..400).filter(|number| records.is_called(*number, plain));
                let expected = match kind {
                    _ if without => vec![],
                    Ids::Repeated if [100, 300].contains(&number) => vec![100, 300],
                    _ => vec![number],
                };
                assert_eq!(named.collect::<Vec<_>>(), expected, "{kind} {}", list.name);
                if kind == Ids::Colliding && [100, 300].contains(&number) {
                    assert_eq!(xxh3_64(&id), 0xab74_3eb9_1d4c_03a7);
                }
            }
            let count = match kind {
                Ids::Unique | Ids::Colliding => 400,
                Ids::Repeated => 399,
                Ids::None | Ids::Equal | Ids::Volatile => 1,
            };
            assert_eq!(ids.len(), count, "{kind} {}", list.name);
        }
    }

    #[test]
    fn sample_records_change_only_if_the_api_description_requires_it() {
        // A list of contacts that lack some members of our samples and have others.
        let document: Value = table("contacts");
        let page = &document["paths"]["/v1/contacts"]["get"]["responses"]["200"]["content"];
        let page = &page["application/json"]["schema"]["properties"];
        let contact = page["contacts"]["items"].clone();
        let spec: &ServiceSpec = Box::leak(Box::new(ServiceSpec::read(document)));
        let records = ListRecords::new(spec, &spec.lists[0], &Options::default()).unwrap();
        for number in 0..100 {
            let (value, sample) = (records.value(number, 0, 0), records.sample(number, 0));
            let accepted = spec.schemas.accepts(&contact, &value, Direction::Response);
            assert!(accepted, "{value}");
            for name in ["id", "firstName", "email", "tags"] {
                assert_eq!(value[name], sample[name], "{value}");
            }
            assert_eq!(value["location"]["city"], sample["location"]["city"]);
            assert_eq!(value["location"]["region"], "north");
        }
    }

    #[test]
    fn ids_differ_in_a_form_that_the_api_description_allows() {
        for (schema, expected) in table::<Vec<(Value, String)>>("ids") {
            let form = IdForm::Hexadecimal.allowed(&Schemas::default(), &schema);
            assert_eq!(format!("{form:?}"), expected, "{schema}");
            let numbers = [0, 1, 41, 1 << 40, u64::MAX - 9].into_iter();
            let ids = numbers.map(|number| read(|out| form.write(99, number, out)).to_string());
            assert_eq!(ids.collect::<HashSet<_>>().len(), 5, "{form:?}");
        }
    }
}
