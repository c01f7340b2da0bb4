//! Holds the schema of every generated type against the spec's, so that a loss in generation is seen.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json};
use std::collections::BTreeMap;

fn spec() -> Value {
    serde_json::from_str(include_str!("../../../spec/openapi.json")).unwrap()
}

/// Brings a schema to what both sides can say: structure, without prose, constraints and numbers' widths.
fn plain(schema: &Value) -> Value {
    match schema {
        Value::Object(map) if map.contains_key("$ref") => {
            let name = map["$ref"].as_str().unwrap().rsplit('/').next().unwrap();
            json!({ "$ref": name })
        }
        Value::Object(map) => {
            let mut out = serde_json::Map::new();
            for (key, value) in map {
                let value = match key.as_str() {
                    "title" | "description" | "$schema" | "$defs" | "pattern" | "propertyNames"
                    | "writeOnly" | "examples" => continue,
                    "format" if value != "password" => continue,
                    "items" | "additionalProperties"
                        if *value == json!(true) || *value == json!({}) =>
                    {
                        continue;
                    }
                    "properties" => {
                        let fields = value.as_object().unwrap();
                        let fields: BTreeMap<_, _> = fields
                            .iter()
                            .map(|(name, one)| (name.clone(), plain(one)))
                            .collect();
                        json!(fields)
                    }
                    "required" => {
                        let mut names: Vec<String> = serde_json::from_value(value.clone()).unwrap();
                        names.sort();
                        json!(names)
                    }
                    "type" => optional(value),
                    _ => plain(value),
                };
                out.insert(key.clone(), value);
            }
            Value::Object(out)
        }
        Value::Array(items) => Value::Array(items.iter().map(plain).collect()),
        other => other.clone(),
    }
}

/// An optional field may be null in Rust's schema; the spec merely leaves it out of `required`.
fn optional(kind: &Value) -> Value {
    match kind.as_array().map(Vec::as_slice) {
        Some([one, null]) if null == "null" => one.clone(),
        _ => kind.clone(),
    }
}

#[test]
fn no_schema_is_lost_or_changed_in_generation() {
    let spec = spec();
    let wanted = spec["components"]["schemas"].as_object().unwrap();
    let generated: BTreeMap<_, _> = talentdata_types::json_schemas().into_iter().collect();
    assert_eq!(generated.len(), wanted.len());
    for (name, schema) in wanted {
        let ours = generated[name.as_str()].as_value();
        assert_eq!(plain(ours), plain(schema), "schema {name}");
    }
}

#[test]
fn every_operation_of_the_spec_is_in_the_table() {
    let spec = spec();
    let mut wanted = Vec::new();
    for (path, item) in spec["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
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
    assert_eq!(ours.len(), 13);
}
