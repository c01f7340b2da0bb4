//! The columns of a mirror: they keep their names and types, and new ones come behind them.
//!
//! A field that the first records of a scan have gets its column at once, any other one with the next sync.
//! Values that a column cannot hold are in `_extra`; the manifest says when that happened first.

use super::manifest::{ListEntry, SchemaChange, SchemaChangeKind};
use super::{CHANGE_COLUMNS, RECORD};
use crate::arrow::{Checker, Columns, Held, OnNew, TableOptions, TableSchema};
use crate::error::Result;
use crate::json;
use crate::record::RawRecord;
use crate::scan::Difference;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use talentdata_types::Resource;

/// So many records with fields beyond the columns are kept to decide on new ones.
const KEPT: usize = 200;
/// And no larger ones.
const KEPT_BYTES: usize = 16 * 1024;

/// The most columns that a mirror gets, as in exports.
const MOST_COLUMNS: usize = 512;

/// The columns of a running sync.
pub(super) struct Evolution {
    resource: Resource,
    pub(super) schema: Arc<TableSchema>,
    checker: Option<Checker>,
    /// The names that records may have without asking for a column.
    names: HashSet<String>,
    /// Records with a field that has no column.
    kept: Vec<RawRecord>,
    changes: Vec<SchemaChange>,
    generation: u64,
}

impl Evolution {
    /// Of a scan that begins with `sample`; `before` is the list as the last sync has left it.
    pub(super) fn new(
        resource: Resource,
        before: Option<&ListEntry>,
        sample: &[RawRecord],
        generation: u64,
    ) -> Self {
        let found = TableSchema::infer(resource, sample, Columns::Typed);
        let mut schema = match before {
            Some(list) => list.schema.clone(),
            None => {
                let mut none = found.clone();
                none.fields.clear();
                none
            }
        };
        let mut changes = Vec::new();
        for name in extend(&mut schema, &found) {
            if before.is_some() {
                changes.push(new_column(generation, &name));
            }
        }
        let schema = Arc::new(schema);
        let columns = schema.iter().map(|column| column.name.as_str());
        let names = columns.chain(CHANGE_COLUMNS).chain([RECORD]);
        let names = names.map(str::to_owned).collect();
        Evolution {
            resource,
            checker: Checker::new(&TableOptions {
                schema: Some(Arc::clone(&schema)),
                on_new: OnNew::Keep,
                ..TableOptions::default()
            }),
            schema,
            names,
            kept: Vec::new(),
            changes,
            generation,
        }
    }

    /// Notes a record that the columns hold like this.
    pub(super) fn note(&mut self, record: &RawRecord, held: Held) -> Result<()> {
        let Some(checker) = &mut self.checker else {
            return Ok(());
        };
        let known = match held {
            Held::Wholly => return Ok(()),
            Held::ButFields => checker.knows_fields(record),
            Held::Partly => false,
        };
        if !known {
            checker.check(record)?;
        }
        let small = record.as_bytes().len() <= KEPT_BYTES;
        if self.kept.len() < KEPT && small && self.has_new_field(record) {
            // Its page need not stay in memory.
            self.kept.push(RawRecord::parse(record.as_str())?);
        }
        Ok(())
    }

    fn has_new_field(&self, record: &RawRecord) -> bool {
        record.members().into_iter().any(|(name, _)| {
            json::text(name).is_some_and(|name| !self.names.contains(name.as_ref()))
        })
    }

    /// The columns that the next sync begins with, and what this one has met for the first time.
    pub(super) fn finish(self, known: &[SchemaChange]) -> (TableSchema, Vec<SchemaChange>) {
        let mut changes = self.changes;
        let found = self.checker.map(|checker| checker.differences());
        let found = found.unwrap_or_default();
        let kinds = [
            (found.new_fields, SchemaChangeKind::NewField),
            (found.other_types, SchemaChangeKind::OtherType),
        ];
        for (fields, kind) in kinds {
            changes.extend(described(fields, kind, self.generation));
        }
        changes.retain(|change| {
            let same = |other: &SchemaChange| {
                (&other.field, other.change, &other.found)
                    == (&change.field, change.change, &change.found)
            };
            !known.iter().any(same)
        });
        let mut schema = TableSchema::clone(&self.schema);
        let found = TableSchema::infer(self.resource, &self.kept, Columns::Typed);
        // They are told when they are first written.
        extend(&mut schema, &found);
        (schema, changes)
    }
}

/// Adds columns that a schema does not have yet; returns their names.
fn extend(schema: &mut TableSchema, found: &TableSchema) -> Vec<String> {
    let mut names = Vec::new();
    for column in found {
        let reserved = CHANGE_COLUMNS.contains(&column.name.as_str()) || column.name == RECORD;
        let known = schema.iter().any(|known| known.name == column.name);
        if !known && !reserved && schema.fields.len() < MOST_COLUMNS {
            names.push(column.name.clone());
            schema.fields.push(column.clone());
        }
    }
    names
}

fn new_column(generation: u64, name: &str) -> SchemaChange {
    SchemaChange {
        generation,
        field: format!("/{}", name.replace('~', "~0").replace('/', "~1")),
        change: SchemaChangeKind::NewColumn,
        found: String::new(),
    }
}

fn described(
    fields: BTreeMap<String, Difference>,
    change: SchemaChangeKind,
    generation: u64,
) -> impl Iterator<Item = SchemaChange> {
    fields
        .into_iter()
        .map(move |(field, difference)| SchemaChange {
            generation,
            field,
            change,
            found: difference.example.found,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_field_gets_a_column_however_many_records_need_extra() {
        let record = |json: &str| RawRecord::parse(json).unwrap();
        let sample = [record(r#"{"id":"a","size":1.5}"#)];
        let mut evolution = Evolution::new(Resource::Pools, None, &sample, 1);
        for _ in 0..2 * KEPT {
            // Two digits that the column would lose.
            let inexact = record(r#"{"id":"b","size":1.50}"#);
            evolution.note(&inexact, Held::Partly).unwrap();
        }
        let late = record(r#"{"id":"c","size":1.5,"colour":"red"}"#);
        evolution.note(&late, Held::ButFields).unwrap();
        let (schema, changes) = evolution.finish(&[]);
        assert!(schema.iter().any(|column| column.name == "colour"));
        let new = changes.iter().filter(|change| change.field == "/colour");
        let kinds: Vec<_> = new.map(|change| change.change).collect();
        assert_eq!(kinds, [SchemaChangeKind::NewField]);
    }
}
