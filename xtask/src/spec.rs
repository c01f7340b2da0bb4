//! Reads a spec: refuses what cannot be generated, notes what is not, and yields the typed model.

pub(crate) mod api;
mod cursor;
mod document;
mod lists;
mod operations;
mod schema;
mod shape;
#[cfg(test)]
pub(crate) mod tests;
mod types;

pub(crate) use cursor::{Document, pointer};

use crate::c;
use crate::names::registry::Registry;
use crate::view::view;
use api::Api;
use cursor::{LIST_GONE, SERVER};
use minijinja::Value;
use std::path::{Path, PathBuf};
use types::Types;

/// Where the spec of the service is.
pub(crate) const FILE: &str = "spec/openapi.json";

/// A spec that can be generated.
pub(crate) struct Spec {
    /// The workspace that is generated into.
    pub(crate) root: PathBuf,
    /// The document as it is written.
    pub(crate) document: Document,
    /// What the spec says.
    pub(crate) api: Api,
    /// The same for templates.
    pub(crate) data: Value,
    /// Every name in what is generated.
    pub(crate) names: Registry,
}

impl Spec {
    /// The spec of the workspace.
    pub(crate) fn load(root: &Path) -> Result<Spec, String> {
        Spec::load_file(root, &root.join(FILE))
    }

    /// The spec in a file anywhere, for the same workspace.
    pub(crate) fn load_file(root: &Path, file: &Path) -> Result<Spec, String> {
        let label = file.strip_prefix(root).unwrap_or(file).display();
        let text = std::fs::read_to_string(file)
            .map_err(|error| format!("cannot read {label}: {error}"))?;
        Spec::parse(root, &text, &label.to_string())
    }

    pub(crate) fn parse(root: &Path, text: &str, label: &str) -> Result<Spec, String> {
        let value = document::read(text).map_err(|reason| format!("{label}: {reason}"))?;
        let document = Document::new(value);
        let api = interface(&document);
        let (data, names) = examined(&api, &document, &c::lists(root)?);
        document.refusals(label)?;
        Ok(Spec {
            root: root.to_owned(),
            document,
            api,
            data,
            names,
        })
    }
}

/// The view of an interface, and the names in it; whatever it cannot be generated with is refused. `before` are the lists of
/// earlier versions.
fn examined(api: &Api, document: &Document, before: &[String]) -> (Value, Registry) {
    shape::check_needed(api, document);
    for name in before {
        if !api.lists().any(|(_, list)| list.name == *name) {
            document.note(LIST_GONE, format!("{name}: every language loses it"));
        }
    }
    view(api, document)
}

/// The typed model of a document.
pub(crate) fn interface(document: &Document) -> Api {
    let mut types = Types::new(document);
    operations::read(&mut types);
    let (mut api, answered) = (types.api, types.answered);
    shape::mark(&mut api, answered);
    shape::leave_out(&mut api, document);
    let servers = document.value["servers"].as_array().into_iter().flatten();
    for url in servers.filter_map(|one| one["url"].as_str()) {
        let (_, host) = url.split_once("://").unwrap_or(("", url));
        if host.trim_end_matches('/').contains('/') {
            document.note(SERVER, url);
        }
    }
    api
}

/// Whether a character turns the direction of text or is not seen: Rust refuses some of them.
pub(crate) fn is_hidden(letter: char) -> bool {
    matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        || (letter.is_control() && !letter.is_whitespace())
}

/// Prose that says something.
fn said(text: Option<&str>) -> Option<String> {
    text.map(prose).filter(|text| !text.is_empty())
}

/// The same, or that nothing is said.
fn described(text: Option<String>) -> String {
    text.unwrap_or_else(|| "Not described.".to_owned())
}

/// Prose on one line without hidden characters; a comment of C ends at `*/`, and one of C++ goes on
/// behind a `\`.
fn prose(text: &str) -> String {
    let text: String = text.chars().filter(|letter| !is_hidden(*letter)).collect();
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.replace("*/", "* /").trim_end_matches('\\').to_owned()
}
