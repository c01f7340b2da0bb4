//! Cuts a record into the cells of its row and what goes to `_extra`, in one walk over its bytes.

use super::columns::{Column, Columns, Empty, Kind};
use super::extra::Extra;
use crate::json;
use crate::record::RawRecord;
use std::borrow::Cow;
use std::collections::HashMap;
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

/// Cuts records; what it has learnt of one makes the next one faster.
pub(crate) struct Splitter {
    columns: Vec<Column>,
    decimals: Decimals,
    places: HashMap<Vec<u8>, usize>,
    /// Names as they stand in JSON text; one that needs escapes is only found by `places`.
    spelt: Vec<Vec<u8>>,
    /// The column that followed each column in the last record; the last entry is for the beginning.
    after: Vec<usize>,
    slots: Vec<Slot<'static>>,
    extra: Extra,
}

#[derive(Default)]
struct Slot<'a> {
    cell: Cell<'a>,
    /// The value; none until the field was met.
    raw: Option<&'a [u8]>,
    noted: bool,
}

/// The row of a record.
pub(crate) struct Row<'s, 'a> {
    slots: &'s [Slot<'a>],
    /// The text of `_extra`; none where the columns say it all.
    pub(crate) extra: Option<&'s str>,
}

impl<'s, 'a> Row<'s, 'a> {
    /// The cells in the order of the columns.
    pub(crate) fn cells(&self) -> impl Iterator<Item = &'s Cell<'a>> + use<'s, 'a> {
        self.slots.iter().map(|slot| &slot.cell)
    }
}

impl Splitter {
    pub(crate) fn new(columns: &Columns, decimals: Decimals) -> Self {
        let names = || columns.iter().map(|column| column.name.as_bytes().to_vec());
        let spelt = |name: Vec<u8>| match name.contains(&b'\\') {
            true => b"\"".to_vec(), // which no name in JSON text is
            false => name,
        };
        Splitter {
            columns: columns.0.clone(),
            decimals,
            places: names().zip(0..).collect(),
            spelt: names().map(spelt).collect(),
            after: (1..=columns.0.len()).chain([0]).collect(),
            slots: Vec::new(),
            extra: Extra::default(),
        }
    }

    /// Cuts `record` and hands its row to `take`.
    pub(crate) fn split<R>(
        &mut self,
        record: &RawRecord,
        take: impl FnOnce(Row<'_, '_>) -> R,
    ) -> R {
        let mut slots = recycle(std::mem::take(&mut self.slots));
        slots.resize_with(self.columns.len(), Slot::default);
        self.extra.clear();
        let mut last = self.columns.len();
        for (name, value) in record.members() {
            match self.place(last, name) {
                Some(at) => {
                    self.fill(&mut slots[at], at, name, value);
                    last = at;
                }
                None => self.extra.note(name, value),
            }
        }
        for (column, slot) in self.columns.iter().zip(&slots) {
            if slot.raw.is_none() && column.empty == Empty::Null {
                self.extra.note_absent(&column.name);
            }
        }
        let result = take(Row {
            slots: &slots,
            extra: self.extra.finish(),
        });
        self.slots = recycle(slots);
        result
    }

    /// The column of the field that stands behind the field of column `last`.
    fn place(&mut self, last: usize, name: &[u8]) -> Option<usize> {
        let guess = self.after[last];
        if self.spelt.get(guess).is_some_and(|spelt| spelt == name) {
            return Some(guess);
        }
        let found = match name.contains(&b'\\') {
            true => self.places.get(json::text(name)?.as_bytes()),
            false => self.places.get(name),
        };
        let found = *found?;
        self.after[last] = found;
        Some(found)
    }

    fn fill<'a>(&mut self, slot: &mut Slot<'a>, at: usize, name: &[u8], value: &'a [u8]) {
        let column = &self.columns[at];
        if let Some(earlier) = slot.raw.filter(|_| !slot.noted) {
            self.extra.note(name, earlier);
        }
        let again = slot.raw.is_some();
        let (cell, exact) = match value.first() {
            Some(b'n') => (Cell::Empty, column.empty == Empty::Null),
            _ => read(column.kind, self.decimals, value),
        };
        slot.noted = again || !exact;
        if slot.noted {
            self.extra.note(name, value);
        }
        slot.raw = Some(value);
        slot.cell = cell;
    }
}

/// The same room for other borrows.
fn recycle<'b>(mut slots: Vec<Slot<'_>>) -> Vec<Slot<'b>> {
    slots.clear();
    slots.into_iter().map(|_| Slot::default()).collect()
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
