//! Cuts a record into the cells of its row and what goes to `_extra`.

use super::extra::Extra;
use super::plan::{Origin, Plans};
use super::schema::{Column, Empty, Kind, TableSchema, Timestamp, Unit};
use super::time::{DateTime, full_date};
use std::borrow::Cow;
use std::fmt::Write;
use talentdata_core::RawRecord;
use talentdata_core::json::decoded;

/// A value in its column.
#[derive(Default)]
pub(crate) enum Cell<'a> {
    /// Nothing: absent, null, or of a type the column cannot hold.
    #[default]
    Empty,
    Text(Cow<'a, str>),
    Integer(i64),
    Unsigned(u64),
    Number(f64),
    Boolean(bool),
    /// Since 1970, in the unit of the column.
    Instant(i64),
    /// Days since 1970.
    Day(i32),
    /// Its own text: JSON of any type, or a number where cells are texts.
    Raw(&'a str),
}

/// What the cells of a table are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Values of their columns' types. What such a value does not say of the original is in `_extra`.
    Cells,
    /// The texts that the service sent.
    Texts,
}

/// Cuts records.
pub(crate) struct Splitter {
    columns: Vec<Column>,
    form: Form,
    plans: Plans,
    extra: Extra,
}

impl Splitter {
    pub(crate) fn new(schema: &TableSchema, form: Form) -> Self {
        Splitter {
            columns: schema.fields.clone(),
            form,
            plans: Plans::new(&schema.fields),
            extra: Extra::default(),
        }
    }

    /// Cuts a record: hands on the cell of each column, in their order, to who says whether it is held
    /// exactly, and returns the text of `_extra`; none where the columns say it all.
    pub(crate) fn split(
        &mut self,
        record: &RawRecord,
        mut take: impl FnMut(usize, Cell<'_>) -> bool,
    ) -> Option<&str> {
        let (columns, extra) = (&self.columns, &mut self.extra);
        let members = record.members();
        let plan = self.plans.of(&members, columns);
        extra.clear();
        for field in &plan.extra {
            let (name, value) = members[*field];
            extra.note(name, value);
        }
        for (at, (column, origin)) in columns.iter().zip(&plan.origins).enumerate() {
            let (Origin::Only(field) | Origin::Last(field)) = *origin else {
                take(at, Cell::Empty);
                continue;
            };
            let (name, value) = members[field];
            let (cell, exact) = match value {
                "null" => (Cell::Empty, column.empty == Empty::Null),
                _ => read(&column.kind, self.form, value),
            };
            let held = take(at, cell) && exact;
            if !held && matches!(origin, Origin::Only(_)) {
                extra.note(name, value);
            }
        }
        for column in &plan.absent {
            extra.note_absent(&columns[*column].name);
        }
        extra.finish()
    }
}

/// The value as a column of this kind holds it, and whether that is all of it; of arrays and objects
/// the column itself says so.
#[inline]
pub(super) fn read<'a>(kind: &Kind, form: Form, value: &'a str) -> (Cell<'a>, bool) {
    let is_number = matches!(value.as_bytes().first(), Some(b'-' | b'0'..=b'9'));
    let exactly = |cell: Option<Cell<'static>>| (cell.is_some(), cell.unwrap_or_default());
    let (exact, cell) = match kind {
        Kind::Text => match decoded(value) {
            Some(text) => (true, Cell::Text(text)),
            None => (false, Cell::Empty),
        },
        Kind::Json | Kind::List { .. } | Kind::Struct { .. } => (true, Cell::Raw(value)),
        Kind::Boolean => exactly(match value {
            "true" => Some(Cell::Boolean(true)),
            "false" => Some(Cell::Boolean(false)),
            _ => None,
        }),
        Kind::Integer if value == "-0" => (false, Cell::Integer(0)),
        Kind::Integer => exactly(value.parse().ok().map(Cell::Integer)),
        Kind::Unsigned => exactly(value.parse().ok().map(Cell::Unsigned)),
        Kind::Number if !is_number => (false, Cell::Empty),
        Kind::Number if form == Form::Texts => (true, Cell::Raw(value)),
        Kind::Number => match value.parse().ok().filter(|number: &f64| number.is_finite()) {
            Some(number) => (displays_as(number, value.as_bytes()), Cell::Number(number)),
            None => (false, Cell::Empty),
        },
        Kind::Timestamp(timestamp) => match decoded(value) {
            Some(text) => read_instant(timestamp, form, text),
            None => (false, Cell::Empty),
        },
        Kind::Date => match decoded(value) {
            Some(text) => match (full_date(&text), form) {
                (Some(day), Form::Cells) => (true, Cell::Day(day)),
                (Some(_), Form::Texts) => (true, Cell::Text(text)),
                (None, _) => (false, Cell::Empty),
            },
            None => (false, Cell::Empty),
        },
    };
    (cell, exact)
}

/// The text as a column of timestamps holds it. What microseconds cannot hold is cut off; a leap second
/// is the second after it, as in POSIX.
fn read_instant<'a>(column: &Timestamp, form: Form, text: Cow<'a, str>) -> (bool, Cell<'a>) {
    let Some(found) = DateTime::read(&text) else {
        return (false, Cell::Empty);
    };
    if form == Form::Texts {
        return (true, Cell::Text(text));
    }
    let exact = found.plain
        && found.digits == usize::from(column.fraction)
        && found.offset == column.offset;
    let instant = match column.unit {
        Unit::Micros => Some(found.micros()),
        Unit::Nanos => found.nanos(),
    };
    match instant {
        Some(instant) => (exact, Cell::Instant(instant)),
        None => (false, Cell::Empty),
    }
}

/// Whether Rust displays the number, which was read from `text`, as just that text.
fn displays_as(number: f64, text: &[u8]) -> bool {
    // Up to 15 digits are told apart by doubles, so that only their spelling matters.
    let plain = text.iter().all(|byte| !matches!(byte, b'e' | b'E'));
    let ends_well = text.last() != Some(&b'0') || !text.contains(&b'.');
    if plain && ends_well && text.len() <= 15 {
        return true;
    }
    let mut rest = Rest(text);
    write!(rest, "{number}").is_ok() && rest.0.is_empty()
}

/// What is left of a text behind what is written, which must be the same.
struct Rest<'a>(&'a [u8]);

impl Write for Rest<'_> {
    fn write_str(&mut self, written: &str) -> std::fmt::Result {
        self.0 = self
            .0
            .strip_prefix(written.as_bytes())
            .ok_or(std::fmt::Error)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::displays_as;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_number_displays_as_what_rust_displays(bits: u64, text in "-?(0|[1-9][0-9]{0,19})(\\.[0-9]{1,19})?(e-?[0-9]{1,2})?") {
            let number = f64::from_bits(bits);
            if number.is_finite() {
                prop_assert!(displays_as(number, number.to_string().as_bytes()), "{}", number);
            }
            let number: f64 = text.parse().unwrap();
            prop_assert_eq!(displays_as(number, text.as_bytes()), number.to_string() == text, "{}", text);
        }
    }
}
