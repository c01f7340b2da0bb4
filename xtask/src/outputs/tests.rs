//! What the spec yields after a change, which of its changes are refused, and that the rest compiles.

mod agreement;
mod calls;
mod changes;
mod refusals;
mod rows;
mod setting;
mod trial;

use super::*;
use serde_json::{Value, json};

/// What the spec yields after a change, all files together.
fn generate(change: impl Fn(&mut Value)) -> Result<String, String> {
    let text = std::fs::read_to_string(crate::root().join("spec/openapi.json")).unwrap();
    let mut document: Value = serde_json::from_str(&text).unwrap();
    change(&mut document);
    let spec = Spec::parse(&crate::root(), &document.to_string(), crate::spec::FILE)?;
    OUTPUTS
        .iter()
        .map(|(_, source)| source.text(&spec))
        .collect()
}

/// Drift between the spec and what is committed is a failing test.
#[test]
fn generated_files_are_current() {
    check(&crate::root()).unwrap();
}

#[test]
fn a_list_that_the_spec_gains_appears_everywhere() {
    let text = generate(|document| {
        let mut list = document["paths"]["/v1/ja/skills"].clone();
        list["get"]["operationId"] = json!("listJaLevels");
        document["paths"]["/v1/ja/levels"] = list;
    })
    .unwrap();
    for wanted in [
        "Resource::JaLevels => {",
        "pub fn ja_levels(&self) -> List<types::Record>",
        "path: \"/v1/ja/levels\",",
        "pub const LIST_JA_LEVELS: &Operation",
    ] {
        assert!(text.contains(wanted), "{wanted} is missing in\n{text}");
    }
}

#[test]
fn the_exported_functions_of_c_do_not_depend_on_the_spec() {
    let spec = crate::spec::Spec::load(&crate::root()).unwrap();
    let text = generate(|document| {
        let mut list = document["paths"]["/v1/pools"].clone();
        list["get"]["operationId"] = json!("listAnts");
        let paths = document["paths"].as_object_mut().unwrap();
        paths.remove("/v1/version");
        paths.shift_insert(0, "/v1/ants".into(), list);
    })
    .unwrap();
    for (path, source) in OUTPUTS {
        if let (true, By(make)) = (path.starts_with("bindings/c/include"), source) {
            assert!(text.contains(&make(&spec).unwrap()), "{path}");
        }
    }
    assert!(text.contains("TALENTDATA_TEXT(\"ants\")") && text.contains("\nants = list\n"));
}

#[test]
fn a_model_with_every_awkward_field_is_generated() {
    let text = generate(|document| {
        document["components"]["schemas"]["Contact"]["properties"] = json!({
            "extra": {"type": "string"},
            "state": {"type": "string", "enum": ["open", "shut"]},
            "age": {"type": ["integer", "null"], "minimum": 0, "format": "int32"},
            "tags": {"type": "array", "items": {"type": "string", "enum": ["a"]}},
        });
        document["components"]["schemas"]["Contact"]["required"] = json!(["age", "state"]);
    })
    .unwrap();
    for wanted in [
        "} talentdata_contact_state_value;",
        "pub enum KnownContactTagsItemsValue {",
        "pub state: crate::Open<KnownContactStateValue>,",
        "pub unknown_fields: ::serde_json::Map",
        "pub age: ::std::option::Option<i64>,",
        "known_values: &[\"open\", \"shut\"],",
    ] {
        assert!(text.contains(wanted), "{wanted} is missing in\n{text}");
    }
}
