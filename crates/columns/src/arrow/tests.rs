//! Records become columns and records again, and nothing is lost.

mod check;
mod columns;
#[path = "../../tests/export/fails.rs"]
mod fails;
pub(crate) mod rebuild;
mod scan;
mod schema;
pub(crate) mod tables;

use super::{BatchBuilder, ColumnTypes, RecordBatch, TableSchema};
pub(crate) use fails::fails;
use std::sync::Arc;
use talentdata_core::RawRecord;
use talentdata_core::types::ListName;

pub(crate) fn record(json: impl AsRef<str>) -> RawRecord {
    RawRecord::parse(json.as_ref()).unwrap()
}

pub(crate) fn infer(sample: &[RawRecord]) -> TableSchema {
    TableSchema::infer(ListName::Contacts, sample, ColumnTypes::Typed)
}

pub(crate) fn batches(
    columns: &TableSchema,
    records: &[RawRecord],
    rows: usize,
) -> Vec<RecordBatch> {
    let mut builder = BatchBuilder::new(Arc::new(columns.clone()), rows);
    let whole = records
        .iter()
        .filter_map(|record| builder.append(record, None));
    let mut batches: Vec<_> = whole.map(Result::unwrap).collect();
    if builder.len() > 0 {
        batches.push(builder.finish().unwrap());
    }
    batches
}
