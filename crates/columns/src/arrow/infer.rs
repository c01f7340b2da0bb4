//! Decides the columns from the spec and from the first records: for each field the narrowest kind that holds all of
//! its values.

use super::sample::SampleSize;
use super::schema::{
    Column, ColumnKind, ColumnTypes, EXTRA, EmptyMeans, Source, TableSchema, Timestamp, Unit,
};
use super::time::{DateTime, full_date};
use std::collections::{BTreeMap, HashMap};
use talentdata_core::RawRecord;
use talentdata_core::internal::json;
use talentdata_core::types::{FieldKind, ListName};

/// The maximum number of columns. Further fields stay in `_extra`, because records whose field names are data would
/// otherwise add columns without limit.
pub(super) const MAX_COLUMNS: usize = 512;

/// The maximum number of columns including nested ones, each of which takes memory. Columns beyond it stay JSON text.
pub(super) const MAX_NODES: usize = 2 * MAX_COLUMNS;

/// Values nested deeper than this are JSON text.
pub(super) const MAX_NESTING: usize = 32;

/// An object with more different names than this is a map, whose names are data, and stays JSON text.
const MAX_NAMES: usize = 200;

/// An object is also a map if the names occur, on average, in fewer than one of this many objects.
const RAREST: usize = 10;

/// The maximum number of nested fields that are examined, which bounds the memory. Many of them may turn out to be
/// parts of maps.
const MAX_LOOKED_AT: usize = 64 * MAX_NODES;

impl TableSchema {
    /// Returns the documented fields, and then the other fields of the first `records`, in the order in which they
    /// first occur.
    pub fn infer<'a>(
        resource: ListName,
        records: impl IntoIterator<Item = &'a RawRecord>,
        columns: ColumnTypes,
    ) -> TableSchema {
        let mut look = Look {
            is_typed: columns == ColumnTypes::Typed,
            left: MAX_LOOKED_AT,
        };
        let (mut found, mut seen) = (Members::default(), SampleSize::default());
        let documented = resource.shape().fields;
        for field in documented {
            found.place(field.name, MAX_COLUMNS);
        }
        for record in records {
            if seen.is_enough() {
                break;
            }
            seen.add(record);
            for (name, value) in record.members() {
                let name = json::text(name).filter(|name| name != EXTRA);
                if let Some(field) = name.and_then(|name| found.place(&name, MAX_COLUMNS)) {
                    field.note(value, 1, &mut look);
                }
            }
        }
        found.objects = seen.records;
        let mut fields = found.columns();
        for (column, field) in fields.iter_mut().zip(documented) {
            column.source = Source::Documented;
            column.kind = match field.kind {
                FieldKind::Json => continue,
                FieldKind::Text => ColumnKind::Text,
                FieldKind::Integer => ColumnKind::Integer,
                FieldKind::Number => ColumnKind::Number,
                FieldKind::Boolean => ColumnKind::Boolean,
            };
        }
        let mut nested = MAX_NODES - MAX_COLUMNS;
        for column in &mut fields {
            match nested.checked_sub(column.kind.size() - 1) {
                Some(left) => nested = left,
                None => column.kind = ColumnKind::Json,
            }
        }
        let mut schema = TableSchema::new(Some(resource.name().to_owned()), columns, fields);
        schema.sampled_records = seen.records as u64;
        schema
    }
}

/// The limits of the inference.
struct Look {
    /// True if nested values, dates and timestamps get types of their own.
    is_typed: bool,
    /// The number of nested fields that may still be examined.
    left: usize,
}

/// The fields of the objects at one place, in the order in which they first occur.
#[derive(Default)]
struct Members {
    objects: usize,
    fields: Vec<(String, FieldSummary)>,
    places: HashMap<String, usize>,
    /// True if there were more names than a struct may have.
    overfull: bool,
}

/// A summary of the values of a field.
#[derive(Default)]
struct FieldSummary {
    values: usize,
    nulls: usize,
    boolean: bool,
    texts: Texts,
    numbers: Numbers,
    items: Option<Box<FieldSummary>>,
    members: Option<Box<Members>>,
    /// True if there are arrays or objects that must stay JSON, or numbers that no type holds.
    other: bool,
}

/// A summary of the numbers of a field.
#[derive(Default)]
struct Numbers {
    /// True if there are numbers with a fraction or an exponent.
    fractions: bool,
    /// The smallest and the largest integer.
    whole: Option<(i128, i128)>,
}

#[derive(Default)]
struct Texts {
    count: usize,
    date_times: usize,
    dates: usize,
    /// True if microseconds cannot hold one of the date-times.
    fine: bool,
    /// True if nanoseconds cannot hold one of the date-times.
    far: bool,
    /// The number of values by digits of the fraction and offset.
    styles: BTreeMap<(u8, String), usize>,
}

impl Members {
    /// Returns the field of this name; `None` if it must stay JSON. Arrow's C interface cannot carry a name with a NUL.
    fn place(&mut self, name: &str, max: usize) -> Option<&mut FieldSummary> {
        let at = match self.places.get(name) {
            Some(at) => *at,
            None if name.contains('\0') || self.fields.len() == max => return None,
            None => {
                self.places.insert(name.to_owned(), self.fields.len());
                self.fields.push((name.to_owned(), FieldSummary::default()));
                self.fields.len() - 1
            }
        };
        self.fields.get_mut(at).map(|(_, field)| field)
    }

    fn note(&mut self, object: &str, depth: usize, look: &mut Look) {
        self.objects += 1;
        json::each_member(object, |name, value| {
            let Some(name) = json::text(name).filter(|_| !self.overfull) else {
                return;
            };
            let known = self.fields.len();
            let max = MAX_NAMES.min(known + look.left);
            match self.place(&name, max) {
                Some(field) => field.note(value, depth, look),
                None if known == max => {
                    (self.fields, self.places) = Default::default();
                    self.overfull = true;
                }
                // No column can have this name.
                None => {}
            }
            look.left -= self.fields.len().saturating_sub(known).min(look.left);
        });
    }

    fn kind(self) -> ColumnKind {
        let values: usize = self.fields.iter().map(|(_, field)| field.values).sum();
        let is_map = values * RAREST < self.fields.len() * self.objects;
        if self.overfull || is_map || self.fields.is_empty() {
            ColumnKind::Json
        } else {
            ColumnKind::Struct {
                fields: self.columns(),
            }
        }
    }

    fn columns(self) -> Vec<Column> {
        let objects = self.objects;
        let column = |(name, field): (String, FieldSummary)| Column {
            name,
            nullable: field.values < objects || field.nulls > 0,
            empty: if field.nulls > objects.saturating_sub(field.values) {
                EmptyMeans::Null
            } else {
                EmptyMeans::Absent
            },
            source: Source::Sampled,
            kind: field.kind(),
        };
        self.fields.into_iter().map(column).collect()
    }
}

impl FieldSummary {
    fn note(&mut self, value: &str, depth: usize, look: &mut Look) {
        let is_nested = look.is_typed && depth < MAX_NESTING && look.left > 0;
        self.values += 1;
        match value.as_bytes().first() {
            Some(b'n') => self.nulls += 1,
            Some(b'"') => self.texts.note(value, look.is_typed),
            Some(b't' | b'f') => self.boolean = true,
            Some(b'[') if is_nested => {
                look.left -= usize::from(self.items.is_none());
                let items = self.items.get_or_insert_default();
                json::each_item(value, |item| items.note(item, depth + 1, look));
            }
            Some(b'{') if is_nested => {
                let members = self.members.get_or_insert_default();
                members.note(value, depth + 1, look);
            }
            Some(b'-' | b'0'..=b'9') => self.other |= !self.numbers.note(value),
            _ => self.other = true,
        }
    }

    fn kind(self) -> ColumnKind {
        let kinds = [
            (self.texts.count > 0).then(|| self.texts.kind()),
            self.boolean.then_some(ColumnKind::Boolean),
            self.numbers.kind(),
            self.items.map(|items| ColumnKind::List {
                items: Box::new(items.kind()),
            }),
            self.members.map(|members| members.kind()),
            self.other.then_some(ColumnKind::Json),
        ];
        let mut kinds = kinds.into_iter().flatten();
        match (kinds.next(), kinds.next()) {
            (Some(kind), None) => kind,
            _ => ColumnKind::Json,
        }
    }
}

impl Numbers {
    /// Returns whether a column can hold such a number.
    fn note(&mut self, text: &str) -> bool {
        if text.contains(['.', 'e', 'E']) {
            self.fractions = true;
        } else if let Ok(number) = text.parse() {
            let (least, most) = self.whole.unwrap_or((number, number));
            self.whole = Some((least.min(number), most.max(number)));
        } else {
            return false;
        }
        text.parse().is_ok_and(f64::is_finite)
    }

    fn kind(&self) -> Option<ColumnKind> {
        let (signed, unsigned) = (i64::MIN.into()..=i64::MAX.into(), 0..=u64::MAX.into());
        match self.whole {
            _ if self.fractions => Some(ColumnKind::Number),
            Some((a, b)) if signed.contains(&a) && signed.contains(&b) => Some(ColumnKind::Integer),
            Some((a, b)) if unsigned.contains(&a) && unsigned.contains(&b) => {
                Some(ColumnKind::Unsigned)
            }
            // Doubles would lose digits, and ids need all of them.
            whole => whole.map(|_| ColumnKind::Json),
        }
    }
}

impl Texts {
    fn note(&mut self, raw: &str, is_typed: bool) {
        self.count += 1;
        if !is_typed {
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
            *self.styles.entry(style).or_default() += 1;
        }
    }

    fn kind(self) -> ColumnKind {
        if self.dates == self.count {
            return ColumnKind::Date;
        }
        if self.date_times < self.count {
            return ColumnKind::Text;
        }
        let (unit, max) = if self.fine && !self.far {
            (Unit::Nanos, 9)
        } else {
            (Unit::Micros, 6)
        };
        let styles = self.styles.into_iter();
        let fitting = styles.filter(|((digits, _), _)| *digits <= max);
        let usual = fitting.max_by_key(|(_, count)| *count);
        let (fraction, offset) = usual.map_or((max, "Z".to_owned()), |(style, _)| style);
        ColumnKind::Timestamp(Timestamp {
            unit,
            fraction,
            offset,
        })
    }
}
