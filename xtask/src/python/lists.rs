//! A property per list, for the blocking client and for the async one.

use super::{header, sentence};
use crate::spec::Spec;
use std::collections::BTreeSet;

/// `_lists.py`: a property per list, for the blocking client and for the async one.
pub(crate) fn lists(spec: &Spec) -> Result<String, String> {
    let records = spec.lists().filter_map(|(_, list)| list.records.as_ref());
    let models: BTreeSet<&str> = records.map(|records| records.model.as_str()).collect();
    let models: Vec<&str> = models.into_iter().collect();
    let mut text = header(
        "The lists of the service, as properties of a client.",
        "spec/openapi.json",
    );
    text += "\nfrom __future__ import annotations\n\n";
    text += &format!("from ._models import {}\n", models.join(", "));
    text += "from ._resource import AsyncResource, Resource\nfrom ._talentdata import BaseClient, Record\n";
    for (class, resource) in [("Lists", "Resource"), ("AsyncLists", "AsyncResource")] {
        text += &format!(
            "\n\nclass {class}(BaseClient):\n    \"\"\"The lists of the service (section 4).\"\"\"\n\n    __slots__ = ()\n"
        );
        for (operation, list) in spec.lists() {
            let model = list
                .records
                .as_ref()
                .map_or("Record", |records| &records.model);
            let (name, path) = (&list.name, &operation.path);
            text += &format!(
                "\n    @property\n    def {name}(self) -> {resource}[{model}]:\n        \"\"\"{} (`{path}`, section 4).\"\"\"\n        return {resource}(self, \"{name}\", {model})\n",
                sentence(&operation.summary)
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
