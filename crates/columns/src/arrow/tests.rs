//! Records become columns and records again, and nothing is lost.

mod check;
mod columns;
pub(crate) mod rebuild;
mod scan;
mod schema;
pub(crate) mod tables;

use super::{BatchBuilder, Columns, RecordBatch, TableSchema};
use proptest::prelude::*;
use std::sync::Arc;
use tables::{Table, table};
use talentdata_core::RawRecord;
use talentdata_core::types::Resource;

pub(crate) fn record(json: impl AsRef<str>) -> RawRecord {
    RawRecord::parse(json.as_ref()).unwrap()
}

pub(crate) fn infer(sample: &[RawRecord]) -> TableSchema {
    TableSchema::infer(Resource::Contacts, sample, Columns::Typed)
}

fn batches(columns: &TableSchema, records: &[RawRecord], rows: usize) -> Vec<RecordBatch> {
    let mut builder = BatchBuilder::new(Arc::new(columns.clone()), rows);
    let whole = records.iter().filter_map(|record| builder.append(record));
    let mut batches: Vec<_> = whole.map(Result::unwrap).collect();
    if !builder.is_empty() {
        batches.push(builder.finish().unwrap());
    }
    batches
}

proptest! {
    #[test]
    fn batch_boundaries_do_not_matter(Table { records, sample } in table(), rows in 1..8_usize) {
        let columns = infer(&records[..sample]);
        if let [whole] = batches(&columns, &records, usize::MAX).as_slice() {
            for (number, batch) in batches(&columns, &records, rows).iter().enumerate() {
                prop_assert_eq!(batch, &whole.slice(number * rows, batch.num_rows()));
            }
        }
    }
}
