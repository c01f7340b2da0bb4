//! `_calls.py`: a method per operation, for the blocking client and for the async one.

use super::models::has_class;
use super::{header, quoted, sentence};
use crate::names;
use crate::rust_operations::body_model;
use crate::spec::Spec;
use crate::spec::api::{Operation, Parameter, Type};
use std::collections::BTreeSet;

/// The file.
pub(crate) fn calls(spec: &Spec) -> Result<String, String> {
    let calls: Vec<Call> = spec
        .api
        .operations
        .iter()
        .filter(|one| one.is_call())
        .map(|one| Call::of(spec, one))
        .collect();
    let models: BTreeSet<&str> = calls
        .iter()
        .filter_map(|one| one.model.as_deref())
        .collect();
    let models: Vec<&str> = models.into_iter().collect();
    let mut text = header("The calls of a client.", "spec/openapi.json");
    text += "\nfrom __future__ import annotations\n\nfrom collections.abc import Mapping, Sequence\nfrom typing import Any\n\n";
    text += "from ._arguments import body_text, parameters_text, value_of\n";
    if !models.is_empty() {
        text += &format!("from ._models import {}\n", models.join(", "));
    }
    text += "from ._talentdata import BaseClient\n";
    for (class, awaited) in [("Calls", false), ("AsyncCalls", true)] {
        text += &format!(
            "\n\nclass {class}(BaseClient):\n    \"\"\"The operations of the service that are no lists (section 4).\"\"\"\n\n    __slots__ = ()\n"
        );
        for call in &calls {
            text += &call.method(awaited);
        }
    }
    Ok(text)
}

/// The longest line that a signature may have.
const LINE: usize = 120;

/// An argument of a method.
pub(super) struct Argument {
    name: String,
    wire: String,
    annotation: String,
    required: bool,
    description: String,
}

impl Argument {
    pub(super) fn of(one: &Parameter) -> Self {
        Argument {
            name: names::argument(one),
            wire: one.name.clone(),
            annotation: annotation(one.kind.present()),
            required: one.required,
            description: one.description.clone(),
        }
    }
}

struct Call<'a> {
    operation: &'a Operation,
    method: String,
    /// In path, query and headers.
    parameters: Vec<Argument>,
    body: Body,
    /// The class of the response.
    model: Option<String>,
}

/// How a method takes the request body.
enum Body {
    None,
    /// Field by field.
    Fields(Vec<Argument>),
    /// As one argument.
    Whole(Argument),
}

impl<'a> Call<'a> {
    fn of(spec: &Spec, operation: &'a Operation) -> Self {
        let api = &spec.api;
        let parameters = operation.taken().map(Argument::of);
        let body = match &operation.body {
            None => Body::None,
            Some(body) => match body_model(api, operation, body) {
                Some(model) => Body::Fields(
                    model
                        .fields
                        .iter()
                        .map(|field| Argument {
                            name: names::body_argument(&field.wire),
                            wire: field.wire.clone(),
                            annotation: match field.nullable && field.required {
                                true => format!("{} | None", annotation(field.kind.present())),
                                false => annotation(field.kind.present()),
                            },
                            required: field.required && body.required,
                            description: api.about(field).unwrap_or("Not described.").to_owned(),
                        })
                        .collect(),
                ),
                None => Body::Whole(Argument {
                    name: "body".to_owned(),
                    wire: "body".to_owned(),
                    annotation: annotation(body.kind.present()),
                    required: body.required,
                    description: "The request body.".to_owned(),
                }),
            },
        };
        let model = match &operation.response {
            Some(Type::Model(name)) => api.model(name).filter(|one| has_class(one)),
            _ => None,
        };
        Call {
            method: names::python_call(operation),
            operation,
            parameters: parameters.collect(),
            body,
            model: model.map(|model| model.name.clone()),
        }
    }

    /// Everything that the method takes.
    fn arguments(&self) -> Vec<&Argument> {
        let body: Vec<&Argument> = match &self.body {
            Body::None => Vec::new(),
            Body::Fields(fields) => fields.iter().collect(),
            Body::Whole(body) => vec![body],
        };
        self.parameters.iter().chain(body).collect()
    }

    fn method(&self, awaited: bool) -> String {
        let gives = match (&self.model, &self.operation.response) {
            (Some(model), _) => model.as_str(),
            (None, Some(_)) => "Any",
            (None, None) => "None",
        };
        let start = if awaited { "async def" } else { "def" };
        let method = &self.method;
        let doc = match awaited {
            true => format!("        \"\"\"See `Client.{method}`.\"\"\"\n"),
            false => self.doc(),
        };
        let signature = signature(start, method, self.arguments(), gives);
        format!("\n{signature}\n{doc}{}", self.statement(awaited))
    }

    fn doc(&self) -> String {
        let Operation {
            summary,
            description,
            path,
            method,
            deprecated,
            ..
        } = self.operation;
        let mut text = format!(
            "        \"\"\"{} (`{} {path}`).\n\n        {}\n",
            quoted(&sentence(summary)),
            method.to_uppercase(),
            quoted(description)
        );
        if *deprecated {
            text += "\n        Deprecated: the service document advises against it.\n";
        }
        text += &arguments_doc(self.arguments());
        text += "\n        Raises:\n            talentdata.InvalidArgumentError: An argument cannot be sent; it is named.\n";
        if let (Some(model), true) = (&self.model, is_plain(self.operation)) {
            let method = names::python_call(self.operation);
            text += &format!(
                "\n        >>> import talentdata\n        >>> with talentdata.Sandbox() as sandbox, sandbox.client() as client:\n        \
                 ...     isinstance(client.{method}(), talentdata.{model})\n        True\n"
            );
        }
        text + "        \"\"\"\n"
    }

    fn statement(&self, awaited: bool) -> String {
        let parameters = match self.parameters.is_empty() {
            true => "None".to_owned(),
            false => format!("parameters_text({})", dictionary(self.parameters.iter())),
        };
        let body = match &self.body {
            Body::None => "None".to_owned(),
            Body::Whole(body) => format!("body_text({})", body.name),
            Body::Fields(fields) => {
                let (required, optional): (Vec<_>, Vec<_>) =
                    fields.iter().partition(|one| one.required);
                format!(
                    "body_text({}, {})",
                    dictionary(required.into_iter()),
                    dictionary(optional.into_iter())
                )
            }
        };
        let (flag, wait) = if awaited {
            ("True", "await ")
        } else {
            ("False", "")
        };
        let id = &self.operation.id;
        let call =
            |native: &str| format!("{wait}self.{native}({flag}, \"{id}\", {parameters}, {body})");
        match (&self.model, &self.operation.response) {
            (Some(model), _) => format!("        return {model}({})\n", call("_call")),
            (None, Some(_)) => format!("        return value_of({})\n", call("_call_text")),
            (None, None) => format!("        {}\n", call("_call_text")),
        }
    }
}

/// The first lines of a method: what it needs comes first, and what it can do without is given by name.
pub(super) fn signature(
    start: &str,
    method: &str,
    mut arguments: Vec<&Argument>,
    gives: &str,
) -> String {
    arguments.sort_by_key(|one| !one.required);
    let mut takes = vec!["self".to_owned()];
    let mut keywords = false;
    for one in arguments {
        let (name, annotation) = (&one.name, &one.annotation);
        if one.required {
            takes.push(format!("{name}: {annotation}"));
            continue;
        }
        if !keywords {
            takes.push("*".to_owned());
            keywords = true;
        }
        let or_none = if annotation == "Any" { "" } else { " | None" };
        takes.push(format!("{name}: {annotation}{or_none} = None"));
    }
    let line = format!("    {start} {method}({}) -> {gives}:", takes.join(", "));
    match line.len() <= LINE {
        true => line,
        false => format!(
            "    {start} {method}(\n        {},\n    ) -> {gives}:",
            takes.join(",\n        ")
        ),
    }
}

/// The part of a docstring that describes the arguments.
pub(super) fn arguments_doc<'a>(arguments: impl IntoIterator<Item = &'a Argument>) -> String {
    let mut arguments: Vec<&Argument> = arguments.into_iter().collect();
    arguments.sort_by_key(|one| !one.required);
    let line =
        |one: &&Argument| format!("            {}: {}\n", one.name, quoted(&one.description));
    match arguments.is_empty() {
        true => String::new(),
        false => "\n        Args:\n".to_owned() + &arguments.iter().map(line).collect::<String>(),
    }
}

/// Whether an operation reads, and can be called without arguments.
fn is_plain(operation: &Operation) -> bool {
    operation.is_call()
        && operation.method == "get"
        && operation.required().next().is_none()
        && operation.body.is_none()
}

pub(super) fn dictionary<'a>(arguments: impl Iterator<Item = &'a Argument>) -> String {
    let pairs = arguments.map(|one| format!("\"{}\": {}", one.wire, one.name));
    format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
}

/// What a value that is sent may be.
fn annotation(kind: &Type) -> String {
    match kind {
        Type::Text | Type::Secret | Type::Enum(_) => "str".to_owned(),
        Type::Integer | Type::Unsigned => "int".to_owned(),
        Type::Number => "float".to_owned(),
        Type::Boolean => "bool".to_owned(),
        Type::Array(held) => format!("Sequence[{}]", annotation(held.present())),
        Type::Map(held) => format!("Mapping[str, {}]", annotation(held.present())),
        Type::Model(_) | Type::Object => "Mapping[str, Any]".to_owned(),
        Type::Json | Type::Nullable(_) => "Any".to_owned(),
    }
}
