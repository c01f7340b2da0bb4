//! Examples in the docstrings of models: how one is had from the sandbox, and its fields read.

use super::calls;
use super::shape::{Shape, shape};
use crate::names;
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

/// The expression that has a model: an answer, a record of a list, or a field of another model.
fn had(spec: &Spec, name: &str) -> Option<String> {
    let called = |one: &&Operation| {
        calls::is_plain(one) && one.response == Some(Type::Model(name.to_owned()))
    };
    if let Some(call) = spec.api.operations.iter().find(called) {
        let method = names::python_call(call, &spec.taken);
        return Some(format!("client.{method}()"));
    }
    let property = |list: &List| names::python_list(&list.name, &spec.taken);
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

/// The fields that a sample is sure to have.
fn sure(model: &Model) -> impl Iterator<Item = &Field> {
    model.fields.iter().filter(|field| field.required)
}
