//! Prepares the spec's schemas for typify, which would otherwise lose what the house promises to keep.
//!
//! Unknown fields are kept (`additionalProperties: {}` yields a flattened map), enums are open,
//! and constraints are dropped: the client accepts what the service may say tomorrow.

use crate::spec::Spec;
use serde_json::{Map, Value};

/// Keywords that make a type; every other restricts values, or is advice.
const STRUCTURE: [&str; 8] = [
    "$ref",
    "type",
    "properties",
    "required",
    "items",
    "additionalProperties",
    "anyOf",
    "oneOf",
];

/// Formats that choose a Rust type; every other format is advice.
const FORMATS: [&str; 2] = ["password", "uint64"];

/// The models for typify, and the open enums that our own generator writes.
pub(crate) struct Normalised {
    /// JSON Schema per model, references under `#/definitions/`.
    pub(crate) models: Vec<(String, Value)>,
    /// Name, description and known values per open enum.
    pub(crate) enums: Vec<OpenEnum>,
}

/// A string with known values, where others are legal.
pub(crate) struct OpenEnum {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) values: Vec<String>,
}

pub(crate) fn normalise(spec: &Spec) -> Normalised {
    let mut out = Normalised {
        models: Vec::new(),
        enums: Vec::new(),
    };
    for (name, schema) in &spec.schemas {
        if let Some(known) = open_enum(name, schema) {
            out.enums.push(known);
            continue;
        }
        let mut model = schema.clone();
        clean(&mut model, spec.answered.contains(name));
        out.models.push((name.clone(), model));
    }
    out
}

/// An enum as the spec writes it: a closed list, or `anyOf` of a list and any string.
pub(crate) fn open_enum(name: &str, schema: &Value) -> Option<OpenEnum> {
    let list = match schema.get("anyOf").and_then(Value::as_array) {
        Some(choices) => choices.iter().find_map(|choice| choice.get("enum"))?,
        None => schema.get("enum")?,
    };
    let values = list
        .as_array()?
        .iter()
        .map(|value| value.as_str().map(str::to_owned));
    Some(OpenEnum {
        name: name.to_owned(),
        description: schema
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned(),
        values: values.collect::<Option<_>>()?,
    })
}

fn clean(schema: &mut Value, keep_unknown: bool) {
    let Value::Object(map) = schema else { return };
    if let Some(Value::String(reference)) = map.get_mut("$ref") {
        *reference = reference.replace("#/components/schemas/", "#/definitions/");
    }
    map.retain(|key, value| match key.as_str() {
        "format" => FORMATS.iter().any(|format| value == format),
        "description" => true,
        _ => STRUCTURE.contains(&key.as_str()),
    });
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        for child in properties.values_mut() {
            clean(child, keep_unknown);
        }
        let closed = map
            .get("additionalProperties")
            .is_none_or(Value::is_boolean);
        if keep_unknown && closed {
            map.insert("additionalProperties".into(), Value::Object(Map::new()));
        } else if !keep_unknown {
            map.remove("additionalProperties");
        }
    }
    for key in ["items", "additionalProperties"] {
        if let Some(child) = map.get_mut(key) {
            clean(child, keep_unknown);
        }
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(Value::Array(children)) = map.get_mut(key) {
            children
                .iter_mut()
                .for_each(|child| clean(child, keep_unknown));
        }
    }
}
