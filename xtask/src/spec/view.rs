//! One form for each schema: null set apart, `allOf` merged, `const` an enum, single choices unwrapped.

use super::findings::{Findings, Topic};
use super::keywords;
use super::{pointer, references};
use serde_json::{Map, Value, json};

/// Where a property stood before `allOf` was merged.
const PLACE: &str = "x-place-before-merge";

/// A schema in its one form.
pub(super) struct View {
    /// Whether null is a value of it.
    pub(super) nullable: bool,
    /// What it says for itself, also beside a reference.
    pub(super) description: Option<String>,
    pub(super) deprecated: bool,
    /// Where it stands.
    pub(super) at: String,
    pub(super) form: Form,
}

pub(super) enum Form {
    /// A reference: the pointer to what it refers to.
    Reference(String),
    /// The keywords, with neither `$ref` nor `allOf`, and `type` as one text if at all.
    Keywords(Map<String, Value>),
}

/// Reads schemas of a document.
pub(super) struct Viewer<'a> {
    pub(super) document: &'a Value,
    /// Schemas that are being merged.
    merging: Vec<String>,
}

impl<'a> Viewer<'a> {
    pub(super) fn new(document: &'a Value) -> Self {
        Viewer {
            document,
            merging: Vec::new(),
        }
    }

    /// The one form of a schema that stands at this place.
    pub(super) fn view(&mut self, schema: &Value, at: &str, findings: &mut Findings) -> View {
        let at = schema.get(PLACE).and_then(Value::as_str).unwrap_or(at);
        let mut map = match schema {
            Value::Bool(true) => Map::new(),
            Value::Object(map) => map.clone(),
            _ => {
                findings.refuse(at, "this is not a schema", "write an object");
                Map::new()
            }
        };
        keywords::check(&mut map, at, findings);
        let mut nullable = map.shift_remove("nullable") == Some(Value::Bool(true));
        nullable |= plain_type(&mut map, at, findings);
        nullable |= plain_values(&mut map, at, findings);
        let mut parts = listed(map.shift_remove("allOf"));
        let places = (0..parts.len()).map(|index| format!("{at}/allOf/{index}"));
        let mut places: Vec<String> = places.collect();
        for key in ["anyOf", "oneOf"] {
            let Some(choices) = map.shift_remove(key) else {
                continue;
            };
            let (null, others): (Vec<_>, Vec<_>) =
                listed(Some(choices)).into_iter().partition(is_null);
            nullable |= !null.is_empty();
            match <[Value; 1]>::try_from(others) {
                Ok([only]) => {
                    parts.push(only);
                    places.push(format!("{at}/{key}"));
                }
                Err(others) if others.is_empty() => {}
                Err(others) => drop(map.insert(key.into(), Value::Array(others))),
            }
        }
        if let Some(reference) = map.shift_remove("$ref") {
            parts.insert(0, json!({ "$ref": reference }));
            places.insert(0, at.to_owned());
        }
        let description = map.get("description").and_then(Value::as_str);
        let description = description.map(str::to_owned);
        let deprecated = map.get("deprecated") == Some(&Value::Bool(true));
        let own = keywords::REFINING.iter().any(|key| map.contains_key(*key));
        let form = |form: Form| View {
            nullable: false,
            description: None,
            deprecated: false,
            at: at.to_owned(),
            form,
        };
        let mut view = match parts.as_slice() {
            [] => form(Form::Keywords(map)),
            [Value::Object(only)] if !own && only.len() == 1 && only.contains_key("$ref") => {
                let reference = only["$ref"].as_str().unwrap_or_default();
                form(Form::Reference(references::step(reference)))
            }
            [only] if !own && !map.contains_key("type") => self.view(only, &places[0], findings),
            several => form(Form::Keywords(
                self.merged(map, several, &places, at, findings),
            )),
        };
        view.nullable |= nullable;
        view.deprecated |= deprecated;
        view.description = description
            .or(view.description)
            .or_else(|| match &view.form {
                Form::Keywords(map) => Some(map.get("description")?.as_str()?.to_owned()),
                Form::Reference(_) => None,
            });
        view
    }

    /// The keywords of a schema and of the parts that it has to fit, too.
    fn merged(
        &mut self,
        own: Map<String, Value>,
        parts: &[Value],
        places: &[String],
        at: &str,
        findings: &mut Findings,
    ) -> Map<String, Value> {
        let mut out = Map::new();
        for (part, place) in parts.iter().zip(places) {
            let keywords = self.keywords(part, place, findings);
            merge(&mut out, keywords, place, findings);
        }
        // What stands at the place itself is more exact.
        let description = own.get("description").cloned();
        merge(&mut out, own, at, findings);
        if let Some(description) = description {
            out.insert("description".into(), description);
        }
        out
    }

    /// The keywords behind a schema, through all references.
    fn keywords(&mut self, part: &Value, at: &str, findings: &mut Findings) -> Map<String, Value> {
        let view = self.view(part, at, findings);
        let target = match view.form {
            Form::Keywords(mut map) => {
                placed(&mut map, &view.at);
                return map;
            }
            Form::Reference(target) => target,
        };
        if self.merging.contains(&target) {
            let way = "write the properties out in one of the schemas";
            findings.refuse(at, "allOf leads back to the schema that it is part of", way);
            return Map::new();
        }
        let Some(schema) = self.document.pointer(&target) else {
            return Map::new();
        };
        self.merging.push(target.clone());
        let map = self.keywords(schema, &target, findings);
        self.merging.pop();
        map
    }
}

/// Notes where each property stands, before it is moved.
fn placed(map: &mut Map<String, Value>, at: &str) {
    let properties = map.get_mut("properties").and_then(Value::as_object_mut);
    for (name, child) in properties.into_iter().flatten() {
        let at = format!("{at}{}", pointer(&["properties", name]));
        if let Value::Object(child) = child {
            child.entry(PLACE).or_insert(Value::String(at));
        }
    }
}

fn merge(
    out: &mut Map<String, Value>,
    from: Map<String, Value>,
    at: &str,
    findings: &mut Findings,
) {
    for (key, value) in from {
        match (out.get_mut(&key), value) {
            (Some(Value::Object(all)), Value::Object(more)) if key == "properties" => {
                all.extend(more);
            }
            (Some(Value::Array(all)), Value::Array(more)) if key == "required" => {
                all.extend(more);
            }
            (Some(before), value) => {
                let lost = keywords::STRUCTURE.contains(&key.as_str()) && *before != value;
                if lost && key != "additionalProperties" {
                    let text = format!("{at}: {key}, which another part of allOf has, too");
                    findings.note(Topic::Keyword, text);
                }
            }
            (None, value) => drop(out.insert(key, value)),
        }
    }
}

fn listed(value: Option<Value>) -> Vec<Value> {
    match value {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

fn is_null(schema: &Value) -> bool {
    let only_null = |key: &str| {
        let items = schema.get(key).and_then(Value::as_array);
        items.is_some_and(|items| items.len() == 1 && (items[0] == "null" || items[0].is_null()))
    };
    schema["type"] == "null"
        || only_null("enum")
        || only_null("type")
        || schema.get("const").is_some_and(Value::is_null)
}

/// Leaves at most one type, as a text; says whether null was another.
fn plain_type(map: &mut Map<String, Value>, at: &str, findings: &mut Findings) -> bool {
    let kinds = match map.shift_remove("type") {
        None => return false,
        Some(Value::String(kind)) => vec![Value::String(kind)],
        Some(Value::Array(kinds)) => kinds,
        Some(_) => vec![Value::Null],
    };
    let nullable = kinds.iter().any(|kind| kind == "null");
    let others: Vec<&Value> = kinds.iter().filter(|kind| *kind != "null").collect();
    for kind in &others {
        let known = ["string", "integer", "number", "boolean", "array", "object"];
        if !kind.as_str().is_some_and(|kind| known.contains(&kind)) {
            let reason = format!("there is no type {kind}");
            let way = format!("the types are {}", known.join(", "));
            findings.refuse(&format!("{at}/type"), &reason, &way);
        }
    }
    match others.as_slice() {
        [one] => drop(map.insert("type".into(), (*one).clone())),
        [] => findings.note(Topic::Raw, format!("{at}: only null is documented")),
        several => {
            let texts: Vec<&str> = several.iter().filter_map(|kind| kind.as_str()).collect();
            findings.note(Topic::Raw, format!("{at}: {}", texts.join(" or ")));
            // What belongs to one of the types alone says nothing about the value.
            for key in [
                "properties",
                "required",
                "additionalProperties",
                "items",
                "enum",
            ] {
                map.shift_remove(key);
            }
        }
    }
    nullable
}

/// Leaves `enum` only where it lists texts; says whether it listed null.
fn plain_values(map: &mut Map<String, Value>, at: &str, findings: &mut Findings) -> bool {
    let values = match (map.shift_remove("enum"), map.shift_remove("const")) {
        (Some(Value::Array(values)), _) => values,
        (_, Some(value)) => vec![value],
        _ => return false,
    };
    let nullable = values.iter().any(Value::is_null);
    let others: Vec<Value> = values.into_iter().filter(|one| !one.is_null()).collect();
    let kind = match others.first() {
        Some(Value::String(_)) if others.iter().all(Value::is_string) => {
            map.insert("enum".into(), Value::Array(others));
            return nullable;
        }
        Some(Value::Bool(_)) if others.iter().all(Value::is_boolean) => "boolean",
        Some(Value::Number(_)) if others.iter().all(|one| one.is_i64() || one.is_u64()) => {
            "integer"
        }
        Some(Value::Number(_)) if others.iter().all(Value::is_number) => "number",
        _ => "",
    };
    if !kind.is_empty() {
        map.entry("type").or_insert_with(|| json!(kind));
    }
    if !others.is_empty() || !nullable {
        let text = format!("{at}: the values of an enum that are not all texts");
        findings.note(Topic::Keyword, text);
    }
    nullable
}
