//! Examples in the docstrings of models: how one is had from the sandbox, and its fields read.

use super::models::attribute;
use super::shape::{Shape, shape};
use crate::spec::Spec;
use heck::{ToShoutySnakeCase, ToSnakeCase};
use serde_json::Value;

/// Calls of a client, which are written by hand, and the models they answer with.
const CALLS: [(&str, &str); 4] = [
    ("VersionResponse", "client.version()"),
    (
        "VersionCheckResponse",
        "client.check_version(\"1.8.2\", [\"taxonomy\"])",
    ),
    ("TokenPermissions", "client.permissions()"),
    ("Pagination", "client.contacts.page().pagination"),
];

/// The lines of a model's docstring that show it.
pub(super) fn of_model(spec: &Spec, name: &str, schema: &Value) -> Result<String, String> {
    let had = had(spec, name).ok_or_else(|| {
        format!("no call answers with a {name}; name one in xtask/src/python/samples.rs")
    })?;
    let variable = name.to_snake_case();
    let plain = properties(schema).filter(|(_, of)| {
        let Shape { kind, class, .. } = shape(spec, of);
        class.is_none() || kind == "text"
    });
    let read: Vec<String> = plain
        .take(2)
        .map(|(field, _)| {
            let attribute = attribute(&field.to_snake_case());
            format!("{variable}.{attribute} == {variable}[\"{field}\"]")
        })
        .collect();
    let shown = match read.len() {
        1 => "True".to_owned(),
        several => format!("({})", vec!["True"; several].join(", ")),
    };
    let read = read.join(", ");
    Ok(format!(
        "    >>> import talentdata
    >>> with talentdata.Sandbox() as sandbox, sandbox.client() as client:
    ...     {variable} = {had}
    >>> {read}
    {shown}
"
    ))
}

/// The lines of an enum's docstring that show its first value and one that is not known.
pub(super) fn of_enum(name: &str, values: &[String]) -> String {
    let Some(value) = values.first() else {
        return String::new();
    };
    let attribute = attribute(&value.to_shouty_snake_case());
    format!(
        "    >>> import talentdata
    >>> talentdata.{name}(\"{value}\") == talentdata.{name}.{attribute} == \"{value}\"
    True
    >>> talentdata.{name}(\"not yet known\").is_known
    False
"
    )
}

/// The expression that has a model: an answer, a record of a list, or a field of another model.
fn had(spec: &Spec, name: &str) -> Option<String> {
    if let Some((_, call)) = CALLS.iter().find(|(model, _)| *model == name) {
        return Some((*call).to_owned());
    }
    let listed = spec.lists().find(|(_, list)| {
        let records = list.records.as_ref();
        records.is_some_and(|records| records.model == name)
    });
    if let Some((_, list)) = listed {
        return Some(format!("client.{}.page(limit=1)[0]", list.name));
    }
    spec.schemas.iter().find_map(|(parent, schema)| {
        properties(schema).find_map(|(field, of)| {
            let Shape { kind, class, .. } = shape(spec, of);
            if class.as_deref() != Some(name) {
                return None;
            }
            let field = format!(
                "{}.{}",
                had(spec, parent)?,
                attribute(&field.to_snake_case())
            );
            Some(match kind {
                "models" => format!("{field}[0]"),
                "model by name" => format!("next(iter({field}.values()))"),
                _ => field,
            })
        })
    })
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten()
}
