//! Lists that were generated before and are gone: no list may vanish without a word.

use super::api::Api;
use super::findings::{Findings, Topic};
use std::path::Path;

/// The committed table of lists.
const TABLE: &str = "crates/types/src/generated/operations.rs";

/// Notes every list of the committed table that the spec no longer has.
pub(super) fn note(root: &Path, api: &Api, findings: &mut Findings) {
    // Where nothing was generated yet, nothing can be gone.
    let table = std::fs::read_to_string(root.join(TABLE)).unwrap_or_default();
    for name in names(&table) {
        if !api.lists().any(|(_, list)| list.name == name) {
            let text = format!("{name}: every language loses it");
            findings.note(Topic::ListGone, text);
        }
    }
}

/// The names of the lists in the table: each stands right below the start of a list.
fn names(table: &str) -> impl Iterator<Item = &str> {
    let lists = table.split("ListShape {\n").skip(1);
    lists.filter_map(|list| {
        let name = list.lines().next()?.trim().strip_prefix("name: \"")?;
        name.strip_suffix("\",")
    })
}
