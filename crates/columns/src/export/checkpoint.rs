//! The checkpoint of an unfinished export: what it exports, and how far it has come.

use super::{Export, Format};
use crate::arrow::{Counts, TableSchema};
use crate::digest::RecordsDigest;
use serde::{Deserialize, Serialize};
use talentdata_core::Config;
use talentdata_core::scan::{Receipt, ScanState};

/// Changes whenever older checkpoints can no longer be resumed from.
const VERSION: u32 = 9;

/// A checkpoint begins with this, its version, and the BLAKE3 of the JSON behind that line.
pub(super) const MARK: &str = "talentdata export checkpoint";

/// A larger file is not a checkpoint, which has some hundred kilobytes, and must not fill the memory.
pub(super) const MAX_BYTES: u64 = 64 << 20;

/// What the file `checkpoint` holds.
#[derive(Serialize, Deserialize)]
pub(super) struct Checkpoint {
    pub(super) key: ExportKey,
    /// None until there is something to resume from.
    pub(super) progress: Option<Progress>,
}

/// How far an export has come.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Progress {
    /// None in formats without columns, and until they are decided.
    pub(super) schema: Option<TableSchema>,
    /// How the records differed from the schema that was given.
    pub(super) counts: Option<Counts>,
    /// Where the scan stands.
    pub(super) state: ScanState,
    /// What all runs have done up to there.
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
#[derive(Default, Serialize, Deserialize)]
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

/// The settings that decide what an export writes, and their names: only an export with the same ones can be resumed.
#[derive(PartialEq, Serialize, Deserialize)]
pub(super) struct ExportKey(Vec<(String, String)>);

impl ExportKey {
    pub(super) fn new(export: &Export, config: Option<&Config>) -> Self {
        let (scan, table) = (&export.scan, &export.table);
        let page_size = scan.page_size.or(export.resource.shape().max_limit);
        let parameters = export.parameters();
        let parameters = parameters.iter();
        let parameters: Vec<String> = parameters
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let schema = table.schema.as_ref();
        let settings = [
            ("resource", Some(export.resource.name().to_owned())),
            ("format", Some(export.format.to_string())),
            ("page_size", page_size.map(|size| size.to_string())),
            ("limit", scan.limit.map(|limit| limit.to_string())),
            // Each client has its own lists at the same address. It is not a secret.
            (
                "client_id",
                config.and_then(|config| config.client_id().map(str::to_owned)),
            ),
            (
                "base_url",
                config.map(|config| config.base_url().to_string()),
            ),
            (
                "parameters",
                (!parameters.is_empty()).then(|| parameters.join(" ")),
            ),
            (
                "columns",
                (export.format != Format::Jsonl).then(|| table.columns.to_string()),
            ),
            (
                "schema",
                schema.map(|schema| blake3::hash(schema.to_json().as_bytes()).to_string()),
            ),
            ("on_new", schema.map(|_| table.on_new.to_string())),
        ];
        let given = settings
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)));
        ExportKey(given.collect())
    }

    /// The first setting in which an export begun `before` differs, with its values before and now.
    pub(super) fn difference<'a>(&'a self, before: &'a ExportKey) -> Option<[&'a str; 3]> {
        let value = |settings: &'a ExportKey, wanted: &str| {
            let found = settings.0.iter().find(|(name, _)| name == wanted);
            found.map_or("none", |(_, value)| value.as_str())
        };
        let names = before
            .0
            .iter()
            .chain(&self.0)
            .map(|(name, _)| name.as_str());
        let mut settings = names.map(|name| [name, value(before, name), value(self, name)]);
        settings.find(|[_, before, now]| before != now)
    }
}
