//! Models as C and C++ see them, and what reads each of their fields.

use super::base::{RENAME_SCHEMA, View, field_thing, has_class};
use crate::languages::{cpp_scalar, table};
use crate::names;
use crate::names::registry::{Surface, Thing};
use crate::spec::api::{Api, Field, Model, Type};
use crate::spec::{pointer, reachable};
use minijinja::{Value, context};
use std::collections::BTreeSet;

/// A model of C: a record, or what a call gives with all it holds, except for secrets, which never leave the core, and for
/// pages, which have a handle of their own.
pub(super) fn exposed(api: &Api) -> Vec<&Model> {
    let held = held(api);
    let is_exposed =
        |one: &&Model| has_class(one) && (is_record(api, &one.name) || held.contains(&one.name));
    api.models.iter().filter(is_exposed).collect()
}

/// The models that functions give, and all that these hold.
pub(super) fn held(api: &Api) -> BTreeSet<String> {
    let calls = api.operations.iter().filter(|one| one.is_call());
    let models = calls.filter_map(|one| match &one.response {
        Some(Type::Model(name)) => api.model(name).filter(|model| !model.is_page()),
        _ => None,
    });
    let names = models.map(|model| model.name.clone());
    // A page has a function that gives it.
    reachable(api, names.chain(["Pagination".to_owned()]).collect())
}

/// Whether a list has records of this model.
pub(super) fn is_record(api: &Api, model: &str) -> bool {
    api.lists().any(|(_, list)| list.model() == Some(model))
}

/// What the C names of a model begin with.
pub(super) fn prefix(model: &str) -> String {
    format!("talentdata_{}", names::snake(model))
}

/// How C reads a field, and the type of its value.
fn read_by_c(of: &Type) -> (&'static str, String) {
    match of {
        Type::Text => ("text", "talentdata_text".to_owned()),
        Type::Integer => ("integer", "int64_t".to_owned()),
        Type::Number => ("number", "double".to_owned()),
        Type::Boolean => ("boolean", "bool".to_owned()),
        Type::Enum(name) => ("enum", prefix(name)),
        // Taken apart like any JSON.
        _ => ("value", "const talentdata_record *".to_owned()),
    }
}

/// What C++ makes of a value. Without a type of its own it is a record, and so are integers that an int64_t cannot hold.
fn read_by_cpp(exposed: &[&Model], of: &Type) -> String {
    let held = |of: &Type| match of {
        // Only the enums of fields have a type.
        Type::Enum(_) => "std::string".to_owned(),
        of => read_by_cpp(exposed, of),
    };
    match of {
        Type::Text => "std::string".to_owned(),
        Type::Integer | Type::Number | Type::Boolean => cpp_scalar(of, "").to_owned(),
        Type::Enum(name) => prefix(name),
        Type::Model(name) if exposed.iter().any(|one| one.name == *name) => {
            format!("talentdata::{}", names::cpp_class(name))
        }
        Type::Array(of) => format!("std::vector<{}>", held(of)),
        Type::Map(of) => format!("std::map<std::string, {}>", held(of)),
        _ => "talentdata::record".to_owned(),
    }
}

impl View<'_> {
    /// Whether C has a field of an open enum.
    pub(super) fn has_enum(&self, name: &str) -> bool {
        let mut fields = self.exposed.iter().flat_map(|model| &model.fields);
        fields.any(|field| matches!(&field.kind, Type::Enum(known) if known == name))
    }

    /// A model as C and C++ see it.
    pub(super) fn exposed_model(&mut self, model: &Model) -> Value {
        let (api, name) = (self.api, &model.name);
        let (class, is_record) = (names::cpp_class(name), is_record(api, name));
        let own = Thing::new(&format!("model {name}"), name, &model.place, RENAME_SCHEMA);
        let (both, line) = ([Surface::C, Surface::Cpp], [Surface::CommandLine]);
        let kind = is_record.to_string();
        self.names.facts(&own, &both, "model", name, &kind);
        if is_record {
            self.names.facts(&own, &line, "columns", "", "");
        }
        let fields = model.fields.iter();
        let fields: Vec<Value> = fields
            .map(|one| self.exposed_field(model, one, is_record))
            .collect();
        context! { name, fields, cpp => class, description => model.description }
    }

    fn exposed_field(&mut self, model: &Model, field: &Field, is_record: bool) -> Value {
        let (api, name, wire) = (self.api, &model.name, &field.wire);
        let own = field_thing(model, field);
        let (read, c_kind) = read_by_c(&field.kind);
        let kind = read_by_cpp(&self.exposed, &field.kind);
        let kind = match field.required {
            true => kind,
            false => format!("std::optional<{kind}>"),
        };
        let required = field.required || !matches!(read, "integer" | "number" | "boolean");
        let described = format!("{c_kind} {required}");
        // The text of an enum's value is there beside it, for values that are not documented.
        let suffixes: &[&str] = if read == "enum" {
            &["", "_text"]
        } else {
            &[""]
        };
        let mut c = Vec::new();
        for suffix in suffixes {
            let mut function = format!("{}_{}", prefix(name), names::c_function(wire, suffix));
            while self.types.contains(&function) {
                function.push('_');
            }
            self.names
                .declare(&own, Surface::C, "in C", &function, &described);
            c.push(function);
        }
        let in_class = format!("in the C++ class {}", names::cpp_class(name));
        let text = kind.replace(&c_kind, "std::string");
        let mut values = Vec::new();
        for (suffix, kind) in suffixes.iter().zip([kind, text]) {
            let member = names::cpp_member(name, wire, suffix);
            self.names.claim(&own, &in_class, &format!("try_{member}"));
            self.names
                .declare(&own, Surface::Cpp, &in_class, &member, &kind);
            values.push(context! { kind, name => member });
        }
        if is_record {
            let (line, column) = ([Surface::CommandLine], table(&field.kind));
            self.names.facts(&own, &line, "column", wire, column);
        }
        let path = match wire.is_empty() || wire.contains('/') {
            true => pointer(&[wire]),
            false => wire.clone(),
        };
        let description = api.about(field).unwrap_or("Not described.");
        context! {
            path, wire, description, values, c, read, c_kind,
            sentence => description.trim_end_matches('.'),
            required => field.required,
        }
    }
}
