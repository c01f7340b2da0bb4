//! What `spec-diff` says of C is what a compiler finds: the examples of before, against the headers of after.

use super::super::write;
use super::trial::copied;
use crate::spec::Spec;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// A change, and whether it breaks the examples.
type Case = (fn(&mut Value), bool);

const CASES: [Case; 10] = [
    (
        |it| {
            it["components"]["schemas"]["Contact"]["properties"]["age"] = json!({"type": "integer"})
        },
        false,
    ),
    (
        |it| it["paths"]["/v1/teams"] = renamed(&it["paths"]["/v1/pools"], "listTeams"),
        false,
    ),
    (
        |it| contact(it)["email"]["description"] = json!("Where to write."),
        false,
    ),
    (|it| required(it).retain(|name| name != "email"), false),
    (
        |it| {
            let values = &mut it["components"]["schemas"]["ApiStatus"]["anyOf"][0]["enum"];
            *values = json!(["down", "operational", "maintenance", "degraded"]);
        },
        false,
    ),
    (
        |it| {
            required(it).retain(|name| name != "email");
            contact(it).as_object_mut().unwrap().shift_remove("email");
        },
        true,
    ),
    (|it| contact(it)["email"]["type"] = json!("integer"), true),
    (
        |it| contact(it)["firstName"]["type"] = json!("object"),
        true,
    ),
    (
        |it| {
            let answer = &mut it["components"]["schemas"]["VersionCheckResponse"];
            answer["required"] = json!(["supported", "endpointCompatibility"]);
        },
        true,
    ),
    (
        |it| {
            let path = it["paths"]
                .as_object_mut()
                .unwrap()
                .shift_remove("/v1/contacts");
            it["paths"]["/v1/people"] = path.unwrap();
        },
        true,
    ),
];

fn contact(document: &mut Value) -> &mut Value {
    &mut document["components"]["schemas"]["Contact"]["properties"]
}

fn required(document: &mut Value) -> &mut Vec<Value> {
    let names = &mut document["components"]["schemas"]["Contact"]["required"];
    names.as_array_mut().unwrap()
}

fn renamed(path: &Value, id: &str) -> Value {
    let mut path = path.clone();
    path["get"]["operationId"] = json!(id);
    path
}

#[test]
fn what_breaks_in_c_is_what_does_not_compile() {
    let directory = tempfile::tempdir().unwrap();
    for name in [
        "crates",
        "bindings/c",
        "bindings/python/talentdata",
        "spec",
        "docs",
    ] {
        copied(&crate::root().join(name), &directory.path().join(name));
    }
    let file = directory.path().join("spec/openapi.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let old = Spec::load(directory.path()).unwrap();
    assert!(compiles(directory.path()));
    for (index, (change, breaks)) in CASES.iter().enumerate() {
        let mut document: Value = serde_json::from_str(&text).unwrap();
        change(&mut document);
        std::fs::write(&file, document.to_string()).unwrap();
        let new = Spec::load(directory.path()).unwrap();
        write(directory.path()).unwrap();
        assert_eq!(compiles(directory.path()), !breaks, "case {index}");
        assert_eq!(
            crate::spec_diff::breaks_c(&old, &new),
            *breaks,
            "case {index}"
        );
    }
}

fn compiles(root: &Path) -> bool {
    let directory = root.join("bindings/c");
    let entries = std::fs::read_dir(directory.join("examples")).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "c"));
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-fsyntax-only", "-Werror", "-I"]);
    let output = compiler.arg(directory.join("include")).args(files).output();
    output.unwrap().status.success()
}
