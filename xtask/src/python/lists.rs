//! A property per list, for the blocking client and for the async one.

use super::calls::{Argument, arguments_doc, dictionary, signature};
use super::{header, quoted, sentence};
use crate::names;
use crate::spec::{List, Operation, Spec};
use std::collections::BTreeSet;

/// `_lists.py`: a property per list, for the blocking client and for the async one.
pub(crate) fn lists(spec: &Spec) -> Result<String, String> {
    let models: BTreeSet<&str> = spec.lists().filter_map(|(_, list)| list.model()).collect();
    let models: Vec<&str> = models.into_iter().collect();
    let mut text = header(
        "The lists of the service, as properties of a client.",
        "spec/openapi.json",
    );
    let filtered = spec.lists().any(|(one, _)| is_filtered(one));
    text += "\nfrom __future__ import annotations\n\n";
    if filtered {
        text += "from collections.abc import Sequence\n\nfrom ._arguments import parameters_text\n";
    }
    if !models.is_empty() {
        text += &format!("from ._models import {}\n", models.join(", "));
    }
    text += "from ._resource import AsyncResource, Resource\nfrom ._settings import ConfiguredClient\nfrom ._talentdata import Record\n";
    for (operation, list) in spec.lists().filter(|(one, _)| is_filtered(one)) {
        text += &filter(operation, list, "Resource");
        text += &filter(operation, list, "AsyncResource");
    }
    for (class, resource) in [("Lists", "Resource"), ("AsyncLists", "AsyncResource")] {
        text += &format!(
            "\n\nclass {class}(ConfiguredClient):\n    \"\"\"The lists of the service (section 4).\"\"\"\n\n    __slots__ = ()\n"
        );
        for (operation, list) in spec.lists() {
            text += &property(operation, list, resource);
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

/// Whether a list takes parameters beside those that page.
fn is_filtered(operation: &Operation) -> bool {
    operation.taken().next().is_some()
}

fn property(operation: &Operation, list: &List, resource: &str) -> String {
    let model = list.model().unwrap_or("Record");
    let (name, path) = (&list.name, &operation.path);
    let property = names::python_list(name);
    let (class, call) = match is_filtered(operation) {
        true => (class(list, resource), "; call it with parameters"),
        false => (format!("{resource}[{model}]"), ""),
    };
    let made = class.split('[').next().unwrap_or_default();
    format!(
        "\n    @property\n    def {property}(self) -> {class}:\n        \"\"\"{}{call} (`{path}`, section 4).\"\"\"\n        return {made}(self, \"{name}\", {model})\n",
        quoted(&sentence(&operation.summary))
    )
}

/// The class of a list that can be called with parameters; models have no `_` in front.
fn class(list: &List, resource: &str) -> String {
    format!("_{}{resource}", names::camel(&list.name))
}

/// A list that can be called: with values of its parameters it is a list that sends them with every page.
fn filter(operation: &Operation, list: &List, resource: &str) -> String {
    let model = list.model().unwrap_or("Record");
    let class = class(list, resource);
    let arguments: Vec<Argument> = operation.taken().map(Argument::of).collect();
    let gives = format!("{resource}[{model}]");
    let signature = signature("def", "__call__", arguments.iter().collect(), &gives);
    let (parameters, doc) = (dictionary(arguments.iter()), arguments_doc(&arguments));
    format!(
        "\n\nclass {class}({gives}):\n    \"\"\"{}; call it with parameters.\"\"\"\n\n    __slots__ = ()\n\
         \n{signature}\n        \"\"\"The list with these parameters, which are sent with every page.\n\n        {}\n{doc}\
         \n        Raises:\n            talentdata.InvalidArgumentError: When the list is read: an argument cannot be sent; it is named.\n        \"\"\"\n        \
         return {resource}(self._client, self._name, self._model, parameters_text({parameters}))\n",
        quoted(&sentence(&operation.summary)),
        quoted(&operation.description),
    )
}
