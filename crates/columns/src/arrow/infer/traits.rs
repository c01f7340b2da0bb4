//! What the values of a field were like, and the narrowest kind that holds all of them.

use super::{Budget, Columns, DEEPEST, Found, MOST_NAMES};
use crate::arrow::schema::{Kind, Timestamp, Unit};
use crate::arrow::time::{DateTime, full_date};
use std::collections::BTreeMap;
use talentdata_core::json;

/// Ways of writing timestamps, beyond which no more are counted.
const MOST_STYLES: usize = 16;

/// What the values of a field were like.
#[derive(Default)]
pub(super) struct Traits {
    pub(super) values: usize,
    pub(super) nulls: usize,
    texts: Texts,
    boolean: bool,
    numbers: Numbers,
    arrays: Option<Box<Traits>>,
    objects: Option<Box<Objects>>,
    /// Arrays and objects that are to stay JSON, and numbers beyond all.
    other: bool,
}

#[derive(Default)]
struct Objects {
    count: usize,
    found: Found,
    /// Whether there were more names than a struct may have.
    overfull: bool,
}

#[derive(Default)]
struct Numbers {
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

#[derive(Default)]
struct Texts {
    count: usize,
    date_times: usize,
    dates: usize,
    /// Whether microseconds cannot hold one of the date-times, and whether nanoseconds cannot.
    fine: bool,
    far: bool,
    /// How often each number of digits came with each offset.
    styles: BTreeMap<(u8, String), usize>,
}

impl Traits {
    pub(super) fn note(&mut self, value: &str, depth: usize, budget: &mut Budget) {
        self.values += 1;
        match value.as_bytes().first() {
            Some(b'n') => self.nulls += 1,
            Some(b'"') => self.texts.note(value, budget.columns),
            Some(b't' | b'f') => self.boolean = true,
            Some(b'-' | b'0'..=b'9') => self.note_number(value),
            Some(b'[') if is_typed(depth, budget) => self.note_array(value, depth, budget),
            Some(b'{') if is_typed(depth, budget) => self.note_object(value, depth, budget),
            _ => self.other = true,
        }
    }

    fn note_array(&mut self, array: &str, depth: usize, budget: &mut Budget) {
        if self.arrays.is_none() {
            if budget.nested == 0 {
                self.other = true;
                return;
            }
            budget.nested -= 1;
        }
        let items = self.arrays.get_or_insert_default();
        json::each_item(array, |item| items.note(item, depth + 1, budget));
    }

    fn note_object(&mut self, object: &str, depth: usize, budget: &mut Budget) {
        let objects = self.objects.get_or_insert_default();
        objects.count += 1;
        json::each_member(object, |raw_name, value| {
            let Some(name) = json::text(raw_name).filter(|_| !objects.overfull) else {
                return;
            };
            let known = objects.found.names.len();
            let most = MOST_NAMES.min(known + budget.nested);
            match objects.found.place(&name, most) {
                Some(at) => {
                    budget.nested -= objects.found.names.len() - known;
                    objects.found.traits[at].note(value, depth + 1, budget);
                }
                None if known == most => {
                    budget.nested += std::mem::take(&mut objects.found).size();
                    objects.overfull = true;
                }
                // It has no name that a column can have.
                None => {}
            }
        });
    }

    /// How many columns were set aside for what is nested in it.
    pub(super) fn nested(&self) -> usize {
        let items = self.arrays.as_ref().map_or(0, |items| 1 + items.nested());
        let members = self
            .objects
            .as_ref()
            .map_or(0, |objects| objects.found.size());
        items + members
    }

    fn note_number(&mut self, text: &str) {
        let numbers = &mut self.numbers;
        if text.parse::<i64>().is_ok() {
            numbers.integer = true;
            numbers.negative |= text.starts_with('-');
        } else if text.parse::<u64>().is_ok() {
            numbers.large = true;
        } else if !text.parse::<f64>().is_ok_and(f64::is_finite) {
            self.other = true;
        } else if text.contains(['.', 'e', 'E']) {
            numbers.fraction = true;
        } else {
            numbers.huge = true;
        }
    }

    pub(super) fn kind(self) -> Kind {
        let sorts = [
            self.texts.count > 0,
            self.boolean,
            self.numbers.any(),
            self.arrays.is_some(),
            self.objects.is_some(),
            self.other,
        ];
        match sorts {
            [true, false, false, false, false, false] => self.texts.kind(),
            [false, true, false, false, false, false] => Kind::Boolean,
            [false, false, true, false, false, false] => self.numbers.kind(),
            [false, false, false, true, false, false] => match self.arrays {
                Some(items) => Kind::List {
                    items: Box::new(items.kind()),
                },
                None => Kind::Json,
            },
            [false, false, false, false, true, false] => {
                self.objects.map_or(Kind::Json, |objects| objects.kind())
            }
            _ => Kind::Json,
        }
    }
}

fn is_typed(depth: usize, budget: &Budget) -> bool {
    budget.columns == Columns::Typed && depth < DEEPEST
}

impl Objects {
    fn kind(self) -> Kind {
        if self.overfull || self.found.names.is_empty() || self.found.is_map(self.count) {
            return Kind::Json;
        }
        Kind::Struct {
            fields: self.found.columns(self.count, std::iter::empty()),
        }
    }
}

impl Numbers {
    fn any(&self) -> bool {
        self.fraction || self.integer || self.large || self.huge
    }

    fn kind(&self) -> Kind {
        match self {
            numbers if numbers.fraction => Kind::Number,
            numbers if !numbers.huge && !numbers.large => Kind::Integer,
            numbers if !numbers.huge && !numbers.negative => Kind::Unsigned,
            // Doubles would lose digits, which ids cannot spare.
            _ => Kind::Json,
        }
    }
}

impl Texts {
    fn note(&mut self, raw: &str, columns: Columns) {
        self.count += 1;
        if columns == Columns::Json {
            return;
        }
        let text = json::decoded(raw).unwrap_or_default();
        if full_date(&text).is_some() {
            self.dates += 1;
        } else if let Some(found) = DateTime::read(&text) {
            self.date_times += 1;
            self.fine |= found.needs_nanos();
            self.far |= found.nanos().is_none();
            let digits = u8::try_from(found.digits).unwrap_or(u8::MAX);
            let style = (digits, found.offset.to_owned());
            if self.styles.len() < MOST_STYLES || self.styles.contains_key(&style) {
                *self.styles.entry(style).or_default() += 1;
            }
        }
    }

    fn kind(self) -> Kind {
        if self.dates == self.count {
            return Kind::Date;
        }
        if self.date_times < self.count {
            return Kind::Text;
        }
        let unit = match self.fine && !self.far {
            true => Unit::Nanos,
            false => Unit::Micros,
        };
        let most = match unit {
            Unit::Micros => 6,
            Unit::Nanos => 9,
        };
        let mut styles: Vec<_> = self.styles.into_iter().collect();
        styles.retain(|((digits, _), _)| *digits <= most);
        let usual = styles.into_iter().max_by_key(|(_, count)| *count);
        let (fraction, offset) = usual.map_or((most, "Z".to_owned()), |(style, _)| style);
        Kind::Timestamp(Timestamp {
            unit,
            fraction,
            offset,
        })
    }
}
