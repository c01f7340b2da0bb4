//! Operations of the spec: every method of every path, with parameters, bodies and security.

use super::api::{ApiOperation, ApiParameter, Body, TokenNeed, Type, joined};
use super::cursor::{
    Cursor, Document, NAME, NO_LIST, OPERATION, PARAMETER, RAW, RENAMED, SECURITY, pointer,
};
use super::lists;
use super::types::{Types, value};
use crate::names;
use crate::text::{clean, one_line, or_not_described};
use heck::ToLowerCamelCase;
use std::collections::BTreeSet;

/// The media type of JSON.
const JSON: &str = "application/json";

/// The HTTP methods that OpenAPI supports.
const METHODS: &str = "get post put patch delete head options trace";

/// Reads every method of every path, in the spec's order.
pub(super) fn read(types: &mut Types) {
    let paths = types.document.at("/paths");
    for item in paths.iter().flat_map(Cursor::children) {
        let path = item.key();
        let item = item.followed();
        for body in item.children() {
            let method = body.key();
            if METHODS.split(' ').any(|one| one == method) && body.value.is_object() {
                body.mark();
                let operation = operation(types, &path, &method, &body, &item);
                types.api.operations.push(operation);
            }
        }
    }
}

/// Returns the successful responses, and the others. Successful are statuses from 200 to 299 and `2XX`, or `default` if
/// there are none.
fn responses<'a>(body: &Cursor<'a>) -> (Vec<Cursor<'a>>, Vec<Cursor<'a>>) {
    let mut written = body
        .get("responses")
        .map_or(Vec::new(), |all| all.children());
    let has_content = |one: &Cursor| one.clone().followed().has("content");
    written.sort_by_cached_key(|one| (!has_content(one), one.key()));
    let is_success = |one: &Cursor| one.key().starts_with('2');
    let (mut successes, mut others): (Vec<Cursor>, Vec<Cursor>) =
        written.into_iter().partition(is_success);
    if successes.is_empty() {
        (successes, others) = others.into_iter().partition(|one| one.key() == "default");
    }
    successes.iter().for_each(Cursor::mark);
    (successes, others)
}

/// The content of a request or a response: nothing, JSON of a media type with its schema, or something else, described
/// in words.
enum BodyContent<'a> {
    Nothing,
    Json(String, Option<Cursor<'a>>),
    Other(String),
}

/// Returns the content of a request body, a response or a parameter. A string of any media type is not certain to be
/// JSON.
fn content<'a>(holder: &Cursor<'a>) -> BodyContent<'a> {
    let written = holder.peek("content");
    let all = written.map_or(Vec::new(), |content| content.children());
    if all.is_empty() {
        return BodyContent::Nothing;
    }
    let is_json = |one: &&Cursor| {
        let kind = one.key().to_ascii_lowercase();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        let schema = one.peek("schema").map(Cursor::followed);
        let says =
            |key: &str, text: &str| schema.as_ref().is_some_and(|one| one.value[key] == text);
        let is_file = says("format", "binary") || kind == "*/*" && says("type", "string");
        let named = ["*/*", "text/json", "application/json"].contains(&kind);
        (named || kind.ends_with("+json")) && !is_file
    };
    let found = all.iter().filter(is_json);
    match found.min_by_key(|one| one.key() != "application/json") {
        Some(one) => BodyContent::Json(one.key().replace("*/*", JSON), one.peek("schema")),
        None => BodyContent::Other(joined(all.iter().map(Cursor::key))),
    }
}

/// Returns the schema of JSON content.
fn json<'a>(holder: &Cursor<'a>) -> Option<Cursor<'a>> {
    match content(holder) {
        BodyContent::Json(_, schema) => schema,
        _ => None,
    }
}

/// The content of an operation's successful responses.
#[derive(Default)]
struct ResponseContent {
    /// The types of those that are JSON, with their media types.
    kinds: Vec<(String, Type)>,
    /// True if one is empty.
    empty: bool,
    /// The description of one that is not JSON.
    other: Option<String>,
}

fn answer<'a>(types: &mut Types<'a>, successes: &[Cursor<'a>], name: &str) -> ResponseContent {
    let mut out = ResponseContent::default();
    for success in successes {
        let success = success.clone().followed();
        success.mark();
        match content(&success) {
            BodyContent::Nothing => out.empty = true,
            BodyContent::Other(what) => out.other = Some(what),
            BodyContent::Json(media, schema) => {
                let kind = schema.map_or(Type::Json, |one| types.kind(one, name));
                out.kinds.push((media, kind));
            }
        }
    }
    out
}

fn operation<'a>(
    types: &mut Types<'a>,
    path: &str,
    method: &str,
    body: &Cursor<'a>,
    item: &Cursor<'a>,
) -> ApiOperation {
    let document = types.document;
    let at = pointer(&["paths", path, method]);
    let id = match body.text("operationId") {
        Some(id) if names::is_a_name(id) => id.to_owned(),
        written => {
            let id = id_of(method, path);
            if let Some(written) = written {
                let cause = format!("{written:?} is no name: it is called {id}");
                let fix = "change the operationId; it is never sent";
                document.note(RENAMED, &at, &cause, fix);
            }
            id
        }
    };
    let id = document.numbered(&at, &id);
    let named = |suffix: &str| names::camel(&format!("{id}{suffix}"));
    let (successes, others) = responses(body);
    let redirects = others.iter().any(|one| one.key().starts_with('3'));
    let redirects = successes.is_empty() && redirects;
    let record = format!("{}_record", names::list(path));
    types.record = Some(names::camel(&record));
    // A response to HEAD has no body.
    let answer = match method {
        "head" => ResponseContent::default(),
        _ => answer(types, &successes, &named("Response")),
    };
    types.record = None;
    let mut kinds = answer.kinds.into_iter();
    let (accept, response) = kinds.next().unzip();
    let more: Vec<Type> = kinds.map(|(_, kind)| kind).collect();
    let differs = more.iter().any(|kind| Some(kind) != response.as_ref());
    let varies = differs || answer.empty && response.is_some();
    let written = body.get("requestBody").map(Cursor::followed);
    let required = written.as_ref().is_some_and(|one| one.flag("required"));
    let sent = written.as_ref().map_or(BodyContent::Nothing, content);
    let (request, other_body) = match sent {
        BodyContent::Json(media_type, schema) => {
            let kind = schema.map_or(Type::Json, |one| types.kind(one, &named("Request")));
            let body = Body {
                media_type,
                kind,
                required,
            };
            (Some(body), None)
        }
        BodyContent::Other(what) => (
            None,
            Some(format!("its request body is not JSON, but {what}")),
        ),
        BodyContent::Nothing => (None, None),
    };
    // No code reads the others, but a model is generated if it has a name.
    let others = others.iter().filter_map(json);
    let others = others.filter(|schema| schema.has("$ref"));
    let others: Vec<Type> = others
        .map(|one| types.kind(one, &named("Failure")))
        .collect();
    let kinds = response.iter().chain(&more).chain(&others);
    let kinds = kinds.filter_map(Type::named);
    types.in_responses.extend(kinds.map(str::to_owned));
    let headers = successes.first().cloned().map(Cursor::followed);
    let headers = headers.and_then(|one| one.peek("headers"));
    // The headers that the client reads are shared by all responses.
    for header in headers.iter().flat_map(Cursor::children) {
        header.target();
    }
    let mut parameters: Vec<ApiParameter> = Vec::new();
    for written in [body, item].iter().filter_map(|one| one.get("parameters")) {
        // Parameters of the method replace those of the path.
        let first = parameters.len();
        for one in written.items().into_iter().map(Cursor::followed) {
            let is = |key: &str, text: &str| one.value[key] == *text;
            let is_it = |other: &ApiParameter| is("name", &other.name) && is("in", &other.location);
            let known = parameters.iter().position(is_it);
            if known.is_none() {
                parameters.extend(parameter(types, &one, &id, &at));
            } else {
                one.mark_all();
            }
            if let Some(other) = known.filter(|index| *index >= first) {
                let (name, fix) = (&parameters[other].name, "give each one once");
                let cause = format!("{name} is there twice; the first one is taken");
                document.note(PARAMETER, &one.at, &cause, fix);
            }
        }
    }
    let own = format!("{at}{NAME}");
    let name = body.text("x-talentdata-name").unwrap_or(&id);
    let command = body.text("x-talentdata-command").unwrap_or(name);
    let [name, command] = [name, command].map(|words| document.numbered(&own, words));
    // HTTP defines this for the method, or the spec for the operation.
    let idempotent = body.get("x-talentdata-idempotent");
    let of_method = !["post", "patch"].contains(&method);
    let mut operation = ApiOperation {
        command,
        positional: body.text("x-talentdata-positional").map(str::to_owned),
        nonblank: body.texts("x-talentdata-nonblank"),
        idempotent: idempotent.map_or(of_method, |said| *said.value == true),
        obstacle: None,
        group: clean(body.texts("tags").first().map_or("", String::as_str)),
        summary: one_line(body.text("summary")).unwrap_or_else(|| clean(&id)),
        description: or_not_described(one_line(body.text("description"))),
        deprecated: false,
        token: token(document, body),
        parameters,
        body: request,
        response,
        accept: accept.unwrap_or_else(|| JSON.to_owned()),
        list: None,
        method: method.to_uppercase(),
        path: path.to_owned(),
        name,
        id,
    };
    let elsewhere = [body, item].iter().any(|one| {
        let own = one.peek("servers").map(|own| own.value);
        own.is_some_and(|own| *own != document.value["servers"])
    });
    let elsewhere = elsewhere.then(|| "it is on a server of its own".to_owned());
    let unread = answer.other;
    let unread = unread.map(|what| format!("its response is {what}, which no language reads"));
    let needed = other_body.clone().filter(|_| required);
    let redirects =
        redirects.then(|| "it answers with a redirect, which is not followed".to_owned());
    let obstacle = obstacle(&operation).or(elsewhere).or(redirects);
    operation.obstacle = obstacle.or(needed).or(unread);
    let reasons = match lists::list(&types.api, document, &operation) {
        Ok(list) => {
            operation.list = Some(list);
            Vec::new()
        }
        Err(reasons) => reasons,
    };
    if operation.is_generated() && varies {
        let statuses = joined(successes.iter().map(Cursor::key));
        let id = &operation.id;
        let cause = format!("{id}: its successful responses differ: {statuses}");
        let fix = if operation.is_call() {
            "take the value apart by its JSON; null stands for a response without one"
        } else {
            "the first is read, and another one is an error"
        };
        document.note(RAW, &format!("{}/responses", body.at), &cause, fix);
        if operation.is_call() {
            operation.response = Some(Type::Json);
        }
    }
    operation.deprecated = operation.is_call() && body.flag("deprecated");
    note(document, &operation, reasons, other_body);
    operation
}

/// Reads a parameter.
fn parameter<'a>(
    types: &mut Types<'a>,
    written: &Cursor<'a>,
    id: &str,
    of: &str,
) -> Option<ApiParameter> {
    let (Some(name), Some(location)) = (written.text("name"), written.text("in")) else {
        if !written.has("$ref") {
            let (cause, fix) = ("this is not a parameter", "give it `name` and `in`");
            types.document.note(PARAMETER, &written.at, cause, fix);
        }
        return None;
    };
    let schema = written.get("schema").or_else(|| json(written));
    // A shared parameter has a name of its own.
    let place = match written.at.strip_prefix("/components/parameters/") {
        Some(shared) => format!("{shared} parameter"),
        None => format!("{id} {name}"),
    };
    let place = value(&names::camel(&place));
    let kind = schema.clone().map(|one| types.kind(one, &place));
    let limit = schema.filter(|_| name == "limit").map(Cursor::followed);
    // An exclusive maximum is ignored.
    let limit = limit.filter(|one| !one.has("exclusiveMaximum"));
    let maximum = limit.and_then(|one| one.get("maximum")?.value.as_f64());
    let kind = kind.unwrap_or(Type::Text);
    let (separator, obstacle) = match style(written, location, &kind) {
        Ok(separator) => (separator, None),
        Err(obstacle) => (None, Some(obstacle)),
    };
    let own = format!("{of} {location} {name}");
    Some(ApiParameter {
        name: name.to_owned(),
        argument: types.document.numbered(&own, name),
        separator,
        obstacle,
        location: location.to_owned(),
        description: or_not_described(one_line(written.text("description"))),
        required: written.flag("required") || location == "path",
        kind,
        place: written.at.clone(),
        // The cast saturates, as a bound should.
        maximum: maximum.map(|one| one as u64),
    })
}

/// Returns the separator between the values of an array in a query, or the reason why the parameter cannot be sent as
/// documented.
fn style(written: &Cursor, location: &str, kind: &Type) -> Result<Option<&'static str>, String> {
    let is_list = matches!(kind.present(), Type::Array(_));
    let is_text = matches!(kind.present(), Type::Text | Type::Enum(_));
    if !written.has("schema") && written.has("content") && (is_list || is_text) {
        return Err("it is sent as JSON text".to_owned());
    }
    if !names::is_a_name(written.value["name"].as_str().unwrap_or_default()) {
        return Err("no language can name it".to_owned());
    }
    let usual = if location == "query" {
        "form"
    } else {
        "simple"
    };
    let style = written.text("style").unwrap_or(usual);
    let explode = written.get("explode").and_then(|one| one.value.as_bool());
    let separator = match (location, style) {
        (_, "simple") if usual == "simple" => return Ok(None),
        ("query", "form") => ",",
        ("query", "spaceDelimited") => "%20",
        ("query", "pipeDelimited") => "%7C",
        _ => return Err(format!("the style {style} is not sent")),
    };
    let is_joined = is_list && !explode.unwrap_or(style == "form");
    Ok(is_joined.then_some(separator))
}

/// Returns whether the operation uses the bearer token. Other schemes are noted.
fn token(document: &Document, body: &Cursor) -> TokenNeed {
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
                let cause = "there is no such security scheme";
                document.note_cause(SECURITY, [&at, &body.at], cause, fix);
                continue;
            };
            let text = |key: &str| scheme.text(key).unwrap_or_default();
            match (text("type"), text("scheme").to_lowercase().as_str()) {
                ("oauth2" | "openIdConnect", _) | ("http", "bearer") => with = true,
                (kind, _) => {
                    let fix = "let a proxy add it, or ask for a bearer token";
                    let cause = format!("{name} ({kind})");
                    document.note_cause(SECURITY, [&at, &body.at], &cause, fix);
                }
            }
        }
    }
    match (with, without) {
        (false, _) => TokenNeed::Never,
        (true, false) => TokenNeed::Always,
        (true, true) => TokenNeed::WhenThereIsOne,
    }
}

/// Returns the reason why no language can call an operation, if there is one.
fn obstacle(operation: &ApiOperation) -> Option<String> {
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
    if operation.path.contains(['?', '#']) {
        return Some("its path has a query or a fragment".to_owned());
    }
    let mut missing = parameters.filter(|one| one.required && !one.is_taken());
    let missing = missing.find(|one| !one.is_of_client())?;
    let ApiParameter { name, location, .. } = missing;
    let reason = unsent(missing);
    Some(format!(
        "its required parameter {name} ({location}) cannot be sent: {reason}"
    ))
}

/// Returns the reason why no call takes a parameter.
fn unsent(one: &ApiParameter) -> String {
    match &one.obstacle {
        Some(obstacle) => obstacle.clone(),
        None if one.is_of_client() => "the client sends its own".to_owned(),
        None if !one.has_place() => format!("parameters in {} are not sent", one.location),
        None => format!("its type ({}) is not sent there", one.kind),
    }
}

/// Notes the parts of the operation that no language gets. Their consequences are counted.
fn note(document: &Document, operation: &ApiOperation, no_list: Vec<String>, body: Option<String>) {
    let (id, at) = (&operation.id, operation.place());
    let parameters = operation.parameters.iter();
    let unsent = parameters.filter(|one| !one.is_taken());
    let fix = "call it with another client of HTTP";
    let with = match operation.parameters.len() {
        0 => String::new(),
        count => format!(", with its parameters ({count})"),
    };
    if !no_list.is_empty() {
        let (with, fix) = if operation.is_call() {
            ("", "call it page by page")
        } else {
            (with.as_str(), fix)
        };
        let cause = format!("{id}: {}{with}", no_list.join("; "));
        document.note(NO_LIST, &at, &cause, fix);
    } else if let Some(obstacle) = &operation.obstacle {
        document.note(OPERATION, &at, &format!("{id}: {obstacle}{with}"), fix);
    }
    if !operation.is_generated() {
        return;
    }
    if let Some(body) = body {
        let at = format!("{at}/requestBody");
        document.note(PARAMETER, &at, &format!("{id}: {body}"), fix);
    }
    for one in unsent {
        let (name, location) = (&one.name, &one.location);
        let cause = format!("{name} ({location}): {}", self::unsent(one));
        if one.is_of_client() {
            let fix = "leave it out of the description";
            document.note_cause(PARAMETER, [&one.place, &one.place], &cause, fix);
        } else {
            document.note(PARAMETER, &one.place, &cause, fix);
        }
    }
}

/// Returns a name for an operation without one, from its method and path.
pub(crate) fn id_of(method: &str, path: &str) -> String {
    let path = path.replace('{', "by_").replace('}', "");
    let words = format!("{method} {}", path.replace('/', " "));
    names::camel(&words).to_lower_camel_case()
}
