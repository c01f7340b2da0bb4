//! The name of each item of the spec in each language. No other place makes one.
//!
//! The rule, for fields, lists, values of enums and operations alike:
//!
//! 1. The words of the name in the API, in the case of the place: `firstName` is `first_name` as a field, `FirstName`
//!    as a variant, `FIRST_NAME` as a constant.
//! 2. A name that begins with a digit gets an `n` in front: `2fa` is `n2fa`.
//! 3. A name that the language or the place reserves (keywords, methods of a client, members of a record) gets a `_` at
//!    the end: `type_` in Rust, `class_` in C++, `import_` in Python. A variant gets `Value` at the end, because a `_`
//!    would be lost in the constants of C: `OtherValue`.
//!
//! If two names are still equal, one of them gets a number ([`registry`]). A schema whose name our own code uses gets
//! `Model` at the end: `Record` is `RecordModel`.

pub(crate) mod registry;
mod reserved;

use crate::settings::SETTINGS;
use crate::text::is_hidden;
use heck::{ToShoutySnakeCase, ToSnakeCase, ToUpperCamelCase};
pub(crate) use reserved::*;

/// Returns a name by rules 1 and 2, as a field. It is also the part of a C function that names the field.
pub(crate) fn snake(text: &str) -> String {
    numbered(text.to_snake_case(), "n")
}

/// Returns a name by rules 1 and 2, as a type. The second conversion treats consecutive single letters as typify does.
pub(crate) fn camel(text: &str) -> String {
    let once = text.to_upper_camel_case();
    numbered(once.to_upper_camel_case(), "N")
}

fn numbered(name: String, letter: &str) -> String {
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        format!("{letter}{name}")
    } else {
        name
    }
}

/// The map of undocumented fields in a Rust model.
pub(crate) const EXTRA_FIELD: &str = "extra";

/// Returns the name of an item in a place, by all three rules.
pub(crate) fn name(words: &str, kept: &Reserved) -> String {
    let mut name = snake(words);
    while kept.contains(&name) {
        name.push('_');
    }
    name
}

/// Returns the type of a schema: its words, and `Model` after a name that our own code reserves, or with which it
/// begins names of functions.
pub(crate) fn model(schema: &str) -> String {
    let name = match camel(schema) {
        name if name.is_empty() || !name.is_ascii() => "Schema".to_owned(),
        name => name,
    };
    let (class, c) = (snake(&name), c_type(&name));
    let begins = format!("{c}_");
    let in_c = C_NAME.iter().any(|one| one.starts_with(&begins));
    let in_c = in_c || C_NAME.contains(&c);
    let kept = in_c || TYPE.contains(&name) || CPP_TYPE.contains(&class);
    if kept { name + "Model" } else { name }
}

/// Returns the name of the list at a path, for the command line and all other places that use it.
pub(crate) fn list(path: &str) -> String {
    snake(&path.trim_start_matches("/v1/").replace(['/', '-'], "_"))
}

/// Returns a variant: the words as a type, and `Value` after a reserved name.
pub(crate) fn variant(words: &str, kept: &Reserved) -> String {
    let name = camel(words);
    if kept.contains(&name) {
        name + "Value"
    } else {
        name
    }
}

/// Returns a constant, made from the name of a variant in the same way as cbindgen does it.
pub(crate) fn constant(variant: &str) -> String {
    variant.to_shouty_snake_case()
}

/// Returns the C function that calls an operation.
pub(crate) fn c_call(name: &str) -> String {
    format!("talentdata_client_{}", self::name(name, &C_CLIENT))
}

/// Returns the flag of a parameter, or of a field of a body, on the command line.
pub(crate) fn flag(wire: &str) -> String {
    let mut flag = name(wire, &FLAG);
    while SETTINGS.iter().any(|setting| setting.name == flag) {
        flag.push('_');
    }
    flag.replace('_', "-")
}

/// Returns the type of a model or an enum in C. The names of its functions begin with it.
pub(crate) fn c_type(of: &str) -> String {
    format!("talentdata_{}", snake(of))
}

/// Returns the member of a C++ class or struct for a field; `suffix` distinguishes several members for one field.
pub(crate) fn cpp_member(class: &str, words: &str, suffix: &str) -> String {
    let mut name = name(&format!("{}{suffix}", snake(words)), &CPP_MEMBER);
    if name == class {
        name.push('_');
    }
    name
}

/// Returns the tag of a list in C++.
pub(crate) fn cpp_list(list: &str) -> String {
    name(list, &CPP_TYPE)
}

/// Returns whether a text has letters for a name, and no characters that would end a generated string or comment.
pub(crate) fn is_a_name(written: &str) -> bool {
    let name = snake(written);
    !name.is_empty() && name.is_ascii() && !ends_texts(written)
}

/// Returns whether generated strings and comments cannot contain it.
fn ends_texts(written: &str) -> bool {
    let ends = written.contains(['"', '\\', '`', '\n', '\r', '\t']) || written.contains("*/");
    ends || written.contains(is_hidden)
}

#[cfg(test)]
mod tests;
