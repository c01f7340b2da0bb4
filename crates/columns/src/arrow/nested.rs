//! Builds columns of lists and structs from the JSON text of their values.
//!
//! A value is held exactly if it can be written again from its cells: without white space between
//! tokens, members in the order of the struct, and each cell by the rules of its kind.

use super::builder::Builder;
use super::field::item_field;
use super::row::{Cell, Form, read};
use super::schema::{Column, Empty, Kind};
use arrow_array::builder::{BooleanBufferBuilder, NullBufferBuilder};
use arrow_array::{ArrayRef, BooleanArray, ListArray, StructArray};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{FieldRef, Fields};
use arrow_select::filter::filter;
use std::collections::HashMap;
use std::sync::Arc;
use talentdata_core::json;

/// A column of lists.
pub(super) struct ListBuilder {
    kind: Kind,
    field: FieldRef,
    items: Builder,
    count: usize,
    /// Where each list ends.
    ends: Vec<i32>,
    valid: NullBufferBuilder,
}

impl ListBuilder {
    pub(super) fn new(items: &Kind) -> Self {
        ListBuilder {
            kind: items.clone(),
            field: Arc::new(item_field(items)),
            items: Builder::new(items),
            count: 0,
            ends: vec![0],
            valid: NullBufferBuilder::new(0),
        }
    }

    /// Adds a list, or null for any other value; returns whether it is held exactly.
    pub(super) fn append(&mut self, raw: &str) -> bool {
        if !raw.starts_with('[') {
            self.append_null();
            return false;
        }
        let before = self.count;
        let (mut exact, mut length) = (true, 0);
        json::each_item(raw, |item| {
            exact &= append(&mut self.items, &self.kind, item, true);
            length += item.len();
            self.count += 1;
        });
        // Two brackets, and a comma between items.
        length += 2 + (self.count - before).saturating_sub(1);
        self.end();
        self.valid.append_non_null();
        exact && length == raw.len()
    }

    pub(super) fn append_null(&mut self) {
        self.end();
        self.valid.append_null();
    }

    fn end(&mut self) {
        // Records that are larger than this do not fit a page.
        self.ends
            .push(i32::try_from(self.count).unwrap_or(i32::MAX));
    }

    pub(super) fn finish(&mut self) -> ArrayRef {
        let next = Vec::with_capacity(self.ends.len());
        let ends = std::mem::replace(&mut self.ends, next);
        self.ends.push(0);
        self.count = 0;
        let offsets = OffsetBuffer::new(ScalarBuffer::from(ends));
        let (field, items) = (Arc::clone(&self.field), self.items.finish());
        Arc::new(ListArray::new(field, offsets, items, self.valid.finish()))
    }
}

/// A column of structs.
pub(super) struct StructBuilder {
    columns: Vec<Column>,
    fields: Fields,
    builders: Vec<Builder>,
    places: HashMap<String, usize>,
    /// Which members the object at hand has had.
    filled: Vec<bool>,
    /// For each member, the cells that have to go: its name came again, and of such values the last counts.
    outdated: Vec<Vec<usize>>,
    valid: NullBufferBuilder,
}

impl StructBuilder {
    pub(super) fn new(columns: &[Column]) -> Self {
        let names = columns.iter().map(|column| column.name.clone());
        let builders = columns.iter().map(|column| Builder::new(&column.kind));
        StructBuilder {
            fields: columns.iter().map(Column::field).collect(),
            builders: builders.collect(),
            places: names.zip(0..).collect(),
            filled: vec![false; columns.len()],
            outdated: vec![Vec::new(); columns.len()],
            columns: columns.to_vec(),
            valid: NullBufferBuilder::new(0),
        }
    }

    /// Adds a struct, or null for any other value; returns whether it is held exactly: it has no other
    /// members, and these in their order.
    pub(super) fn append(&mut self, raw: &str) -> bool {
        if !raw.starts_with('{') {
            self.append_null();
            return false;
        }
        let (mut exact, mut length, mut count, mut next) = (true, 0, 0_usize, 0);
        json::each_member(raw, |raw_name, value| {
            match self.place(raw_name, next) {
                Some(place) => {
                    exact &= place >= next;
                    next = place + 1;
                    exact &= self.append_member(place, value);
                }
                None => exact = false,
            }
            // With two quotes and a colon.
            length += raw_name.len() + value.len() + 3;
            count += 1;
        });
        // Two braces, and a comma between members.
        length += 2 + count.saturating_sub(1);
        exact &= self.append_missing();
        self.valid.append_non_null();
        exact && length == raw.len()
    }

    fn append_member(&mut self, place: usize, value: &str) -> bool {
        if std::mem::replace(&mut self.filled[place], true) {
            let outdated = &mut self.outdated[place];
            outdated.push(self.valid.len() + outdated.len());
        }
        let column = &self.columns[place];
        let null = column.empty == Empty::Null;
        append(&mut self.builders[place], &column.kind, value, null)
    }

    fn append_missing(&mut self) -> bool {
        let mut exact = true;
        let members = self.columns.iter().zip(&mut self.builders);
        for ((column, builder), filled) in members.zip(&mut self.filled) {
            if !std::mem::take(filled) {
                builder.append(&Cell::Empty);
                exact &= column.empty == Empty::Absent;
            }
        }
        exact
    }

    /// Which column a member has; `next` is the usual one.
    fn place(&self, raw_name: &str, next: usize) -> Option<usize> {
        let usual = self.columns.get(next);
        if usual.is_some_and(|column| json::is_named(raw_name, &column.name)) {
            return Some(next);
        }
        self.places.get(&*json::text(raw_name)?).copied()
    }

    pub(super) fn append_null(&mut self) {
        for builder in &mut self.builders {
            builder.append(&Cell::Empty);
        }
        self.valid.append_null();
    }

    pub(super) fn finish(&mut self) -> ArrayRef {
        let members = self.builders.iter_mut().zip(&mut self.outdated);
        let arrays = members.map(|(builder, outdated)| match outdated.as_slice() {
            [] => builder.finish(),
            _ => without(&builder.finish(), &std::mem::take(outdated)),
        });
        let arrays = arrays.collect();
        let fields = self.fields.clone();
        Arc::new(StructArray::new(fields, arrays, self.valid.finish()))
    }
}

/// Adds a value; returns whether it is held exactly, which for a null is as `null` says.
fn append(builder: &mut Builder, kind: &Kind, value: &str, null: bool) -> bool {
    let (cell, exact) = match value {
        "null" => (Cell::Empty, null),
        _ => read(kind, Form::Cells, value),
    };
    builder.append(&cell) && exact
}

/// The column without these cells, which are in order.
fn without(array: &ArrayRef, outdated: &[usize]) -> ArrayRef {
    let mut kept = BooleanBufferBuilder::new(array.len());
    kept.append_n(array.len(), true);
    for cell in outdated {
        kept.set_bit(*cell, false);
    }
    // Both are of the same length, so that nothing can fail.
    filter(array, &BooleanArray::new(kept.finish(), None)).unwrap_or_else(|_| Arc::clone(array))
}
