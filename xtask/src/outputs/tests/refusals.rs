//! What cannot be generated is refused before anything is written, with the place, the reason and the way out.

use super::super::{adopt, write};
use super::generate;
use super::trial::copy_of;
use serde_json::{Value, json};

#[test]
fn lists_that_cannot_be_generated_are_refused() {
    for (path, says, way) in [
        (
            "/v1/ja-skills",
            "/paths/~1v1~1ja-skills/get: \"/v1/ja-skills\" becomes ja_skills on the command line, \
             and so does \"/v1/ja/skills\" of /paths/~1v1~1ja~1skills/get",
            "leave its operation out",
        ),
        (
            "/v1/+",
            "/paths/~1v1~1+/get: \"/v1/+\" has no letter",
            "leave its operation out",
        ),
    ] {
        let add = |document: &mut Value| {
            let mut list = document["paths"]["/v1/pools"].clone();
            list["get"]["operationId"] = json!("listMore");
            document["paths"][path] = list;
        };
        is_refused(add, says, way);
    }
    let none = |document: &mut Value| {
        let paths = document["paths"].as_object_mut().unwrap();
        paths.retain(|path, _| path.starts_with("/v1/version"));
    };
    is_refused(
        none,
        "/paths: no operation is a paginated list",
        "pagination in the response",
    );
}

#[test]
fn nothing_is_written_where_the_spec_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    copy_of(directory.path());
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

fn is_refused(change: impl Fn(&mut Value), says: &str, way: &str) {
    let said = generate(change).err().unwrap_or_default();
    assert!(said.contains("spec/openapi.json/"), "{said}");
    assert!(said.contains(says), "{said}\nshould say {says}");
    assert!(said.contains(way), "{said}\nshould say {way}");
}
