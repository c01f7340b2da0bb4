//! Models and enums as Rust and Python see them, and as requests hold them.

use super::base::{LEAVE_VALUE, RENAME_SCHEMA, View, field_thing, has_class};
use super::exposed::prefix;
use crate::languages::{cpp_body, cpp_sent, read_by_python};
use crate::models::{known_name, signature};
use crate::names;
use crate::names::registry::{Surface, Thing};
use crate::spec::api::{Enum, Field, Model};
use minijinja::{Value, context};

/// The surfaces where bodies are texts or arguments.
const UNTYPED: [Surface; 3] = [Surface::C, Surface::Python, Surface::CommandLine];

impl View<'_> {
    pub(super) fn model(&mut self, model: &Model, sent: bool) -> Value {
        let name = &model.name;
        let key = format!("model {name}");
        let own = Thing::new(&key, name, &model.place, RENAME_SCHEMA);
        let of = if model.answered {
            "of responses"
        } else {
            "of no response"
        };
        self.names.describe(&key, of, &model.description, None);
        self.schema(&own, name);
        let body = cpp_body(self.api, name);
        let fields = |all: bool| {
            let fields = model.fields.iter().filter(|field| all || field.required);
            let fields: Vec<String> = fields.map(ToString::to_string).collect();
            fields.join(", ")
        };
        // A literal of a structure of requests names every field.
        let literal = if model.answered {
            of.to_owned()
        } else {
            fields(true)
        };
        let rust = [Surface::Rust];
        self.names.facts(&own, &rust, "in Rust", name, &literal);
        if sent {
            if body != names::cpp_class(name) {
                self.names.claim(&own, "in C++", &body);
            }
            let (cpp, all) = ([Surface::Cpp], fields(true));
            self.names.facts(&own, &cpp, "in C++", &body, &all);
            let required = fields(false);
            self.names.facts(&own, &UNTYPED, "sent", name, &required);
        }
        if has_class(model) {
            let python = [Surface::Python];
            self.names.facts(&own, &python, "in Python", name, "");
        }
        let fields = model.fields.iter();
        let fields: Vec<Value> = fields
            .map(|field| self.field(model, field, sent.then_some(&body), &key))
            .collect();
        context! { name, description => model.description, cpp => body, fields }
    }

    /// A field; `body` is the struct of C++ that requests have it in.
    fn field(&mut self, model: &Model, field: &Field, body: Option<&String>, key: &str) -> Value {
        let (api, name, wire) = (self.api, &model.name, &field.wire);
        let own = field_thing(model, field);
        self.names.check(&own, wire);
        let shown = field.to_string();
        let (_, shown) = shown.split_once(": ").unwrap_or_default();
        self.names
            .describe(&own.key, shown, &field.description, Some(key));
        let scope = format!("in the Rust struct {name}");
        if wire == "extra" {
            let rest = names::unknown_fields(model);
            self.names.claim(&own, &scope, rest);
        }
        let (rust, kind) = (names::rust_field(wire), signature(field, model.answered));
        self.names
            .declare(&own, Surface::Rust, &scope, &rust, &kind);
        let python = names::python_field(wire);
        let (python_kind, mut annotation, class) = read_by_python(api, &field.kind);
        if !field.required && annotation != "Any" {
            annotation += " | None";
        }
        let scope = format!("in the Python class {name}");
        self.names.claim(&own, &scope, &python);
        if has_class(model) {
            let surface = [Surface::Python];
            self.names
                .facts(&own, &surface, &scope, &python, &annotation);
        }
        let cpp = names::cpp_member(name, wire, "");
        let plain = cpp_sent(api, field.kind.present());
        let cpp_sent = match field.required && !field.nullable {
            true => plain,
            false => format!("std::optional<{plain}>"),
        };
        if let Some(body) = body {
            let scope = format!("in the C++ struct {body}");
            self.names
                .declare(&own, Surface::Cpp, &scope, &cpp, &cpp_sent);
            let (argument, kind) = (names::body_argument(wire), field.kind.to_string());
            self.names.facts(&own, &UNTYPED, "sent", &argument, &kind);
        }
        context! {
            wire, python, annotation, python_kind, cpp, class, cpp_sent,
            required => field.required, about => field.description,
        }
    }

    /// The names that every schema has.
    fn schema(&mut self, own: &Thing, name: &str) {
        if name.is_empty() || !name.is_ascii() {
            let reason = format!("{name:?} cannot be the name of a type");
            self.names.refuse(own, reason);
        }
        self.names.claim(own, "in Rust", name);
        self.names.claim(own, "in C++", &names::cpp_class(name));
        self.names.claim(own, "in C", &prefix(name));
    }

    pub(super) fn enumeration(&mut self, known: &Enum) -> Value {
        let name = &known.name;
        let key = format!("enum {name}");
        let own = Thing::new(&key, name, &known.place, RENAME_SCHEMA);
        // The order is that of comparisons in Rust; those in C come after it.
        let shown = known.values.join(", ");
        self.names.describe(&key, &shown, &known.description, None);
        self.schema(&own, name);
        self.names.claim(&own, "in Rust", &known_name(known));
        let in_c = self.has_enum(name);
        let mut surfaces = vec![Surface::Rust];
        surfaces.extend([Surface::C, Surface::Cpp].iter().filter(|_| in_c));
        surfaces.extend(known.answered.then_some(Surface::Python));
        self.names.facts(&own, &surfaces, "enum", name, "");
        let mut values = Vec::new();
        for (number, wire) in (1_u32..).zip(&known.values) {
            let part = format!("value {name}.{wire}");
            let own = Thing::new(&part, wire, &known.place, LEAVE_VALUE);
            let (variant, python) = (names::value_variant(wire), names::python_value(wire));
            self.names.check(&own, wire);
            self.names.describe(&part, "", "", Some(&key));
            let constant = names::constant(&variant);
            let c = format!("TALENTDATA_{}_{constant}", names::constant(name));
            for (scope, name) in [
                (&format!("in the Rust enum {name}"), &variant),
                (&format!("in the Python class {name}"), &python),
                (&"in C".to_owned(), &c),
            ] {
                self.names.claim(&own, scope, name);
            }
            self.names.facts(&own, &surfaces, "value", &variant, "");
            values.push(context! { wire, variant, python, constant, discriminant => number });
        }
        context! {
            name, in_c, values, constant => names::constant(name),
            c => prefix(name), known => known_name(known),
            description => known.description, answered => known.answered,
        }
    }
}
