//! What cannot be generated is refused before anything is written, with the place, the reason and the way out.

use super::super::write;
use super::generate;
use super::trial::copied;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A row of `refusals.json`.
#[derive(serde::Deserialize)]
struct Refusal {
    /// What stands where, by JSON pointer.
    change: BTreeMap<String, Value>,
    /// The end of the place, and what is wrong.
    says: String,
    /// The way out.
    way: String,
}

#[test]
fn what_cannot_be_generated_is_refused_with_the_way_out() {
    let table: Vec<Refusal> = serde_json::from_str(include_str!("refusals.json")).unwrap();
    for Refusal { change, says, way } in table {
        let apply = |document: &mut Value| {
            for (place, value) in &change {
                let (parent, key) = place.rsplit_once('/').unwrap();
                document.pointer_mut(parent).unwrap()[key] = value.clone();
            }
        };
        is_refused(apply, &says, &way);
    }
}

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
            "/v1/ants/{id}/eggs",
            "/paths/~1v1~1ants~1{id}~1eggs/get: a list below one record",
            "leave it out",
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
    let folder = tempfile::tempdir().unwrap();
    for name in ["crates", "bindings/c", "bindings/python/talentdata", "spec"] {
        copied(&crate::root().join(name), &folder.path().join(name));
    }
    let file = folder.path().join("crates/types/src/generated/models.rs");
    std::fs::remove_file(&file).unwrap();
    let spec = folder.path().join("spec/openapi.json");
    let good = std::fs::read_to_string(&spec).unwrap();
    std::fs::write(&spec, good.replace("\"firstName\": {", "\"last_name\": {")).unwrap();
    let said = write(folder.path()).unwrap_err();
    assert!(said.contains("\"firstName\" is required"), "{said}");
    assert!(!file.exists());
    std::fs::write(&spec, good).unwrap();
    write(folder.path()).unwrap();
    assert!(file.exists());
}

fn is_refused(change: impl Fn(&mut Value), says: &str, way: &str) {
    let said = generate(change).expect_err(says);
    assert!(said.starts_with("spec/openapi.json/"), "{said}");
    let (reason, out) = said.split_once("; ").unwrap();
    assert!(reason.contains(says), "{said}\nshould say {says}");
    assert!(out.contains(way), "{said}\nshould say {way}");
}
