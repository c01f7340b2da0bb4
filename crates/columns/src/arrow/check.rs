//! Compares records with a schema that was given, and counts how they differ. It is a pass of its own, so that nothing
//! else pays for it.

use super::cell::is_held;
use super::object::Object;
use super::schema::{Column, EXTRA, Kind, OnNew, TableOptions, TableSchema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use talentdata_core::json;
use talentdata_core::scan::{Difference, Example, SchemaDifferences};
use talentdata_core::{Error, ErrorKind, RawRecord, Result};

/// More fields than this are counted together: a service that uses names as data must not fill the memory.
const MAX_NAMES: usize = 1000;
/// Under this name.
const OTHERS: &str = "...";

/// Compares records with a schema.
pub(crate) struct Checker {
    schema: Arc<TableSchema>,
    on_new: OnNew,
    pub(crate) counts: Counts,
}

/// What was counted so far; a checkpoint keeps it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Counts {
    records: u64,
    new: Differences,
    other: Differences,
    missing: Differences,
    /// Fields of the records themselves that were absent or null.
    absent: Differences,
}

type Differences = BTreeMap<String, Difference>;

impl Checker {
    /// None where no schema is given.
    pub(crate) fn new(options: &TableOptions) -> Option<Self> {
        Some(Checker {
            schema: Arc::clone(options.schema.as_ref()?),
            on_new: options.on_new,
            counts: Counts::default(),
        })
    }

    /// How the records differed so far.
    pub(crate) fn differences(&self) -> SchemaDifferences {
        let mut missing = self.counts.missing.clone();
        for column in self.schema.iter() {
            let (_, pointer) = pointers(&[Step::Name((&*column.name).into())]);
            if let Some(absent) = self.counts.absent.get(&pointer)
                && (!column.nullable || absent.count == self.counts.records)
            {
                missing.insert(pointer, absent.clone());
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
        self.counts.records += 1;
        let mut comparison = Comparison {
            on_new: self.on_new,
            counts: &mut self.counts,
            offset: record.offset(),
            steps: Vec::new(),
            fresh: None,
        };
        comparison.object(&self.schema.fields, record.as_str());
        match comparison.fresh {
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

/// One step from a value to a part of it.
enum Step<'a> {
    Name(Cow<'a, str>),
    Item(usize),
}

/// A record that is being compared.
struct Comparison<'a> {
    on_new: OnNew,
    counts: &'a mut Counts,
    /// Of the record in the list.
    offset: u64,
    /// From the record to the value at hand.
    steps: Vec<Step<'a>>,
    /// The first new field, where that is an error.
    fresh: Option<String>,
}

impl<'a> Comparison<'a> {
    fn object(&mut self, columns: &'a [Column], text: &'a str) {
        let object = Object::new(columns, text);
        let is_record = self.steps.is_empty();
        for (name, value) in object.others() {
            let Some(name) = json::text(name) else {
                continue;
            };
            let is_known = columns.iter().any(|column| column.name == name);
            // `_extra` holds a field of its own name.
            if !(is_known || is_record && name == EXTRA) {
                self.at(Step::Name(name), |this| this.new_field(value));
            }
        }
        for (at, column) in columns.iter().enumerate() {
            let value = object.value(at);
            self.at(Step::Name((&*column.name).into()), |this| match value {
                None | Some("null") if is_record => this.count(|counts| &mut counts.absent, value),
                None | Some("null") if column.nullable => {}
                None | Some("null") => this.count(|counts| &mut counts.missing, value),
                Some(value) => this.value(&column.kind, value),
            });
        }
    }

    /// A value that is not null.
    fn value(&mut self, kind: &'a Kind, value: &'a str) {
        match kind {
            Kind::List { items } if value.starts_with('[') => {
                for (index, item) in json::items(value).into_iter().enumerate() {
                    if item != "null" {
                        self.at(Step::Item(index), |this| this.value(items, item));
                    }
                }
            }
            Kind::Struct { fields } if value.starts_with('{') => self.object(fields, value),
            Kind::Json => {}
            Kind::List { .. } | Kind::Struct { .. } => {
                self.count(|counts| &mut counts.other, Some(value));
            }
            kind if !is_held(kind, value) => self.count(|counts| &mut counts.other, Some(value)),
            _ => {}
        }
    }

    fn new_field(&mut self, value: &str) {
        match self.on_new {
            OnNew::Keep => self.count(|counts| &mut counts.new, Some(value)),
            OnNew::Freeze => {}
            OnNew::Fail => {
                self.fresh.get_or_insert_with(|| pointers(&self.steps).1);
            }
        }
    }

    /// Does something one step further.
    fn at(&mut self, step: Step<'a>, work: impl FnOnce(&mut Self)) {
        self.steps.push(step);
        work(self);
        self.steps.pop();
    }

    fn count(&mut self, of: impl FnOnce(&mut Counts) -> &mut Differences, value: Option<&str>) {
        let differences = of(self.counts);
        let (path, pointer) = pointers(&self.steps);
        let is_full = differences.len() >= MAX_NAMES && !differences.contains_key(&path);
        let name = if is_full { OTHERS.to_owned() } else { path };
        let first = || {
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
                offset: self.offset,
                pointer,
                found: found.to_owned(),
            };
            Difference { count: 0, example }
        };
        differences.entry(name).or_insert_with(first).count += 1;
    }
}

/// The JSON pointer of a field, with `*` in the place of an index, and that of a value.
fn pointers(steps: &[Step<'_>]) -> (String, String) {
    let (mut path, mut pointer) = (String::new(), String::new());
    for step in steps {
        let (name, index) = match step {
            Step::Name(name) => (name.replace('~', "~0").replace('/', "~1"), None),
            Step::Item(index) => ("*".to_owned(), Some(index.to_string())),
        };
        path.extend(["/", &name]);
        pointer.extend(["/", index.as_ref().unwrap_or(&name)]);
    }
    (path, pointer)
}
