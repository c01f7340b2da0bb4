//! The history of a list in a mirror, with a row for each kept sync, as values and as a table.

use crate::receipt::{SyncReceipt, Withheld};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use talentdata_columns::arrow::{RecordBatch, RecordBatches, TableOptions, TableSchema};
use talentdata_core::scan::Completeness;
use talentdata_core::types::ListName;
use talentdata_core::{Error, ErrorKind, RawRecord, Result};

/// The columns of the table, as a schema file.
const COLUMNS: &str = r#"{"talentdata_schema":1,"columns":"typed","sampled_records":0,"fields":[
    {"name":"generation","type":"int64"},
    {"name":"started","type":"timestamp","unit":"us","fraction":6},
    {"name":"ended","type":"timestamp","unit":"us","fraction":6},
    {"name":"records","type":"int64"},
    {"name":"inserts","type":"int64"},
    {"name":"updates","type":"int64"},
    {"name":"deletes","type":"int64"},
    {"name":"reappeared","type":"int64"},
    {"name":"erased","type":"int64"},
    {"name":"missing","type":"int64"},
    {"name":"withheld","type":"int64","empty":"null"},
    {"name":"completeness","type":"string"},
    {"name":"requests","type":"int64"},
    {"name":"seconds","type":"double"},
    {"name":"bookmark","type":"string"}]}"#;

/// A sync in the history of a list: the main numbers of its receipt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SyncSummary {
    /// The number of the sync.
    pub generation: u64,
    /// The start of the scan: a time in UTC, in the format of RFC 3339.
    pub started: String,
    /// The end of the scan, in the same format.
    pub ended: String,
    /// The number of records that the scan delivered.
    pub records: u64,
    /// The number of new records.
    pub inserts: u64,
    /// The number of records with other values than before.
    pub updates: u64,
    /// The number of records that are proven to be gone.
    pub deletes: u64,
    /// The number of records that were missing and are in the list again.
    pub reappeared: u64,
    /// The number of erased records.
    pub erased: u64,
    /// The number of kept records that the scan did not deliver.
    pub missing: u64,
    /// The number of withheld deletes; `None` if there were none.
    pub withheld: Option<u64>,
    /// The completeness of the scan.
    pub completeness: Completeness,
    /// The number of page requests, including retries; 0 for an erasure.
    pub requests: u64,
    /// The duration of the scan.
    pub seconds: f64,
    /// The bookmark of the sync, to ask for the changes after it.
    pub bookmark: String,
}

impl From<SyncReceipt> for SyncSummary {
    fn from(receipt: SyncReceipt) -> Self {
        let (changes, scan) = (receipt.changes, receipt.scan);
        SyncSummary {
            generation: receipt.generation,
            started: receipt.started,
            ended: receipt.ended,
            records: scan.records,
            inserts: changes.insert,
            updates: changes.update,
            deletes: changes.delete,
            reappeared: changes.reappeared,
            erased: changes.erased,
            missing: receipt.missing,
            withheld: receipt.withheld.map(|Withheld { deletes, .. }| deletes),
            completeness: scan.completeness,
            requests: scan.requests,
            seconds: scan.seconds,
            bookmark: receipt.bookmark,
        }
    }
}

/// Returns the history of a list as a table with a row for each sync.
///
/// # Errors
/// `Internal`, which a caller cannot cause.
pub fn history_table(resource: ListName, syncs: &[SyncSummary]) -> Result<RecordBatch> {
    let text = |sync| serde_json::to_string(sync).map_err(internal);
    let texts = syncs.iter().map(text).collect::<Result<Vec<_>>>()?;
    let records = RawRecord::parse_all(&texts)?.into_iter().map(Ok);
    let columns: TableSchema = serde_json::from_str(COLUMNS).map_err(internal)?;
    let mut table = TableOptions::default().with_batch_rows(texts.len().max(1));
    table.known = Some(Arc::new(columns));
    let mut batches = RecordBatches::new(resource, &table, records)?;
    let schema = batches.schema();
    let rows = batches.next().transpose()?;
    let rows = rows.unwrap_or_else(|| RecordBatch::new_empty(schema));
    // The last column is for values that fit no other, and there are none.
    let columns: Vec<usize> = (0..rows.num_columns() - 1).collect();
    rows.project(&columns).map_err(internal)
}

fn internal(error: impl std::fmt::Display) -> Error {
    let message = format!("the history of a list could not become a table: {error}");
    Error::new(ErrorKind::Internal, message)
}
