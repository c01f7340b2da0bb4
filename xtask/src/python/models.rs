//! A class per model and per open enum of the answers.

use super::shape::{Shape, is_model, shape};
use super::{all, header, quoted, samples};
use crate::names;
use crate::normalise::open_enum;
use crate::spec::Spec;
use serde_json::Value;

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
        // There always is one: the spec is refused where models hold each other.
        let (name, schema) = waiting.remove(ready.unwrap_or_default());
        text += &model_class(spec, name, schema);
        names.push(name.clone());
    }
    Ok(text + &all(&names))
}

fn enum_class(name: &str, schema: &Value, values: &[String]) -> String {
    let mut text = format!(
        "\n\nclass {name}(OpenEnum):\n    \"\"\"{}\n\n{}    \"\"\"\n\n",
        description(schema),
        samples::of_enum(name, values)
    );
    for value in values {
        text += &format!("    {} = \"{value}\"\n", names::python_value(value));
    }
    text
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
        "\n\nclass {name}(Record):\n    \"\"\"{}\n\n{}    \"\"\"\n\n    __slots__ = ()\n    _documented = ({})\n\n",
        description(schema),
        samples::of_model(spec, name, schema),
        wire.join(" ")
    );
    for (field, of) in properties {
        let listed = schema.get("required").and_then(Value::as_array);
        let required = listed.is_some_and(|names| names.iter().any(|one| one == field));
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
            names::python_field(field),
            description(target(spec, of))
        );
    }
    text
}

/// What a field's schema refers to, or itself.
fn target<'a>(spec: &'a Spec, schema: &'a Value) -> &'a Value {
    let reference = schema.get("$ref").and_then(Value::as_str);
    let name = reference.and_then(|path| path.rsplit('/').next());
    name.and_then(|name| spec.schema(name)).unwrap_or(schema)
}

fn description(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str);
    quoted(text.unwrap_or("See the section of the document that its type names."))
}
