//! How a field of a model is read in Python, by its type.

use crate::spec::api::{Api, Model, Type};

/// How a field is read: the kind for the native class, the annotation, and the class that wraps it.
pub(super) struct Shape {
    pub(super) kind: &'static str,
    pub(super) annotation: String,
    pub(super) class: Option<String>,
}

pub(super) fn shape(api: &Api, of: &Type) -> Shape {
    let plain = |kind, annotation: &str| Shape {
        kind,
        annotation: annotation.to_owned(),
        class: None,
    };
    let wrapped = |kind, annotation: String, name: &str| Shape {
        kind,
        annotation,
        class: Some(name.to_owned()),
    };
    let seen = |held: &Type| match held {
        Type::Model(name) => api
            .model(name)
            .filter(|one| is_seen(one))
            .map(|_| name.clone()),
        _ => None,
    };
    match of {
        Type::Text | Type::Secret => plain("text", "str"),
        Type::Integer | Type::Unsigned => plain("integer", "int"),
        Type::Number => plain("number", "float"),
        Type::Boolean => plain("boolean", "bool"),
        Type::Enum(name) => wrapped("text", name.clone(), name),
        Type::Model(_) => match seen(of) {
            Some(name) => wrapped("model", name.clone(), &name),
            None => plain("object", "dict[str, Any]"),
        },
        Type::Array(held) => match seen(held) {
            Some(name) => wrapped("models", format!("list[{name}]"), &name),
            None if matches!(**held, Type::Text | Type::Enum(_)) => plain("array", "list[str]"),
            None => plain("array", "list[Any]"),
        },
        Type::Map(held) => match seen(held) {
            Some(name) => wrapped("model by name", format!("dict[str, {name}]"), &name),
            None => plain("object", "dict[str, Any]"),
        },
        Type::Object => plain("object", "dict[str, Any]"),
        Type::Json | Type::Nullable(_) => plain("json", "Any"),
    }
}

/// Models that people see: no envelope of a list, and nothing that holds a secret.
pub(super) fn is_seen(model: &Model) -> bool {
    !model.is_page() && !model.holds_secret()
}
