//! The checkpoint of an unfinished export: what it exports, and how far it has come.

use super::encoder::Table;
use super::key::ExportKey;
use crate::digest::RecordsDigest;
use serde::{Deserialize, Serialize};
use talentdata_core::scan::{Receipt, ScanState};

/// Changes whenever older checkpoints can no longer be resumed from.
const VERSION: u32 = 8;

/// A checkpoint begins with this, its version, and the BLAKE3 of the JSON behind that line.
pub(super) const MARK: &str = "talentdata export checkpoint";

/// A larger file is not a checkpoint, which has some hundred kilobytes, and must not fill the memory.
pub(super) const MAX_BYTES: u64 = 64 << 20;

/// What the file `checkpoint` holds.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Checkpoint {
    pub(super) key: ExportKey,
    /// None until there is something to resume from.
    pub(super) progress: Option<Progress>,
}

/// How far an export has come.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Progress {
    /// The columns, in formats that have them, and how records differed from those that were given.
    pub(super) table: Table,
    /// Where the scan stands.
    pub(super) state: ScanState,
    /// What has been done up to there.
    pub(super) receipt: Receipt,
    /// Of the records up to there.
    pub(super) records: RecordsDigest,
    /// What was synced of the data.
    pub(super) data: Kept,
    /// What was synced of the identities of the records.
    pub(super) ids: Kept,
    /// Where in the data the row groups end that are complete, in formats that have them.
    pub(super) ends: Vec<u64>,
}

/// The beginning of a file, as it was synced.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Kept {
    pub(super) bytes: u64,
    pub(super) blake3: String,
}

impl Checkpoint {
    pub(super) fn to_bytes(&self) -> serde_json::Result<Vec<u8>> {
        let json = serde_json::to_vec(self)?;
        let mut bytes = format!("{MARK} {VERSION} {}\n", blake3::hash(&json)).into_bytes();
        bytes.extend(json);
        Ok(bytes)
    }

    /// Reads what [`to_bytes`](Self::to_bytes) has written.
    ///
    /// # Errors
    /// In words: what is wrong with it.
    pub(super) fn of_bytes(bytes: &[u8]) -> Result<Self, String> {
        let no_checkpoint = || "is damaged, or not a checkpoint".to_owned();
        let end = memchr::memchr(b'\n', bytes).ok_or_else(no_checkpoint)?;
        let (header, json) = bytes.split_at(end);
        let json = json.get(1..).unwrap_or_default();
        let header = std::str::from_utf8(header).ok();
        let header = header.and_then(|header| header.strip_prefix(MARK)?.strip_prefix(' '));
        let (version, hash) = header
            .and_then(|header| header.split_once(' '))
            .ok_or_else(no_checkpoint)?;
        if version != VERSION.to_string() {
            return Err(format!(
                "has version {version}, but this program writes version {VERSION}"
            ));
        }
        if blake3::hash(json).to_string() != hash {
            return Err(no_checkpoint());
        }
        serde_json::from_slice(json).map_err(|error| format!("is damaged ({error})"))
    }
}
