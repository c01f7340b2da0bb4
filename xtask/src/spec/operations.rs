//! Operations of the spec: every method of every path, with parameters, bodies and security.

use super::api::{ApiOperation, ApiParameter, Body, TokenNeed, Type};
use super::cursor::{Cursor, Document, OPERATION, PARAMETER, SECURITY, pointer};
use super::lists;
use super::types::{Types, value};
use crate::names;
use crate::text::{clean, one_line, or_not_described};
use heck::ToLowerCamelCase;
use std::collections::BTreeSet;

/// The methods of HTTP that OpenAPI knows.
const METHODS: &str = "get post put patch delete head options trace";

/// Reads every method of every path, in the spec's order.
pub(super) fn read(types: &mut Types) {
    let paths = types.document.at("/paths");
    for item in paths.iter().flat_map(Cursor::children) {
        let path = item.key();
        let item = item.followed();
        for body in item.children() {
            let method = body.key();
            if METHODS.split(' ').any(|one| one == method) {
                body.mark();
                let operation = operation(types, &path, &method, &body, &item);
                types.api.operations.push(operation);
            }
        }
    }
}

/// The successful response, and the others: a status from 200 to 299, `2XX`, or `default` where neither is.
///
/// An empty response beside one with a body is one that need not be read.
fn responses<'a>(body: &Cursor<'a>) -> (Option<Cursor<'a>>, Vec<Cursor<'a>>) {
    let rank = |status: &str| match status {
        "default" => 1,
        _ if status.starts_with('2') => 0,
        _ => 2,
    };
    let mut written = body
        .get("responses")
        .map_or(Vec::new(), |all| all.children());
    let has_content = |one: &Cursor| one.clone().followed().has("content");
    written.sort_by_cached_key(|one| (rank(&one.key()), !has_content(one), one.key()));
    let is_read = written.first().is_some_and(|one| rank(&one.key()) < 2);
    // The reference itself is read, and what it leads to is reported where nothing else is read of it.
    let mut responses = written.into_iter().map(Cursor::followed);
    let success = is_read.then(|| responses.next()).flatten();
    (success.inspect(Cursor::mark), responses.collect())
}

/// The JSON schema in the content of a request body, a response or a parameter.
fn json<'a>(holder: &Cursor<'a>) -> Option<Cursor<'a>> {
    let content = holder.peek("content")?;
    let is_json = |one: &Cursor| {
        let kind = one.key().to_ascii_lowercase();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        ["*/*", "text/json", "application/json"].contains(&kind) || kind.ends_with("+json")
    };
    let all = content.children().into_iter().filter(is_json);
    let found = all.min_by_key(|one| one.key() != "application/json");
    found?.peek("schema")
}

fn operation<'a>(
    types: &mut Types<'a>,
    path: &str,
    method: &str,
    body: &Cursor<'a>,
    item: &Cursor<'a>,
) -> ApiOperation {
    let id = body.text("operationId").filter(|id| !id.trim().is_empty());
    let id = id.map_or_else(|| id_of(method, path), str::to_owned);
    let named = |suffix: &str| names::camel(&format!("{id}{suffix}"));
    let (success, others) = responses(body);
    let record = format!("{}_record", names::list(path));
    types.record = Some(names::camel(&record));
    let response = success.as_ref().and_then(json);
    let response = response.map(|schema| types.kind(schema, &named("Response")));
    types.record = None;
    let request = body.get("requestBody").map(Cursor::followed);
    let required = request.as_ref().is_some_and(|one| one.flag("required"));
    let request = request.as_ref().and_then(json);
    let request = request.map(|schema| Body {
        kind: types.kind(schema, &named("Request")),
        required,
    });
    // Nobody reads the others, but a model is generated where it has a name.
    let others = others.iter().filter_map(json);
    let others = others.filter(|schema| schema.has("$ref"));
    let others: Vec<Type> = others
        .map(|one| types.kind(one, &named("Failure")))
        .collect();
    let kinds = response.iter().chain(&others).filter_map(Type::named);
    types.in_responses.extend(kinds.map(str::to_owned));
    let headers = success.as_ref().and_then(|one| one.peek("headers"));
    // Those that the client reads are shared by all responses.
    for header in headers.iter().flat_map(Cursor::children) {
        header.target();
    }
    // Those of the method stand for those of the path.
    let mut parameters: Vec<ApiParameter> = Vec::new();
    let written = [body, item].map(|one| one.get("parameters"));
    for one in written.iter().flatten().flat_map(Cursor::items) {
        let one = one.followed();
        let is = |key: &str, text: &String| one.value[key] == **text;
        let is_known = |other: &ApiParameter| is("name", &other.name) && is("in", &other.location);
        if !parameters.iter().any(is_known) {
            parameters.extend(parameter(types, &one, &id));
        }
    }
    let name = body.text("x-talentdata-name").unwrap_or(&id).to_owned();
    let command = body.text("x-talentdata-command").unwrap_or(&name);
    let whose = format!("{} {path}", method.to_uppercase());
    // HTTP says so of the method, or the spec of the operation.
    let idempotent = body.get("x-talentdata-idempotent");
    let of_method = !["post", "patch"].contains(&method);
    let mut operation = ApiOperation {
        command: command.to_owned(),
        positional: body.text("x-talentdata-positional").map(str::to_owned),
        nonblank: body.texts("x-talentdata-nonblank"),
        idempotent: idempotent.map_or(of_method, |said| *said.value == true),
        obstacle: None,
        group: clean(body.texts("tags").first().map_or("", String::as_str)),
        summary: one_line(body.text("summary")).unwrap_or_else(|| clean(&id)),
        description: or_not_described(one_line(body.text("description"))),
        deprecated: false,
        token: token(types.document, body, &whose),
        parameters,
        body: request,
        response,
        list: None,
        method: method.to_uppercase(),
        path: path.to_owned(),
        name,
        id,
    };
    operation.obstacle = obstacle(&operation, required && operation.body.is_none());
    operation.list = lists::list(&types.api, types.document, &operation);
    operation.deprecated = operation.is_call() && body.flag("deprecated");
    note(types.document, &operation);
    operation
}

/// Reads a parameter.
fn parameter<'a>(types: &mut Types<'a>, written: &Cursor<'a>, id: &str) -> Option<ApiParameter> {
    let (Some(name), Some(location)) = (written.text("name"), written.text("in")) else {
        written.refuse("this is not a parameter", "give it `name` and `in`");
        return None;
    };
    let schema = written.get("schema").or_else(|| json(written));
    // A shared parameter is named by itself.
    let place = match written.at.strip_prefix("/components/parameters/") {
        Some(shared) => format!("{shared} parameter"),
        None => format!("{id} {name}"),
    };
    let place = value(&names::camel(&place));
    let kind = schema.clone().map(|one| types.kind(one, &place));
    let limit = schema.filter(|_| name == "limit").map(Cursor::followed);
    // Where it is exclusive, nothing is known of it.
    let limit = limit.filter(|one| !one.has("exclusiveMaximum"));
    let maximum = limit.and_then(|one| one.get("maximum")?.value.as_f64());
    Some(ApiParameter {
        name: name.to_owned(),
        location: location.to_owned(),
        description: or_not_described(one_line(written.text("description"))),
        required: written.flag("required") || location == "path",
        kind: kind.unwrap_or(Type::Text),
        place: written.at.clone(),
        // The cast saturates, as a bound should.
        maximum: maximum.map(|one| one as u64),
    })
}

/// Whether the bearer token goes with the operation; other schemes are noted.
fn token(document: &Document, body: &Cursor, whose: &str) -> TokenNeed {
    let security = body.get("security").or_else(|| document.at("/security"));
    let (mut with, mut without) = (false, false);
    for requirement in security.iter().flat_map(Cursor::items) {
        requirement.mark_all();
        let names = requirement.children();
        without |= names.is_empty();
        for name in names.iter().map(Cursor::key) {
            let at = pointer(&["components", "securitySchemes", &name]);
            let Some(scheme) = document.at(&at).map(Cursor::followed) else {
                let fix = "add it to /components/securitySchemes, or correct the name";
                document.refuse(&at, "there is no such security scheme", fix);
                continue;
            };
            let text = |key: &str| scheme.text(key).unwrap_or_default();
            match (text("type"), text("scheme").to_lowercase().as_str()) {
                ("oauth2" | "openIdConnect", _) | ("http", "bearer") => with = true,
                (kind, _) => document.note(SECURITY, format!("{whose}: {name} ({kind})")),
            }
        }
    }
    match (with, without) {
        (false, _) => TokenNeed::Never,
        (true, false) => TokenNeed::Always,
        (true, true) => TokenNeed::WhenThereIsOne,
    }
}

/// Why no language can call an operation.
fn obstacle(operation: &ApiOperation, needs_other_body: bool) -> Option<String> {
    if needs_other_body {
        return Some("its request body is not JSON".to_owned());
    }
    let parameters = operation.parameters.iter();
    let in_path = parameters.clone().filter(|one| one.location == "path");
    let in_path: BTreeSet<&str> = in_path.map(|one| one.name.as_str()).collect();
    let placeholders = operation.path.split('{').skip(1);
    let placeholders = placeholders.filter_map(|part| Some(part.split_once('}')?.0));
    let placeholders: BTreeSet<&str> = placeholders.collect();
    if let Some(name) = placeholders.symmetric_difference(&in_path).next() {
        let text = format!("{{{name}}} is not both in its path and one of its path parameters");
        return Some(text);
    }
    let mut missing = parameters.filter(|one| one.required && !one.is_taken());
    let missing = missing.find(|one| !one.is_of_client())?;
    let (name, location, kind) = (&missing.name, &missing.location, &missing.kind);
    Some(format!(
        "its required parameter {name} ({location}, {kind}) cannot be sent"
    ))
}

/// Notes what the operation has and no language gets.
fn note(document: &Document, operation: &ApiOperation) {
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
fn id_of(method: &str, path: &str) -> String {
    let path = path.replace('{', "by_").replace('}', "");
    let words = format!("{method} {}", path.replace('/', " "));
    names::camel(&words).to_lower_camel_case()
}
