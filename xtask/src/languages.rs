//! What a type of the spec is in each language.

use crate::names;
use crate::spec::api::{Api, Type};

/// A type of Rust; `path` leads to the crate of the types.
pub(crate) fn rust(of: &Type, path: &str) -> String {
    match of {
        Type::Text => "::std::string::String".to_owned(),
        Type::Secret => format!("{path}Secret"),
        Type::Integer => "i64".to_owned(),
        Type::Unsigned => "u64".to_owned(),
        Type::Number => "f64".to_owned(),
        Type::Boolean => "bool".to_owned(),
        Type::Enum(name) | Type::Model(name) => format!("{path}{name}"),
        Type::Array(held) => format!("::std::vec::Vec<{}>", rust(held, path)),
        Type::Map(held) => {
            let held = rust(held, path);
            format!("::std::collections::BTreeMap<::std::string::String, {held}>")
        }
        Type::Object => "::serde_json::Map<::std::string::String, ::serde_json::Value>".to_owned(),
        Type::Json => "::serde_json::Value".to_owned(),
        Type::Nullable(held) => format!("::std::option::Option<{}>", rust(held, path)),
    }
}

/// The type of an argument of Rust.
pub(crate) fn borrowed(of: &Type) -> String {
    match of {
        Type::Text => "&str".to_owned(),
        Type::Integer | Type::Unsigned | Type::Number | Type::Boolean => rust(of, ""),
        Type::Array(held) => format!("&[{}]", rust(held.present(), "types::")),
        other => format!("&{}", rust(other, "types::")),
    }
}

/// The type of a field in the table of operations.
pub(crate) fn table(of: &Type) -> &'static str {
    match of {
        Type::Text | Type::Secret | Type::Enum(_) => "Text",
        Type::Integer | Type::Unsigned => "Integer",
        Type::Number => "Number",
        Type::Boolean => "Boolean",
        _ => "Json",
    }
}

/// A value that Python sends.
pub(crate) fn annotation(of: &Type) -> String {
    match of {
        Type::Text | Type::Secret | Type::Enum(_) => "str".to_owned(),
        Type::Integer | Type::Unsigned => "int".to_owned(),
        Type::Number => "float".to_owned(),
        Type::Boolean => "bool".to_owned(),
        Type::Array(held) => format!("Sequence[{}]", annotation(held.present())),
        Type::Map(held) => format!("Mapping[str, {}]", annotation(held.present())),
        Type::Model(_) | Type::Object => "Mapping[str, Any]".to_owned(),
        Type::Json | Type::Nullable(_) => "Any".to_owned(),
    }
}

/// How Python reads a field: the kind for the native class, the annotation, and the class that wraps it.
pub(crate) fn read_by_python(api: &Api, of: &Type) -> (&'static str, String, Option<String>) {
    let plain = |kind, annotation: &str| (kind, annotation.to_owned(), None);
    let wrapped = |kind, annotation, name: &str| (kind, annotation, Some(name.to_owned()));
    let seen = |held: &Type| {
        let model = api.model_of(held).filter(|one| one.has_class());
        model.map(|one| one.name.clone())
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

/// A number, a truth value or a text of C++.
pub(crate) fn cpp_scalar<'a>(of: &Type, text: &'a str) -> &'a str {
    match of {
        Type::Integer => "std::int64_t",
        Type::Unsigned => "std::uint64_t",
        Type::Number => "double",
        Type::Boolean => "bool",
        _ => text,
    }
}

/// A value that C++ sends.
pub(crate) fn cpp_sent(api: &Api, of: &Type) -> String {
    match of {
        Type::Model(name) => format!("talentdata::{}", cpp_body(api, name)),
        Type::Array(one) => format!("std::vector<{}>", cpp_sent(api, one)),
        Type::Map(one) => format!("std::map<std::string, {}>", cpp_sent(api, one)),
        Type::Nullable(one) => format!("std::optional<{}>", cpp_sent(api, one)),
        Type::Object | Type::Json => "raw_json".to_owned(),
        scalar => cpp_scalar(scalar, "std::string").to_owned(),
    }
}

/// The struct of a request body in C++; the class of a response has the plain name.
pub(crate) fn cpp_body(api: &Api, model: &str) -> String {
    let class = names::cpp_class(model);
    match api.model(model).is_some_and(|one| one.answered) {
        true => format!("{class}_body"),
        false => class,
    }
}
