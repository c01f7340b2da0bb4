//! What the spec yields after a change, which of its changes are refused, and that the rest compiles.

mod agreement;
mod calls;
mod changes;
mod refusals;
mod rows;
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
