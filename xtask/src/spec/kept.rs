//! Parts that a spec from elsewhere lacks and the previous one had: our extensions of operations, and the parts for
//! which the client is written by hand, the request for a token and the pagination of lists.

use super::api::TOKEN;
use super::cursor::pointer;
use serde_json::{Map, Value};

const EXTENSION: &str = "x-talentdata-";
const SCHEMAS: &str = "/components/schemas";
/// The schema with which lists are read.
const PAGINATION_SCHEMA: &str = "Pagination";

/// Adds these parts to a spec, and returns lines about the parts that were kept and those that are gone.
pub(crate) fn keep(before: &Value, spec: &mut Value) -> Vec<String> {
    let mut said = Vec::new();
    let token = operations(before).find(|(_, one)| one["operationId"] == TOKEN);
    let is_there = operations(spec).any(|(_, one)| one["operationId"] == TOKEN);
    if let (Some(([path, method], token)), false) = (token, is_there) {
        let pagination = pointer(&["components", "schemas", PAGINATION_SCHEMA]);
        insert(spec, &pointer(&["paths", path, method]), token);
        let schema = Value::from(format!("#{pagination}"));
        take(
            before,
            spec,
            &serde_json::json!([token, {"$ref": schema}]),
            &mut said,
        );
        said.push(format!(
            "{TOKEN} and {PAGINATION_SCHEMA}, by which the client gets tokens and reads lists"
        ));
    }
    for ([path, method], one) in operations(before) {
        let at = pointer(&["paths", path, method]);
        let id = &one["operationId"];
        let same = operations(spec).find(|(_, other)| !id.is_null() && other["operationId"] == *id);
        let elsewhere = same.map(|([path, method], _)| pointer(&["paths", path, method]));
        let found = spec.pointer(&at).map(|_| at.clone()).or(elsewhere);
        let members = one.as_object().into_iter().flatten();
        for (key, value) in members.filter(|(key, _)| key.starts_with(EXTENSION)) {
            let Some(found) = &found else {
                said.push(format!("not {at}/{key}, {value}: the operation is gone"));
                continue;
            };
            let operation = spec.pointer_mut(found).and_then(Value::as_object_mut);
            let Some(operation) = operation.filter(|one| !one.contains_key(key)) else {
                continue;
            };
            operation.insert(key.clone(), value.clone());
            said.push(format!("{found}/{key}: {value}"));
        }
    }
    said
}

/// Returns every operation, with its path and method.
fn operations(spec: &Value) -> impl Iterator<Item = ([&str; 2], &Value)> {
    let paths = spec["paths"].as_object().into_iter().flatten();
    paths.flat_map(|(path, item)| {
        let methods = item.as_object().into_iter().flatten();
        methods.map(move |(method, one)| ([path.as_str(), method.as_str()], one))
    })
}

/// Copies the schemas that a value refers to. A different schema of that name in the spec gets another name, which is
/// never sent.
fn take(before: &Value, spec: &mut Value, value: &Value, said: &mut Vec<String>) {
    let mut references = Vec::new();
    each_text(&mut value.clone(), &mut |text| {
        references.extend(text.strip_prefix('#').map(str::to_owned))
    });
    for at in references {
        let Some(part) = before
            .pointer(&at)
            .filter(|part| spec.pointer(&at) != Some(*part))
        else {
            continue;
        };
        if let (Some(_), Some(name)) = (spec.pointer(&at), at.strip_prefix(SCHEMAS)) {
            let name = &name[1..];
            let others = spec.pointer(SCHEMAS).and_then(Value::as_object);
            let numbered = (2..).map(|number| format!("{name}{number}"));
            let mut free = numbered.filter(|name| others.is_none_or(|all| !all.contains_key(name)));
            let other = free.next().unwrap_or_default();
            said.push(format!("{at}: that of the file is called {other}"));
            rename(spec, name, &other);
        }
        insert(spec, &at, part);
        take(before, spec, part, said);
    }
}

/// Renames a schema, and all references to it.
fn rename(spec: &mut Value, name: &str, other: &str) {
    let schemas = spec.pointer_mut(SCHEMAS).and_then(Value::as_object_mut);
    if let Some((schemas, schema)) = schemas.and_then(|all| all.remove(name).map(|one| (all, one)))
    {
        schemas.insert(other.to_owned(), schema);
    }
    let (from, to) = (format!("#{SCHEMAS}/{name}"), format!("#{SCHEMAS}/{other}"));
    each_text(spec, &mut |text| {
        let rest = text.strip_prefix(&from).map(str::to_owned);
        if let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with('/')) {
            *text = to.clone() + &rest;
        }
    });
}

fn each_text(value: &mut Value, change: &mut impl FnMut(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|one| each_text(one, change)),
        Value::Object(members) => members.values_mut().for_each(|one| each_text(one, change)),
        _ => {}
    }
}

/// Inserts a value at a pointer, and creates the objects that lead to it.
fn insert(spec: &mut Value, at: &str, value: &Value) {
    let mut place = spec;
    for step in at.split('/').skip(1) {
        let key = step.replace("~1", "/").replace("~0", "~");
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        place = &mut place[key];
    }
    *place = value.clone();
}
