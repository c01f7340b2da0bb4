//! The paginated lists: what the document says of them, what they hold, and their pages (sections 2, 4 and 8).

use crate::http::{Answer, Received};
use crate::inspect::invalid_parameter;
use crate::options::{Options, named};
use crate::records::Records;
use crate::samples;
use crate::samples::{Object, array, hash, put};
use crate::schema::{Schemas, whole_bounds};
use crate::service::{Clock, lock};
use crate::spec::{Operation, Spec, Success};
use crate::state::{Logged, State};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Mutex;

/// The most records on a page where the document gives no maximum.
const USUAL_MAX_LIMIT: u64 = 100;

/// The members of the pagination object (section 2).
pub(crate) const PAGINATION: [&str; 4] = ["total", "limit", "offset", "hasMore"];

/// A paginated list of the service (section 4).
#[derive(Debug, Clone)]
pub struct List {
    /// The path after `/v1/`, with `_` for `/` and `-`.
    pub name: String,
    /// The whole path.
    pub path: String,
    /// The member that holds the records, where the document shows it.
    pub record_key: Option<String>,
    /// Records on a page when `limit` is not given: as documented, or else 20 to 50, another number for most lists
    /// (section 8). Which number is the sandbox's choice.
    pub default_limit: u64,
    /// The most records on a page, whatever `limit` asks for: as documented, or else 100.
    pub max_limit: u64,
    /// What the list holds, in words.
    pub(crate) noun: String,
    /// The response that holds a page.
    pub(crate) success: Success,
}

/// All paginated lists, in the document's order.
#[must_use]
pub fn lists() -> &'static [List] {
    &Spec::embedded().lists
}

/// The list that an operation reads: a `GET` with `limit` and `offset` whose response has the pagination object.
pub(crate) fn list(schemas: &Schemas, operation: &Operation) -> Option<List> {
    if operation.method != "GET" || operation.path.contains('{') {
        return None;
    }
    let [limit, _] = ["limit", "offset"].map(|name| {
        let mut all = operation.parameters.iter();
        let found = all.find(|one| one.location == "query" && one.name == name)?;
        schemas.shape(&found.schema).is("integer").then_some(found)
    });
    let limit = schemas.shape(&limit?.schema);
    let page = schemas.shape(&operation.success.schema);
    let pagination = page.property("pagination")?;
    let pagination = schemas.shape(&pagination);
    let required: Vec<&str> = pagination.required().collect();
    if !PAGINATION.iter().all(|name| required.contains(name)) {
        return None;
    }
    let is_records = |name: &&str| {
        let schema = page.property(name).unwrap_or_default();
        let shape = schemas.shape(&schema);
        shape.is("array") && schemas.shape(&shape.items()).is("object")
    };
    let name = name(&operation.path);
    let [_, most] = whole_bounds(&limit);
    let max_limit = most.filter(|most| *most > 0.0).map(|most| most as u64);
    let max_limit = max_limit.unwrap_or(USUAL_MAX_LIMIT);
    let mut defaults = limit.values("default").filter_map(|one| one.as_u64());
    let chosen = (20 + hash(&name) % 7 * 5).min(max_limit);
    Some(List {
        path: operation.path.clone(),
        record_key: page.names().into_iter().find(is_records).map(str::to_owned),
        default_limit: defaults.find(|one| *one > 0).unwrap_or(chosen),
        max_limit,
        noun: operation.summary.clone(),
        success: operation.success.clone(),
        name,
    })
}

/// The name that a list has everywhere: `/v1/ja/skills` is `ja_skills`.
fn name(path: &str) -> String {
    let mut name = String::new();
    for letter in path.trim_start_matches("/v1/").chars() {
        let after = name
            .chars()
            .last()
            .is_some_and(|last| last.is_ascii_lowercase());
        if letter.is_uppercase() && after {
            name.push('_');
        }
        match letter {
            '/' | '-' | '_' if name.is_empty() || name.ends_with('_') => {}
            '/' | '-' => name.push('_'),
            letter => name.extend(letter.to_lowercase()),
        }
    }
    name
}

impl List {
    /// Records in the list unless [`Options::records`](crate::Options::records) gives another number.
    #[must_use]
    pub fn default_size(&self) -> u64 {
        samples::default_size(&self.name)
    }

    /// Whether it stands right below the version, as those of the core CRM do.
    pub(crate) fn is_core(&self) -> bool {
        self.path.matches('/').count() == 2
    }

    /// The member that holds the records. Where the document does not show it, the sandbox chooses one of three, so
    /// that a client has to find it in the response.
    pub(crate) fn served_key(&self) -> &str {
        let last = self.path.rsplit('/').next().unwrap_or(&self.name);
        self.record_key
            .as_deref()
            .unwrap_or(match hash(&self.name) % 3 {
                0 => last,
                1 => "data",
                _ => "items",
            })
    }
}

/// The contents of all lists.
#[derive(Debug)]
pub(crate) struct Contents {
    options: Options,
    lists: Vec<Held>,
}

/// The contents of one list.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) records: Records,
    state: Mutex<State>,
    clock: Clock,
}

impl Held {
    /// Works on the list as it is now.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(lock(&self.state).at(self.clock.now()))
    }

    pub(crate) fn page(&self, asked: Asked) -> Slice {
        self.with(|state| state.page(asked))
    }

    /// The record with this `id`, if the list holds it.
    pub(crate) fn record(&self, id: &str) -> Option<Value> {
        let number = self.records.find(id)?;
        let (version, read) = self.with(|state| state.reads_of(number))?;
        Some(self.records.value(number, version, read))
    }

    /// Deletes the record with this `id`, if the list holds it.
    pub(crate) fn delete(&self, id: &str) {
        if let Some(number) = self.records.find(id) {
            self.with(|state| state.delete_number(number));
        }
    }

    /// What has happened to the list, but for the first `skip` changes.
    pub(crate) fn changes(&self, skip: usize) -> Vec<Logged> {
        self.with(|state| {
            let entries = state.log().iter().skip(skip);
            entries.map(|entry| entry.logged(&self.records)).collect()
        })
    }
}

impl Contents {
    /// An error when `options.records` names a list that there is not.
    pub(crate) fn new(spec: &'static Spec, options: &Options, clock: Clock) -> io::Result<Self> {
        let lists = spec.lists.iter().map(|list| {
            let records = Records::new(spec, list, options);
            let state = State::new(options, records.size, records.has_id);
            Held {
                records,
                state: Mutex::new(state),
                clock,
            }
        });
        let contents = Self {
            lists: lists.collect(),
            options: options.clone(),
        };
        let mut names = options.records.keys();
        names.try_for_each(|name| contents.named(name).map(drop))?;
        Ok(contents)
    }

    pub(crate) fn at_path(&self, path: &str) -> Option<&Held> {
        self.lists
            .iter()
            .find(|held| held.records.list.path == path)
    }

    /// The list of this name.
    ///
    /// # Errors
    ///
    /// When there is no such list.
    pub(crate) fn named(&self, name: &str) -> io::Result<&Held> {
        let mut all = self.lists.iter();
        if let Some(held) = all.find(|held| held.records.list.name == name) {
            return Ok(held);
        }
        let names = self
            .lists
            .iter()
            .map(|held| held.records.list.name.as_str());
        let names = names.collect::<Vec<_>>().join(", ");
        let message = format!("there is no list `{name}`, only {names}");
        Err(io::Error::new(io::ErrorKind::InvalidInput, message))
    }

    /// Gives all lists their first state.
    pub(crate) fn restart(&self) {
        for held in &self.lists {
            let (size, has_id) = (held.records.size, held.records.has_id);
            *lock(&held.state) = State::new(&self.options, size, has_id);
        }
    }
}

/// Where a page starts and how many records it may hold, as asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) offset: u64,
    pub(crate) limit: u64,
}

impl Asked {
    /// Reads `limit` and `offset`. The sandbox's choices: what is no integer, a negative number and a limit of 0 are
    /// answered 400; a limit above the most is cut to it without a word (section 8: not shown).
    pub(crate) fn read(request: &Received, records: &Records) -> Result<Self, Answer> {
        let limit = integer(request, "limit", records.list.default_limit, 1)?;
        Ok(Self {
            offset: integer(request, "offset", 0, 0)?,
            limit: limit.min(records.max_limit),
        })
    }
}

fn integer(request: &Received, name: &str, default: u64, least: u64) -> Result<u64, Answer> {
    let Some(text) = request.parameter(name) else {
        return Ok(default);
    };
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text
        .parse()
        .ok()
        .filter(|number| digits && *number >= least);
    number.ok_or_else(|| {
        let expected = format!("an integer of at least {least}");
        invalid_parameter("query", name, "", &expected)
    })
}

/// The records of a page, by number, and how many records the list holds at that moment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    pub(crate) total: u64,
    pub(crate) numbers: Vec<Range<u64>>,
    /// How often records of the page have been updated, by number.
    pub(crate) versions: BTreeMap<u64, u32>,
    /// Page requests that the list had before this one.
    pub(crate) read: u64,
}

impl Slice {
    fn version(&self, number: u64) -> u32 {
        self.versions.get(&number).copied().unwrap_or_default()
    }
}

/// What the pagination object says of the length of the list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Total {
    /// How many records there are, and whether more follow.
    #[default]
    Exact,
    /// A `total` of 0; `hasMore` is right.
    Zero,
    /// A `total` of 0, and `hasMore` is always true, even beyond the end.
    Unknown,
}

named!(Total {
    Exact = "exact",
    Zero = "zero",
    Unknown = "unknown",
});

/// Enough for most records, so that the buffer seldom grows.
const USUAL_RECORD_BYTES: usize = 600;

/// The page as the document shows it. `limit` is the number of records in the response (section 2), not the number asked for.
pub(crate) fn page(options: &Options, records: &Records, asked: Asked, slice: &Slice) -> Answer {
    let list = records.list;
    let lengths = slice.numbers.iter().map(|range| range.end - range.start);
    let count: u64 = lengths.sum();
    let mut out = Vec::with_capacity(200 + count as usize * USUAL_RECORD_BYTES);
    let mut object = Object::new(&mut out);
    for (name, value) in &records.members {
        object.json(name, value);
    }
    object.member(list.served_key(), |out| {
        let numbers = slice.numbers.iter().cloned().flatten();
        array(out, numbers, |out, number| {
            records.write(number, slice.version(number), slice.read, out);
        });
    });
    let warned = options.warnings && count == 0 && list.record_key.is_none();
    if warned {
        let message = "There are no records at this place.";
        let warning = json!([{"code": "no_records", "message": message}]);
        object.json("warnings", &warning);
    }
    let end = asked.offset.saturating_add(count);
    let (total, has_more) = match options.total {
        Total::Exact => (slice.total, end < slice.total),
        Total::Zero => (0, end < slice.total),
        Total::Unknown => (0, true),
    };
    object.member("pagination", |out| {
        let mut pagination = Object::new(out);
        let limit = if warned { asked.limit } else { count };
        for (name, number) in [("total", total), ("limit", limit), ("offset", asked.offset)] {
            pagination.member(name, |out| put(out, number));
        }
        pagination.member("hasMore", |out| put(out, has_more));
        for (name, value) in &records.pagination {
            pagination.json(name, value);
        }
        pagination.end();
    });
    object.end();
    let Success {
        status,
        content_type,
        ..
    } = &list.success;
    let content_type = content_type.as_deref().unwrap_or("application/json");
    Answer::written(*status, content_type, out)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The lists of a document with one operation whose pages hold these properties.
    fn read(path: &str, limit: &Value, properties: &Value) -> Vec<List> {
        let mut page = json!({"properties": {"pagination": {"required": PAGINATION}}});
        let more = properties.as_object().unwrap().clone();
        page["properties"].as_object_mut().unwrap().extend(more);
        let document = json!({"paths": {path: {"get": {
            "parameters": [
                {"name": "limit", "in": "query", "schema": limit},
                {"name": "offset", "in": "query", "schema": {"type": "integer"}},
            ],
            "responses": {"200": {"content": {"application/json": {"schema": page}}}},
        }}}});
        Spec::read(document).lists
    }

    #[test]
    fn limits_are_documented_or_chosen() {
        for list in lists() {
            let (default, most) = (list.default_limit, list.max_limit);
            assert!((1..=most).contains(&default), "{} {default}", list.name);
            assert!((40..=2500).contains(&list.default_size()), "{}", list.name);
        }
        for (limit, most, default) in [
            (json!({"type": "integer"}), 100, 20..=50),
            (json!({"type": "integer", "maximum": 0}), 100, 20..=50),
            (json!({"type": "integer", "exclusiveMaximum": 8}), 7, 7..=7),
            (
                json!({"type": "integer", "maximum": 250, "default": 30}),
                250,
                30..=30,
            ),
            (
                json!({"type": "integer", "maximum": 30, "default": 30}),
                30,
                30..=30,
            ),
        ] {
            let list = &read("/v1/ja/levels", &limit, &json!({}))[0];
            assert_eq!(list.max_limit, most, "{limit}");
            assert!(default.contains(&list.default_limit), "{limit}");
        }
    }

    #[test]
    fn the_record_key_is_documented_or_has_to_be_found() {
        let limit = json!({"type": "integer"});
        let keys = ["one", "two", "three", "four", "five", "six"].map(|group| {
            let list = read(&format!("/v1/{group}/last"), &limit, &json!({})).remove(0);
            list.served_key().to_owned()
        });
        for key in ["last", "data", "items"] {
            assert!(keys.iter().any(|one| one == key), "{keys:?}");
        }
        let properties = json!({
            "tags": {"type": "array", "items": {"type": "string"}},
            "people": {"type": "array", "items": {"properties": {"id": {}}}},
        });
        let list = &read("/v1/one", &limit, &properties)[0];
        assert_eq!(list.served_key(), "people");
    }

    #[test]
    fn a_list_pages_by_limit_and_offset_and_has_the_name_of_its_path() {
        let limit = json!({"type": "integer"});
        for (path, name, core) in [
            ("/v1/contacts", "contacts", true),
            ("/v1/ja/skills", "ja_skills", false),
            ("/v1/teamMembers", "team_members", true),
            ("/v1/taxonomy/a-b", "taxonomy_a_b", false),
        ] {
            let list = &read(path, &limit, &json!({}))[0];
            assert_eq!((list.name.as_str(), list.is_core()), (name, core), "{path}");
        }
        assert!(read("/v1/a", &json!({"type": "string"}), &json!({})).is_empty());
        assert!(read("/v1/a/{b}", &limit, &json!({})).is_empty());
        assert!(read("/v1/a", &limit, &json!({"pagination": {}})).is_empty());
    }
}
