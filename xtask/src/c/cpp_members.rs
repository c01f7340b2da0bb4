//! Members of the generated C++ classes: accessors of the fields of a model.

use super::shapes::{Field, Model, Shape};
use crate::names;

/// The class of a model where a member may have the same name.
fn class_of(model: &str) -> String {
    format!("talentdata::{}", names::cpp_class(model))
}

/// A member of a class that owns what it reads: what points into the object cannot be read from a temporary.
pub(super) fn member(doc: &str, kind: &str, signature: &str, body: &str) -> String {
    let points = kind.contains("std::string_view") || kind.contains("talentdata::");
    let (qualifier, deleted) = match points {
        true => (" &", format!("  {kind} {signature} const && = delete;\n")),
        false => ("", String::new()),
    };
    format!(
        "{}{deleted}",
        one_member(doc, kind, signature, qualifier, body)
    )
}

fn one_member(doc: &str, kind: &str, signature: &str, qualifier: &str, body: &str) -> String {
    let line = format!("  {kind} {signature} const{qualifier} {{ {body} }}\n");
    match line.len() > 120 {
        true => {
            format!("  /// {doc}\n  {kind} {signature} const{qualifier} {{\n    {body}\n  }}\n")
        }
        false => format!("  /// {doc}\n{line}"),
    }
}

/// A member that calls one C function with the handle and these arguments.
pub(super) fn read(
    model: &Model,
    doc: &str,
    kind: &str,
    name: &str,
    parameters: &str,
    function: &str,
    arguments: &str,
) -> String {
    let signature = format!("{name}({parameters})");
    let body = format!(
        "return detail::sure<{kind}>([&](auto *out) {{ return {function}(handle(), {arguments}); }});"
    );
    match model.root {
        true => member(doc, kind, &signature, &body),
        // A view does not own what it reads, so it may be a temporary.
        false => one_member(doc, kind, &signature, "", &body),
    }
}

/// An accessor of one value.
pub(super) struct Value {
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) function: String,
    pub(super) doc: String,
}

pub(super) fn values(model: &Model, field: &Field) -> Vec<Value> {
    let value = |kind: &str, suffix: &str| Value {
        kind: if field.required {
            kind.to_owned()
        } else {
            format!("std::optional<{kind}>")
        },
        name: names::cpp_member(&model.name, &field.wire, suffix),
        function: format!("{}_{}", model.prefix(), field.function(suffix)),
        doc: field.description.clone(),
    };
    match &field.shape {
        Shape::Text => vec![value("std::string_view", "")],
        Shape::Integer => vec![value("std::int64_t", "")],
        Shape::Number => vec![value("double", "")],
        Shape::Boolean => vec![value("bool", "")],
        Shape::Enum(name) => {
            // An absent value is one that the document does not show; the text tells the two apart.
            let known = Value {
                kind: format!("talentdata_{}", names::snake(name)),
                ..value("", "")
            };
            vec![known, value("std::string_view", "_text")]
        }
        Shape::Model(name) if !model.is_record() => vec![value(&class_of(name), "")],
        Shape::Texts | Shape::Items | Shape::Models(_) | Shape::Map(_) if !model.is_record() => {
            Vec::new()
        }
        // What has no type of its own is JSON.
        _ => vec![value("std::string_view", "_json")],
    }
}

/// The accessors of an array or a map.
pub(super) fn several(model: &Model, field: &Field) -> String {
    let doc = &field.description;
    let name = |suffix: &str| names::cpp_member(&model.name, &field.wire, suffix);
    let raw = |suffix: &str| format!("{}_{}", model.prefix(), field.function(suffix));
    let item = match &field.shape {
        Shape::Texts | Shape::Items => "std::string_view".to_owned(),
        Shape::Models(held) | Shape::Map(held) => class_of(held),
        _ => return String::new(),
    };
    let count = read(
        model,
        &format!("The number of entries: {doc}"),
        "std::size_t",
        &name("_count"),
        "",
        &raw("_count"),
        "out",
    );
    let at = |suffix: &str, kind: &str, doc: &str| {
        let parameter = "std::size_t index";
        let (name, function) = (name(suffix), raw(suffix));
        read(model, doc, kind, &name, parameter, &function, "index, out")
    };
    let what = match field.shape {
        Shape::Items => "One of them, as JSON.",
        _ => "One of them.",
    };
    if !matches!(field.shape, Shape::Map(_)) {
        return count + &at("_at", &item, what);
    }
    let find = read(
        model,
        "The value of a name; none when there is no such name.",
        &format!("std::optional<{item}>"),
        &name("_find"),
        "std::string_view key",
        &raw("_find_n"),
        "detail::data(key), key.size(), out",
    );
    let named = at("_name", "std::string_view", "The name of one of them.");
    format!("{count}{named}{}{find}", at("_at", &item, what))
}
