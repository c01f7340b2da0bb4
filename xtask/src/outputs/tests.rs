//! What the spec yields after a change, which of its changes are refused, and that the rest compiles.

mod calls;
mod trial;

use super::*;
use serde_json::json;

/// Drift between the spec and what is committed is a failing test.
#[test]
fn generated_files_are_current() {
    check(&crate::root()).unwrap();
}

#[test]
fn the_exported_functions_of_c_do_not_depend_on_the_spec() {
    let mut document = crate::spec::tests::ours();
    let mut list = document["paths"]["/v1/pools"].clone();
    list["get"]["operationId"] = json!("listAnts");
    let paths = document["paths"].as_object_mut().unwrap();
    paths.remove("/v1/version");
    paths.shift_insert(0, "/v1/ants".into(), list);
    let root = crate::root();
    let before = Spec::load(&root).unwrap();
    let after = Spec::parse(&root, &document.to_string(), FILE).unwrap();
    let headers = OUTPUTS.iter().filter_map(|(path, _)| {
        assert_eq!(c::header(&after, path), c::header(&before, path), "{path}");
        c::header(&after, path).ok()
    });
    assert_eq!(headers.count(), 7);
    let texts = OUTPUTS.iter().map(|(path, make)| make(&after, path));
    let text = texts.collect::<Result<String, String>>().unwrap();
    assert!(text.contains("TALENTDATA_TEXT(\"ants\")") && text.contains("\nants = list\n"));
}

#[test]
fn nothing_is_written_where_the_spec_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    trial::copy_to(directory.path());
    let file = directory.path().join(OUTPUTS[0].0);
    std::fs::remove_file(&file).unwrap();
    let spec = directory.path().join("spec/openapi.json");
    let good = std::fs::read_to_string(&spec).unwrap();
    let bad = good.replace("\"firstName\": {", "\"team\": 7, \"firstName\": {");
    std::fs::write(&spec, bad).unwrap();
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
