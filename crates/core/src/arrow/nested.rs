//! Builds columns of lists and structs from the JSON text of their values.
//!
//! A value is held exactly if it can be written again from its cells: without white space between
//! tokens, members in the order of the struct, and each cell by the rules of its kind.

use super::builder::Builder;
use super::field::item_field;
use super::row::{Cell, Form, read};
use super::schema::{Column, Empty, Kind};
use crate::json;
use arrow_array::builder::NullBufferBuilder;
use arrow_array::{ArrayRef, ListArray, StructArray};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{FieldRef, Fields};
use memchr::memchr;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

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

    /// Adds the list, or null where `text` is no array; returns whether it is held exactly.
    pub(super) fn append(&mut self, text: &str) -> bool {
        if !text.starts_with('[') {
            self.append_null();
            return false;
        }
        // Brackets, and a comma behind each item but the last.
        let (mut exact, mut length, mut separator) = (true, 2, 0);
        for item in json::items(text.as_bytes()) {
            length += separator + item.len();
            separator = 1;
            exact &= append(&mut self.items, &self.kind, piece(text, item));
            self.count += 1;
        }
        self.end();
        self.valid.append_non_null();
        exact && length == text.len()
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
    /// Where the value of each member is, in the object at hand.
    found: Vec<Option<Range<usize>>>,
    valid: NullBufferBuilder,
}

impl StructBuilder {
    pub(super) fn new(columns: &[Column]) -> Self {
        let names = columns.iter().map(|column| column.name.clone());
        StructBuilder {
            fields: columns.iter().map(Column::field).collect(),
            builders: columns
                .iter()
                .map(|column| Builder::new(&column.kind))
                .collect(),
            places: names.zip(0..).collect(),
            found: vec![None; columns.len()],
            columns: columns.to_vec(),
            valid: NullBufferBuilder::new(0),
        }
    }

    /// Adds the struct, or null where `text` is no object; returns whether it is held exactly.
    pub(super) fn append(&mut self, text: &str) -> bool {
        if !text.starts_with('{') {
            self.append_null();
            return false;
        }
        let mut exact = self.find(text);
        let members = self
            .columns
            .iter()
            .zip(&mut self.builders)
            .zip(&mut self.found);
        for ((column, builder), found) in members {
            let value = found.take().and_then(|range| text.get(range));
            exact &= match value {
                None => builder.append(&Cell::Empty) && column.empty == Empty::Absent,
                Some("null") => builder.append(&Cell::Empty) && column.empty == Empty::Null,
                Some(value) => append(builder, &column.kind, value),
            };
        }
        self.valid.append_non_null();
        exact
    }

    /// Notes where the values of the members are; false where they are more than that, or in another order.
    fn find(&mut self, text: &str) -> bool {
        // Braces, a comma behind each member but the last, and quotes and a colon of each.
        let (mut exact, mut length, mut separator) = (true, 2, 0);
        let mut next = 0;
        for (raw_name, value) in json::members(text.as_bytes()) {
            length += separator + 3 + raw_name.len() + value.len();
            separator = 1;
            let Some(at) = self.place(raw_name, next) else {
                exact = false;
                continue;
            };
            exact &= at >= next;
            next = at + 1;
            self.found[at] = Some(range(text, value));
        }
        exact && length == text.len()
    }

    /// Which column a member has; `next` is the usual one.
    fn place(&self, raw_name: &[u8], next: usize) -> Option<usize> {
        let usual = self.columns.get(next);
        let is_usual = |column: &Column| column.name.as_bytes() == raw_name;
        if usual.is_some_and(is_usual) && memchr(b'\\', raw_name).is_none() {
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
        let arrays = self.builders.iter_mut().map(Builder::finish).collect();
        let fields = self.fields.clone();
        Arc::new(StructArray::new(fields, arrays, self.valid.finish()))
    }
}

/// Adds a value; returns whether it is held exactly.
fn append(builder: &mut Builder, kind: &Kind, value: &str) -> bool {
    if value == "null" {
        return builder.append(&Cell::Empty);
    }
    let (cell, exact) = read(kind, Form::Cells, value, false);
    builder.append(&cell) && exact
}

/// A piece of a text, where it is known to be one.
fn piece<'a>(text: &'a str, piece: &[u8]) -> &'a str {
    text.get(range(text, piece)).unwrap_or_default()
}

/// Where a piece of a text is in it.
fn range(text: &str, piece: &[u8]) -> Range<usize> {
    let begin = piece.as_ptr().addr() - text.as_ptr().addr();
    begin..begin + piece.len()
}
