//! Examples in the docstrings of models: how one is had from the sandbox, and its fields read.

use super::shape::{Shape, shape};
use crate::names;
use crate::rust_operations::body_model;
use crate::spec::api::{Field, Model, Operation, Type};
use crate::spec::{List, Spec};

/// The lines of a model's docstring that show it; none where no call or no sample is sure to have it.
pub(super) fn of_model(spec: &Spec, model: &Model) -> String {
    let variable = names::python_field(&model.name);
    let plain = sure(model).filter(|field| {
        let Shape { kind, class, .. } = shape(&spec.api, &field.kind);
        class.is_none() || kind == "text"
    });
    let read: Vec<String> = plain
        .take(2)
        .map(|field| {
            let attribute = names::python_field(&field.wire);
            format!("{variable}.{attribute} == {variable}[\"{}\"]", field.wire)
        })
        .collect();
    let Some(had) = had(spec, &model.name).filter(|_| !read.is_empty()) else {
        return String::new();
    };
    let shown = match read.len() {
        1 => "True".to_owned(),
        several => format!("({})", vec!["True"; several].join(", ")),
    };
    let read = read.join(", ");
    format!(
        "    >>> import talentdata
    >>> with talentdata.Sandbox() as sandbox, sandbox.client() as client:
    ...     {variable} = {had}
    >>> {read}
    {shown}
"
    )
}

/// The lines of an enum's docstring that show its first value and one that is not known.
pub(super) fn of_enum(name: &str, values: &[String]) -> String {
    let Some(value) = values.first() else {
        return String::new();
    };
    let attribute = names::python_value(value);
    format!(
        "    >>> import talentdata
    >>> talentdata.{name}(\"{value}\") == talentdata.{name}.{attribute} == \"{value}\"
    True
    >>> talentdata.{name}(\"not yet known\").is_known
    False
"
    )
}

/// The expression that has a model: a response, a record of a list, or a field of another model.
fn had(spec: &Spec, name: &str) -> Option<String> {
    let response = Some(Type::Model(name.to_owned()));
    let mut calls = spec.api.operations.iter();
    if let Some(call) = calls.find_map(|one| called(spec, one).filter(|_| one.response == response))
    {
        return Some(call);
    }
    let property = |list: &List| names::python_list(&list.name);
    if name == "Pagination" {
        let (_, list) = spec.lists().next()?;
        return Some(format!("client.{}.page().pagination", property(list)));
    }
    if let Some((_, list)) = spec.lists().find(|(_, list)| list.model() == Some(name)) {
        return Some(format!("client.{}.page(limit=1)[0]", property(list)));
    }
    spec.api.models.iter().find_map(|parent| {
        sure(parent).find_map(|field| {
            let Shape { kind, class, .. } = shape(&spec.api, &field.kind);
            if class.as_deref() != Some(name) {
                return None;
            }
            let attribute = names::python_field(&field.wire);
            let field = format!("{}.{attribute}", had(spec, &parent.name)?);
            Some(match kind {
                "models" => format!("{field}[0]"),
                "model by name" => format!("next(iter({field}.values()))"),
                _ => field,
            })
        })
    })
}

/// A call that the sandbox answers whatever it is given: it changes nothing, and asks for nothing by its id.
fn called(spec: &Spec, operation: &Operation) -> Option<String> {
    let asks = operation.idempotent && ["get", "post"].contains(&operation.method.as_str());
    if !asks || !operation.is_call() || operation.path.contains('{') {
        return None;
    }
    let mut arguments: Vec<String> = operation
        .required()
        .map(|one| value(spec, one.kind.present()))
        .collect::<Option<_>>()?;
    if let Some(body) = operation.body.as_ref().filter(|body| body.required) {
        let fields = body_model(&spec.api, operation, body)?.fields.iter();
        let values = fields.filter(|one| one.required);
        let values: Option<Vec<String>> =
            values.map(|one| value(spec, one.kind.present())).collect();
        arguments.extend(values?);
    }
    let method = names::python_call(operation);
    Some(format!("client.{method}({})", arguments.join(", ")))
}

/// A value of a type, as Python writes it; none where any would be a guess.
fn value(spec: &Spec, kind: &Type) -> Option<String> {
    Some(match kind {
        Type::Text => "\"1.0\"".to_owned(),
        Type::Enum(name) => format!("\"{}\"", spec.api.enumeration(name)?.values.first()?),
        Type::Integer | Type::Unsigned => "1".to_owned(),
        Type::Number => "1.0".to_owned(),
        Type::Boolean => "True".to_owned(),
        Type::Array(held) => format!("[{}]", value(spec, held.present())?),
        _ => return None,
    })
}

/// The fields that a sample is sure to have.
fn sure(model: &Model) -> impl Iterator<Item = &Field> {
    model.fields.iter().filter(|field| field.required)
}
