//! A property per list, for the blocking client and for the async one.

use super::{header, quoted, sentence};
use crate::names;
use crate::spec::Spec;
use std::collections::BTreeSet;

/// `_lists.py`: a property per list, for the blocking client and for the async one.
pub(crate) fn lists(spec: &Spec) -> Result<String, String> {
    let models: BTreeSet<&str> = spec.lists().filter_map(|(_, list)| list.model()).collect();
    let models: Vec<&str> = models.into_iter().collect();
    let mut text = header(
        "The lists of the service, as properties of a client.",
        "spec/openapi.json",
    );
    text += "\nfrom __future__ import annotations\n\n";
    if !models.is_empty() {
        text += &format!("from ._models import {}\n", models.join(", "));
    }
    text += "from ._resource import AsyncResource, Resource\nfrom ._settings import ConfiguredClient\nfrom ._talentdata import Record\n";
    for (class, resource) in [("Lists", "Resource"), ("AsyncLists", "AsyncResource")] {
        text += &format!(
            "\n\nclass {class}(ConfiguredClient):\n    \"\"\"The lists of the service (section 4).\"\"\"\n\n    __slots__ = ()\n"
        );
        for (operation, list) in spec.lists() {
            let model = list.model().unwrap_or("Record");
            let (name, path) = (&list.name, &operation.path);
            let property = names::python_list(name, &spec.taken);
            text += &format!(
                "\n    @property\n    def {property}(self) -> {resource}[{model}]:\n        \"\"\"{} (`{path}`, section 4).\"\"\"\n        return {resource}(self, \"{name}\", {model})\n",
                quoted(&sentence(&operation.summary))
            );
        }
    }
    let names = spec.lists().map(|(_, list)| format!("\"{}\"", list.name));
    let names: Vec<String> = names.collect();
    Ok(text
        + &format!(
            "\n\n#: The names of all lists, in the document's order.\nNAMES: tuple[str, ...] = (\n    {},\n)\n",
            names.join(",\n    ")
        ))
}
