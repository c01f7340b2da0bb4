//! Decides the columns from the spec and from the first records.

mod traits;

use super::options::Columns;
use super::schema::{Column, EXTRA, Empty, Kind, Source, TableSchema};
use std::collections::HashMap;
use talentdata_core::json;
use talentdata_core::types::{FieldKind, Resource};
use talentdata_core::{List, RawRecord, Result, ScanOptions};
use traits::Traits;

/// Fields beyond so many stay in `_extra`: records whose field names are data would make a table of
/// columns without end.
pub(super) const MOST_COLUMNS: usize = 512;

/// Columns of a table, nested ones included: each takes memory of its own. What is beyond stays JSON text.
pub(super) const MOST_NODES: usize = 2 * MOST_COLUMNS;

/// Values nested deeper than this are JSON text.
pub(super) const DEEPEST: usize = 32;

/// An object with more different names than this is a map, whose names are data, and stays JSON text.
const MOST_NAMES: usize = 200;

/// So is one whose names occur in fewer than one of so many objects, on average.
const RAREST: usize = 10;

/// How much of a list was seen, of which its first records decide on the columns. They are the same whatever
/// the pages were.
#[derive(Default)]
pub(crate) struct Seen {
    records: usize,
    bytes: usize,
}

impl Seen {
    pub(crate) fn add(&mut self, record: &RawRecord) {
        self.records += 1;
        self.bytes += record.as_bytes().len();
    }

    /// Whether it is enough to decide; what comes then is not looked at.
    pub(crate) fn is_enough(&self) -> bool {
        self.records >= TableSchema::SAMPLE || self.bytes >= TableSchema::SAMPLE_BYTES
    }
}

impl TableSchema {
    /// The columns that an export of a list would have, decided from the first records as it would decide them.
    ///
    /// # Errors
    /// Those of a scan.
    pub async fn of_list<T>(list: &List<T>, columns: Columns) -> Result<Self> {
        let mut scan = list.raw().scan(ScanOptions {
            limit: Some(Self::SAMPLE as u64),
            ..ScanOptions::default()
        });
        let (mut sample, mut seen) = (Vec::new(), Seen::default());
        while !seen.is_enough()
            && let Some(batch) = scan.next_batch().await
        {
            let records = batch?.records;
            records.iter().for_each(|record| seen.add(record));
            sample.extend(records);
        }
        Ok(Self::infer(list.resource(), &sample, columns))
    }

    /// As many records are looked at before the columns are decided.
    pub const SAMPLE: usize = 1000;

    /// Fewer are where they have so many bytes, since they are held in memory until then.
    pub const SAMPLE_BYTES: usize = 16 * 1024 * 1024;

    /// The documented fields, then those of the first `records` as they were first met.
    pub fn infer(resource: Resource, records: &[RawRecord], columns: Columns) -> TableSchema {
        let mut seen = Seen::default();
        let enough = records.iter().take_while(|record| {
            let needed = !seen.is_enough();
            seen.add(record);
            needed
        });
        let sample = records.get(..enough.count()).unwrap_or(records);
        let shape = resource.shape();
        let mut budget = Budget {
            columns,
            nested: MOST_NODES - MOST_COLUMNS,
        };
        let mut found = Found::default();
        for field in shape.fields {
            found.place(field.name, MOST_COLUMNS);
        }
        for record in sample {
            for (name, value) in record.members() {
                let name = json::text(name).filter(|name| name != EXTRA);
                if let Some(at) = name.and_then(|name| found.place(&name, MOST_COLUMNS)) {
                    found.traits[at].note(value, 1, &mut budget);
                }
            }
        }
        let documented = shape.fields.iter().map(|field| Some(field.kind));
        let fields = found.columns(sample.len(), documented);
        let mut schema = TableSchema::new(Some(resource.name().to_owned()), columns, fields);
        schema.sampled_records = sample.len() as u64;
        schema
    }
}

/// What nested values may still become.
struct Budget {
    columns: Columns,
    /// How many columns.
    nested: usize,
}

/// The fields met in objects of one kind, in order.
#[derive(Default)]
struct Found {
    names: Vec<String>,
    traits: Vec<Traits>,
    places: HashMap<String, usize>,
}

impl Found {
    /// Where the field has its column; none where it has to stay JSON. Arrow's C interface cannot carry
    /// a name with a NUL.
    fn place(&mut self, name: &str, most: usize) -> Option<usize> {
        if let Some(at) = self.places.get(name) {
            return Some(*at);
        }
        let at = self.names.len();
        if name.contains('\0') || at == most {
            return None;
        }
        self.places.insert(name.to_owned(), at);
        self.names.push(name.to_owned());
        self.traits.push(Traits::default());
        Some(at)
    }

    /// How many columns were set aside for its fields and what is nested in them.
    fn size(&self) -> usize {
        let nested = self.traits.iter().map(Traits::nested);
        self.names.len() + nested.sum::<usize>()
    }

    /// Whether the names of `objects` objects are data.
    fn is_map(&self, objects: usize) -> bool {
        let values: usize = self.traits.iter().map(|traits| traits.values).sum();
        values * RAREST < self.names.len() * objects
    }

    /// The columns of `objects` objects.
    fn columns(
        self,
        objects: usize,
        documented: impl Iterator<Item = Option<FieldKind>>,
    ) -> Vec<Column> {
        let kinds = documented.chain(std::iter::repeat(None));
        let columns = self.names.into_iter().zip(self.traits).zip(kinds);
        let column = |((name, traits), kind): ((String, Traits), Option<FieldKind>)| Column {
            name,
            nullable: traits.values < objects || traits.nulls > 0,
            empty: traits.empty(objects),
            source: kind.map_or(Source::Sampled, |_| Source::Documented),
            kind: match kind {
                None | Some(FieldKind::Json) => traits.kind(),
                Some(FieldKind::Text) => Kind::Text,
                Some(FieldKind::Integer) => Kind::Integer,
                Some(FieldKind::Number) => Kind::Number,
                Some(FieldKind::Boolean) => Kind::Boolean,
            },
        };
        columns.map(column).collect()
    }
}

impl Traits {
    fn empty(&self, objects: usize) -> Empty {
        match self.nulls > objects.saturating_sub(self.values) {
            true => Empty::Null,
            false => Empty::Absent,
        }
    }
}
