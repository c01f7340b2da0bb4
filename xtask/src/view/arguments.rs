//! Parameters of operations and fields of request bodies, as arguments in every language.

use super::base::{RENAME_PARAMETER, View, known};
use crate::languages::{annotation, borrowed, cpp_body, cpp_scalar, rust, table};
use crate::names;
use crate::names::registry::{Surface, Thing};
use crate::spec::api::{Api, Body, Model, Operation, Parameter, Type};
use heck::ToUpperCamelCase;
use minijinja::{Value, context};
use std::collections::BTreeSet;

impl View<'_> {
    /// What the diff says of a parameter.
    pub(super) fn describe_parameter(
        &mut self,
        operation: &Operation,
        one: &Parameter,
        whole: &str,
    ) -> String {
        let (location, name) = (&one.location, &one.name);
        let key = format!("{location} parameter {name} of {}", operation.id);
        let needed = if one.required { "" } else { ", optional" };
        let shown = format!("{}{needed}", one.kind);
        self.names
            .describe(&key, &shown, &one.description, Some(whole));
        key
    }

    pub(super) fn parameter(
        &mut self,
        operation: &Operation,
        one: &Parameter,
        whole: &str,
    ) -> Value {
        let key = self.describe_parameter(operation, one, whole);
        let name = names::argument(one);
        if operation.is_generated() {
            let own = Thing::new(&key, &one.name, &one.place, RENAME_PARAMETER);
            self.names.check(&own, &one.name);
            let scope = format!("as an argument of {}", operation.name);
            let flags = format!("among the flags of {}", operation.command);
            self.names.claim(&own, &scope, &name);
            self.names.claim(&own, &flags, &names::flag(&one.name));
            if !one.required {
                let kind = one.kind.to_string();
                self.names.facts(&own, &Surface::ALL, &scope, &name, &kind);
            } else if operation.is_call() {
                let scope = format!("{scope} in C");
                if matches!(one.kind.present(), Type::Array(_)) {
                    self.names.claim(&own, &scope, &count(&name));
                }
                self.names.claim(&own, &scope, &name);
            }
        }
        let kind = one.kind.present();
        let own = context! {
            location => one.location.to_upper_camel_case(), required => one.required,
            annotation => annotation(kind), description => one.description,
            about => one.description.trim_end_matches('.'),
        };
        argument(self.api, operation, (&one.name, &name), kind, own)
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
        let shown = format!("{}{needed}", body.kind);
        let key = format!("request of {}", operation.id);
        self.names.describe(&key, &shown, "", Some(whole));
        let model = body_model(api, operation, body);
        let fields = model.into_iter().flat_map(|model| &model.fields);
        let fields: Vec<Value> = fields
            .map(|one| {
                let kind = one.kind.present();
                let null = if one.nullable && one.required {
                    " | None"
                } else {
                    ""
                };
                let own = context! {
                    location => "Body", required => one.required && body.required,
                    annotation => annotation(kind) + null,
                    description => api.about(one).unwrap_or("Not described."),
                };
                let names = (one.wire.as_str(), &*names::body_argument(&one.wire));
                argument(api, operation, names, kind, own)
            })
            .collect();
        let whole = context! {
            wire => "body", name => "body", required => body.required,
            annotation => annotation(&body.kind), description => "The request body.",
        };
        let (cpp, words) = match &body.kind {
            Type::Model(name) => (cpp_body(api, name), format!(", a {name}")),
            other => ("raw_json".to_owned(), format!(": {other}")),
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

/// A parameter, or a field of a body, in every language; `own` is what only one of the two has.
fn argument(
    api: &Api,
    operation: &Operation,
    (wire, name): (&str, &str),
    kind: &Type,
    own: Value,
) -> Value {
    let held = match kind {
        Type::Array(held) if held.present().is_scalar() => Some(held.present()),
        _ => None,
    };
    let is_text = matches!(kind, Type::Text | Type::Enum(_));
    let scalar = held.unwrap_or(kind);
    let (view, owned) = (
        cpp_scalar(scalar, "std::string_view"),
        cpp_scalar(scalar, "std::string"),
    );
    let (cpp_argument, cpp_member) = match held {
        Some(_) => (
            format!("const std::vector<{view}> &"),
            format!("std::vector<{owned}>"),
        ),
        None => (view.to_owned(), format!("std::optional<{owned}>")),
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
        wire, name, option_value, cpp_argument, cpp_member,
        flag => names::flag(wire), repeated => held.is_some(),
        positional => operation.positional.as_deref() == Some(wire),
        nonblank => operation.nonblank.iter().any(|one| one == wire),
        table => table(scalar), known => known(api, scalar),
        kind => if held.is_some() { "array" } else if is_text { "text" } else { "scalar" },
        secret => *kind == Type::Secret,
        rust_member => match held { Some(_) => rust_kind, None => format!("::std::option::Option<{rust_kind}>") },
        borrowed => borrowed(kind), value => value(name), count => count(name),
        ..own
    }
}

fn count(name: &str) -> String {
    format!("{name}_count")
}
