//! Models and enums as Rust and Python see them, and as requests hold them.

use super::base::{LEAVE_FIELD, LEAVE_VALUE, RENAME_SCHEMA, View, has_class, thing};
use crate::languages::{cpp_body, cpp_sent, read_by_python};
use crate::models::{known_name, signature};
use crate::names;
use crate::names::registry::{Surface, Thing};
use crate::shapes;
use crate::spec::api::{Enum, Model};
use crate::spec::pointer;
use minijinja::{Value, context};

impl View<'_> {
    pub(super) fn model(&mut self, model: &Model, sent: bool) -> Value {
        let (api, name) = (self.api, &model.name);
        let key = format!("model {name}");
        let own = thing(&key, name, &model.place, RENAME_SCHEMA);
        let subject = self.names.subject(&key);
        subject.shown = if model.answered {
            "of responses"
        } else {
            "of no response"
        }
        .to_owned();
        subject.prose.clone_from(&model.description);
        self.schema(&own, name);
        let body = cpp_body(api, name);
        let fields = |all: bool| {
            let fields = model.fields.iter().filter(|field| all || field.required);
            fields
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        };
        // A literal of a structure of requests names every field.
        let literal = if model.answered {
            "of responses".to_owned()
        } else {
            fields(true)
        };
        self.names
            .fact(&own, Surface::Rust, "in Rust", name, &literal, 0);
        if sent {
            if body != names::cpp_class(name) {
                self.names.claim(&own, "in C++", &body);
            }
            self.names
                .fact(&own, Surface::Cpp, "in C++", &body, &fields(true), 0);
            for surface in [Surface::C, Surface::Python, Surface::CommandLine] {
                self.names
                    .fact(&own, surface, "sent", name, &fields(false), 0);
            }
        }
        let class = has_class(model);
        if class {
            self.names
                .fact(&own, Surface::Python, "in Python", name, "", 0);
        }
        let mut values = Vec::new();
        for field in &model.fields {
            let wire = &field.wire;
            let at = format!("{}{}", model.place, pointer(&["properties", wire]));
            let own = thing(&format!("field {name}.{wire}"), wire, &at, LEAVE_FIELD);
            self.names.check(&own, wire);
            let subject = self.names.subject(&own.key);
            let shown = field.to_string();
            subject.shown = shown
                .split_once(": ")
                .map_or("", |(_, shown)| shown)
                .to_owned();
            subject.prose = api.about(field).unwrap_or_default().to_owned();
            subject.part_of = Some(key.clone());
            let scope = format!("in the Rust struct {name}");
            if wire == "extra" {
                self.names.claim(&own, &scope, names::unknown_fields(model));
            }
            let rust_name = names::rust_field(wire);
            let kind = signature(field, model.answered);
            self.names
                .declare(&own, Surface::Rust, &scope, &rust_name, &kind);
            let python = names::python_field(wire);
            let (python_kind, mut annotation, of) = read_by_python(api, &field.kind);
            if !field.required && annotation != "Any" {
                annotation += " | None";
            }
            let scope = format!("in the Python class {name}");
            self.names.claim(&own, &scope, &python);
            if class {
                self.names
                    .fact(&own, Surface::Python, &scope, &python, &annotation, 0);
            }
            let cpp = names::cpp_member(name, wire, "");
            let optional = !field.required || field.nullable;
            let cpp_kind = cpp_sent(api, field.kind.present());
            let cpp_kind = if optional {
                format!("std::optional<{cpp_kind}>")
            } else {
                cpp_kind
            };
            if sent {
                self.names.declare(
                    &own,
                    Surface::Cpp,
                    &format!("in the C++ struct {body}"),
                    &cpp,
                    &cpp_kind,
                );
                for surface in [Surface::C, Surface::Python, Surface::CommandLine] {
                    self.names.fact(
                        &own,
                        surface,
                        "sent",
                        &names::body_argument(wire),
                        &field.kind.to_string(),
                        0,
                    );
                }
            }
            values.push(context! {
                wire, python, annotation, python_kind, cpp, class => of,
                required => field.required,
                about => api.about(field).unwrap_or("Not described."),
                cpp_sent => cpp_kind,
            });
        }
        context! { name, description => model.description, cpp => body, fields => values }
    }

    /// The names that every schema has.
    fn schema(&mut self, own: &Thing, name: &str) {
        if name.is_empty() || !name.is_ascii() {
            let reason = format!("{name:?} cannot be the name of a type");
            self.names.refuse(own, reason);
        }
        self.names.claim(own, "in Rust", name);
        self.names.claim(own, "in C++", &names::cpp_class(name));
        self.names
            .claim(own, "in C", &format!("talentdata_{}", names::snake(name)));
    }

    pub(super) fn enumeration(&mut self, known: &Enum) -> Value {
        let name = &known.name;
        let key = format!("enum {name}");
        let own = thing(&key, name, &known.place, RENAME_SCHEMA);
        let subject = self.names.subject(&key);
        subject.prose.clone_from(&known.description);
        // The order is that of comparisons in Rust; those in C come after it.
        subject.shown = known.values.join(", ");
        self.schema(&own, name);
        self.names.claim(&own, "in Rust", &known_name(known));
        let in_c = shapes::has_enum(&self.exposed, name);
        let surfaces = [
            (Surface::Rust, true),
            (Surface::C, in_c),
            (Surface::Cpp, in_c),
            (Surface::Python, known.answered),
        ];
        let surfaces: Vec<Surface> = surfaces
            .iter()
            .filter(|(_, has)| *has)
            .map(|(one, _)| *one)
            .collect();
        for surface in &surfaces {
            self.names.fact(&own, *surface, "enum", name, "", 0);
        }
        let variants: Vec<String> = known
            .values
            .iter()
            .map(|one| names::value_variant(one))
            .collect();
        let numbers = 1_u32..;
        let values =
            known
                .values
                .iter()
                .zip(&variants)
                .zip(numbers)
                .map(|((wire, variant), number)| {
                    let own = thing(
                        &format!("value {name}.{wire}"),
                        wire,
                        &known.place,
                        LEAVE_VALUE,
                    );
                    self.names.check(&own, wire);
                    self.names.subject(&own.key).part_of = Some(key.clone());
                    let python = names::python_value(wire);
                    self.names
                        .claim(&own, &format!("in the Rust enum {name}"), variant);
                    self.names
                        .claim(&own, &format!("in the Python class {name}"), &python);
                    let c = format!(
                        "TALENTDATA_{}_{}",
                        names::constant(name),
                        names::constant(variant)
                    );
                    self.names.claim(&own, "in C", &c);
                    for surface in &surfaces {
                        self.names.fact(&own, *surface, "value", variant, "", 0);
                    }
                    context! {
                        wire, variant, python, discriminant => number,
                        constant => names::constant(variant),
                    }
                });
        let values: Vec<Value> = values.collect();
        context! {
            name, in_c, values, constant => names::constant(name),
            c => format!("talentdata_{}", names::snake(name)), known => known_name(known),
            description => known.description, answered => known.answered,
        }
    }
}
