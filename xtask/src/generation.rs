//! A spec with everything that is generated from it: the typed model, the data of the templates, and the names.

use crate::ledger;
use crate::names::registry::Registry;
use crate::spec::api::Api;
use crate::spec::{self, Document, LIST_GONE};
use crate::template_data::template_data;
use minijinja::Value as Data;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The path of the service's spec.
pub(crate) const FILE: &str = "spec/openapi.json";

/// A spec from which files can be generated.
pub(crate) struct Spec {
    /// The workspace whose files are generated.
    pub(crate) root: PathBuf,
    /// The document as it is written.
    pub(crate) document: Document,
    /// The typed model of the spec.
    pub(crate) api: Api,
    /// The data for templates.
    pub(crate) data: Data,
    /// Every name in the generated files.
    pub(crate) names: Registry,
    /// The parts of the previous spec that are kept, if this one is from elsewhere.
    pub(crate) kept: Vec<String>,
}

impl Spec {
    /// Reads the spec of the workspace.
    pub(crate) fn load(root: &Path) -> Result<Spec, String> {
        let text = text(&root.join(FILE), FILE)?;
        Spec::parse(root, &text, FILE)
    }

    /// Reads the spec in any file, for the same workspace. Parts that it lacks are kept from the spec of the workspace.
    pub(crate) fn load_file(root: &Path, file: &Path) -> Result<Spec, String> {
        let label = file.strip_prefix(root).unwrap_or(file).display();
        let label = label.to_string();
        let (before, text) = (text(&root.join(FILE), FILE)?, text(file, &label)?);
        let read = |text: &str, label: &str| {
            spec::read(text).map_err(|reason| format!("{label}: {reason}"))
        };
        let mut value = read(&text, &label)?;
        let kept = spec::keep(&read(&before, FILE)?, &mut value);
        Ok(Spec {
            kept,
            ..Spec::made(root, value, &label)?
        })
    }

    pub(crate) fn parse(root: &Path, text: &str, label: &str) -> Result<Spec, String> {
        let value = spec::read(text).map_err(|reason| format!("{label}: {reason}"))?;
        Spec::made(root, value, label)
    }

    fn made(root: &Path, value: Value, label: &str) -> Result<Spec, String> {
        let document = Document::new(value);
        let (api, data, names) = examined(&document, Some(&ledger::lists(root)?));
        document.refusals(label, false)?;
        Ok(Spec {
            root: root.to_owned(),
            document,
            api,
            data,
            names,
            kept: Vec::new(),
        })
    }
}

fn text(file: &Path, label: &str) -> Result<String, String> {
    let text = std::fs::read(file).map_err(|error| format!("cannot read {label}: {error}"))?;
    String::from_utf8(text).map_err(|_| {
        format!("{label}: the file is not UTF-8; save it as UTF-8, and run this again")
    })
}

/// Returns the interface of a document, the data for the templates, and the names in it. `before` are the lists of
/// earlier versions. Without them, nothing is required of the document.
pub(crate) fn examined(document: &Document, before: Option<&[String]>) -> (Api, Data, Registry) {
    loop {
        let api = spec::interface(document);
        let (data, mut names) = template_data(&api);
        if document.number(std::mem::take(&mut names.clashes)) {
            continue;
        }
        if before.is_some() {
            spec::check_needed(&api, document);
        }
        for name in before.unwrap_or_default() {
            if !api.lists().any(|(_, list)| list.name == *name) {
                let cause = format!("{name}: every language loses it");
                let fix = "have it back in the description, or release a version that breaks";
                document.note(LIST_GONE, "/paths", &cause, fix);
            }
        }
        return (api, data, names);
    }
}
