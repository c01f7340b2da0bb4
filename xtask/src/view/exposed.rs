//! Models as C and C++ see them, and what reads each of their fields.

use super::base::{LEAVE_FIELD, RENAME_SCHEMA, View, thing};
use crate::languages::table;
use crate::names;
use crate::names::registry::Surface;
use crate::shapes::{self, Shape};
use crate::spec::pointer;
use minijinja::{Value, context};
use std::collections::BTreeMap;

impl View<'_> {
    /// A model as C and C++ see it.
    pub(super) fn exposed_model(&mut self, model: &shapes::Model) -> Value {
        let (name, prefix, is_record) = (&model.name, model.prefix(), model.is_record());
        let class = names::cpp_class(name);
        let place = self.api.model(name).map_or("", |one| &one.place);
        let own = thing(&format!("model {name}"), name, place, RENAME_SCHEMA);
        for surface in [Surface::C, Surface::Cpp] {
            self.names
                .fact(&own, surface, "model", name, &format!("{is_record}"), 0);
        }
        if is_record {
            self.names.claim(&own, "in C++", &format!("{class}_view"));
            self.names
                .fact(&own, Surface::CommandLine, "columns", "", "", 0);
        } else {
            for suffix in ["json", "free"] {
                self.names
                    .claim(&own, "in C", &format!("{prefix}_{suffix}"));
            }
        }
        let (mut fields, mut values) = (Vec::new(), Vec::new());
        for field in &model.fields {
            let at = format!("{place}{}", pointer(&["properties", &field.wire]));
            let own = thing(
                &format!("field {name}.{}", field.wire),
                &field.wire,
                &at,
                LEAVE_FIELD,
            );
            let in_class = format!("in the C++ class {class}");
            let (mut c, mut cpp) = (BTreeMap::new(), BTreeMap::new());
            let sure = field.required || !field.shape.is_scalar();
            for suffix in model.suffixes(field) {
                let function = format!("{prefix}_{}", field.function(suffix));
                let shape = format!("{:?} {sure}", field.shape);
                self.names
                    .declare(&own, Surface::C, "in C", &function, &shape);
                let member = names::cpp_member(name, &field.wire, suffix);
                if is_record {
                    self.names.claim(&own, &in_class, &format!("try_{member}"));
                }
                let shape = format!("{:?} {}", field.shape, field.required);
                self.names
                    .declare(&own, Surface::Cpp, &in_class, &member, &shape);
                c.insert(*suffix, function);
                cpp.insert(*suffix, member);
            }
            if is_record {
                let kind = self.api.model(name).and_then(|one| one.field(&field.wire));
                let column = kind.map_or("", |field| table(&field.kind));
                self.names
                    .fact(&own, Surface::CommandLine, "column", &field.wire, column, 0);
            }
            let read = cpp_values(model, field, &c, &cpp);
            values.extend(read.clone());
            fields.push(exposed_field(model, field, c, cpp, read));
        }
        let lists: Vec<String> = model
            .lists
            .iter()
            .map(|list| format!("Lists::{list}"))
            .collect();
        let handle = if is_record {
            "record".to_owned()
        } else {
            names::parameter(name)
        };
        let owner = match (is_record, model.root) {
            (true, _) => "record",
            (false, true) => "handle",
            (false, false) => "handle that holds it",
        };
        context! {
            name, prefix, is_record, fields, values, handle, owner,
            root => model.root, cpp => class, description => model.description,
            rust_handle => if is_record { "Record" } else { name.as_str() },
            noun => if is_record { "record".to_owned() } else { names::snake(name).replace('_', " ") },
            lists => format!("&[{}]", lists.join(", ")),
        }
    }
}

/// A field as C and C++ see it.
fn exposed_field(
    model: &shapes::Model,
    field: &shapes::Field,
    c: BTreeMap<&str, String>,
    cpp: BTreeMap<&str, String>,
    values: Vec<Value>,
) -> Value {
    let is_record = model.is_record();
    let (value, child) = (
        names::rust_field(&field.wire),
        names::rust_child(&field.wire),
    );
    let held = field.shape.held().unwrap_or_default();
    let (child_kind, child_made) = match &field.shape {
        _ if is_record => (None, None),
        Shape::Map(_) => (
            Some(format!("Vec<(String, {held})>")),
            Some(format!("named(&model.{value}, {held}::new)?")),
        ),
        Shape::Models(_) => (
            Some(format!("Vec<{held}>")),
            Some(format!(
                "each(&model.{value}, |one| {held}::new(one.clone()))?"
            )),
        ),
        Shape::Items => (
            Some("Vec<String>".to_owned()),
            Some(format!("each(&model.{value}, json)?")),
        ),
        Shape::Model(_) if field.required => (
            Some(held.to_owned()),
            Some(format!("{held}::new(model.{value}.clone())?")),
        ),
        Shape::Model(_) => (
            Some(format!("Option<{held}>")),
            Some(format!(
                "model.{value}.clone().map({held}::new).transpose()?"
            )),
        ),
        Shape::Json => (
            Some("String".to_owned()),
            Some(format!("json(&model.{value})?")),
        ),
        _ => (None, None),
    };
    let scalar = match (&field.shape, field.required) {
        (Shape::Integer, true) => Some("i64"),
        (Shape::Number, true) => Some("f64"),
        (Shape::Boolean, true) => Some("bool"),
        (Shape::Integer, false) => Some("OptionalInteger"),
        (Shape::Number, false) => Some("OptionalNumber"),
        (Shape::Boolean, false) => Some("OptionalBoolean"),
        _ => None,
    };
    let means = match (&field.shape, field.required) {
        (_, true) => "its value",
        (Shape::Enum(_), _) => {
            "its value; OTHER when the field is absent, in which case the text is absent as well"
        }
        (Shape::Model(_), _) if !is_record => "its value; NULL when the field is absent",
        _ => "its value; absent when the service sends none",
    };
    let means = match &field.shape {
        Shape::Model(_) if !field.required => "its value; NULL when the field is absent",
        _ => means,
    };
    let item = match &field.shape {
        _ if is_record => None,
        Shape::Texts | Shape::Items => Some("std::string_view".to_owned()),
        Shape::Models(held) | Shape::Map(held) => {
            Some(format!("talentdata::{}", names::cpp_class(held)))
        }
        _ => None,
    };
    context! {
        wire => field.wire, description => field.description,
        sentence => field.description.trim_end_matches('.'),
        required => field.required, shape => field.shape.name(),
        rust => value, child, child_kind, child_made, scalar, means, item, held, c, cpp, values,
    }
}

/// The members of a class of C++ that read one value.
fn cpp_values(
    model: &shapes::Model,
    field: &shapes::Field,
    c: &BTreeMap<&str, String>,
    cpp: &BTreeMap<&str, String>,
) -> Vec<Value> {
    let class = |held: &str| format!("talentdata::{}", names::cpp_class(held));
    let value = |kind: &str, suffix: &str, is_enum: bool| {
        context! {
            kind => if field.required || is_enum { kind.to_owned() } else { format!("std::optional<{kind}>") },
            name => cpp.get(suffix), function => c.get(suffix), doc => field.description,
        }
    };
    match &field.shape {
        Shape::Text => vec![value("std::string_view", "", false)],
        Shape::Integer => vec![value("std::int64_t", "", false)],
        Shape::Number => vec![value("double", "", false)],
        Shape::Boolean => vec![value("bool", "", false)],
        // An absent value is one that the document does not show; the text tells the two apart.
        Shape::Enum(name) => vec![
            value(&format!("talentdata_{}", names::snake(name)), "", true),
            value("std::string_view", "_text", false),
        ],
        Shape::Model(name) if !model.is_record() => vec![value(&class(name), "", false)],
        Shape::Texts | Shape::Items | Shape::Models(_) | Shape::Map(_) if !model.is_record() => {
            Vec::new()
        }
        // A value without a type of its own is JSON.
        _ => vec![value("std::string_view", "_json", false)],
    }
}
