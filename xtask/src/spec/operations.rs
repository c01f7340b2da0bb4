//! Operations of the spec: every method of every path, with parameters, bodies and security.

use super::api::{Body, Operation, Parameter, TokenUse, Type};
use super::cursor::{Cursor, Document, pointer};
use super::findings::{OPERATION, PARAMETER, SECURITY};
use super::types::Types;
use super::{described, lists, prose, said};
use crate::names;
use std::collections::BTreeSet;

/// The methods of HTTP that OpenAPI knows.
const METHODS: [&str; 8] = [
    "get", "post", "put", "patch", "delete", "head", "options", "trace",
];

/// What a path may hold besides methods.
const BESIDE_METHODS: [&str; 5] = ["parameters", "summary", "description", "servers", "$ref"];

/// Headers of responses that the client reads.
const READ_HEADERS: &str = "x-ratelimit-limit x-ratelimit-remaining x-ratelimit-reset retry-after \
                            x-request-id content-type";

/// A method of a path, with what the path says for all of its methods.
pub(super) struct Written<'a> {
    pub(super) path: String,
    pub(super) method: String,
    pub(super) body: Cursor<'a>,
    /// Those of the method stand for those of the path.
    pub(super) parameters: Vec<Cursor<'a>>,
    /// The successful response: a status from 200 to 299, `2XX`, or `default` where neither is.
    ///
    /// An empty response beside one with a body is one that need not be read.
    pub(super) success: Option<Cursor<'a>>,
    /// The other responses.
    others: Vec<Cursor<'a>>,
}

/// Every method of every path, in the spec's order.
pub(super) fn written(document: &Document) -> Vec<Written<'_>> {
    let mut out = Vec::new();
    let paths = document.at("/paths");
    for (path, item) in paths.iter().flat_map(Cursor::entries) {
        let at = item.at.clone();
        let item = item.followed();
        if !item.value.is_object() {
            document.refuse(&at, "this is not a path", "write an object of methods");
        }
        for (method, body) in item.children() {
            if METHODS.contains(&&*method) {
                body.mark();
                let (success, others) = responses(&body);
                let parameters = parameters(&[&body, &item]);
                let path = path.clone();
                out.push(Written {
                    path,
                    method,
                    body,
                    parameters,
                    success,
                    others,
                });
            } else if !BESIDE_METHODS.contains(&&*method) && !method.starts_with("x-") {
                let way = format!("the methods are {}", METHODS.join(", "));
                body.refuse(&format!("there is no method {method:?}"), &way);
            }
        }
    }
    out
}

fn parameters<'a>(holders: &[&Cursor<'a>]) -> Vec<Cursor<'a>> {
    let mut out: Vec<Cursor> = Vec::new();
    let written = holders.iter().filter_map(|one| one.get("parameters"));
    for one in written.flat_map(|all| all.items()).map(Cursor::followed) {
        let key = |one: &Cursor| (one.value["name"].clone(), one.value["in"].clone());
        if !out.iter().any(|other| key(other) == key(&one)) {
            out.push(one);
        }
    }
    out
}

/// The successful response, and the others.
fn responses<'a>(body: &Cursor<'a>) -> (Option<Cursor<'a>>, Vec<Cursor<'a>>) {
    let written = body.get("responses").map(|all| all.children());
    let mut written = written.unwrap_or_default();
    written.sort_by(|one, other| one.0.cmp(&other.0));
    let is_success = |(status, _): &&(String, Cursor)| status.starts_with('2');
    let has_body = |(_, one): &&(String, Cursor)| one.clone().followed().has("content");
    let success = written.iter().filter(is_success).find(has_body);
    let success = success.or_else(|| written.iter().find(is_success));
    let success = success.or_else(|| written.iter().find(|(status, _)| status == "default"));
    let success = success.map(|(_, one)| one.clone());
    // The reference itself is read, and what it leads to is reported where nothing else is read of it.
    let others = written.iter().map(|(_, one)| one);
    let others = others.filter(|one| success.as_ref().is_none_or(|success| success.at != one.at));
    let others = others.map(|one| one.target().unwrap_or_else(|| one.clone()));
    let others = others.collect();
    success.iter().for_each(Cursor::mark);
    (success.map(Cursor::followed), others)
}

/// The JSON schema in the content of a request body, a response or a parameter.
pub(super) fn json<'a>(holder: &Cursor<'a>) -> Option<Cursor<'a>> {
    let content = holder.peek("content")?;
    let is_json = |kind: &&&str| {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        let kind = kind.to_ascii_lowercase();
        ["*/*", "text/json", "application/json"].contains(&&*kind) || kind.ends_with("+json")
    };
    let kinds = content.keys();
    let plain = kinds.iter().find(|kind| **kind == "application/json");
    let kind = plain.or_else(|| kinds.iter().find(is_json))?;
    content.peek(kind)?.peek("schema")
}

/// Reads one operation; `answered` collects what its responses hold.
pub(super) fn read<'a>(
    types: &mut Types<'a>,
    written: &Written<'a>,
    answered: &mut BTreeSet<String>,
) -> Operation {
    let (body, method, path) = (&written.body, written.method.clone(), written.path.clone());
    let id = body.text("operationId").filter(|id| !id.trim().is_empty());
    let id = id.map_or_else(|| id_of(written), str::to_owned);
    let mut typed = |schema: Cursor<'a>, suffix: &str| {
        schema.mark();
        let name = names::camel(&format!("{id}{suffix}"));
        let hint = types.names.entry(schema.at.clone());
        hint.or_insert_with(|| name.clone());
        types.of(vec![schema], &name).kind
    };
    let response = written.success.as_ref().and_then(json);
    let response = response.map(|schema| typed(schema, "Response"));
    let request = body.get("requestBody").map(Cursor::followed);
    let required = request.as_ref().is_some_and(|one| one.flag("required"));
    let request = request.as_ref().and_then(json);
    let request = request.map(|schema| Body {
        kind: typed(schema, "Request"),
        required,
    });
    // Nobody reads the others, but a model is generated where it has a name.
    let others = written.others.iter().filter_map(json);
    let others = others.filter(|schema| schema.has("$ref"));
    let others: Vec<Type> = others.map(|schema| typed(schema, "")).collect();
    let kinds = response.iter().chain(&others).filter_map(Type::named);
    answered.extend(kinds.map(str::to_owned));
    let headers = written.success.as_ref().and_then(|one| one.peek("headers"));
    for (name, header) in headers.iter().flat_map(Cursor::children) {
        if READ_HEADERS
            .split(' ')
            .any(|one| one.eq_ignore_ascii_case(&name))
        {
            header.mark();
            header.followed();
        }
    }
    let parameters = written.parameters.iter();
    let parameters = parameters
        .filter_map(|one| parameter(types, one, &id))
        .collect();
    let name = body.text("x-talentdata-name").unwrap_or(&id).to_owned();
    let command = body.text("x-talentdata-command").unwrap_or(&name);
    let nonblank = body.texts("x-talentdata-nonblank").into_iter();
    // HTTP says so of the method, or the spec of the operation.
    let idempotent = body.get("x-talentdata-idempotent");
    let of_method = !["post", "patch"].contains(&&*method);
    let mut operation = Operation {
        command: command.to_owned(),
        positional: body.text("x-talentdata-positional").map(str::to_owned),
        nonblank: nonblank.map(str::to_owned).collect(),
        idempotent: idempotent.map_or(of_method, |said| *said.value == true),
        obstacle: None,
        group: prose(body.texts("tags").first().copied().unwrap_or_default()),
        summary: said(body.text("summary")).unwrap_or_else(|| prose(&id)),
        description: described(body.text("description")),
        deprecated: false,
        token: token(
            types.document,
            body,
            &format!("{} {path}", method.to_uppercase()),
        ),
        parameters,
        body: request,
        response,
        list: None,
        method,
        path,
        name,
        id,
    };
    operation.list = lists::list(types, &operation);
    operation.obstacle = obstacle(&operation, required && operation.body.is_none());
    operation.deprecated = operation.is_call() && body.flag("deprecated");
    note(types.document, &operation);
    operation
}

/// Reads a parameter.
fn parameter<'a>(types: &mut Types<'a>, written: &Cursor<'a>, id: &str) -> Option<Parameter> {
    let (Some(name), Some(location)) = (written.text("name"), written.text("in")) else {
        written.refuse("this is not a parameter", "give it `name` and `in`");
        return None;
    };
    let schema = written.get("schema").or_else(|| json(written));
    // A shared parameter is named by itself.
    let place = match written.at.strip_prefix("/components/parameters/") {
        Some(shared) => names::camel(&format!("{shared} parameter")),
        None => names::camel(&format!("{id} {name}")),
    };
    schema.iter().for_each(Cursor::mark);
    let kind = schema
        .clone()
        .map(|schema| types.of(vec![schema], &place).kind);
    let limit = schema.filter(|_| name == "limit" && location == "query");
    Some(Parameter {
        name: name.to_owned(),
        location: location.to_owned(),
        description: described(written.text("description")),
        required: written.flag("required") || location == "path",
        kind: kind.unwrap_or(Type::Text),
        place: written.at.clone(),
        maximum: limit.and_then(|one| maximum(&one.followed())),
    })
}

/// The largest integer that a schema allows, however it is written.
fn maximum(schema: &Cursor) -> Option<u64> {
    let number = |key: &str| schema.get(key).and_then(|one| one.value.as_f64());
    // OpenAPI 3.0 marks the maximum as exclusive, 3.1 has another keyword for it.
    let marked = schema.flag("exclusiveMaximum");
    let below = |bound: f64| bound.ceil() - 1.0;
    let inclusive = number("maximum").map(|one| if marked { below(one) } else { one.floor() });
    let exclusive = number("exclusiveMaximum").map(below);
    let bound = inclusive.into_iter().chain(exclusive).reduce(f64::min)?;
    // The cast saturates, as a bound should.
    (bound >= 0.0).then_some(bound as u64)
}

/// Whether the bearer token goes with the operation; other schemes are noted.
fn token(document: &Document, body: &Cursor, whose: &str) -> TokenUse {
    let security = body.get("security").or_else(|| document.at("/security"));
    let (mut with, mut without) = (false, false);
    for requirement in security.iter().flat_map(Cursor::items) {
        requirement.mark_all();
        without |= requirement.keys().is_empty();
        for name in requirement.keys() {
            let at = pointer(&["components", "securitySchemes", name]);
            let scheme = document.at(&at).map(Cursor::followed);
            let text = |key: &str| scheme.as_ref().and_then(|scheme| scheme.text(key));
            let http = text("scheme").unwrap_or_default();
            match text("type") {
                Some("oauth2" | "openIdConnect") => with = true,
                Some("http") if http.eq_ignore_ascii_case("bearer") => with = true,
                Some(kind) => document.note(SECURITY, format!("{whose}: {name} ({kind})")),
                None => {
                    let way = "add it to /components/securitySchemes, or correct the name";
                    document.refuse(&at, "there is no such security scheme", way);
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
    for (has, in_one, in_other, which) in [
        ("has", &placeholders, &in_path, "none"),
        ("has no", &in_path, &placeholders, "one"),
    ] {
        if let Some(name) = in_one.iter().find(|name| !in_other.contains(name)) {
            return Some(format!(
                "its path {has} {{{name}}}, which is {which} of its parameters"
            ));
        }
    }
    let mut missing = parameters.filter(|one| one.required && !one.is_taken());
    let missing = missing.find(|one| !one.is_of_client())?;
    let (name, location, kind) = (&missing.name, &missing.location, &missing.kind);
    Some(format!(
        "its required parameter {name} ({location}, {kind}) cannot be sent"
    ))
}

/// Notes what the operation has and no language gets.
fn note(document: &Document, operation: &Operation) {
    let title = operation.title();
    if let Some(obstacle) = &operation.obstacle {
        document.note(OPERATION, format!("{title}: {obstacle}"));
    }
    for one in &operation.parameters {
        let is_sent = one.is_taken() || one.is_of_client();
        if !(is_sent && operation.is_generated()) {
            let needed = if one.required { ", required" } else { "" };
            let text = format!("{title}: {} ({}{needed})", one.name, one.location);
            document.note(PARAMETER, text);
        }
    }
}

/// A name for an operation without one: its method and path.
fn id_of(written: &Written) -> String {
    let path = written.path.replace('{', "by_").replace('}', "");
    let words = format!("{} {}", written.method, path.replace('/', " "));
    let words = names::camel(&words);
    let mut letters = words.chars();
    let first = letters.next().into_iter().flat_map(char::to_lowercase);
    first.chain(letters).collect()
}
