//! Models and enums in every language, and the functions that read each field.

use super::View;
use crate::languages::{cpp_body, cpp_sent, read_by_c, read_by_cpp, read_by_python, table};
use crate::models::known_name;
use crate::names::registry::{NamedItem, Surface::*};
use crate::names::{self, ARGUMENT, C_NAME, PYTHON_FIELD, RUST_FIELD};
use crate::spec::api::{ApiField, Enum, Model, Type, joined, unless};
use crate::spec::pointer;
use minijinja::{Value, context, value::merge_maps};

const LEAVE_FIELD: &str =
    "leave it out: it is still delivered, with the fields that the document does not show";
const RENAME_SCHEMA: &str = "rename the schema; its name is never sent";

impl View<'_> {
    pub(super) fn model(&self, model: &Model) -> Value {
        let (api, name) = (self.api, &model.name);
        let key = format!("model {name}");
        let own = self.item(&key, name, &model.place, RENAME_SCHEMA);
        let of = ["of no response", "of responses"][usize::from(model.in_responses)];
        own.describe(of, &model.description, None);
        named_schema(&own, name);
        let all = joined(&model.fields);
        // A struct literal for a request names every field.
        let literal = if model.in_responses { of } else { &all };
        own.facts(&[Rust], "in Rust", name, literal);
        let body = cpp_body(api, name);
        if model.sent {
            if body != names::snake(name) {
                own.claim("in C++", &body);
            }
            own.facts(&[Cpp], "in C++", &body, &all);
            // In these languages, bodies are strings or arguments.
            let required = joined(model.fields.iter().filter(|one| one.required));
            own.facts(&[C, Python, CommandLine], "sent", name, &required);
        }
        if model.has_class() {
            own.facts(&[Python], "in Python", name, "");
        }
        let exposed = model.is_exposed();
        let mut calls = api.operations.iter().filter(|one| one.is_call());
        let freed = calls.any(|one| one.response.as_ref().and_then(Type::named) == Some(name));
        let c = names::c_type(name);
        if exposed {
            own.facts(&[C, Cpp], "model", name, &model.is_record.to_string());
            if model.is_record {
                own.facts(&[CommandLine], "columns", "", "")
            } else {
                own.claim("in C", &format!("{c}_json"))
            }
            if freed {
                own.claim("in C", &format!("{c}_free"));
            }
        }
        let fields = model
            .fields
            .iter()
            .map(|field| self.field(model, field, &key));
        context! {
            fields => fields.collect::<Vec<_>>(), exposed, freed, body, c,
            has_class => model.has_class(), cpp => names::snake(name),
            ..Value::from_serialize(model)
        }
    }

    fn field(&self, model: &Model, field: &ApiField, whole: &str) -> Value {
        let (api, name, wire, words) = (self.api, &model.name, &field.wire, &field.name);
        let key = format!("field {name}.{wire}");
        let own = self.item(&key, wire, &field.place, LEAVE_FIELD);
        let shown = field.kind.to_string() + unless(field.required);
        own.describe(&shown, &field.description, Some(whole));
        let scope = format!("in the Rust struct {name}");
        let is_optional = match &field.kind {
            Type::Nullable(_) => true,
            Type::Array(_) | Type::Map(_) | Type::Object => false,
            _ => !field.required,
        };
        let kind = format!("{}, optional: {is_optional}", field.kind.present());
        own.declare(Rust, &scope, &names::name(words, &RUST_FIELD), &kind);
        let python = names::name(words, &PYTHON_FIELD);
        let has_class = |name: &str| api.model(name).is_some_and(Model::has_class);
        let (python_kind, mut annotation, class) = read_by_python(&field.kind, has_class);
        if !field.required && annotation != "Any" {
            annotation += " | None";
        }
        if model.has_class() {
            own.facts(&[Python], "in Python", &python, &annotation);
        }
        let cpp = names::cpp_member(&cpp_body(api, name), words, "");
        let is_given = field.required && !matches!(field.kind, Type::Nullable(_));
        let cpp_sent = optional(cpp_sent(api, field.kind.present()), is_given);
        if model.sent {
            let scope = format!("in the C++ struct {}", cpp_body(api, name));
            own.declare(Cpp, &scope, &cpp, &cpp_sent);
            let argument = names::name(words, &ARGUMENT);
            let kind = field.kind.present().to_string();
            own.facts(&[C, Python, CommandLine], "sent", &argument, &kind);
        }
        let given = if model.is_exposed() {
            self.exposed_field(&own, model, field)
        } else {
            context! {}
        };
        context! {
            python, annotation, python_kind, cpp, class, cpp_sent,
            table => table(&field.kind), known => api.known_values(&field.kind),
            ..merge_maps([given, Value::from_serialize(field)])
        }
    }

    /// Returns the functions with which C and C++ read a field.
    fn exposed_field(&self, own: &NamedItem, model: &Model, field: &ApiField) -> Value {
        let (name, wire, words) = (&model.name, &field.wire, &field.name);
        let is_record = model.is_record;
        let (read, c_kind) = match &field.kind {
            // Records are taken apart like any JSON.
            Type::Array(_) | Type::Map(_) | Type::Model(_) if is_record => {
                ("value", "const talentdata_record *".to_owned())
            }
            of => read_by_c(of, self.api),
        };
        let kind = optional(read_by_cpp(&field.kind, self.api), field.required);
        let required = field.required || !matches!(read, "integer" | "number" | "boolean");
        let described = format!("{c_kind} {required}");
        let text = optional("std::string".to_owned(), field.required);
        // The string of an enum's value is available, too, for values that are not documented.
        let suffixes: &[&str] = match read {
            "enum" => &["", "_text"],
            "texts" | "items" | "models" => &["_count", "_at"],
            "map" => &["_count", "_at", "_name", "_find"],
            _ => &[""],
        };
        let mut c = Vec::new();
        for suffix in suffixes {
            let mut function = format!("{}_{}{suffix}", names::c_type(name), names::snake(words));
            while self.types.contains(&function) || C_NAME.contains(&function) {
                function.push('_');
            }
            own.declare(C, "in C", &function, &described);
            c.push(function);
        }
        let cpp = names::snake(name);
        let class = format!("in the C++ class {cpp}");
        let mut values = Vec::new();
        let members = [("", kind), ("_text", text)].into_iter();
        for (suffix, kind) in members.take(1 + usize::from(read == "enum")) {
            let member = names::cpp_member(&cpp, words, suffix);
            own.claim(&class, &format!("try_{member}"));
            own.declare(Cpp, &class, &member, &kind);
            values.push(context! { kind, name => member });
        }
        if is_record {
            own.facts(&[CommandLine], "column", wire, table(&field.kind));
        }
        let path = if wire.is_empty() || wire.contains('/') {
            pointer(&[wire])
        } else {
            wire.clone()
        };
        context! { path, values, c, read, c_kind }
    }

    pub(super) fn enumeration(&self, known: &Enum) -> Value {
        let name = &known.name;
        let key = format!("enum {name}");
        let own = self.item(&key, name, &known.place, RENAME_SCHEMA);
        // The order of values is that of comparisons in Rust; the numbers in C follow it.
        own.describe(&joined(&known.values), &known.description, None);
        named_schema(&own, name);
        own.claim("in Rust", &known_name(known));
        let is_field = |one: &ApiField| matches!(&one.kind, Type::Enum(of) if of == name);
        let mut models = self.api.models.iter();
        let in_c = models.any(|one| one.is_exposed() && one.fields.iter().any(is_field));
        let mut surfaces = vec![Rust];
        surfaces.extend([C, Cpp].iter().filter(|_| in_c));
        surfaces.extend(known.in_responses.then_some(Python));
        own.facts(&surfaces, "enum", name, "");
        let values = (1_u32..).zip(&known.values).map(|(discriminant, wire)| {
            let part = format!("value {name}.{wire}");
            let own = self.item(&part, wire, &known.place, RENAME_SCHEMA);
            let variant = names::variant(wire, &names::VALUE);
            let [prefix, python] = [name, &variant].map(|of| names::constant(of));
            let c = format!("TALENTDATA_{prefix}_{python}");
            own.describe("", "", Some(&key));
            own.claim("in C", &c);
            own.facts(&surfaces, "value", &variant, "");
            context! { wire, variant, python, c, discriminant }
        });
        context! {
            in_c, values => values.collect::<Vec<_>>(),
            constant => names::constant(name), c => names::c_type(name),
            ..Value::from_serialize(known)
        }
    }
}

/// Reserves the names that every schema has.
fn named_schema(own: &NamedItem, name: &str) {
    own.claim("in Rust", name);
    own.claim("in C++", &names::snake(name));
    own.claim("in C", &names::c_type(name));
}

/// Returns a C++ type that is optional unless it is required.
fn optional(kind: String, required: bool) -> String {
    if required {
        kind
    } else {
        format!("std::optional<{kind}>")
    }
}
