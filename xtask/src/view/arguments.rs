//! Parameters of operations and fields of request bodies, as arguments in every language.

use super::base::{RENAME_PARAMETER, View, known, thing};
use crate::languages::{annotation, borrowed, cpp_body, cpp_scalar, rust, table};
use crate::names;
use crate::names::registry::Surface;
use crate::spec::api::{Api, Body, Model, Operation, Parameter, Type};
use heck::ToUpperCamelCase;
use minijinja::{Value, context};
use std::collections::BTreeSet;

impl View<'_> {
    /// What the diff says of a parameter.
    pub(super) fn parameter_subject(
        &mut self,
        operation: &Operation,
        one: &Parameter,
        whole: &str,
    ) -> String {
        let key = format!(
            "{} parameter {} of {}",
            one.location, one.name, operation.id
        );
        let needed = if one.required { "" } else { ", optional" };
        let subject = self.names.subject(&key);
        subject.shown = format!("{}{needed}", one.kind);
        subject.prose.clone_from(&one.description);
        subject.part_of = Some(whole.to_owned());
        key
    }

    pub(super) fn parameter(
        &mut self,
        operation: &Operation,
        one: &Parameter,
        whole: &str,
    ) -> Value {
        let key = self.parameter_subject(operation, one, whole);
        let name = names::argument(one);
        if operation.is_generated() {
            let own = thing(&key, &one.name, &one.place, RENAME_PARAMETER);
            self.names.check(&own, &one.name);
            let scope = format!("as an argument of {}", operation.name);
            let flags = format!("among the flags of {}", operation.command);
            self.names.claim(&own, &scope, &name);
            self.names.claim(&own, &flags, &names::flag(&one.name));
            let kind = one.kind.to_string();
            for surface in Surface::ALL.into_iter().filter(|_| !one.required) {
                self.names.fact(&own, surface, &scope, &name, &kind, 0);
            }
            if one.required && operation.is_call() {
                let scope = format!("{scope} in C");
                let further = match one.kind.present() {
                    Type::Array(_) => Some(count(&name)),
                    _ => None,
                };
                for name in further.into_iter().chain([name.clone()]) {
                    self.names.claim(&own, &scope, &name);
                }
            }
        }
        let kind = one.kind.present();
        let location = one.location.to_upper_camel_case();
        argument(
            self.api,
            operation,
            &Told {
                wire: &one.name,
                name,
                location: &location,
                required: one.required,
                kind,
                annotation: annotation(kind),
                description: &one.description,
            },
        )
    }

    /// The body of a request, and its arguments in Python.
    pub(super) fn body(
        &mut self,
        operation: &Operation,
        body: &Body,
        whole: &str,
    ) -> (Value, Vec<Value>) {
        let api = self.api;
        let needed = if body.required { "" } else { ", optional" };
        let subject = self.names.subject(&format!("request of {}", operation.id));
        subject.shown = format!("{}{needed}", body.kind);
        subject.part_of = Some(whole.to_owned());
        let model = body_model(api, operation, body);
        let fields = model.into_iter().flat_map(|model| &model.fields);
        let fields: Vec<Value> = fields
            .map(|one| {
                let kind = one.kind.present();
                let annotation = match one.nullable && one.required {
                    true => format!("{} | None", annotation(kind)),
                    false => annotation(kind),
                };
                argument(
                    api,
                    operation,
                    &Told {
                        wire: &one.wire,
                        name: names::body_argument(&one.wire),
                        location: "Body",
                        required: one.required && body.required,
                        kind,
                        annotation,
                        description: api.about(one).unwrap_or("Not described."),
                    },
                )
            })
            .collect();
        let whole = context! {
            wire => "body", name => "body", required => body.required,
            annotation => annotation(&body.kind), description => "The request body.",
        };
        let cpp = match &body.kind {
            Type::Model(name) => cpp_body(api, name),
            _ => "raw_json".to_owned(),
        };
        let words = match &body.kind {
            Type::Model(name) => format!(", a {name}"),
            other => format!(": {other}"),
        };
        let value = context! {
            required => body.required, fields => &fields, cpp, words,
            model => model.map(|model| model.name.clone()),
            borrowed => borrowed(&body.kind), rust => rust(&body.kind, "types::"),
        };
        let arguments = if model.is_some() { fields } else { vec![whole] };
        (value, arguments)
    }
}

/// The model of a body whose fields are arguments of their own: each has a name that nothing else has.
fn body_model<'a>(api: &'a Api, operation: &Operation, body: &Body) -> Option<&'a Model> {
    let Type::Model(name) = &body.kind else {
        return None;
    };
    let model = api.model(name)?;
    let mut names: BTreeSet<String> = operation.taken().map(names::argument).collect();
    let mut fields = model.fields.iter();
    let distinct = fields.all(|one| names.insert(names::body_argument(&one.wire)));
    distinct.then_some(model)
}

/// A parameter, or a field of a body.
struct Told<'a> {
    wire: &'a str,
    name: String,
    location: &'a str,
    required: bool,
    kind: &'a Type,
    annotation: String,
    description: &'a str,
}

/// An argument in every language.
fn argument(api: &Api, operation: &Operation, told: &Told) -> Value {
    let Told {
        wire,
        name,
        location,
        required,
        kind,
        annotation,
        description,
    } = told;
    let held = match kind {
        Type::Array(held) if held.present().is_scalar() => Some(held.present()),
        _ => None,
    };
    let is_text = |kind: &Type| matches!(kind, Type::Text | Type::Enum(_));
    let (cpp_argument, cpp_member) = match held {
        Some(held) => (
            format!(
                "const std::vector<{}> &",
                cpp_scalar(held, "std::string_view")
            ),
            format!("std::vector<{}>", cpp_scalar(held, "std::string")),
        ),
        None => (
            cpp_scalar(kind, "std::string_view").to_owned(),
            format!("std::optional<{}>", cpp_scalar(kind, "std::string")),
        ),
    };
    let value = |from: &str| match kind {
        Type::Enum(_) => format!("{from}.as_str()"),
        Type::Array(held) if matches!(held.present(), Type::Enum(_)) => {
            format!("{from}.iter().map(|one| one.as_str().to_owned()).collect::<Vec<String>>()")
        }
        Type::Array(_) => format!("{from}.to_vec()"),
        _ => from.to_owned(),
    };
    let member = format!("options.{name}");
    let option_value = match kind {
        Type::Array(_) => value(&member),
        Type::Enum(_) => format!("{member}.as_ref().map(|one| one.as_str())"),
        Type::Text => format!("{member}.as_deref()"),
        _ => member,
    };
    let rust_kind = rust(kind, "crate::");
    context! {
        wire, name, location, required, annotation, description, option_value,
        flag => names::flag(wire), repeated => held.is_some(),
        positional => operation.positional.as_deref() == Some(*wire),
        nonblank => operation.nonblank.iter().any(|one| one == wire),
        table => table(held.unwrap_or(kind)), known => known(api, held.unwrap_or(kind)),
        about => description.trim_end_matches('.'),
        kind => if held.is_some() { "array" } else if is_text(kind) { "text" } else { "scalar" },
        secret => **kind == Type::Secret,
        held_text => held.is_some_and(is_text),
        held_cpp => held.map(|held| cpp_scalar(held, "")),
        rust_member => match held { Some(_) => rust_kind, None => format!("::std::option::Option<{rust_kind}>") },
        borrowed => borrowed(kind), value => value(name),
        added => added(kind), c_scalar => c_scalar(kind),
        cpp_argument, cpp_member, count => count(name),
    }
}

/// A number or a truth value of C; texts are none.
fn c_scalar(kind: &Type) -> Option<&'static str> {
    match kind {
        Type::Integer => Some("int64_t"),
        Type::Unsigned => Some("uint64_t"),
        Type::Number => Some("double"),
        Type::Boolean => Some("bool"),
        _ => None,
    }
}

/// What a parameter is added as in C.
fn added(kind: &Type) -> &'static str {
    match kind {
        Type::Integer => "integer",
        Type::Unsigned => "unsigned",
        Type::Number => "number",
        Type::Boolean => "boolean",
        _ => "text",
    }
}

fn count(name: &str) -> String {
    format!("{name}_count")
}
