//! What the document shows is in the generated types, and what it does not show survives a trip through them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use talentdata_types::{
    ApiStatus, Contact, KnownApiStatus, Open, Resource, Secret, TokenRequest, TokenResponse,
    VersionResponse,
};

/// The schemas of one side by name, and which names both sides have.
struct Side<'a> {
    schemas: BTreeMap<&'a str, &'a Value>,
    shared: &'a BTreeSet<&'a str>,
}

impl Side<'_> {
    /// What both sides can say of a schema: its structure, without prose, constraints and numbers' widths. What one side
    /// names and the other writes in its place is written in its place.
    fn plain(&self, schema: &Value) -> Value {
        if schema.as_object().is_none_or(serde_json::Map::is_empty) {
            return json!("anything");
        }
        if let Some(reference) = schema["$ref"].as_str() {
            let name = reference.rsplit('/').next().unwrap();
            return match self.shared.contains(name) {
                true => json!(name),
                false => self.plain(self.schemas[name]),
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
        let kind = match fields.is_empty() && others.is_null() {
            true => kind.unwrap().clone(),
            false => json!("object"),
        };
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
    let schemas = written.clone();
    let (theirs, ours) = (
        Side { schemas, shared },
        Side {
            schemas: generated,
            shared,
        },
    );
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

#[test]
fn unknown_fields_and_exact_numbers_are_kept() {
    let text = r#"{"id":"1","firstName":"Ada","lastName":"L","email":"a@example.com","big":123456789012345678901234567890,"digits":0.10000000000000000001,"nested":{"deep":[1,null,"x"]}}"#;
    let contact: Contact = serde_json::from_str(text).unwrap();
    assert_eq!(contact.first_name, "Ada");
    assert_eq!(
        contact.extra["big"].to_string(),
        "123456789012345678901234567890"
    );
    let back: Value = serde_json::to_value(&contact).unwrap();
    assert_eq!(back, serde_json::from_str::<Value>(text).unwrap());
}

#[test]
fn unknown_statuses_and_categories_are_kept() {
    let report = json!({
        "version": "1.8.2", "apiStatus": "sleeping", "endpoints": {
            "payroll": {"status": "beta", "version": "0.1", "owner": "hr"}}
    });
    let version: VersionResponse = serde_json::from_value(report.clone()).unwrap();
    assert_eq!(version.api_status, ApiStatus::Other("sleeping".into()));
    assert_eq!(
        ApiStatus::from("degraded"),
        Open::Known(KnownApiStatus::Degraded)
    );
    assert_eq!(ApiStatus::from("degraded").to_string(), "degraded");
    assert_eq!(version.endpoints["payroll"].extra["owner"], "hr");
    assert_eq!(serde_json::to_value(&version).unwrap(), report);
}

#[test]
fn a_missing_or_mistyped_field_is_an_error_that_names_it() {
    let missing = serde_json::from_str::<Contact>(r#"{"id":"1"}"#).unwrap_err();
    assert!(missing.to_string().contains("firstName"), "{missing}");
    let mistyped = r#"{"id":1,"firstName":"a","lastName":"b","email":"c"}"#;
    assert!(serde_json::from_str::<Contact>(mistyped).is_err());
}

#[test]
fn secrets_do_not_print() {
    let request = TokenRequest {
        client_id: "me".into(),
        client_secret: Secret::new("CANARY"),
    };
    assert!(!format!("{request:?}").contains("CANARY"));
    assert!(serde_json::to_string(&request).unwrap().contains("CANARY"));
    let token: TokenResponse = serde_json::from_value(
        json!({"access_token": "CANARY", "token_type": "Bearer", "expires_in": 5}),
    )
    .unwrap();
    assert!(!format!("{token:?}").contains("CANARY"));
}

#[test]
fn lists_are_found_by_either_spelling() {
    assert_eq!("ja-skills".parse(), Ok(Resource::JaSkills));
    assert_eq!("ja_skills".parse(), Ok(Resource::JaSkills));
    let error = "skillz".parse::<Resource>().unwrap_err();
    assert!(error.to_string().contains("skillz") && error.to_string().contains("taxonomy_roles"));
}
