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
            self.names
                .fact(&own, Surface::CommandLine, "columns", "", "", 0);
        } else {
            for suffix in ["json", "free"] {
                self.names
                    .claim(&own, "in C", &format!("{prefix}_{suffix}"));
            }
        }
        let mut fields = Vec::new();
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
                c.insert(*suffix, function);
            }
            for suffix in model.cpp_suffixes(field) {
                let member = names::cpp_member(name, &field.wire, suffix);
                self.names.claim(&own, &in_class, &format!("try_{member}"));
                let shape = format!("{:?} {}", field.shape, field.required);
                self.names
                    .declare(&own, Surface::Cpp, &in_class, &member, &shape);
                cpp.insert(*suffix, member);
            }
            if is_record {
                let kind = self.api.model(name).and_then(|one| one.field(&field.wire));
                let column = kind.map_or("", |field| table(&field.kind));
                self.names
                    .fact(&own, Surface::CommandLine, "column", &field.wire, column, 0);
            }
            let values = cpp_values(model, field, &cpp);
            fields.push(exposed_field(field, c, cpp, values));
        }
        context! {
            name, prefix, is_record, fields,
            handle => if is_record { "record".to_owned() } else { names::parameter(name) },
            kind => if is_record { "talentdata_record".to_owned() } else { prefix.clone() },
            root => model.root, cpp => class, description => model.description,
            noun => if is_record { "record".to_owned() } else { names::snake(name).replace('_', " ") },
        }
    }
}

/// A field as C and C++ see it.
fn exposed_field(
    field: &shapes::Field,
    c: BTreeMap<&str, String>,
    cpp: BTreeMap<&str, String>,
    values: Vec<Value>,
) -> Value {
    let held = field.shape.held().unwrap_or_default();
    let scalar = match field.shape {
        Shape::Integer => Some(("int64_t", "integer")),
        Shape::Number => Some(("double", "number")),
        Shape::Boolean => Some(("bool", "boolean")),
        _ => None,
    };
    context! {
        wire => field.wire, path => path(&field.wire), description => field.description,
        sentence => field.description.trim_end_matches('.'),
        required => field.required, shape => field.shape.name(), values, c, cpp,
        c_scalar => scalar.map(|one| one.0), scalar => scalar.map(|one| one.1),
        held_c => format!("talentdata_{}", names::snake(held)),
    }
}

/// A field as a path within its record.
fn path(wire: &str) -> String {
    match wire.is_empty() || wire.contains('/') {
        true => format!("/{}", wire.replace('~', "~0").replace('/', "~1")),
        false => wire.to_owned(),
    }
}

/// The members of a class of C++ that read a field, with what each of them gives.
fn cpp_values(
    model: &shapes::Model,
    field: &shapes::Field,
    cpp: &BTreeMap<&str, String>,
) -> Vec<Value> {
    let class = |held: &str| format!("talentdata::{}", names::cpp_class(held));
    let value = |kind: &str, suffix: &str| {
        context! {
            kind => if field.required { kind.to_owned() } else { format!("std::optional<{kind}>") },
            name => cpp.get(suffix), is_json => suffix == "_json",
        }
    };
    // An array or a map that is absent is empty.
    let many = |kind: String| vec![context! { kind, name => cpp.get(""), is_json => false }];
    match &field.shape {
        Shape::Text => vec![value("std::string", "")],
        Shape::Integer => vec![value("std::int64_t", "")],
        Shape::Number => vec![value("double", "")],
        Shape::Boolean => vec![value("bool", "")],
        Shape::Enum(name) => vec![
            value(&format!("talentdata_{}", names::snake(name)), ""),
            value("std::string", "_text"),
        ],
        Shape::Model(name) if !model.is_record() => vec![value(&class(name), "")],
        Shape::Texts if !model.is_record() => many("std::vector<std::string>".to_owned()),
        Shape::Items if !model.is_record() => many("std::vector<talentdata::record>".to_owned()),
        Shape::Models(name) if !model.is_record() => many(format!("std::vector<{}>", class(name))),
        Shape::Map(name) if !model.is_record() => {
            many(format!("std::map<std::string, {}>", class(name)))
        }
        // A value without a type of its own is JSON.
        _ => vec![value("std::string", "_json")],
    }
}
