//! Reads a spec: refuses what cannot be generated, notes what is not, and yields the typed model.

pub(crate) mod api;
mod choices;
mod content;
mod document;
mod findings;
mod gone;
mod keywords;
mod kind;
mod lists;
mod models;
mod needed;
mod operations;
mod parameters;
mod references;
mod security;
mod shape;
#[cfg(test)]
pub(crate) mod tests;
mod types;
mod view;
mod words;

pub(crate) use api::{List, Operation};
pub(crate) use findings::{Findings, Topic};

use crate::c::shapes;
use crate::names::taken::Taken;
use crate::names::{claims, unnamed};
use crate::settings::{SETTINGS, Setting};
use api::Api;
use serde_json::Value;
pub(crate) use shape::reachable;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use types::Types;

/// Where the spec of the service is.
pub(crate) const FILE: &str = "spec/openapi.json";

/// A spec that can be generated.
pub(crate) struct Spec {
    /// The workspace that is generated into.
    pub(crate) root: PathBuf,
    /// The document as it is written.
    pub(crate) document: Value,
    /// What the spec says.
    pub(crate) api: Api,
    /// The settings of a client, which are no part of the document.
    pub(crate) settings: Vec<Setting>,
    /// Names that the hand-written code has.
    pub(crate) taken: Taken,
    /// What of it crosses into C, once that was asked for.
    pub(crate) crossing: OnceCell<Vec<shapes::Model>>,
    /// What is not generated, for the person who generates; empty where everything is.
    pub(crate) summary: String,
}

impl Spec {
    /// The spec of the workspace.
    pub(crate) fn load(root: &Path) -> Result<Spec, String> {
        Spec::load_file(root, &root.join(FILE), FILE)
    }

    /// The spec in another file, for the same workspace; messages call it `label`.
    pub(crate) fn load_file(root: &Path, file: &Path, label: &str) -> Result<Spec, String> {
        let text = std::fs::read_to_string(file)
            .map_err(|error| format!("cannot read {label}: {error}"))?;
        Spec::parse(root, &text, label)
    }

    pub(crate) fn parse(root: &Path, text: &str, label: &str) -> Result<Spec, String> {
        Spec::beside(Taken::read(root)?, root, text, label)
    }

    /// The spec in a text, beside hand-written code that has these names.
    pub(crate) fn beside(
        taken: Taken,
        root: &Path,
        text: &str,
        label: &str,
    ) -> Result<Spec, String> {
        let document = document::read(text).map_err(|reason| format!("{label}: {reason}"))?;
        let mut findings = Findings::default();
        let api = interface(&document, &taken, &mut findings);
        needed::check(&api, &mut findings);
        gone::note(root, &api, &mut findings);
        let mut spec = Spec {
            root: root.to_owned(),
            document,
            api,
            settings: SETTINGS.to_vec(),
            taken,
            crossing: OnceCell::new(),
            summary: String::new(),
        };
        claims::check(&spec, &mut findings);
        match findings.refusals(label) {
            Some(refusals) => Err(refusals),
            None => {
                spec.summary = findings.summary(label);
                Ok(spec)
            }
        }
    }

    /// The operations that are paginated lists, in the spec's order.
    pub(crate) fn lists(&self) -> impl Iterator<Item = (&Operation, &List)> {
        self.api.lists()
    }
}

/// The typed model of a document.
pub(crate) fn interface(document: &Value, taken: &Taken, findings: &mut Findings) -> Api {
    references::check(document, document, "", findings);
    let mut types = Types::new(document, taken, findings);
    let written = operations::written(&mut types);
    lists::record_names(&mut types, &written);
    types.components();
    let mut answered = BTreeSet::new();
    let read = written.iter();
    let operations = read.map(|one| operations::read(&mut types, one, &mut answered));
    let operations: Vec<Operation> = operations.collect();
    let mut api = types.finish();
    api.operations = operations;
    shape::open_circles(&mut api, findings);
    shape::mark_answered(&mut api, answered);
    unnamed::leave_out(&mut api, findings);
    for server in document
        .get("servers")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let url = server["url"].as_str().unwrap_or_default();
        let (_, host) = url.split_once("://").unwrap_or(("", url));
        if host.trim_end_matches('/').contains('/') {
            let text = format!("server {url}: its path belongs to the base URL, which users give");
            findings.note(Topic::Other, text);
        }
    }
    if document.get("webhooks").is_some() {
        findings.note(Topic::Other, "webhooks");
    }
    api
}

/// A JSON pointer of these steps.
pub(crate) fn pointer(steps: &[&str]) -> String {
    let escaped = steps
        .iter()
        .map(|step| step.replace('~', "~0").replace('/', "~1"));
    escaped.map(|step| format!("/{step}")).collect()
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

/// Prose on one line without hidden characters; a comment of C ends at `*/`, and one of C++ goes on
/// behind a `\`.
fn prose(text: &str) -> String {
    let text: String = text.chars().filter(|letter| !is_hidden(*letter)).collect();
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.replace("*/", "* /").trim_end_matches('\\').to_owned()
}
