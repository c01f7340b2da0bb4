//! Holds the schema of every generated type against the spec's, so that a loss in generation is seen.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

fn spec() -> Value {
    serde_json::from_str(include_str!("../../../spec/openapi.json")).unwrap()
}

/// The schemas of one side by name, and which names the other side has, too.
struct Side<'a> {
    schemas: BTreeMap<&'a str, &'a Value>,
    shared: BTreeSet<&'a str>,
}

impl Side<'_> {
    /// Brings a schema to what both sides can say: structure, without prose, constraints and numbers'
    /// widths. What one side names and the other writes in its place is written in its place.
    fn plain(&self, schema: &Value) -> Value {
        let Value::Object(map) = schema else {
            return json!({});
        };
        if let Some(name) = map.get("$ref").and_then(Value::as_str) {
            let name = name.rsplit('/').next().unwrap();
            return match self.shared.contains(name) {
                true => json!({ "$ref": name }),
                false => {
                    let schema = self.schemas.get(name);
                    self.plain(schema.unwrap_or_else(|| panic!("nothing tells what {name} is")))
                }
            };
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(only) = map.get(key).and_then(only_one_but_null) {
                return self.plain(only);
            }
        }
        if let Some(values) = known_values(map) {
            return json!({ "open enum of": values });
        }
        let mut out = serde_json::Map::new();
        for (key, value) in map {
            let value = match key.as_str() {
                "properties" if !is_anything(value) => {
                    let fields = value.as_object().unwrap();
                    let fields = fields.iter().map(|(name, one)| (name, self.plain(one)));
                    json!(fields.collect::<BTreeMap<_, _>>())
                }
                "required" => match required(map) {
                    names if names.is_empty() => continue,
                    names => json!(names),
                },
                "type" => without_null(value),
                "format" if value == "password" => value.clone(),
                "items" | "additionalProperties" if !is_anything(value) => self.plain(value),
                _ => continue,
            };
            out.insert(key.clone(), value);
        }
        if map.contains_key("properties") || map.contains_key("additionalProperties") {
            out.insert("type".into(), json!("object"));
        }
        Value::Object(out)
    }
}

/// A field that may be null may be absent, too: Rust reads both alike.
fn required(map: &serde_json::Map<String, Value>) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = serde_json::from_value(map["required"].clone()).unwrap();
    names.retain(|name| !may_be_null(&map["properties"][name]));
    names
}

fn is_anything(schema: &Value) -> bool {
    schema.is_boolean() || *schema == json!({})
}

fn is_null(schema: &Value) -> bool {
    schema["type"] == "null"
}

fn only_one_but_null(choices: &Value) -> Option<&Value> {
    let mut others = choices.as_array()?.iter().filter(|one| !is_null(one));
    others.next().filter(|_| others.next().is_none())
}

/// Enums are open, however the spec writes them.
fn known_values(map: &serde_json::Map<String, Value>) -> Option<Vec<&Value>> {
    let choices = map.get("anyOf").and_then(Value::as_array);
    let mut found = choices
        .into_iter()
        .flatten()
        .filter_map(|one| one.get("enum"));
    let values = map.get("enum").or_else(|| found.next())?.as_array()?;
    Some(values.iter().filter(|value| !value.is_null()).collect())
}

/// An optional field may be null in Rust's schema; the spec merely leaves it out of `required`.
fn without_null(kind: &Value) -> Value {
    match kind.as_array().map(Vec::as_slice) {
        Some([one, null] | [null, one]) if null == "null" => one.clone(),
        _ => kind.clone(),
    }
}

fn may_be_null(schema: &Value) -> bool {
    ["type", "enum", "anyOf", "oneOf"].into_iter().any(|key| {
        let items = schema[key].as_array();
        items.is_some_and(|items| {
            items
                .iter()
                .any(|one| one == "null" || one.is_null() || is_null(one))
        })
    })
}

#[test]
fn no_schema_is_lost_or_changed_in_generation() {
    let spec = spec();
    let written = spec["components"]["schemas"].as_object().unwrap();
    let written: BTreeMap<&str, &Value> = written
        .iter()
        .map(|(name, one)| (name.as_str(), one))
        .collect();
    let generated = talentdata_types::json_schemas();
    let generated: BTreeMap<&str, &Value> = generated
        .iter()
        .map(|(name, one)| (*name, one.as_value()))
        .collect();
    let shared: BTreeSet<&str> = written
        .keys()
        .filter(|name| generated.contains_key(*name))
        .copied()
        .collect();
    let side = |schemas| Side {
        schemas,
        shared: shared.clone(),
    };
    let (theirs, ours) = (side(written.clone()), side(generated.clone()));
    for (name, schema) in &written {
        let is_model = schema
            .get("properties")
            .is_some_and(|one| !is_anything(one))
            || known_values(schema.as_object().unwrap()).is_some();
        assert_eq!(shared.contains(name), is_model, "schema {name}");
        if is_model {
            assert_eq!(
                ours.plain(generated[name]),
                theirs.plain(schema),
                "schema {name}"
            );
        }
    }
}

#[test]
fn every_operation_of_the_spec_is_in_the_table() {
    let spec = spec();
    let mut wanted = Vec::new();
    for (path, item) in spec["paths"].as_object().unwrap() {
        let methods = item.as_object().unwrap().iter();
        for (method, operation) in methods.filter(|(_, one)| one.get("operationId").is_some()) {
            wanted.push((
                method.to_uppercase(),
                path.clone(),
                operation["operationId"].as_str().unwrap().to_owned(),
            ));
        }
    }
    let ours: Vec<_> = talentdata_types::OPERATIONS
        .iter()
        .map(|one| {
            (
                format!("{:?}", one.method).to_uppercase(),
                one.path.to_owned(),
                one.id.to_owned(),
            )
        })
        .collect();
    assert_eq!(ours, wanted);
    assert!(!ours.is_empty());
}
