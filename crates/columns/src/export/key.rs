//! What an export requests: only an export with the same key can be resumed.

use super::{Export, Format};
use serde::{Deserialize, Serialize};
use talentdata_core::Config;

/// The settings that decide what an export writes, and their names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ExportKey(Vec<(String, String)>);

impl ExportKey {
    pub(super) fn new(export: &Export, config: Option<&Config>) -> Self {
        let number = |value: Option<u64>, none: &str| {
            value.map_or_else(|| none.to_owned(), |value| value.to_string())
        };
        let table = &export.table;
        let max_limit = export.resource.shape().max_limit;
        let mut settings = vec![
            ("resource", export.resource.name().to_owned()),
            ("format", export.format.to_string()),
            (
                "page_size",
                number(export.scan.page_size.or(max_limit), "default"),
            ),
            ("limit", number(export.scan.limit, "none")),
        ];
        if let Some(config) = config {
            // Each client has its own lists at the same address. It is not a secret.
            let client_id = config.client_id().unwrap_or("none").to_owned();
            settings.push(("client_id", client_id));
            settings.push(("base_url", config.base_url().to_string()));
        }
        let parameters = export.parameters();
        if !parameters.is_empty() {
            let pairs = parameters.iter();
            let pairs: Vec<_> = pairs
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            settings.push(("parameters", pairs.join(" ")));
        }
        if export.format != Format::Jsonl {
            settings.push(("columns", table.columns.to_string()));
        }
        if let Some(schema) = &table.schema {
            let hash = blake3::hash(schema.to_json().as_bytes());
            settings.push(("schema", hash.to_string()));
            settings.push(("on_new", table.on_new.to_string()));
        }
        let owned = settings.into_iter();
        ExportKey(
            owned
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
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
