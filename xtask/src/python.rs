//! Generated Python: the models, the lists of a client, and an exception per kind of error.

use crate::normalise::open_enum;
use crate::spec::Spec;
use heck::{ToShoutySnakeCase, ToSnakeCase};
use serde_json::Value;
use std::collections::BTreeSet;

/// The kinds of error, from the file that declares them; a dependency on all of the core would turn
/// the order of building round.
#[path = "../../crates/core/src/error/kind.rs"]
#[allow(dead_code, unreachable_pub, reason = "the core uses the rest of it")]
mod kind;

/// Attributes that every record has of its own.
const OWN: [&str; 7] = ["json", "extra", "to_dict", "get", "keys", "values", "items"];
/// Words that cannot be attributes.
const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];

/// `_errors.py`: an exception per kind of error of the core.
pub(crate) fn errors(_: &Spec) -> Result<String, String> {
    let kinds = kind::ErrorKind::ALL.map(|kind| (kind.name(), kind.summary()));
    let names: Vec<String> = kinds
        .iter()
        .map(|(name, _)| format!("{name}Error"))
        .collect();
    let mut text = header(
        "An exception per kind of error.",
        "crates/core/src/error/kind.rs",
    );
    text += "\nfrom ._error import Error\n";
    for ((kind, summary), class) in kinds.iter().zip(&names) {
        text += &format!(
            "\n\nclass {class}(Error):\n    \"\"\"{}.\"\"\"\n\n    kind = \"{kind}\"\n",
            sentence(summary)
        );
    }
    Ok(text + &all(&names))
}

/// `_models.py`: a class per model and per open enum of the answers.
pub(crate) fn models(spec: &Spec) -> Result<String, String> {
    let mut text = header("Models of the answers.", "spec/openapi.json");
    text += "\nfrom __future__ import annotations\n\nfrom typing import Any\n\n";
    text += "from ._open_enum import OpenEnum\nfrom ._talentdata import Field, Record\n";
    let mut names = Vec::new();
    let answered = |name: &String| spec.answered.contains(name);
    for (name, schema) in spec.schemas.iter().filter(|(name, _)| answered(name)) {
        if let Some(known) = open_enum(name, schema) {
            text += &enum_class(name, schema, &known.values);
            names.push(name.clone());
        }
    }
    let mut waiting: Vec<_> = spec
        .schemas
        .iter()
        .filter(|(name, schema)| answered(name) && is_model(schema))
        .collect();
    while !waiting.is_empty() {
        let ready = waiting
            .iter()
            .position(|(_, schema)| waiting.iter().all(|(other, _)| !refers_to(schema, other)));
        let (name, schema) =
            waiting.remove(ready.ok_or("models of the answers refer to each other in a circle")?);
        text += &model_class(spec, name, schema);
        names.push(name.clone());
    }
    Ok(text + &all(&names))
}

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

fn header(says: &str, source: &str) -> String {
    format!("\"\"\"{says} Generated by `cargo xtask generate` from {source}; do not edit.\"\"\"\n")
}

fn all(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    format!("\n\n__all__ = [\n    {},\n]\n", names.join(",\n    "))
}

fn enum_class(name: &str, schema: &Value, values: &[String]) -> String {
    let mut text = format!(
        "\n\nclass {name}(OpenEnum):\n    \"\"\"{}\"\"\"\n\n",
        description(schema)
    );
    for value in values {
        text += &format!(
            "    {} = \"{value}\"\n",
            attribute(&value.to_shouty_snake_case())
        );
    }
    text
}

/// Objects that people see: no envelope of a list, and nothing that holds a secret.
fn is_model(schema: &Value) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.is_some_and(|properties| {
        let secret =
            |field: &Value| field.get("format").and_then(Value::as_str) == Some("password");
        !properties.contains_key("pagination") && !properties.values().any(secret)
    })
}

fn refers_to(schema: &Value, name: &str) -> bool {
    let reference = format!("\"#/components/schemas/{name}\"");
    schema.to_string().contains(&reference)
}

fn model_class(spec: &Spec, name: &str, schema: &Value) -> String {
    let properties = schema.get("properties").and_then(Value::as_object);
    let properties: Vec<_> = properties.into_iter().flatten().collect();
    let wire: Vec<String> = properties
        .iter()
        .map(|(name, _)| format!("\"{name}\","))
        .collect();
    let mut text = format!(
        "\n\nclass {name}(Record):\n    \"\"\"{}\"\"\"\n\n    __slots__ = ()\n    _documented = ({})\n\n",
        description(schema),
        wire.join(" ")
    );
    for (field, of) in properties {
        let listed = schema.get("required").and_then(Value::as_array);
        let listed = listed.is_some_and(|names| names.iter().any(|one| one == field));
        let nullable = of
            .get("type")
            .and_then(Value::as_array)
            .is_some_and(|types| types.iter().any(|one| one == "null"));
        let required = listed && !nullable;
        let Shape {
            kind,
            annotation,
            class,
        } = shape(spec, of);
        let annotation = if required || annotation == "Any" {
            annotation
        } else {
            format!("{annotation} | None")
        };
        let required = if required { ", required=True" } else { "" };
        let class = class
            .map(|class| format!(", of={class}"))
            .unwrap_or_default();
        text += &format!(
            "    {}: Field[{annotation}] = Field(\"{field}\", \"{kind}\"{required}{class})\n    \"\"\"{}\"\"\"\n",
            attribute(&field.to_snake_case()),
            description(target(spec, of))
        );
    }
    text
}

/// How a field is read: the kind for the native class, the annotation, and the class that wraps it.
struct Shape {
    kind: &'static str,
    annotation: String,
    class: Option<String>,
}

fn shape(spec: &Spec, schema: &Value) -> Shape {
    let plain = |kind, annotation: &str| Shape {
        kind,
        annotation: annotation.to_owned(),
        class: None,
    };
    let model = |schema: &Value| {
        let name = schema.get("$ref")?.as_str()?.rsplit('/').next()?.to_owned();
        let target = spec.schema(&name)?.clone();
        Some((name, target))
    };
    if let Some((name, target)) = model(schema) {
        let kind = if open_enum(&name, &target).is_some() {
            "text"
        } else {
            "model"
        };
        return Shape {
            kind,
            annotation: name.clone(),
            class: Some(name),
        };
    }
    let types = schema.get("type");
    let named = types.and_then(Value::as_str).or_else(|| {
        let types = types?.as_array()?.iter().filter_map(Value::as_str);
        let mut types = types.filter(|name| *name != "null");
        types.next().filter(|_| types.next().is_none())
    });
    let is_object = |(_, target): &(String, Value)| is_model(target);
    match named {
        Some("string") => plain("text", "str"),
        Some("integer") => plain("integer", "int"),
        Some("number") => plain("number", "float"),
        Some("boolean") => plain("boolean", "bool"),
        Some("array") => match schema.get("items").and_then(model).filter(is_object) {
            Some((name, _)) => Shape {
                kind: "models",
                annotation: format!("list[{name}]"),
                class: Some(name),
            },
            None => {
                let text = schema.pointer("/items/type").and_then(Value::as_str) == Some("string");
                plain("array", if text { "list[str]" } else { "list[Any]" })
            }
        },
        Some("object") => match schema
            .get("additionalProperties")
            .and_then(model)
            .filter(is_object)
        {
            Some((name, _)) => Shape {
                kind: "model by name",
                annotation: format!("dict[str, {name}]"),
                class: Some(name),
            },
            None => plain("object", "dict[str, Any]"),
        },
        _ => plain("json", "Any"),
    }
}

/// What a field's schema refers to, or itself.
fn target<'a>(spec: &'a Spec, schema: &'a Value) -> &'a Value {
    let reference = schema.get("$ref").and_then(Value::as_str);
    let name = reference.and_then(|path| path.rsplit('/').next());
    name.and_then(|name| spec.schema(name)).unwrap_or(schema)
}

fn attribute(name: &str) -> String {
    let taken = OWN.contains(&name) || KEYWORDS.contains(&name);
    if taken {
        format!("{name}_")
    } else {
        name.to_owned()
    }
}

fn description(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str);
    let text = text.unwrap_or("See the section of the document that its type names.");
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// The words with a capital first letter.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}
