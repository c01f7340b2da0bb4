//! The name of each thing of the spec in each language; no other place makes one.
//!
//! The rule, for fields, lists, values of enums and operations alike:
//!
//! 1. The words of the name on the wire, in the case of the place: `firstName` is `first_name` as a
//!    field, `FirstName` as a variant, `FIRST_NAME` as a constant.
//! 2. What begins with a digit gets an `n` in front: `2fa` is `n2fa`.
//! 3. What the language or the place keeps for itself (keywords, methods of a client, members of a
//!    record) gets a `_` behind: `type_` in Rust, `class_` in C++, `import_` in Python. A variant gets
//!    `Value` behind, since a `_` would be lost in the constants of C: `OtherValue`.
//!
//! What then is not one name of its own is refused ([`registry`]). A schema whose name our own code has
//! gets `Model` behind: `Record` is `RecordModel`.

pub(crate) mod registry;
mod reserved;

use crate::error_kind::ErrorKind;
use crate::settings::SETTINGS;
use crate::text::is_hidden;
use heck::{ToShoutySnakeCase, ToSnakeCase, ToUpperCamelCase};
use reserved::*;

/// Rules 1 and 2 as a field: also the part of a C function that tells the field.
pub(crate) fn snake(text: &str) -> String {
    numbered(text.to_snake_case(), "n")
}

/// Rules 1 and 2 as a type; the second time brings single letters that follow each other to what typify makes of them.
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

/// What a place keeps for itself, and languages do there; the words are parted by spaces.
pub(crate) type Reserved = &'static [&'static str];

/// A method of a client.
pub(crate) const RUST_METHOD: Reserved = &[RUST, RUST_CLIENT];
pub(crate) const CPP_METHOD: Reserved = &[CPP, CPP_CLIENT];
pub(crate) const PYTHON_METHOD: Reserved = &[PYTHON, PYTHON_LISTS, PYTHON_CLIENT];
/// The map of undocumented fields in a Rust model.
pub(crate) const EXTRA_FIELD: &str = "extra";
/// The attribute of a model.
pub(crate) const RUST_FIELD: Reserved = &[RUST, EXTRA_FIELD];
pub(crate) const PYTHON_FIELD: Reserved = &[PYTHON, PYTHON_MEMBERS];
/// A parameter, or a field of a body, as an argument, in every language alike.
pub(crate) const ARGUMENT: Reserved = &[RUST, CPP, PYTHON, ARGUMENTS];
/// The variant of a list, and of a value of an open enum.
pub(crate) const LIST: Reserved = &["Self"];
pub(crate) const VALUE: Reserved = &["Self Other"];
/// A command of the command line, with `_` in place of `-`.
pub(crate) const COMMAND: Reserved = &[COMMANDS];

/// The name of a thing in a place, by all three rules.
pub(crate) fn name(words: &str, kept: &[&str]) -> String {
    let mut name = snake(words);
    while is_kept(&name, kept) {
        name.push('_');
    }
    name
}

fn is_kept(name: &str, kept: &[&str]) -> bool {
    kept.iter()
        .any(|words| words.split(' ').any(|word| word == name))
}

/// The type of a schema: its words, and `Model` behind what our own code keeps for itself.
pub(crate) fn model(schema: &str) -> String {
    let name = camel(schema);
    let class = snake(&name);
    let kept = is_kept(&name, &[TYPES, PYTHON_PACKAGE])
        || is_kept(&class, &[CPP, CPP_NAMESPACE, &cpp_errors()]);
    if kept { name + "Model" } else { name }
}

/// The list of a path, on the command line and wherever lists are told by name.
pub(crate) fn list(path: &str) -> String {
    snake(&path.trim_start_matches("/v1/").replace(['/', '-'], "_"))
}

/// A variant: the words as a type, and `Value` behind what is kept.
pub(crate) fn variant(words: &str, kept: Reserved) -> String {
    let name = camel(words);
    let kept = is_kept(&name, kept);
    if kept { name + "Value" } else { name }
}

/// A constant, from the name of a variant as cbindgen does it, so that both agree.
pub(crate) fn constant(variant: &str) -> String {
    variant.to_shouty_snake_case()
}

/// The C function that calls an operation.
pub(crate) fn c_call(name: &str) -> String {
    format!("talentdata_client_{}", self::name(name, &[C_CLIENT]))
}

/// The flag of a parameter, or of a field of a body, on the command line.
pub(crate) fn flag(wire: &str) -> String {
    let mut kept = vec![FLAGS];
    kept.extend(SETTINGS.iter().map(|setting| setting.name));
    name(wire, &kept).replace('_', "-")
}

/// The type of a model or an enum in C, which the names of its functions begin with.
pub(crate) fn c_type(of: &str) -> String {
    format!("talentdata_{}", snake(of))
}

/// The member of a C++ class that reads a field, or what the suffix says of it.
pub(crate) fn cpp_member(model: &str, wire: &str, suffix: &str) -> String {
    let words = format!("{}{suffix}", snake(wire));
    name(&words, &[CPP, CPP_MEMBERS, &snake(model)])
}

/// The tag of a list in C++.
pub(crate) fn cpp_list(list: &str) -> String {
    name(list, &[CPP, CPP_NAMESPACE, &cpp_errors()])
}

/// The classes of C++ that stand for kinds of error.
fn cpp_errors() -> String {
    let classes = ErrorKind::ALL.map(|kind| snake(kind.name()) + "_error");
    classes.join(" ")
}

/// Whether a text has letters to be named by, and none that ends the texts it is written in.
pub(crate) fn is_a_name(written: &str) -> bool {
    let name = snake(written);
    !name.is_empty() && name.is_ascii() && !ends_texts(written)
}

/// Whether generated texts cannot hold it.
fn ends_texts(written: &str) -> bool {
    let ends = written.contains(['"', '\\', '`', '\n', '\r', '\t']) || written.contains("*/");
    ends || written.contains(is_hidden)
}

#[cfg(test)]
mod tests;
