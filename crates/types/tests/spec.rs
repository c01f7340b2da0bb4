//! Compares the schema of every generated type with the spec's, so that a loss in generation is seen.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The schemas of one side by name, and which names both sides have.
struct Side<'a> {
    schemas: BTreeMap<&'a str, &'a Value>,
    shared: &'a BTreeSet<&'a str>,
}

impl Side<'_> {
    /// Returns the part of a schema that both sides can express: its structure, without prose, constraints and number
    /// widths. If only one side names a schema, it is written in place of its name.
    fn plain(&self, schema: &Value) -> Value {
        if schema.as_object().is_none_or(serde_json::Map::is_empty) {
            return json!("anything");
        }
        if let Some(reference) = schema["$ref"].as_str() {
            let name = reference.rsplit('/').next().unwrap();
            return if self.shared.contains(name) {
                json!(name)
            } else {
                self.plain(self.schemas[name])
            };
        }
        let choices = ["anyOf", "oneOf"].map(|key| schema[key].as_array());
        let choices = choices.into_iter().flatten().flatten();
        let choices: Vec<&Value> = choices.filter(|one| one["type"] != "null").collect();
        // Enums are open, however the spec writes them.
        let mut enums = choices.iter().chain([&schema]);
        if let Some(values) = enums.find_map(|one| one["enum"].as_array()) {
            let values = values.iter().filter(|value| !value.is_null());
            return json!({"open enum of": values.collect::<Vec<_>>()});
        }
        if let [only] = choices.as_slice() {
            return self.plain(only);
        }
        let mut fields = BTreeMap::new();
        for (name, one) in schema["properties"].as_object().into_iter().flatten() {
            // A field that may be null may be absent, too: Rust reads both alike.
            let mut required = schema["required"].as_array().into_iter().flatten();
            let required = required.any(|one| one == name) && !may_be_null(one);
            fields.insert(name, json!([self.plain(one), required]));
        }
        let (items, others) = (&schema["items"], &schema["additionalProperties"]);
        let kinds = schema["type"].as_array().into_iter().flatten();
        let kind = kinds.chain([&schema["type"]]).find(|kind| **kind != "null");
        let kind = if fields.is_empty() && others.is_null() {
            kind.unwrap().clone()
        } else {
            json!("object")
        };
        if kind.is_null() {
            return json!("anything");
        }
        json!({
            "type": kind, "fields": fields, "secret": schema["format"] == "password",
            "items": self.plain(items), "others": self.plain(others),
        })
    }
}

fn may_be_null(schema: &Value) -> bool {
    let all = ["type", "enum", "anyOf", "oneOf"].map(|key| schema[key].as_array());
    let mut all = all.into_iter().flatten().flatten();
    all.any(|one| one == "null" || one.is_null() || one["type"] == "null")
}

fn spec() -> Value {
    serde_json::from_str(include_str!("../../../spec/openapi.json")).unwrap()
}

#[test]
fn no_schema_is_lost_or_changed_in_generation() {
    let (spec, generated) = (spec(), talentdata_types::json_schemas());
    let written = spec["components"]["schemas"].as_object().unwrap();
    let written: BTreeMap<&str, &Value> =
        written.iter().map(|(name, one)| (&**name, one)).collect();
    let generated = generated.iter().map(|(name, one)| (*name, one.as_value()));
    let generated: BTreeMap<&str, &Value> = generated.collect();
    let shared = written.keys().filter(|name| generated.contains_key(*name));
    let shared = &shared.copied().collect();
    let side = |schemas| Side { schemas, shared };
    let (theirs, ours) = (side(written.clone()), side(generated));
    for (name, schema) in written {
        let plain = theirs.plain(schema);
        let is_model = plain["fields"] != json!({});
        assert_eq!(shared.contains(name), is_model, "schema {name}");
        if is_model {
            assert_eq!(ours.plain(ours.schemas[name]), plain, "schema {name}");
        }
    }
    assert!(shared.len() > 10);
}

#[test]
fn every_operation_of_the_spec_is_in_the_table() {
    let spec = spec();
    let mut wanted = Vec::new();
    for (path, item) in spec["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let id = operation["operationId"].as_str();
            wanted.extend(id.map(|id| (method.to_uppercase(), path.as_str(), id)));
        }
    }
    let ours = talentdata_types::OPERATIONS.iter();
    let ours = ours.map(|one| (one.method.as_str().to_owned(), one.path, one.id));
    assert_eq!(ours.collect::<Vec<_>>(), wanted);
}
