//! Records become columns and records again, and nothing is lost.

mod check;
mod columns;
pub(crate) mod rebuild;
mod scan;
mod schema;
pub(crate) mod tables;

use super::{BatchBuilder, Columns, RecordBatch, TableSchema};
use proptest::prelude::*;
use rebuild::{batch_rows, fields};
use tables::{Table, table};
use talentdata_core::RawRecord;
use talentdata_core::types::Resource;

pub(crate) fn record(json: impl AsRef<str>) -> RawRecord {
    RawRecord::parse(json.as_ref()).unwrap()
}

pub(crate) fn infer(sample: &[RawRecord]) -> TableSchema {
    TableSchema::infer(Resource::Contacts, sample, Columns::Typed)
}

pub(crate) fn batches(
    columns: &TableSchema,
    records: &[RawRecord],
    rows: usize,
) -> Vec<RecordBatch> {
    let mut builder = BatchBuilder::new(std::sync::Arc::new(columns.clone()), rows);
    let mut batches = Vec::new();
    for record in records {
        batches.extend(builder.append(record).map(Result::unwrap));
    }
    if !builder.is_empty() {
        batches.push(builder.finish().unwrap());
    }
    batches
}

proptest! {
    #[test]
    fn records_come_back_exactly(Table { records, sample } in table(), rows in 1..8_usize, json: bool) {
        let columns = if json { Columns::Json } else { Columns::Typed };
        let columns = TableSchema::infer(Resource::Contacts, &records[..sample], columns);
        let sent: Vec<_> = records.iter().map(fields).collect();
        let batches = batches(&columns, &records, rows);
        let back: Vec<_> = batches.iter().flat_map(batch_rows).collect();
        prop_assert_eq!(back, sent);
        prop_assert!(batches.iter().all(|batch| batch.schema() == columns.to_arrow()));
    }

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
