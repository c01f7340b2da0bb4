//! Compares records with their columns, and counts how they differ: new fields, and values that do not fit.
//! The check is a separate pass. Unless a schema is given or a difference must fail, it examines only the
//! members that the columns do not return.

use super::cell::is_held;
use super::object::{Object, Rest};
use super::schema::{Column, ColumnKind, EXTRA, NewFieldPolicy, TableOptions, TableSchema};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use talentdata_core::internal::counted_name;
use talentdata_core::internal::json;
use talentdata_core::scan::{Difference, Example, SchemaDifferences};
use talentdata_core::{Error, ErrorKind, RawRecord, Result};

/// Compares records with their columns.
#[derive(Debug)]
pub struct Checker {
    schema: Arc<TableSchema>,
    on_new: NewFieldPolicy,
    /// True if the caller gave the columns. With inferred columns, no field counts as missing.
    is_given: bool,
    /// True if nested values are text, which every column for them can hold.
    is_flat: bool,
    is_logged: bool,
    pub(crate) counts: Counts,
    /// The first difference, if that is an error.
    fault: Option<String>,
}

/// The counts so far, which a checkpoint keeps.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Counts {
    records: u64,
    found: SchemaDifferences,
    /// Fields of the records themselves that were absent or null.
    absent: BTreeMap<String, Difference>,
}

impl Checker {
    /// Creates a checker for columns that no caller gave.
    pub fn new(schema: Arc<TableSchema>, on_new: NewFieldPolicy) -> Self {
        Checker {
            schema,
            on_new,
            is_given: false,
            is_flat: false,
            is_logged: false,
            counts: Counts::default(),
            fault: None,
        }
    }

    /// Creates a checker for the schema that the caller gave; `None` without one.
    pub(crate) fn given(options: &TableOptions) -> Option<Self> {
        let schema = Arc::clone(options.schema.as_ref()?);
        Some(Checker {
            is_given: true,
            ..Self::new(schema, options.on_new)
        })
    }

    /// Skips the contents of nested values, for formats that write them as text.
    pub(crate) fn flat(self) -> Self {
        Checker {
            is_flat: true,
            ..self
        }
    }

    /// Returns whether each record is checked before its row is made. Otherwise, only records whose rows need `_extra`
    /// are checked.
    fn comes_first(&self) -> bool {
        self.is_given || self.on_new == NewFieldPolicy::Fail
    }

    /// Checks a record before its row is made, if the check comes first.
    ///
    /// # Errors
    /// See [`check`](Self::check).
    pub(crate) fn before_row(&mut self, record: &RawRecord) -> Result<()> {
        if self.comes_first() {
            self.check(record)?;
        }
        Ok(())
    }

    /// Checks a record after its row was made, unless the check came first. Only members that the columns do not return
    /// can differ.
    pub(crate) fn after_row(&mut self, record: &RawRecord, object: &Object<'_>, rest: &Rest<'_>) {
        if !self.comes_first() && self.on_new != NewFieldPolicy::Freeze {
            self.counts.records += 1;
            let schema = Arc::clone(&self.schema);
            self.object(&schema.fields, record, object, Some(rest), None);
        }
    }

    /// Logs a warning about the differences, once.
    pub(crate) fn log(&mut self, list: &str) {
        if !std::mem::replace(&mut self.is_logged, true) {
            self.differences().log(list);
        }
    }

    /// Returns the differences so far.
    pub fn differences(&self) -> SchemaDifferences {
        let mut differences = self.counts.found.clone();
        for column in &self.schema.fields {
            let pointer = format!("/{}", json::pointer_step(&column.name));
            if let Some(absent) = self.counts.absent.get(&pointer)
                && (!column.nullable || absent.count == self.counts.records)
            {
                let missing = &mut differences.missing_fields;
                missing.insert(pointer, absent.clone());
            }
        }
        differences
    }

    /// Counts the differences of a record.
    ///
    /// # Errors
    /// `Schema`, which names record and field, for the first difference if the policy is to fail.
    pub fn check(&mut self, record: &RawRecord) -> Result<()> {
        if !self.is_given && self.on_new == NewFieldPolicy::Freeze {
            return Ok(());
        }
        self.counts.records += 1;
        let schema = Arc::clone(&self.schema);
        let columns = &schema.fields;
        let object = Object::of_record(columns, record);
        self.object(columns, record, &object, None, None);
        let Some(fault) = self.fault.take() else {
            return Ok(());
        };
        let offset = record.offset();
        let id = Example::new(record, "", "").id;
        let id = id.map_or(String::new(), |id| format!(" (id {id})"));
        let message = format!(
            "record {offset} of the list{id}: {fault} choose on_new_field keep to accept it"
        );
        Err(record.fault(Error::new(ErrorKind::Schema, message)))
    }

    /// Compares an object at `place` with its columns. With a `rest`, only the members in it are compared.
    fn object(
        &mut self,
        columns: &[Column],
        record: &RawRecord,
        object: &Object<'_>,
        rest: Option<&Rest<'_>>,
        place: Option<&Place<'_>>,
    ) {
        let is_record = place.is_none();
        for (name, value) in object.others() {
            let Some(name) = json::text(name) else {
                continue;
            };
            let is_known = columns.iter().any(|column| column.name == name);
            // `_extra` holds a field of its own name.
            if !(is_known || is_record && name == EXTRA) {
                self.report(record, None, value, &Place::of(&name, place));
            }
        }
        for (at, column) in columns.iter().enumerate() {
            if rest.is_some_and(|rest| !object.is_noted(at, rest)) {
                continue;
            }
            let place = Place::of(&column.name, place);
            let value = object.value(at);
            let of: fn(&mut Counts) -> &mut BTreeMap<String, Difference> = match value {
                Some(value) if value != "null" => {
                    self.value(&column.kind, record, value, &place);
                    continue;
                }
                _ if !self.is_given => continue,
                _ if is_record => |counts| &mut counts.absent,
                _ if column.nullable => continue,
                _ => |counts| &mut counts.found.missing_fields,
            };
            self.count(of, record, Some(&column.kind), value, &place);
        }
    }

    /// Compares a value that is not null with its column.
    fn value(&mut self, kind: &ColumnKind, record: &RawRecord, value: &str, place: &Place<'_>) {
        match kind {
            ColumnKind::List { .. } | ColumnKind::Struct { .. } if self.is_flat => {}
            _ if !is_held(kind, value) => self.report(record, Some(kind), value, place),
            ColumnKind::List { items } => {
                let mut index = 0;
                json::each_item(value, |item| {
                    if item != "null" {
                        self.value(items, record, item, &Place::item(index, place));
                    }
                    index += 1;
                });
            }
            ColumnKind::Struct { fields } => {
                let object = Object::of_value(fields, value);
                self.object(fields, record, &object, None, Some(place));
            }
            _ => {}
        }
    }

    /// Applies the policy to a value without a column, or to a value that does not fit `kind`.
    fn report(
        &mut self,
        record: &RawRecord,
        kind: Option<&ColumnKind>,
        value: &str,
        place: &Place<'_>,
    ) {
        match (self.on_new, kind) {
            (NewFieldPolicy::Freeze, _) => {}
            (NewFieldPolicy::Keep, None) => self.count(
                |counts| &mut counts.found.new_fields,
                record,
                None,
                Some(value),
                place,
            ),
            (NewFieldPolicy::Keep, Some(_)) => self.count(
                |counts| &mut counts.found.other_types,
                record,
                kind,
                Some(value),
                place,
            ),
            (NewFieldPolicy::Fail, _) => {
                let pointer = place.pointer(false);
                let found = found(Some(value));
                let (what, instead) = match kind.map(ColumnKind::name) {
                    None if self.is_given => (
                        "the schema has no such field".into(),
                        " add it to the schema, or",
                    ),
                    None => ("it has no column".into(), ""),
                    Some(column) => (
                        format!("its type is {found}, and its column has the type {column}"),
                        if self.is_given {
                            " give the column the type json, which holds both, or"
                        } else {
                            ""
                        },
                    ),
                };
                self.fault
                    .get_or_insert_with(|| format!("{pointer}: {what};{instead}"));
            }
        }
    }

    fn count(
        &mut self,
        of: impl FnOnce(&mut Counts) -> &mut BTreeMap<String, Difference>,
        record: &RawRecord,
        kind: Option<&ColumnKind>,
        value: Option<&str>,
        place: &Place<'_>,
    ) {
        let differences = of(&mut self.counts);
        let name = counted_name(differences, &place.pointer(true)).to_owned();
        let found = found(value);
        let difference = differences.entry(name).or_insert_with(|| Difference {
            count: 0,
            column: kind.map(|kind| kind.name().to_owned()),
            found: BTreeMap::new(),
            example: Example::new(record, &place.pointer(false), found),
        });
        difference.count += 1;
        *difference.found.entry(found.to_owned()).or_default() += 1;
    }
}

/// The place of a value in a record.
#[derive(Clone, Copy)]
struct Place<'a> {
    outer: Option<&'a Place<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Member(&'a str),
    Item(usize),
}

impl<'a> Place<'a> {
    /// Returns the place of a member of the record, or of the object at `outer`.
    fn of(name: &'a str, outer: Option<&'a Place<'a>>) -> Self {
        let step = Step::Member(name);
        Place { outer, step }
    }

    /// Returns the place of an item of the array at `outer`.
    fn item(index: usize, outer: &'a Place<'a>) -> Self {
        Place {
            outer: Some(outer),
            step: Step::Item(index),
        }
    }

    /// Returns the JSON pointer of the value. With `is_of_field`, returns the pointer of its field, with `*` for each
    /// index.
    fn pointer(&self, is_of_field: bool) -> String {
        let outer = self
            .outer
            .map_or(String::new(), |outer| outer.pointer(is_of_field));
        match self.step {
            Step::Member(name) => format!("{outer}/{}", json::pointer_step(name)),
            Step::Item(_) if is_of_field => format!("{outer}/*"),
            Step::Item(index) => format!("{outer}/{index}"),
        }
    }
}

/// Returns the JSON type of a value.
fn found(value: Option<&str>) -> &'static str {
    match value.map(str::as_bytes) {
        None => "nothing",
        Some([b'"', ..]) => "string",
        Some([b't' | b'f', ..]) => "boolean",
        Some([b'n', ..]) => "null",
        Some([b'[', ..]) => "array",
        Some([b'{', ..]) => "object",
        Some(_) => "number",
    }
}
