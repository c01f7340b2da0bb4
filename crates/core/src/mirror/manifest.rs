//! The manifest: which files a mirror has, and what they are. Replacing it is what commits a sync.

use super::change::ChangeCounts;
use super::fingerprint::HashKey;
use crate::arrow::TableSchema;
use crate::error::{Error, ErrorKind, Result};
use crate::scan::Receipt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// The name of the file.
pub(super) const NAME: &str = "manifest.json";

/// Changes whenever older programs can no longer read what newer ones write.
const VERSION: u32 = 1;

/// What `manifest.json` says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    #[serde(rename = "talentdata_mirror")]
    version: u32,
    /// Random; the names of unfinished files bear it.
    pub(super) id: String,
    /// With which records are hashed.
    pub(super) hash_key: HashKey,
    /// The service.
    pub(super) base_url: String,
    /// Each client has its own lists at the same address. It is not a secret.
    pub(super) client_id: Option<String>,
    pub(super) lists: BTreeMap<String, ListEntry>,
}

/// One list of a mirror.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ListEntry {
    /// The filters.
    pub(super) parameters: BTreeMap<String, Value>,
    /// The columns that the next sync begins with.
    pub(super) schema: TableSchema,
    pub(super) schema_changes: Vec<SchemaChange>,
    /// Where older generations were folded together.
    pub(super) base: Option<Base>,
    /// The oldest first.
    pub(super) generations: Vec<Generation>,
    /// `current.parquet` as of the last generation.
    pub(super) current: FileEntry,
    /// Fingerprints of the last generation.
    pub(super) state: FileEntry,
    /// Files of earlier manifests, which the next sync removes if they are still there.
    pub(super) obsolete: Vec<FileEntry>,
}

/// The records of the oldest generation, whose own changes are no longer kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Base {
    pub(super) generation: u64,
    pub(super) file: FileEntry,
}

/// A file of a mirror.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileEntry {
    /// Its path below the mirror, with `/` between the names.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// `xxh3-128:` and its hash in 32 hexadecimal digits.
    pub digest: String,
}

/// What one sync has found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Generation {
    /// Its number, from 1.
    pub generation: u64,
    /// When its scan began: a time in UTC as in RFC 3339, by the clock of this machine.
    pub started: String,
    /// When its scan, and the second look at its deletes, had ended.
    pub ended: String,
    /// Records delivered.
    pub records: u64,
    /// Records that the mirror has beside them, because nothing proves that they are gone.
    pub missing: u64,
    /// Changes since the generation before.
    pub changes: ChangeCounts,
    /// How the scan went.
    pub receipt: Receipt,
    /// What a second look at its deletes has shown; null where none was needed.
    pub second_look: Option<SecondLook>,
    /// The changes; null once they are folded into the base.
    pub changes_file: Option<FileEntry>,
    /// Records that say the same and are written otherwise than before; null where there are none.
    pub rewritten_file: Option<FileEntry>,
    /// Where the records of this generation are, in their order.
    pub order_file: FileEntry,
}

/// What a second look at deletes has shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecondLook {
    /// Pages read.
    pub requests: u64,
    /// Records that were gone from their place.
    pub confirmed: u64,
    /// Records that could not be confirmed, which are missing instead.
    pub unconfirmed: u64,
}

/// A field that was new, or had values that its column cannot hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SchemaChange {
    /// The first sync that met it.
    pub generation: u64,
    /// The JSON pointer of the field, with `*` in the place of an index.
    pub field: String,
    /// What has changed.
    pub change: SchemaChangeKind,
    /// The JSON type of the value: `string`, `number`, `boolean`, `array`, `object`.
    pub found: String,
}

/// How a list's records have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SchemaChangeKind {
    /// A field that no sync had seen. It is in `_extra`; one of the record itself has a column from the next sync on.
    NewField,
    /// A column was added for a field.
    NewColumn,
    /// A value that the column cannot hold. Its text is in `_extra`, and the column keeps its type.
    OtherType,
}

impl Manifest {
    pub(super) fn new(base_url: String, client_id: Option<String>) -> Self {
        Manifest {
            version: VERSION,
            id: format!("{:016x}", fastrand::u64(..)),
            hash_key: HashKey::random(),
            base_url,
            client_id,
            lists: BTreeMap::new(),
        }
    }

    /// # Errors
    /// `Io`, when the text is no manifest, or one of another version.
    pub(super) fn read(text: &[u8], path: &Path) -> Result<Self> {
        #[derive(Deserialize)]
        struct Versioned {
            talentdata_mirror: u32,
        }
        let refuse = |why: String| {
            let message = format!("{} {why}", path.display());
            Error::new(ErrorKind::Io, message)
        };
        let damaged = |error| {
            refuse(format!(
                "is damaged, or not the manifest of a mirror ({error})"
            ))
        };
        let Versioned { talentdata_mirror } = serde_json::from_slice(text).map_err(damaged)?;
        if talentdata_mirror != VERSION {
            return Err(refuse(format!(
                "has version {talentdata_mirror}, but this program reads version {VERSION}"
            )));
        }
        let manifest: Self = serde_json::from_slice(text).map_err(damaged)?;
        let sound = manifest.lists.values().all(|list| {
            let ordered = list.generations.is_sorted_by_key(|one| one.generation);
            let within = list.files().chain(&list.obsolete).all(FileEntry::is_within);
            !list.generations.is_empty() && ordered && within
        });
        match sound {
            true => Ok(manifest),
            false => Err(refuse("is damaged".into())),
        }
    }

    /// The first setting in which a sync differs from those before.
    pub(super) fn difference(&self, base_url: &str, client_id: Option<&str>) -> Option<String> {
        let none = "none";
        let mine = self.client_id.as_deref();
        if self.base_url != base_url {
            let before = &self.base_url;
            return Some(format!(
                "base_url: the mirror is of {before}, this sync of {base_url}"
            ));
        }
        (mine != client_id).then(|| {
            let (before, now) = (mine.unwrap_or(none), client_id.unwrap_or(none));
            format!("client_id: the mirror is of {before}, this sync of {now}")
        })
    }
}

impl ListEntry {
    /// The generation that the next sync is compared with.
    pub(super) fn last(&self) -> Option<&Generation> {
        self.generations.last()
    }

    /// The list after another sync, of which `next` says what is new.
    pub(super) fn followed_by(mut self, next: ListEntry) -> Self {
        self.generations.extend(next.generations);
        self.schema_changes.extend(next.schema_changes);
        ListEntry {
            base: self.base,
            generations: self.generations,
            schema_changes: self.schema_changes,
            obsolete: vec![self.state],
            ..next
        }
    }

    /// Every file, obsolete ones aside.
    pub(super) fn files(&self) -> impl Iterator<Item = &FileEntry> {
        let base = self.base.iter().map(|base| &base.file);
        let generations = self.generations.iter().flat_map(Generation::files);
        let both = [&self.current, &self.state];
        base.chain(generations).chain(both)
    }
}

impl Generation {
    pub(super) fn files(&self) -> impl Iterator<Item = &FileEntry> {
        let changes = self.changes_file.iter().chain(&self.rewritten_file);
        changes.chain([&self.order_file])
    }
}

impl FileEntry {
    /// Whether its path stays below the mirror.
    fn is_within(&self) -> bool {
        is_within(&self.path)
    }
}

/// Whether a path stays below the mirror.
pub(super) fn is_within(path: &str) -> bool {
    let plain = |name: &str| !name.is_empty() && name != "." && name != "..";
    !path.contains(['\\', ':']) && path.split('/').all(plain)
}
