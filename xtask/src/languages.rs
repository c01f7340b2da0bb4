//! The types of the spec in each language.

use crate::names;
use crate::spec::api::{Api, Type};

/// A string, a number or a boolean in each language.
pub(crate) struct Scalar {
    of: Type,
    rust: &'static str,
    /// The kind in the table of operations.
    table: &'static str,
    pub(crate) python: &'static str,
    /// The kind in the native class that reads records.
    read: &'static str,
    cpp: &'static str,
    /// `None` if C takes the value apart like any JSON.
    c: Option<&'static str>,
}

#[rustfmt::skip]
pub(crate) static SCALARS: [Scalar; 6] = [
    Scalar { of: Type::Text, rust: "::std::string::String", table: "Text", python: "str", read: "text", cpp: "std::string", c: Some("talentdata_text") },
    Scalar { of: Type::Secret, rust: "", table: "Text", python: "str", read: "text", cpp: "std::string", c: None },
    Scalar { of: Type::Integer, rust: "i64", table: "Integer", python: "int", read: "integer", cpp: "std::int64_t", c: Some("int64_t") },
    Scalar { of: Type::Unsigned, rust: "u64", table: "Integer", python: "int", read: "integer", cpp: "std::uint64_t", c: None },
    Scalar { of: Type::Number, rust: "f64", table: "Number", python: "float", read: "number", cpp: "double", c: Some("double") },
    Scalar { of: Type::Boolean, rust: "bool", table: "Boolean", python: "bool", read: "boolean", cpp: "bool", c: Some("bool") },
];

fn scalar(of: &Type) -> Option<&'static Scalar> {
    SCALARS.iter().find(|one| one.of == *of)
}

/// Returns a type of Rust. `path` leads to the crate of the types.
pub(crate) fn rust(of: &Type, path: &str) -> String {
    match of {
        Type::Secret => format!("{path}Secret"),
        Type::Enum(name) | Type::Model(name) => format!("{path}{name}"),
        Type::Array(held) => format!("::std::vec::Vec<{}>", rust(held, path)),
        Type::Map(held) => {
            let held = rust(held, path);
            format!("::std::collections::BTreeMap<::std::string::String, {held}>")
        }
        Type::Object => "::serde_json::Map<::std::string::String, ::serde_json::Value>".to_owned(),
        Type::Nullable(held) => format!("::std::option::Option<{}>", rust(held, path)),
        other => scalar(other)
            .map_or("::serde_json::Value", |one| one.rust)
            .to_owned(),
    }
}

/// Returns the type of an argument in Rust.
pub(crate) fn borrowed(of: &Type) -> String {
    match of {
        Type::Text => "&str".to_owned(),
        Type::Integer | Type::Unsigned | Type::Number | Type::Boolean => rust(of, ""),
        Type::Array(held) => format!("&[{}]", rust(held.present(), "types::")),
        other => format!("&{}", rust(other, "types::")),
    }
}

/// Returns the type of a field in the table of operations.
pub(crate) fn table(of: &Type) -> &'static str {
    match of {
        Type::Enum(_) => "Text",
        other => scalar(other).map_or("Json", |one| one.table),
    }
}

/// Returns the annotation of a value that Python sends.
pub(crate) fn annotation(of: &Type) -> String {
    match of {
        Type::Enum(_) => "str".to_owned(),
        Type::Array(held) => format!("Sequence[{}]", annotation(held.present())),
        Type::Map(held) => format!("Mapping[str, {}]", annotation(held.present())),
        Type::Model(_) | Type::Object => "Mapping[str, Any]".to_owned(),
        other => scalar(other).map_or("Any", |one| one.python).to_owned(),
    }
}

/// Returns the parts of a field's property in Python: the kind for the native class, the annotation, and the class that
/// wraps it. Models without a class are objects.
pub(crate) fn read_by_python(
    of: &Type,
    has_class: impl Fn(&str) -> bool,
) -> (&'static str, String, Option<String>) {
    let class = |of: &Type| match of {
        Type::Model(name) if has_class(name) => Some(name.clone()),
        _ => None,
    };
    let plain = |kind, annotation: &str| (kind, annotation.to_owned(), None);
    match of {
        Type::Enum(name) => ("text", name.clone(), Some(name.clone())),
        Type::Array(held) => match class(held) {
            Some(name) => ("models", format!("list[{name}]"), Some(name)),
            None if matches!(**held, Type::Text | Type::Enum(_)) => plain("array", "list[str]"),
            None => plain("array", "list[Any]"),
        },
        Type::Map(held) if let Some(name) = class(held) => {
            ("model by name", format!("dict[str, {name}]"), Some(name))
        }
        Type::Model(_) if let Some(name) = class(of) => ("model", name.clone(), Some(name)),
        Type::Model(_) | Type::Map(_) | Type::Object => plain("object", "dict[str, Any]"),
        other => scalar(other).map_or(plain("json", "Any"), |one| plain(one.read, one.python)),
    }
}

/// Returns the kind of function that reads a field in C, and the type of its value or of its elements.
pub(crate) fn read_by_c(of: &Type, api: &Api) -> (&'static str, String) {
    let own = |of: &Type| {
        let model = api.exposed(of)?;
        Some(format!("const {} *", names::c_type(&model.name)))
    };
    let plain = |read, kind: &str| (read, kind.to_owned());
    match of {
        Type::Enum(name) => ("enum", names::c_type(name)),
        Type::Array(held) if let Some(kind) = own(held) => ("models", kind),
        Type::Array(held) if **held == Type::Text => plain("texts", "talentdata_text"),
        Type::Array(_) => plain("items", "talentdata_text"),
        Type::Map(held) if let Some(kind) = own(held) => ("map", kind),
        Type::Model(_) if let Some(kind) = own(of) => ("value", kind),
        other => match scalar(other).and_then(|one| one.c.zip(Some(one.read))) {
            Some((kind, read)) => plain(read, kind),
            // C reads it like any JSON.
            None => plain("value", "const talentdata_record *"),
        },
    }
}

/// Returns the type of a value in C++. A value without a type of its own is a record, and so is an integer that an
/// int64_t cannot hold.
pub(crate) fn read_by_cpp(of: &Type, api: &Api) -> String {
    let held = |of: &Type| match of {
        // Only the enums of fields have a type.
        Type::Enum(_) => "std::string".to_owned(),
        of => read_by_cpp(of, api),
    };
    match of {
        Type::Enum(name) => names::c_type(name),
        Type::Model(name) if api.exposed(of).is_some() => {
            format!("talentdata::{}", names::snake(name))
        }
        Type::Array(of) => format!("std::vector<{}>", held(of)),
        Type::Map(of) => format!("std::map<std::string, {}>", held(of)),
        other => scalar(other)
            .filter(|one| one.c.is_some())
            .map_or("talentdata::record", |one| one.cpp)
            .to_owned(),
    }
}

/// Returns the C++ type of a number or a boolean; `None` for all other types, which are strings there.
pub(crate) fn cpp_number(of: &Type) -> Option<&'static str> {
    let number = scalar(of).filter(|one| one.read != "text");
    number.map(|one| one.cpp)
}

/// Returns the type of a value that C++ sends.
pub(crate) fn cpp_sent(api: &Api, of: &Type) -> String {
    match of {
        Type::Model(name) => format!("talentdata::{}", cpp_body(api, name)),
        Type::Array(one) => format!("std::vector<{}>", cpp_sent(api, one)),
        Type::Map(one) => format!("std::map<std::string, {}>", cpp_sent(api, one)),
        Type::Nullable(one) => format!("std::optional<{}>", cpp_sent(api, one)),
        Type::Object | Type::Json => "talentdata::raw_json".to_owned(),
        scalar => cpp_number(scalar).unwrap_or("std::string").to_owned(),
    }
}

/// Returns the struct of a request body in C++. The class of a response has the plain name.
pub(crate) fn cpp_body(api: &Api, model: &str) -> String {
    let class = names::snake(model);
    if api.model(model).is_some_and(|one| one.in_responses) {
        format!("{class}_body")
    } else {
        class
    }
}
