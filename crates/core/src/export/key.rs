//! What an export requests: only an export with the same key can be resumed.

use super::format::Layout;
use super::{Export, Format};
use crate::settings::Config;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The settings that decide what an export writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ExportKey {
    resource: String,
    /// The filters.
    #[serde(default)]
    parameters: BTreeMap<String, Value>,
    base_url: String,
    /// Each client has its own lists at the same address. It is not a secret.
    client_id: Option<String>,
    pub(super) format: Format,
    page_size: Option<u64>,
    limit: Option<u64>,
    /// The types of the columns, in formats that have them.
    columns: Option<String>,
    /// A hash of the schema that is given.
    schema: Option<String>,
    on_new: Option<String>,
}

/// A setting in which two exports differ.
pub(super) struct Difference {
    pub(super) setting: &'static str,
    pub(super) before: String,
    pub(super) now: String,
}

impl ExportKey {
    pub(super) fn new(export: &Export, config: &Config) -> Self {
        let most = export.resource.shape().max_limit;
        ExportKey {
            resource: export.resource.name().to_owned(),
            parameters: export.parameters(),
            base_url: config.base_url().to_string(),
            client_id: config.client_id().map(str::to_owned),
            format: export.format,
            page_size: export.scan.page_size.or(most),
            limit: export.scan.limit,
            columns: (export.format != Format::Jsonl)
                .then(|| export.scan.table.columns.to_string()),
            schema: export.scan.table.schema.as_ref().map(|schema| {
                let hash = xxhash_rust::xxh3::xxh3_64(schema.to_json().as_bytes());
                format!("{hash:016x}")
            }),
            on_new: (export.scan.table.schema.as_ref())
                .map(|_| export.scan.table.on_new.to_string()),
        }
    }

    /// How an unfinished export is stored.
    pub(super) fn layout(&self) -> Layout {
        self.format.layout()
    }

    /// The first setting that differs from that of an export begun `before`.
    pub(super) fn difference(&self, before: &ExportKey) -> Option<Difference> {
        let mut pairs = before.settings().into_iter().zip(self.settings());
        let ((setting, before), (_, now)) = pairs.find(|(before, now)| before != now)?;
        Some(Difference {
            setting,
            before,
            now,
        })
    }

    fn settings(&self) -> [(&'static str, String); 10] {
        let page_size = self.page_size.map(|size| size.to_string());
        let client_id = self.client_id.clone();
        let limit = self.limit.map(|limit| limit.to_string());
        let none = || "none".to_owned();
        let parameters = (!self.parameters.is_empty()).then(|| {
            let pairs = self.parameters.iter();
            let pairs: Vec<String> = pairs
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            pairs.join(" ")
        });
        [
            ("resource", self.resource.clone()),
            ("parameters", parameters.unwrap_or_else(none)),
            ("base_url", self.base_url.clone()),
            ("client_id", client_id.unwrap_or_else(none)),
            ("format", self.format.to_string()),
            ("page_size", page_size.unwrap_or_else(|| "default".into())),
            ("limit", limit.unwrap_or_else(none)),
            ("columns", self.columns.clone().unwrap_or_else(none)),
            ("schema", self.schema.clone().unwrap_or_else(none)),
            ("on_new", self.on_new.clone().unwrap_or_else(none)),
        ]
    }
}
