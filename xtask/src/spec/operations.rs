//! Operations of the spec: every method of every path, with parameters, bodies and security.

use super::api::{Body, Operation, Parameter, TokenUse, Type};
use super::cursor::{Cursor, pointer};
use super::findings::Topic;
use super::types::Types;
use super::{lists, prose, said};
use crate::names;
use std::collections::BTreeSet;

/// The methods of HTTP that OpenAPI knows.
const METHODS: [&str; 8] = [
    "get", "post", "put", "patch", "delete", "head", "options", "trace",
];

/// What a path may hold besides methods.
const BESIDE_METHODS: [&str; 5] = ["parameters", "summary", "description", "servers", "$ref"];

/// Headers of responses that the client reads.
const READ_HEADERS: [&str; 6] = [
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "retry-after",
    "x-request-id",
    "content-type",
];

/// A method of a path, with what the path says for all of its methods.
pub(super) struct Written<'a> {
    pub(super) path: &'a str,
    pub(super) method: &'a str,
    pub(super) body: Cursor<'a>,
    item: Cursor<'a>,
}

impl<'a> Written<'a> {
    /// The parameters; those of the method stand for those of the path.
    pub(super) fn parameters(&self) -> Vec<Cursor<'a>> {
        let mut out: Vec<Cursor> = Vec::new();
        for holder in [&self.body, &self.item] {
            let written = holder.get("parameters").map(|all| all.items());
            for one in written.into_iter().flatten().map(Cursor::followed) {
                let same = |other: &Cursor| {
                    ["name", "in"]
                        .iter()
                        .all(|key| other.value[*key] == one.value[*key])
                };
                if !out.iter().any(same) {
                    out.push(one);
                }
            }
        }
        out
    }

    /// The successful response: a status from 200 to 299, `2XX`, or `default` where neither is.
    ///
    /// An empty response beside one with a body is one that need not be read.
    pub(super) fn success(&self) -> Option<Cursor<'a>> {
        let responses = self.body.get("responses")?;
        let mut statuses = responses.keys();
        statuses.retain(|status| status.starts_with('2'));
        statuses.sort_unstable();
        let response = |status: &&str| responses.peek(status).map(Cursor::followed);
        let has_body = |status: &&&str| response(status).is_some_and(|one| one.has("content"));
        let chosen = statuses.iter().find(has_body).or(statuses.first());
        let chosen = responses.get(chosen.copied().unwrap_or("default"))?;
        Some(chosen.followed())
    }
}

/// Every method of every path, in the spec's order.
pub(super) fn written<'a>(types: &mut Types<'a>) -> Vec<Written<'a>> {
    let mut out = Vec::new();
    let paths = types.document.root().get("paths");
    for (path, item) in paths.iter().flat_map(Cursor::entries) {
        let item = item.followed();
        if !item.value.is_object() {
            let at = pointer(&["paths", path]);
            let way = "write an object of methods";
            types.findings.refuse(&at, "this is not a path", way);
        }
        for method in item.keys() {
            if METHODS.contains(&method) {
                out.extend(item.get(method).map(|body| Written {
                    path,
                    method,
                    body,
                    item: item.clone(),
                }));
            } else if !BESIDE_METHODS.contains(&method) && !method.starts_with("x-") {
                let at = pointer(&["paths", path, method]);
                let way = format!("the methods are {}", METHODS.join(", "));
                let reason = format!("there is no method {method:?}");
                types.findings.refuse(&at, &reason, &way);
            }
        }
    }
    out
}

/// The JSON schema in the content of a request body, a response or a parameter.
pub(super) fn json<'a>(holder: &Cursor<'a>) -> Option<Cursor<'a>> {
    let content = holder.peek("content")?;
    let is_json = |kind: &&str| {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        let kind = kind.to_ascii_lowercase();
        kind == "*/*"
            || kind == "text/json"
            || kind == "application/json"
            || kind.ends_with("+json")
    };
    let kinds = content.keys();
    let plain = kinds.iter().find(|kind| **kind == "application/json");
    let kind = plain.or_else(|| kinds.iter().find(|kind| is_json(kind)))?;
    content.peek(kind)?.peek("schema")
}

/// Reads one operation; `answered` collects what its responses hold.
pub(super) fn read<'a>(
    types: &mut Types<'a>,
    written: &Written<'a>,
    answered: &mut BTreeSet<String>,
) -> Operation {
    let body = &written.body;
    let id = match body.text("operationId") {
        Some(id) if !id.trim().is_empty() => id.to_owned(),
        _ => id_of(written),
    };
    let whose = format!("{} {}", written.method.to_uppercase(), written.path);
    let typed = |types: &mut Types<'a>, schema: Cursor<'a>, suffix: &str| {
        schema.mark();
        let name = names::camel(&format!("{id}{suffix}"));
        let hint = types.names.entry(schema.at.clone());
        hint.or_insert_with(|| name.clone());
        types.of(vec![schema], &name).kind
    };
    let request = body.get("requestBody").map(Cursor::followed);
    let (success, others) = (written.success(), others(written));
    let response = success.as_ref().and_then(json);
    let response = response.map(|schema| typed(types, schema, "Response"));
    let request_json = request.as_ref().and_then(json);
    let body_type = request_json.map(|schema| typed(types, schema, "Request"));
    let needs_body = request.as_ref().is_some_and(|one| one.flag("required"));
    answered.extend(response.iter().filter_map(Type::named).map(str::to_owned));
    for response in others {
        // Nobody reads it, but a model is generated where it has a name.
        let target = json(&response).and_then(|schema| schema.peek_target());
        let known = target.map(|target| types.referred(target, &response.at).kind);
        answered.extend(known.iter().filter_map(Type::named).map(str::to_owned));
    }
    success.iter().for_each(read_headers);
    let parameters = written.parameters().into_iter();
    let parameters = parameters.filter_map(|one| parameter(types, &one, &id));
    let parameters = parameters.collect();
    let name = body.text("x-talentdata-name");
    let mut operation = Operation {
        name: name.unwrap_or(&id).to_owned(),
        command: body
            .text("x-talentdata-command")
            .or(name)
            .unwrap_or(&id)
            .to_owned(),
        positional: body.text("x-talentdata-positional").map(str::to_owned),
        nonblank: owned(body.texts("x-talentdata-nonblank")),
        idempotent: is_idempotent(written),
        obstacle: None,
        method: written.method.to_owned(),
        path: written.path.to_owned(),
        group: prose(body.texts("tags").first().copied().unwrap_or_default()),
        summary: said(body.text("summary")).unwrap_or_else(|| prose(&id)),
        description: described(body),
        deprecated: false,
        token: token(types, body, &whose),
        parameters,
        body: body_type.map(|kind| Body {
            kind,
            required: needs_body,
        }),
        response,
        list: None,
        id,
    };
    operation.list = lists::list(types, &operation);
    operation.obstacle = obstacle(&operation, needs_body && operation.body.is_none());
    operation.deprecated = operation.is_call() && body.flag("deprecated");
    note(types, &operation);
    operation
}

/// The responses that are not the successful one.
fn others<'a>(written: &Written<'a>) -> Vec<Cursor<'a>> {
    let success = written.success().map(|one| one.at);
    let responses = written.body.peek("responses");
    let statuses = responses.iter().flat_map(Cursor::keys);
    let responses = statuses.filter_map(|status| responses.as_ref()?.peek(status));
    // The reference itself is read, and what it leads to is reported where nothing else is read of it.
    let responses = responses.filter_map(|one| match one.has("$ref") {
        true => one.target(),
        false => Some(one),
    });
    responses
        .filter(|one| Some(&one.at) != success.as_ref())
        .collect()
}

/// Reads those headers of a response that the client reads.
fn read_headers(response: &Cursor) {
    let Some(headers) = response.peek("headers") else {
        return;
    };
    for name in headers.keys() {
        if READ_HEADERS.contains(&name.to_ascii_lowercase().as_str())
            && let Some(header) = headers.get(name)
        {
            header.followed();
        }
    }
}

fn owned(texts: Vec<&str>) -> Vec<String> {
    texts.into_iter().map(str::to_owned).collect()
}

fn described(holder: &Cursor) -> String {
    said(holder.text("description")).unwrap_or_else(|| "Not described.".to_owned())
}

/// Whether HTTP says so of the method, or the spec of the operation.
fn is_idempotent(written: &Written) -> bool {
    match written.body.get("x-talentdata-idempotent") {
        Some(said) => *said.value == true,
        None => !["post", "patch"].contains(&written.method),
    }
}

/// Reads a parameter.
fn parameter<'a>(types: &mut Types<'a>, written: &Cursor<'a>, id: &str) -> Option<Parameter> {
    let (Some(name), Some(location)) = (written.text("name"), written.text("in")) else {
        let way = "give it `name` and `in`";
        types
            .findings
            .refuse(&written.at, "this is not a parameter", way);
        return None;
    };
    let schema = written.get("schema").or_else(|| json(written));
    // A shared parameter is named by itself.
    let place = match written.at.strip_prefix("/components/parameters/") {
        Some(shared) => names::camel(&format!("{shared} parameter")),
        None => names::camel(&format!("{id} {name}")),
    };
    let kind = schema.clone().map(|schema| {
        schema.mark();
        types.of(vec![schema], &place).kind
    });
    let limits = name == "limit" && location == "query";
    let maximum = schema
        .filter(|_| limits)
        .and_then(|one| maximum(&one.followed()));
    Some(Parameter {
        name: name.to_owned(),
        location: location.to_owned(),
        description: described(written),
        required: written.flag("required") || location == "path",
        kind: kind.unwrap_or(Type::Text),
        place: written.at.clone(),
        maximum,
    })
}

/// The largest integer that a schema allows, however it is written.
fn maximum(schema: &Cursor) -> Option<u64> {
    let number = |key: &str| schema.get(key).and_then(|one| one.value.as_f64());
    // OpenAPI 3.0 marks the maximum as exclusive, 3.1 has another keyword for it.
    let marked = schema.flag("exclusiveMaximum");
    let below = |bound: f64| bound.ceil() - 1.0;
    let inclusive = number("maximum").map(|bound| match marked {
        true => below(bound),
        false => bound.floor(),
    });
    let exclusive = number("exclusiveMaximum").map(below);
    let bound = inclusive.into_iter().chain(exclusive).reduce(f64::min)?;
    // The cast saturates, as a bound should.
    (bound >= 0.0).then_some(bound as u64)
}

/// Whether the bearer token goes with the operation; other schemes are noted.
fn token(types: &mut Types<'_>, body: &Cursor, whose: &str) -> TokenUse {
    let security = body.get("security");
    let security = security.or_else(|| types.document.root().get("security"));
    let (mut with, mut without) = (false, false);
    for requirement in security.iter().flat_map(Cursor::items) {
        let names = requirement.keys();
        requirement.mark_all();
        without |= names.is_empty();
        for name in names {
            let at = pointer(&["components", "securitySchemes", name]);
            let scheme = types.document.at(at.clone()).map(Cursor::followed);
            let kind = scheme.as_ref().and_then(|scheme| scheme.text("type"));
            let http = scheme.as_ref().and_then(|scheme| scheme.text("scheme"));
            match kind {
                Some("http") if http.is_some_and(|one| one.eq_ignore_ascii_case("bearer")) => {
                    with = true;
                }
                Some("oauth2" | "openIdConnect") => with = true,
                Some(kind) => types
                    .findings
                    .note(Topic::Security, format!("{whose}: {name} ({kind})")),
                None => {
                    let way = "add it to /components/securitySchemes, or correct the name";
                    let reason = "there is no such security scheme";
                    types.findings.refuse(&at, reason, way);
                }
            }
        }
    }
    match (with, without) {
        (false, _) => TokenUse::Never,
        (true, false) => TokenUse::Always,
        (true, true) => TokenUse::WhenThereIsOne,
    }
}

/// Why no language can call an operation.
fn obstacle(operation: &Operation, needs_other_body: bool) -> Option<String> {
    if needs_other_body {
        return Some("its request body is not JSON".to_owned());
    }
    let parameters = operation.parameters.iter();
    let in_path = parameters.clone().filter(|one| one.location == "path");
    let in_path: Vec<&str> = in_path.map(|one| one.name.as_str()).collect();
    let placeholders = operation.path.split('{').skip(1);
    let placeholders = placeholders.filter_map(|part| Some(part.split_once('}')?.0));
    let placeholders: Vec<&str> = placeholders.collect();
    if let Some(name) = placeholders.iter().find(|name| !in_path.contains(name)) {
        let reason = "which is none of its parameters";
        return Some(format!("its path has {{{name}}}, {reason}"));
    }
    if let Some(name) = in_path.iter().find(|name| !placeholders.contains(name)) {
        let reason = "which is one of its parameters";
        return Some(format!("its path has no {{{name}}}, {reason}"));
    }
    let mut missing = parameters.filter(|one| one.required && !one.is_taken());
    let missing = missing.find(|one| !one.is_of_client())?;
    let (name, location, kind) = (&missing.name, &missing.location, &missing.kind);
    Some(format!(
        "its required parameter {name} ({location}, {kind}) cannot be sent"
    ))
}

/// Notes what the operation has and no language gets.
fn note(types: &mut Types<'_>, operation: &Operation) {
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
}

/// A name for an operation without one: its method and path.
fn id_of(written: &Written) -> String {
    let path = written.path.replace('{', "by_").replace('}', "");
    let words = names::camel(&format!("{} {}", written.method, path.replace('/', " ")));
    let mut letters = words.chars();
    let first = letters.next().into_iter().flat_map(char::to_lowercase);
    first.chain(letters).collect()
}
