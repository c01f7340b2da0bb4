//! Tests of the generated files after changes of the spec: some are refused, and the rest must compile.

mod calls;
mod trial;

use super::*;
use serde_json::json;

/// A difference between the spec and the committed files fails this test.
#[test]
fn generated_files_are_current() {
    check(&Spec::load(&crate::workspace::root()).unwrap()).unwrap();
}

#[test]
fn the_exported_functions_of_c_do_not_depend_on_the_spec() {
    let mut document = crate::spec::tests::ours();
    let mut list = document["paths"]["/v1/pools"].clone();
    list["get"]["operationId"] = json!("listAnts");
    let paths = document["paths"].as_object_mut().unwrap();
    paths.remove("/v1/version");
    paths.shift_insert(0, "/v1/ants".into(), list);
    let root = crate::workspace::root();
    let before = Spec::load(&root).unwrap();
    let after = Spec::parse(&root, &document.to_string(), FILE).unwrap();
    let headers = OUTPUTS.iter().filter_map(|(path, _)| {
        assert_eq!(c::header(&after, path), c::header(&before, path), "{path}");
        c::header(&after, path).ok()
    });
    assert_eq!(headers.count(), 9);
    let texts = OUTPUTS.iter().map(|(path, make)| make(&after, path));
    let text = texts.collect::<Result<String, String>>().unwrap();
    assert!(text.contains("TALENTDATA_TEXT(\"ants\")") && text.contains("\nants = list\n"));
}

#[test]
fn nothing_is_written_if_the_spec_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    trial::copy_to(directory.path());
    let generate = |words: &[&str]| generate(directory.path(), words);
    let file = directory.path().join(OUTPUTS[0].0);
    std::fs::remove_file(&file).unwrap();
    let spec = directory.path().join("spec/openapi.json");
    let good = std::fs::read_to_string(&spec).unwrap();
    let bad = good.replace("\"firstName\": {", "\"team\": 7, \"firstName\": {");
    std::fs::write(&spec, bad).unwrap();
    let said = generate(&["--strict"]).unwrap_err();
    assert!(
        said.contains("/team: this is not a schema; write an object"),
        "{said}"
    );
    assert!(!file.exists());
    std::fs::write(&spec, &good).unwrap();
    generate(&["--strict"]).unwrap();
    assert!(file.exists());
    // A file from elsewhere is refused in the same way, and otherwise copied unchanged.
    let other = directory.path().join("new.yaml");
    std::fs::write(&other, "swagger: '2.0'\n").unwrap();
    let take = ["--spec", other.to_str().unwrap()];
    let said = generate(&take).unwrap_err();
    assert!(said.contains("new.yaml: this is Swagger 2.0"), "{said}");
    assert_eq!(std::fs::read_to_string(&spec).unwrap(), good);
    let longer = good.replace("\"maximum\": 100", "\"maximum\": 250");
    std::fs::write(&other, longer.replace("\n", "\n ")).unwrap();
    generate(&take).unwrap();
    assert_eq!(std::fs::read_to_string(&spec).unwrap(), longer);
}

/// A spec as a vendor writes it: none of our extensions, one operation moved, one removed.
#[test]
fn our_extensions_are_kept_from_the_previous_spec() {
    let root = crate::workspace::root();
    let mut document = crate::spec::tests::ours();
    let paths = document["paths"].as_object_mut().unwrap();
    for item in paths
        .values_mut()
        .flat_map(|item| item.as_object_mut().unwrap().values_mut())
    {
        let operation = item.as_object_mut().unwrap();
        operation.retain(|key, _| !key.starts_with("x-talentdata-"));
    }
    let moved = paths.shift_remove("/v1/version").unwrap();
    paths.insert("/v2/version".into(), moved);
    paths.shift_remove("/v1/oauth/token/permissions").unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), document.to_string()).unwrap();
    let spec = Spec::load_file(&root, file.path()).unwrap();
    let named = |id: &str| spec.api.operations.iter().find(|one| one.id == id).unwrap();
    let check = named("checkVersion");
    assert_eq!((check.command.as_str(), check.idempotent), ("check", true));
    assert_eq!(
        (check.positional.as_deref(), check.nonblank.len()),
        (Some("endpoints"), 1)
    );
    assert_eq!(named("getVersion").name, "version");
    let said = summary(&spec);
    assert!(said.starts_with("Kept of spec/openapi.json:\n"), "{said}");
    for line in [
        "/paths/~1v2~1version/get/x-talentdata-name: \"version\"",
        "/paths/~1v1~1oauth~1token/post/x-talentdata-idempotent: true",
        "not /paths/~1v1~1oauth~1token~1permissions/get/x-talentdata-name, \"permissions\": the operation is gone",
    ] {
        assert!(said.contains(&format!("  {line}\n")), "{line} in {said}");
    }
    assert_eq!(spec.kept.len(), 7, "{said}");
    assert_eq!(summary(&Spec::load(&root).unwrap()).find("Kept"), None);
}

/// The service of another vendor, with its own schema for pages and without our operation for tokens.
#[test]
fn parts_that_the_client_needs_are_kept_if_a_file_lacks_them() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let page = json!({"properties": {"next": {"type": "string"}}});
    let answer = json!({"description": ".", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pagination"}}}});
    let get = json!({"operationId": "getPage", "responses": {"200": answer}});
    let document = json!({"openapi": "3.0.0", "paths": {"/page": {"get": get}}, "components": {"schemas": {"Pagination": page}}});
    std::fs::write(file.path(), document.to_string()).unwrap();
    let spec = Spec::load_file(&crate::workspace::root(), file.path()).unwrap();
    let pagination = spec.api.model("Pagination").unwrap();
    assert!(pagination.field("hasMore").is_some());
    let get = spec
        .api
        .operations
        .iter()
        .find(|one| one.id == "getPage")
        .unwrap();
    assert_eq!(get.response.as_ref().unwrap().to_string(), "Pagination2");
    let said = summary(&spec);
    assert!(
        said.contains("/components/schemas/Pagination: that of the file is called Pagination2"),
        "{said}"
    );
    assert!(
        said.contains("createToken and Pagination, by which"),
        "{said}"
    );
}
