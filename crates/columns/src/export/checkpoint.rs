//! The checkpoint of an unfinished export: its settings and its progress.

use super::{Export, Format};
use crate::arrow::Counts;
use crate::digest::RecordsDigest;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use talentdata_core::Config;
use talentdata_core::scan::{Receipt, ScanState};

/// The first words of a checkpoint of any version, which identify it as ours.
pub(super) const MARK: &str = "talentdata export checkpoint ";

/// The version, which changes whenever older checkpoints can no longer be resumed. The first line is the mark, the
/// version, and the BLAKE3 of the JSON after that line.
const VERSION: u32 = 10;

/// The maximum size that is read. A checkpoint has some hundred kilobytes, and a larger file must not fill the memory.
pub(super) const MAX_CHECKPOINT_BYTES: u64 = 64 << 20;

/// The content of the file `checkpoint`.
#[derive(Serialize, Deserialize)]
pub(super) struct Checkpoint {
    /// See [`key`].
    pub(super) key: Value,
    /// `None` until there is something to resume.
    pub(super) progress: Option<Resumable>,
    /// The reason for discarding the work of an earlier export, and the number of its records.
    #[serde(default)]
    pub(super) restarted: Option<String>,
}

/// The progress of an export.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Resumable {
    /// The position of the scan.
    pub(super) state: ScanState,
    /// The receipt of all runs up to that position.
    pub(super) receipt: Receipt,
    /// The digest of the records up to that position.
    pub(super) records: RecordsDigest,
    /// The differences between the records and the given schema.
    pub(super) counts: Option<Counts>,
    /// The synced part of the records.
    pub(super) data: SyncedPrefix,
    /// The synced part of the records' identities.
    pub(super) ids: SyncedPrefix,
}

/// The beginning of a file, as it was synced.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct SyncedPrefix {
    pub(super) bytes: u64,
    pub(super) blake3: String,
}

impl Resumable {
    /// Returns the number of kept records.
    pub(super) fn records(&self) -> u64 {
        self.receipt.records
    }
}

impl Checkpoint {
    pub(super) fn to_bytes(&self) -> serde_json::Result<Vec<u8>> {
        let json = serde_json::to_vec(self)?;
        Ok([header(&json).into_bytes(), json].concat())
    }

    /// Reads the output of [`to_bytes`](Self::to_bytes); `None` for any other bytes.
    pub(super) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let end = memchr::memchr(b'\n', bytes)?;
        let (head, json) = bytes.split_at(end + 1);
        let is_whole = header(json).as_bytes() == head;
        is_whole.then(|| serde_json::from_slice(json).ok())?
    }
}

fn header(json: &[u8]) -> String {
    format!("{MARK}{VERSION} {}\n", blake3::hash(json))
}

/// Returns the settings that decide what an export writes, by name. See [`differences`].
pub(super) fn key(export: &Export, config: Option<&Config>) -> Value {
    let (scan, table) = (&export.scan, &export.table);
    let schema = table.schema.as_ref();
    let shape = export.resource.shape();
    let page_size = scan.page_size.or(shape.max_limit);
    let has_columns = export.format != Format::Jsonl;
    let schema_hash = schema.map(|schema| blake3::hash(schema.to_json().as_bytes()));
    json!({
        "resource": export.resource.name(),
        "format": export.format,
        "page_size": page_size,
        "limit": scan.limit,
        // Each client has its own lists at the same address. It is not a secret.
        "client_id": config.and_then(Config::client_id),
        "base_url": config.map(|config| config.base_url().to_string()),
        "parameters": config.and_then(|config| scan.identity(shape, config).ok()),
        "columns": has_columns.then_some(table.columns),
        "schema": schema_hash.map(|hash| hash.to_string()),
        "on_new_field": (has_columns || schema.is_some()).then_some(table.on_new),
    })
}

/// Returns the settings in which `key` differs from the key of the export `before`, each with both values.
/// All formats except JSON Lines keep the same records and write them again, so an export in one of them can continue
/// another.
pub(super) fn differences(key: &Value, before: &Value) -> Vec<String> {
    let shown = |value: &Value| match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let jsonl = Format::Jsonl.name();
    let is_rewritten = key["format"] != jsonl && before["format"] != jsonl;
    let settings = key.as_object().into_iter().flatten();
    let differing = settings.filter(|(name, now)| {
        let is_form = ["format", "columns"].contains(&name.as_str());
        before[*name] != **now && !(is_rewritten && is_form)
    });
    let differing = differing.map(|(name, now)| {
        let (before, now) = (shown(&before[name]), shown(now));
        format!("{name} was {before} and is now {now}")
    });
    differing.collect()
}
