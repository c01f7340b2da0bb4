//! A spec with everything that is generated from it: the typed model, the data of the templates, and the names.

use crate::ledger;
use crate::names::registry::Registry;
use crate::spec::api::Api;
use crate::spec::{self, Document, LIST_GONE};
use crate::template_data::template_data;
use minijinja::Value;
use std::path::{Path, PathBuf};

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
        let value = spec::read(text).map_err(|reason| format!("{label}: {reason}"))?;
        let document = Document::new(value);
        let api = spec::interface(&document);
        let (data, names) = examined(&api, &document, &ledger::lists(root)?);
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

/// The data for the templates of an interface, and the names in it; whatever it cannot be generated with is refused. `before` are the lists of
/// earlier versions.
pub(crate) fn examined(api: &Api, document: &Document, before: &[String]) -> (Value, Registry) {
    spec::check_needed(api, document);
    for name in before {
        if !api.lists().any(|(_, list)| list.name == *name) {
            document.note(LIST_GONE, format!("{name}: every language loses it"));
        }
    }
    template_data(api, document)
}
