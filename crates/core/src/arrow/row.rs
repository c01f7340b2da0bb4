//! Cuts a record into the cells of its row and what goes to `_extra`.

use super::columns::{Column, Columns, Empty, Kind};
use super::extra::Extra;
use super::plan::{Plans, Source};
use crate::json;
use crate::record::RawRecord;
use std::borrow::Cow;
use std::io::Write;

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
    /// Its own text: JSON of any type, or a number where decimals are kept as text.
    Raw(&'a str),
}

/// How a column of numbers holds them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decimals {
    /// As doubles: one that is not exactly the number's text is noted in `_extra`.
    Doubles,
    /// As the text that the service sent.
    Text,
}

/// Cuts records.
pub(crate) struct Splitter {
    columns: Vec<Column>,
    decimals: Decimals,
    plans: Plans,
    extra: Extra,
}

impl Splitter {
    pub(crate) fn new(columns: &Columns, decimals: Decimals) -> Self {
        Splitter {
            columns: columns.0.clone(),
            decimals,
            plans: Plans::new(&columns.0),
            extra: Extra::default(),
        }
    }

    /// Cuts a record: hands on the cell of each column, in their order, and returns the text of
    /// `_extra`; none where the columns say it all.
    pub(crate) fn split(
        &mut self,
        record: &RawRecord,
        mut take: impl FnMut(usize, Cell<'_>),
    ) -> Option<&str> {
        let (columns, extra) = (&self.columns, &mut self.extra);
        let plan = self.plans.of(record, columns);
        extra.clear();
        for field in &plan.extra {
            extra.note(record.name(*field), record.value(*field));
        }
        for (at, (column, source)) in columns.iter().zip(&plan.sources).enumerate() {
            let (Source::Only(field) | Source::Last(field)) = *source else {
                take(at, Cell::Empty);
                continue;
            };
            let value = record.value(field);
            let (cell, exact) = match value.first() {
                Some(b'n') => (Cell::Empty, column.empty == Empty::Null),
                _ => read(column.kind, self.decimals, value),
            };
            if !exact && matches!(source, Source::Only(_)) {
                extra.note(record.name(field), value);
            }
            take(at, cell);
        }
        for column in &plan.absent {
            extra.note_absent(&columns[*column].name);
        }
        extra.finish()
    }
}

/// The value as a column of this kind holds it, and whether that is all of it.
fn read(kind: Kind, decimals: Decimals, value: &[u8]) -> (Cell<'_>, bool) {
    let text = || std::str::from_utf8(value).unwrap_or_default();
    let is_number = matches!(value.first(), Some(b'-' | b'0'..=b'9'));
    let exactly = |cell: Option<Cell<'static>>| (cell.is_some(), cell.unwrap_or_default());
    let (exact, cell) = match kind {
        Kind::Text => match json::unquote(value) {
            Some(text) => (true, Cell::Text(text)),
            None => (false, Cell::Empty),
        },
        Kind::Json => (true, Cell::Raw(text())),
        Kind::Boolean => exactly(match value {
            b"true" => Some(Cell::Boolean(true)),
            b"false" => Some(Cell::Boolean(false)),
            _ => None,
        }),
        Kind::Integer if value == b"-0" => (false, Cell::Integer(0)),
        Kind::Integer => exactly(text().parse().ok().map(Cell::Integer)),
        Kind::Unsigned => exactly(text().parse().ok().map(Cell::Unsigned)),
        Kind::Number if !is_number => (false, Cell::Empty),
        Kind::Number if decimals == Decimals::Text => (true, Cell::Raw(text())),
        Kind::Number => match text()
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite())
        {
            Some(number) => (displays_as(number, value), Cell::Number(number)),
            None => (false, Cell::Empty),
        },
    };
    (cell, exact)
}

/// Whether Rust displays the number, which was read from `text`, as just that text.
fn displays_as(number: f64, text: &[u8]) -> bool {
    // Up to 15 digits are told apart by doubles, so that only their spelling matters.
    let plain = text.iter().all(|byte| !matches!(byte, b'e' | b'E'));
    let ends_well = text.last() != Some(&b'0') || !text.contains(&b'.');
    if plain && ends_well && text.len() <= 15 {
        return true;
    }
    let mut shown = Shown {
        rest: text,
        same: true,
    };
    let _ = write!(shown, "{number}");
    shown.same && shown.rest.is_empty()
}

/// Compares what is written with a text.
struct Shown<'a> {
    rest: &'a [u8],
    same: bool,
}

impl Write for Shown<'_> {
    fn write(&mut self, piece: &[u8]) -> std::io::Result<usize> {
        match self.rest.strip_prefix(piece) {
            Some(rest) => self.rest = rest,
            None => self.same = false,
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
