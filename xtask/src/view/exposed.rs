//! Models as C and C++ see them, and what reads each of their fields.

use super::base::{RENAME_SCHEMA, View, field_thing, has_class};
use crate::languages::table;
use crate::names;
use crate::names::registry::{Surface, Thing};
use crate::spec::api::{Api, Field, Model, Type};
use crate::spec::{pointer, reachable};
use minijinja::{Value, context};
use std::collections::{BTreeMap, BTreeSet};

/// What a field holds as C sees it, and the model or enum that it is of.
type Shape<'a> = (&'static str, &'a str);

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

fn shape<'a>(api: &Api, of: &'a Type) -> Shape<'a> {
    let seen = |name: &str| api.model(name).is_some_and(has_class);
    match of {
        Type::Text => ("Text", ""),
        Type::Enum(name) => ("Enum", name),
        Type::Integer => ("Integer", ""),
        Type::Number => ("Number", ""),
        Type::Boolean => ("Boolean", ""),
        Type::Model(name) if seen(name) => ("Model", name),
        Type::Array(held) => match &**held {
            Type::Text => ("Texts", ""),
            Type::Model(name) if seen(name) => ("Models", name),
            _ => ("Items", ""),
        },
        Type::Map(held) => match &**held {
            Type::Model(name) if seen(name) => ("Map", name),
            _ => ("Json", ""),
        },
        // It is lent as it came, as are integers that an int64_t cannot hold.
        _ => ("Json", ""),
    }
}

/// What functions of C have behind the field's name, and members of C++ with what each of these gives.
///
/// An array or a map that is absent is empty in C++; anything else may be absent there.
fn readers(
    (shape, of): Shape,
    is_record: bool,
    required: bool,
) -> (&'static [&'static str], Vec<(&'static str, String)>) {
    let class = format!("talentdata::{}", names::cpp_class(of));
    let maybe = |kind: &str| match required {
        true => kind.to_owned(),
        false => format!("std::optional<{kind}>"),
    };
    let one = |kind: &str| vec![("", maybe(kind))];
    let many = |kind: String| vec![("", kind)];
    let array: &[&str] = &["_count", "_at"];
    match shape {
        "Text" => (&[""], one("std::string")),
        "Integer" => (&[""], one("std::int64_t")),
        "Number" => (&[""], one("double")),
        "Boolean" => (&[""], one("bool")),
        "Enum" => {
            let text = ("_text", maybe("std::string"));
            (&["", "_text"], vec![("", maybe(&prefix(of))), text])
        }
        "Model" if !is_record => (&[""], one(&class)),
        "Texts" if !is_record => (array, many("std::vector<std::string>".to_owned())),
        "Items" if !is_record => (array, many("std::vector<talentdata::record>".to_owned())),
        "Models" if !is_record => (array, many(format!("std::vector<{class}>"))),
        "Map" if !is_record => (
            &["_count", "_name", "_at", "_find"],
            many(format!("std::map<std::string, {class}>")),
        ),
        // A value without a type of its own is JSON.
        _ => (&["_json"], vec![("_json", maybe("std::string"))]),
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
        let (api, name, prefix) = (self.api, &model.name, prefix(&model.name));
        let (class, is_record) = (names::cpp_class(name), is_record(api, name));
        let own = Thing::new(&format!("model {name}"), name, &model.place, RENAME_SCHEMA);
        let (both, line) = ([Surface::C, Surface::Cpp], [Surface::CommandLine]);
        let kind = is_record.to_string();
        self.names.facts(&own, &both, "model", name, &kind);
        if is_record {
            self.names.facts(&own, &line, "columns", "", "");
        } else {
            for suffix in ["json", "free"] {
                let function = format!("{prefix}_{suffix}");
                self.names.claim(&own, "in C", &function);
            }
        }
        let fields = model.fields.iter();
        let fields: Vec<Value> = fields
            .map(|one| self.exposed_field(model, one, is_record))
            .collect();
        let words = names::parameter(name);
        context! {
            name, is_record, fields,
            handle => if is_record { "record".to_owned() } else { words },
            kind => if is_record { "talentdata_record".to_owned() } else { prefix.clone() },
            root => !api.models.iter().any(|one| one.refers_to(name)),
            prefix, cpp => class, description => model.description,
        }
    }

    fn exposed_field(&mut self, model: &Model, field: &Field, is_record: bool) -> Value {
        let (api, name, wire) = (self.api, &model.name, &field.wire);
        let own = field_thing(model, field);
        let shape = shape(api, &field.kind);
        let (suffixes, members) = readers(shape, is_record, field.required);
        let scalar = match shape.0 {
            "Integer" => Some(("int64_t", "integer")),
            "Number" => Some(("double", "number")),
            "Boolean" => Some(("bool", "boolean")),
            _ => None,
        };
        let described = format!("{shape:?} {}", field.required || scalar.is_none());
        let mut c = BTreeMap::new();
        for suffix in suffixes {
            let mut function = format!("{}_{}", prefix(name), names::c_function(wire, suffix));
            while self.types.contains(&function) {
                function.push('_');
            }
            self.names
                .declare(&own, Surface::C, "in C", &function, &described);
            c.insert(*suffix, function);
        }
        let in_class = format!("in the C++ class {}", names::cpp_class(name));
        let described = format!("{shape:?} {}", field.required);
        let mut values = Vec::new();
        for (suffix, kind) in members {
            let member = names::cpp_member(name, wire, suffix);
            let twin = format!("try_{member}");
            self.names.claim(&own, &in_class, &twin);
            self.names
                .declare(&own, Surface::Cpp, &in_class, &member, &described);
            values.push(context! { kind, name => member, is_json => suffix == "_json" });
        }
        if is_record {
            let (line, column) = ([Surface::CommandLine], table(&field.kind));
            self.names.facts(&own, &line, "column", wire, column);
        }
        let path = match wire.is_empty() || wire.contains('/') {
            true => pointer(&[wire]),
            false => wire.clone(),
        };
        context! {
            path, wire, values, c, description => field.description,
            sentence => field.description.trim_end_matches('.'),
            required => field.required, shape => shape.0,
            c_scalar => scalar.map(|one| one.0), scalar => scalar.map(|one| one.1),
            held_c => prefix(shape.1),
        }
    }
}
