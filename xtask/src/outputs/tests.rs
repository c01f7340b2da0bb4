//! What the spec yields after a change, which of its changes are refused, and that the rest compiles.

mod agreement;
mod calls;
mod changes;
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
        .map(|(path, source)| source.text(path, &spec))
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

#[test]
fn nothing_is_written_where_the_spec_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    trial::copy_of(directory.path());
    let file = directory
        .path()
        .join("crates/types/src/generated/models.rs");
    std::fs::remove_file(&file).unwrap();
    let spec = directory.path().join("spec/openapi.json");
    let good = std::fs::read_to_string(&spec).unwrap();
    std::fs::write(
        &spec,
        good.replace("\"firstName\": {", "\"team\": 7, \"firstName\": {"),
    )
    .unwrap();
    let said = write(directory.path()).unwrap_err();
    assert!(said.contains("this is not a schema"), "{said}");
    assert!(!file.exists());
    std::fs::write(&spec, &good).unwrap();
    write(directory.path()).unwrap();
    assert!(file.exists());
    // A file from elsewhere is refused in the same way, and taken as it is.
    let other = directory.path().join("new.yaml");
    std::fs::write(&other, "swagger: '2.0'\n").unwrap();
    let said = adopt(directory.path(), &other).unwrap_err();
    assert!(said.contains("new.yaml: this is Swagger 2.0"), "{said}");
    assert_eq!(std::fs::read_to_string(&spec).unwrap(), good);
    let longer = good.replace("\"maximum\": 100", "\"maximum\": 250");
    std::fs::write(&other, longer.replace("\n", "\n ")).unwrap();
    adopt(directory.path(), &other).unwrap();
    assert_eq!(std::fs::read_to_string(&spec).unwrap(), longer);
}
