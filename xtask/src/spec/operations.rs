//! Operations of the spec: every method of every path, with parameters, bodies and security.

use super::api::{Body, Operation, Parameter, Type};
use super::findings::Topic;
use super::parameters::parameter;
use super::references::follow;
use super::types::Types;
use super::{content, lists, pointer, prose, said, security};
use crate::names;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The methods of HTTP that OpenAPI knows.
const METHODS: [&str; 8] = [
    "get", "post", "put", "patch", "delete", "head", "options", "trace",
];

/// What a path may hold besides methods.
const BESIDE_METHODS: [&str; 5] = ["parameters", "summary", "description", "servers", "$ref"];

/// A method of a path, with what the path says for all of its methods.
pub(super) struct Written<'a> {
    pub(super) path: &'a str,
    pub(super) method: &'a str,
    pub(super) at: String,
    pub(super) body: &'a Value,
    item: &'a Value,
    item_at: String,
}

impl<'a> Written<'a> {
    /// The places of the parameters; those of the method stand for those of the path.
    pub(super) fn parameters(&self, document: &'a Value) -> Vec<(String, &'a Value)> {
        let mut out: Vec<(String, &Value)> = Vec::new();
        for (value, at) in [(self.body, &self.at), (self.item, &self.item_at)] {
            let written = value.get("parameters").and_then(Value::as_array);
            for index in 0..written.map_or(0, Vec::len) {
                let at = follow(document, format!("{at}/parameters/{index}"));
                let Some(parameter) = document.pointer(&at) else {
                    continue;
                };
                let same = |(_, other): &(String, &Value)| {
                    other["name"] == parameter["name"] && other["in"] == parameter["in"]
                };
                if !out.iter().any(same) {
                    out.push((at, parameter));
                }
            }
        }
        out
    }
}

/// Every method of every path, in the spec's order.
pub(super) fn written<'a>(types: &mut Types<'a>) -> Vec<Written<'a>> {
    let document = types.document();
    let mut out = Vec::new();
    let paths = document.get("paths").and_then(Value::as_object);
    for path in paths.into_iter().flat_map(Map::keys) {
        let item_at = follow(document, pointer(&["paths", path]));
        let item = document.pointer(&item_at).unwrap_or(&Value::Null);
        let Some(methods) = item.as_object() else {
            let at = pointer(&["paths", path]);
            types
                .findings
                .refuse(&at, "this is not a path", "write an object of methods");
            continue;
        };
        for (method, body) in methods {
            if METHODS.contains(&method.as_str()) {
                out.push(Written {
                    path,
                    method,
                    at: format!("{item_at}{}", pointer(&[method])),
                    body,
                    item,
                    item_at: item_at.clone(),
                });
            } else if !BESIDE_METHODS.contains(&method.as_str()) && !method.starts_with("x-") {
                let at = pointer(&["paths", path, method]);
                let way = format!("the methods are {}", METHODS.join(", "));
                let reason = format!("there is no method {method:?}");
                types.findings.refuse(&at, &reason, &way);
            }
        }
    }
    out
}

/// Reads one operation; `answered` collects what its responses hold.
pub(super) fn read(
    types: &mut Types<'_>,
    written: &Written<'_>,
    answered: &mut BTreeSet<String>,
) -> Operation {
    let document = types.document();
    let body = written.body;
    let text = |key: &str| body.get(key).and_then(Value::as_str);
    let id = match text("operationId") {
        Some(id) if !id.trim().is_empty() => id.to_owned(),
        _ => id_of(written),
    };
    let whose = format!("{} {}", written.method.to_uppercase(), written.path);
    let request_at = follow(document, format!("{}/requestBody", written.at));
    let request = document.pointer(&request_at);
    let request_json = content::json(document, &request_at, &whose, types.findings);
    let responses = content::responses(document, &written.at, body);
    let success = responses.success.clone();
    let success = success.and_then(|at| content::json(document, &at, &whose, types.findings));
    content::note_unread(document, &whose, body, types.findings);
    let typed = |types: &mut Types<'_>, at: &str, suffix: &str| {
        let schema = document.pointer(at).unwrap_or(&Value::Null);
        let name = names::camel(&format!("{id}{suffix}"));
        types
            .names
            .entry(at.to_owned())
            .or_insert_with(|| name.clone());
        types.of(schema, at, &name).kind
    };
    let response = success.map(|at| typed(types, &at, "Response"));
    let body_type = request_json.map(|at| typed(types, &at, "Request"));
    answered.extend(response.iter().filter_map(Type::named).map(str::to_owned));
    for at in &responses.others {
        unread(types, at, &whose, answered);
    }
    let parameters = written.parameters(document).into_iter();
    let parameters = parameters.filter_map(|(at, one)| parameter(types, &at, one, &id, &whose));
    let parameters = parameters.collect();
    let mut operation = Operation {
        name: text("x-talentdata-name").unwrap_or(&id).to_owned(),
        command: text("x-talentdata-command")
            .or(text("x-talentdata-name"))
            .unwrap_or(&id)
            .to_owned(),
        positional: text("x-talentdata-positional").map(str::to_owned),
        nonblank: names_of(body.get("x-talentdata-nonblank")),
        idempotent: is_idempotent(written),
        obstacle: None,
        method: written.method.to_owned(),
        path: written.path.to_owned(),
        group: prose(
            body.pointer("/tags/0")
                .and_then(Value::as_str)
                .unwrap_or_default(),
        ),
        summary: said(text("summary")).unwrap_or_else(|| prose(&id)),
        description: said(text("description")).unwrap_or_else(|| "Not described.".to_owned()),
        deprecated: body.get("deprecated") == Some(&Value::Bool(true)),
        token: security::token(types, body, &whose),
        parameters,
        body: body_type.map(|kind| Body {
            kind,
            required: request.is_some_and(|one| one.get("required") == Some(&Value::Bool(true))),
        }),
        response,
        list: None,
        id,
    };
    operation.list = lists::list(types, &operation);
    let needs_body = request.is_some_and(|one| one["required"] == Value::Bool(true));
    operation.obstacle = obstacle(&operation, needs_body && operation.body.is_none());
    note(types, &operation, body);
    operation
}

/// The texts of an array.
fn names_of(written: Option<&Value>) -> Vec<String> {
    let names = written.and_then(Value::as_array).into_iter().flatten();
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Whether HTTP says so of the method, or the spec of the operation.
fn is_idempotent(written: &Written<'_>) -> bool {
    match written.body.get("x-talentdata-idempotent") {
        Some(said) => said == &Value::Bool(true),
        None => !["post", "patch"].contains(&written.method),
    }
}

/// Why no language can call an operation.
fn obstacle(operation: &Operation, needs_other_body: bool) -> Option<String> {
    if needs_other_body {
        return Some("its request body is not JSON".to_owned());
    }
    let in_path = operation
        .parameters
        .iter()
        .filter(|one| one.location == "path");
    let in_path: Vec<&str> = in_path.map(|one| one.name.as_str()).collect();
    let placeholders = operation.path.split('{').skip(1);
    let placeholders: Vec<&str> = placeholders
        .filter_map(|part| Some(part.split_once('}')?.0))
        .collect();
    if let Some(name) = placeholders.iter().find(|name| !in_path.contains(name)) {
        return Some(format!(
            "its path has {{{name}}}, which is none of its parameters"
        ));
    }
    if let Some(name) = in_path.iter().find(|name| !placeholders.contains(name)) {
        return Some(format!(
            "its path has no {{{name}}}, which is one of its parameters"
        ));
    }
    let mut parameters = operation.parameters.iter();
    let missing = parameters.find(|one| one.required && !one.is_taken() && !one.is_of_client())?;
    Some(format!(
        "its required parameter {} ({}, {}) cannot be sent",
        missing.name, missing.location, missing.kind
    ))
}

/// Notes what the operation has and no language gets.
fn note(types: &mut Types<'_>, operation: &Operation, body: &Value) {
    let (title, findings) = (operation.title(), &mut *types.findings);
    if let Some(obstacle) = &operation.obstacle {
        findings.note(Topic::Operation, format!("{title}: {obstacle}"));
    }
    let lost = |one: &&Parameter| match operation.is_generated() {
        true => !one.is_taken() && !one.is_of_client(),
        false => true,
    };
    for one in operation.parameters.iter().filter(lost) {
        let needed = if one.required { ", required" } else { "" };
        let text = format!("{title}: {} ({}{needed})", one.name, one.location);
        findings.note(Topic::Parameter, text);
    }
    if operation.deprecated && !operation.is_call() {
        findings.note(Topic::Deprecated, title.clone());
    }
    for one in operation.parameters.iter().filter(|one| one.deprecated) {
        findings.note(
            Topic::Deprecated,
            format!("{title}: parameter {}", one.name),
        );
    }
    for part in ["callbacks", "servers"] {
        if body.get(part).is_some() {
            findings.note(Topic::Other, format!("{title}: {part}"));
        }
    }
}

/// What a response holds that is not read; a model of it is generated where it has a name.
fn unread(types: &mut Types<'_>, at: &str, whose: &str, answered: &mut BTreeSet<String>) {
    let document = types.document();
    let Some(schema) = content::json(document, at, whose, types.findings) else {
        return;
    };
    if let Some(component) = content::component(document, &schema) {
        answered.extend(
            types
                .referred(&component, at)
                .kind
                .named()
                .map(str::to_owned),
        );
    }
    let status = at.rsplit('/').next().unwrap_or_default();
    types
        .findings
        .note(Topic::Response, format!("{whose}: {status}"));
}

/// A name for an operation without one: its method and path.
fn id_of(written: &Written<'_>) -> String {
    let path = written.path.replace('{', "by_").replace('}', "");
    let words = names::camel(&format!("{} {}", written.method, path.replace('/', " ")));
    let mut letters = words.chars();
    let first = letters.next().into_iter().flat_map(char::to_lowercase);
    first.chain(letters).collect()
}
