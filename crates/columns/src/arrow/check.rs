//! Compares records with a schema that was given, and counts how they differ. It is a pass of its own, so that nothing
//! else pays for it.

use super::cell::is_held;
use super::object::Object;
use super::schema::{Column, EXTRA, Kind, OnNew, TableOptions, TableSchema};
use serde::{Deserialize, Serialize};
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
    /// Where the record at hand is in the list.
    offset: u64,
    /// The JSON pointer of the field at hand, with `*` in the place of an index, and that of its value.
    path: String,
    pointer: String,
    /// The first new field, where that is an error.
    fresh: Option<String>,
}

/// What was counted so far; a checkpoint keeps it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Counts {
    records: u64,
    found: SchemaDifferences,
    /// Fields of the records themselves that were absent or null.
    absent: BTreeMap<String, Difference>,
}

impl Checker {
    /// None where no schema is given.
    pub(crate) fn new(options: &TableOptions) -> Option<Self> {
        Some(Checker {
            schema: Arc::clone(options.schema.as_ref()?),
            on_new: options.on_new,
            counts: Counts::default(),
            offset: 0,
            path: String::new(),
            pointer: String::new(),
            fresh: None,
        })
    }

    /// How the records differed so far.
    pub(crate) fn differences(&self) -> SchemaDifferences {
        let mut differences = self.counts.found.clone();
        for column in &self.schema.fields {
            let pointer = format!("/{}", escaped(&column.name));
            if let Some(absent) = self.counts.absent.get(&pointer)
                && (!column.nullable || absent.count == self.counts.records)
            {
                let missing = &mut differences.missing_fields;
                missing.insert(pointer, absent.clone());
            }
        }
        differences
    }

    /// Counts how a record differs.
    ///
    /// # Errors
    /// `Schema`, naming record and field, for a new field where that is to fail.
    pub(crate) fn check(&mut self, record: &RawRecord) -> Result<()> {
        self.counts.records += 1;
        self.offset = record.offset();
        let schema = Arc::clone(&self.schema);
        self.object(&schema.fields, record.as_str());
        let Some(pointer) = self.fresh.take() else {
            return Ok(());
        };
        let offset = self.offset;
        let message =
            format!("record {offset} of the list: {pointer}: the schema has no such field");
        Err(record.fault(Error::new(ErrorKind::Schema, message)))
    }

    fn object(&mut self, columns: &[Column], text: &str) {
        let object = Object::new(columns, text);
        let is_record = self.path.is_empty();
        for (name, value) in object.others() {
            let Some(name) = json::text(name) else {
                continue;
            };
            let is_known = columns.iter().any(|column| column.name == name);
            // `_extra` holds a field of its own name.
            if !(is_known || is_record && name == EXTRA) {
                self.at(&name, None, |this| match this.on_new {
                    OnNew::Keep => this.count(|counts| &mut counts.found.new_fields, Some(value)),
                    OnNew::Freeze => {}
                    OnNew::Fail => {
                        this.fresh.get_or_insert_with(|| this.pointer.clone());
                    }
                });
            }
        }
        for (at, column) in columns.iter().enumerate() {
            let value = object.value(at);
            self.at(&column.name, None, |this| match value {
                None | Some("null") if is_record => this.count(|counts| &mut counts.absent, value),
                None | Some("null") if column.nullable => {}
                None | Some("null") => this.count(|counts| &mut counts.found.missing_fields, value),
                Some(value) => this.value(&column.kind, value),
            });
        }
    }

    /// A value that is not null.
    fn value(&mut self, kind: &Kind, value: &str) {
        match kind {
            _ if !is_held(kind, value) => {
                self.count(|counts| &mut counts.found.other_types, Some(value));
            }
            Kind::List { items } => {
                for (index, item) in json::items(value).into_iter().enumerate() {
                    if item != "null" {
                        self.at("*", Some(index), |this| this.value(items, item));
                    }
                }
            }
            Kind::Struct { fields } => self.object(fields, value),
            _ => {}
        }
    }

    /// Does something one step further: to a member, or to an item.
    fn at(&mut self, name: &str, index: Option<usize>, work: impl FnOnce(&mut Self)) {
        let (path, pointer) = (self.path.len(), self.pointer.len());
        let name = escaped(name);
        self.path.extend(["/", &name]);
        let index = index.map_or(name, |index| index.to_string());
        self.pointer.extend(["/", &index]);
        work(self);
        self.path.truncate(path);
        self.pointer.truncate(pointer);
    }

    fn count(
        &mut self,
        of: impl FnOnce(&mut Counts) -> &mut BTreeMap<String, Difference>,
        value: Option<&str>,
    ) {
        let differences = of(&mut self.counts);
        let is_full = differences.len() >= MAX_NAMES && !differences.contains_key(&self.path);
        let name = if is_full { OTHERS } else { &self.path }.to_owned();
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
                pointer: self.pointer.clone(),
                found: found.to_owned(),
            };
            Difference { count: 0, example }
        };
        differences.entry(name).or_insert_with(first).count += 1;
    }
}

/// A name as JSON pointers have it.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
