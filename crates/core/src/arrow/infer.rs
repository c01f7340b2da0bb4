//! Decides the columns from the spec and from the first records.

use super::columns::{Column, Columns, EXTRA, Empty, Kind};
use crate::json;
use crate::record::RawRecord;
use std::collections::HashMap;
use talentdata_types::{FieldKind, ListShape};

/// Fields beyond so many stay in `_extra`: records whose field names are data would make a table of
/// columns without end.
const MOST_COLUMNS: usize = 512;

impl Columns {
    /// How many records to look at before deciding: the first pages of a list.
    pub const SAMPLE: usize = 1000;

    /// The documented fields, then those of `sample` as they were first met.
    pub fn infer(shape: &ListShape, sample: &[RawRecord]) -> Columns {
        let mut found = Found::default();
        for field in shape.fields {
            found.place(field.name);
        }
        for record in sample {
            for (name, value) in record.members() {
                if let Some(at) = json::text(name).and_then(|name| found.place(&name)) {
                    found.traits[at].note(value);
                }
            }
        }
        let documented = shape.fields.iter().map(|field| Some(field.kind));
        let kinds = documented.chain(std::iter::repeat(None));
        let columns = found.names.into_iter().zip(found.traits).zip(kinds);
        let column = |((name, traits), kind): ((String, Traits), Option<FieldKind>)| Column {
            name,
            kind: kind.map_or_else(|| traits.kind(), Kind::from),
            empty: traits.empty(sample.len()),
        };
        Columns(columns.map(column).collect())
    }
}

impl From<FieldKind> for Kind {
    fn from(kind: FieldKind) -> Self {
        match kind {
            FieldKind::Text => Kind::Text,
            FieldKind::Integer => Kind::Integer,
            FieldKind::Number => Kind::Number,
            FieldKind::Boolean => Kind::Boolean,
            FieldKind::Json => Kind::Json,
        }
    }
}

/// The fields met, in order.
#[derive(Default)]
struct Found {
    names: Vec<String>,
    traits: Vec<Traits>,
    places: HashMap<String, usize>,
}

impl Found {
    /// Where the field has its column; none where it has to stay in `_extra`. Arrow's C interface
    /// cannot carry a name with a NUL.
    fn place(&mut self, name: &str) -> Option<usize> {
        if let Some(at) = self.places.get(name) {
            return Some(*at);
        }
        let at = self.names.len();
        if name == EXTRA || name.contains('\0') || at == MOST_COLUMNS {
            return None;
        }
        self.places.insert(name.to_owned(), at);
        self.names.push(name.to_owned());
        self.traits.push(Traits::default());
        Some(at)
    }
}

/// What the values of a field were like.
#[derive(Default)]
struct Traits {
    values: usize,
    nulls: usize,
    text: bool,
    boolean: bool,
    /// Arrays, objects, and numbers beyond all.
    other: bool,
    /// A number with a fraction or an exponent.
    fraction: bool,
    /// An integer that fits 64 bits with a sign, below 0 or not.
    integer: bool,
    negative: bool,
    /// An integer that fits only without a sign.
    large: bool,
    /// An integer that fits no 64 bits.
    huge: bool,
}

impl Traits {
    fn note(&mut self, value: &[u8]) {
        self.values += 1;
        match value.first() {
            Some(b'n') => self.nulls += 1,
            Some(b'"') => self.text = true,
            Some(b't' | b'f') => self.boolean = true,
            Some(b'-' | b'0'..=b'9') => self.note_number(value),
            _ => self.other = true,
        }
    }

    fn note_number(&mut self, value: &[u8]) {
        let text = std::str::from_utf8(value).unwrap_or_default();
        if text.parse::<i64>().is_ok() {
            self.integer = true;
            self.negative |= value.starts_with(b"-");
        } else if text.parse::<u64>().is_ok() {
            self.large = true;
        } else if !text.parse::<f64>().is_ok_and(f64::is_finite) {
            self.other = true;
        } else if value.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
            self.fraction = true;
        } else {
            self.huge = true;
        }
    }

    /// The narrowest kind that holds all of them.
    fn kind(&self) -> Kind {
        let whole = self.integer || self.large || self.huge;
        match (self.text, self.boolean, self.fraction || whole, self.other) {
            (true, false, false, false) => Kind::Text,
            (false, true, false, false) => Kind::Boolean,
            (false, false, true, false) if self.fraction => Kind::Number,
            (false, false, true, false) if !self.huge && !self.large => Kind::Integer,
            (false, false, true, false) if !self.huge && !self.negative => Kind::Unsigned,
            _ => Kind::Json,
        }
    }

    fn empty(&self, records: usize) -> Empty {
        match self.nulls > records.saturating_sub(self.values) {
            true => Empty::Null,
            false => Empty::Absent,
        }
    }
}
