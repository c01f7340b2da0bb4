//! How a field of a model is read, by its schema.

use crate::normalise::open_enum;
use crate::spec::Spec;
use serde_json::Value;

/// How a field is read: the kind for the native class, the annotation, and the class that wraps it.
pub(super) struct Shape {
    pub(super) kind: &'static str,
    pub(super) annotation: String,
    pub(super) class: Option<String>,
}

pub(super) fn shape(spec: &Spec, schema: &Value) -> Shape {
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
    let named = types.and_then(Value::as_str);
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

/// Objects that people see: no envelope of a list, and nothing that holds a secret.
pub(super) fn is_model(schema: &Value) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.is_some_and(|properties| {
        let secret =
            |field: &Value| field.get("format").and_then(Value::as_str) == Some("password");
        !properties.contains_key("pagination") && !properties.values().any(secret)
    })
}
