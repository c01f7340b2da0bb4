//! Compares records with a schema that was given, and counts how they differ.

use super::options::{OnNew, TableOptions};
use super::plan::{Origin, Plans};
use super::row::{Cell, Form, read};
use super::schema::{Column, EXTRA, Kind, TableSchema};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use talentdata_core::RawRecord;
use talentdata_core::json;
use talentdata_core::scan::{Difference, Example, SchemaDifferences};
use talentdata_core::{Error, ErrorKind, Result};

/// More fields than this are counted together: a service that uses names as data must not fill the memory.
const MOST_NAMES: usize = 1000;
/// Under this name.
const OTHERS: &str = "...";

/// Compares records with a schema.
pub(crate) struct Checker {
    schema: Arc<TableSchema>,
    on_new: OnNew,
    plans: Plans,
    counts: Counts,
}

/// What was counted so far; a checkpoint keeps it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Counts {
    records: u64,
    new: Differences,
    other: Differences,
    missing: Differences,
    /// For each column, how often its field was absent or null.
    absent: Vec<Option<Difference>>,
}

type Differences = BTreeMap<String, Difference>;

impl Checker {
    /// None where no schema is given.
    pub(crate) fn new(options: &TableOptions) -> Option<Self> {
        let schema = Arc::clone(options.schema.as_ref()?);
        Some(Checker {
            on_new: options.on_new,
            plans: Plans::new(&schema.fields),
            counts: Counts {
                absent: vec![None; schema.fields.len()],
                ..Counts::default()
            },
            schema,
        })
    }

    /// What was counted so far.
    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Goes on counting from here.
    pub(crate) fn go_on(&mut self, counts: Counts) {
        self.counts = counts;
        self.counts.absent.resize(self.schema.fields.len(), None);
    }

    /// How the records differed so far.
    pub(crate) fn differences(&self) -> SchemaDifferences {
        let mut missing = self.counts.missing.clone();
        for (column, absent) in self.schema.iter().zip(&self.counts.absent) {
            if let Some(absent) = absent
                && (!column.nullable || absent.count == self.counts.records)
            {
                missing.insert(pointer("", &column.name), absent.clone());
            }
        }
        SchemaDifferences {
            new_fields: self.counts.new.clone(),
            missing_fields: missing,
            other_types: self.counts.other.clone(),
        }
    }

    /// Counts how a record differs.
    ///
    /// # Errors
    /// `Schema`, naming record and field, for a new field where that is to fail.
    pub(crate) fn check(&mut self, record: &RawRecord) -> Result<()> {
        let columns = &self.schema.fields;
        let members = record.members();
        let plan = self.plans.of(&members, columns);
        let counts = &mut self.counts;
        counts.records += 1;
        let mut place = Place {
            offset: record.offset(),
            path: String::new(),
            pointer: String::new(),
        };
        let mut fresh = None;
        let mut comparison = Comparison {
            on_new: self.on_new,
            counts,
            fresh: &mut fresh,
        };
        for field in &plan.extra {
            let (name, value) = members[*field];
            let known = |name: &str| columns.iter().any(|column| column.name == name);
            match json::text(name) {
                // `_extra` holds a field of its own name.
                Some(name) if known(&name) || name == EXTRA => {}
                Some(name) => place.within(&name, &name, |place| {
                    comparison.new_field(place, value);
                }),
                None => {}
            }
        }
        for (at, (column, origin)) in columns.iter().zip(&plan.origins).enumerate() {
            let value = match *origin {
                Origin::Absent => None,
                Origin::Only(field) | Origin::Last(field) => Some(members[field].1),
            };
            place.within(&column.name, &column.name, |place| match value {
                None | Some("null") => {
                    count_one(&mut comparison.counts.absent[at], place, value);
                }
                Some(value) => comparison.value(&column.kind, value, place),
            });
        }
        match fresh {
            Some(pointer) => {
                let message = format!(
                    "record {} of the list: {pointer}: the schema has no such field",
                    record.offset()
                );
                Err(record.fault(Error::new(ErrorKind::Schema, message)))
            }
            None => Ok(()),
        }
    }
}

/// A record that is being compared.
struct Comparison<'a> {
    on_new: OnNew,
    counts: &'a mut Counts,
    /// The first new field, where that is an error.
    fresh: &'a mut Option<String>,
}

impl Comparison<'_> {
    fn new_field(&mut self, place: &Place, value: &str) {
        match self.on_new {
            OnNew::Keep => count(&mut self.counts.new, place, Some(value)),
            OnNew::Freeze => {}
            OnNew::Fail => {
                self.fresh.get_or_insert_with(|| place.pointer.clone());
            }
        }
    }

    /// A value that is not null.
    fn value(&mut self, kind: &Kind, value: &str, place: &mut Place) {
        match kind {
            Kind::List { items } if value.starts_with('[') => {
                let mut index = 0_usize;
                json::each_item(value, |item| {
                    if item != "null" {
                        place.within("*", &index.to_string(), |place| {
                            self.value(items, item, place);
                        });
                    }
                    index += 1;
                });
            }
            Kind::Struct { fields } if value.starts_with('{') => {
                self.members(fields, value, place);
            }
            Kind::Json => {}
            Kind::List { .. } | Kind::Struct { .. } => {
                count(&mut self.counts.other, place, Some(value));
            }
            kind => {
                if let (Cell::Empty, _) = read(kind, Form::Cells, value) {
                    count(&mut self.counts.other, place, Some(value));
                }
            }
        }
    }

    fn members(&mut self, fields: &[Column], object: &str, place: &mut Place) {
        let mut values = vec![None; fields.len()];
        let mut next = 0;
        json::each_member(object, |raw_name, value| {
            let Some(name) = json::text(raw_name) else {
                return;
            };
            let usual = fields.get(next).is_some_and(|field| field.name == name);
            let found = usual.then_some(next);
            match found.or_else(|| fields.iter().position(|field| field.name == name)) {
                Some(at) => {
                    values[at] = Some(value);
                    next = at + 1;
                }
                None => place.within(&name, &name, |place| self.new_field(place, value)),
            }
        });
        for (field, value) in fields.iter().zip(values) {
            place.within(&field.name, &field.name, |place| match value {
                None | Some("null") if field.nullable => {}
                None | Some("null") => count(&mut self.counts.missing, place, value),
                Some(value) => self.value(&field.kind, value, place),
            });
        }
    }
}

/// Where a value is.
struct Place {
    /// Of the record in the list.
    offset: u64,
    /// The field's JSON pointer, with `*` in the place of an index.
    path: String,
    /// The value's JSON pointer.
    pointer: String,
}

impl Place {
    /// Does something one step further.
    fn within(&mut self, name: &str, step: &str, work: impl FnOnce(&mut Place)) {
        let (path, at) = (self.path.len(), self.pointer.len());
        push(&mut self.path, name);
        push(&mut self.pointer, step);
        work(self);
        self.path.truncate(path);
        self.pointer.truncate(at);
    }
}

fn pointer(parent: &str, name: &str) -> String {
    let mut pointer = parent.to_owned();
    push(&mut pointer, name);
    pointer
}

fn push(pointer: &mut String, step: &str) {
    pointer.push('/');
    for letter in step.chars() {
        match letter {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            letter => pointer.push(letter),
        }
    }
}

fn count(differences: &mut Differences, place: &Place, value: Option<&str>) {
    let full = differences.len() >= MOST_NAMES && !differences.contains_key(&place.path);
    let name = if full { OTHERS } else { &place.path };
    match differences.get_mut(name) {
        Some(difference) => difference.count += 1,
        None => {
            differences.insert(name.to_owned(), first(place, value));
        }
    }
}

fn count_one(difference: &mut Option<Difference>, place: &Place, value: Option<&str>) {
    match difference {
        Some(difference) => difference.count += 1,
        none => *none = Some(first(place, value)),
    }
}

fn first(place: &Place, value: Option<&str>) -> Difference {
    let found = match value.map(str::as_bytes) {
        None => "nothing",
        Some([b'"', ..]) => "string",
        Some([b't' | b'f', ..]) => "boolean",
        Some([b'n', ..]) => "null",
        Some([b'[', ..]) => "array",
        Some([b'{', ..]) => "object",
        Some(_) => "number",
    };
    let example = Example {
        offset: place.offset,
        pointer: place.pointer.clone(),
        found: found.to_owned(),
    };
    Difference { count: 1, example }
}
