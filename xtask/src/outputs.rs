//! The one table of generated files, and the two things done with it: write and check.

use crate::spec::Spec;
use crate::{Outcome, c, python, rust, rust_models};
use std::path::Path;

/// Turns the spec into the text of one file.
type Render = fn(&Spec) -> Result<String, String>;

/// Every generated file of the repository.
const OUTPUTS: [(&str, Render); 13] = [
    ("crates/types/src/generated/models.rs", rust_models::models),
    ("crates/types/src/generated/operations.rs", rust::operations),
    ("crates/core/src/generated/lists.rs", rust::client_lists),
    ("crates/sandbox/src/generated/lists.rs", rust::sandbox_lists),
    ("bindings/python/talentdata/_errors.py", python::errors),
    ("bindings/python/talentdata/_models.py", python::models),
    ("bindings/python/talentdata/_lists.py", python::lists),
    ("crates/ffi-c/src/generated/models.rs", c::accessors::file),
    ("bindings/c/include/talentdata.h", c::header::file),
    ("bindings/c/include/talentdata/errors.hpp", c::cpp::errors),
    ("bindings/c/include/talentdata/models.hpp", c::cpp::file),
    ("bindings/c/symbols.txt", c::symbols::file),
    ("bindings/c/tests/null_arguments.c", c::nulls::file),
];

/// Writes every file whose text differs.
pub(crate) fn write(root: &Path) -> Outcome {
    for (path, text) in differing(root)? {
        let target = root.join(path);
        let folder = target.parent().ok_or(format!("{path} has no folder"))?;
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&target, text))
            .map_err(|error| format!("cannot write {path}: {error}"))?;
        println!("wrote {path}");
    }
    Ok(())
}

/// Fails, naming the files, when any differs from what the spec yields.
pub(crate) fn check(root: &Path) -> Outcome {
    let stale: Vec<&str> = differing(root)?.into_iter().map(|(path, _)| path).collect();
    if stale.is_empty() {
        return Ok(());
    }
    Err(format!(
        "out of date: {}; run `cargo xtask generate`",
        stale.join(", ")
    ))
}

fn differing(root: &Path) -> Result<Vec<(&'static str, String)>, String> {
    let spec = Spec::load(root)?;
    let mut out = Vec::new();
    for (path, render) in OUTPUTS {
        let text = render(&spec)?;
        let present = std::fs::read_to_string(root.join(path)).unwrap_or_default();
        if present != text {
            out.push((path, text));
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// What the spec yields after a change, all files together.
    fn generate(change: impl Fn(&mut Value)) -> Result<String, String> {
        let text = std::fs::read_to_string(crate::root().join("spec/openapi.json")).unwrap();
        let mut document: Value = serde_json::from_str(&text).unwrap();
        change(&mut document);
        let spec = Spec::parse(&crate::root(), &document.to_string())?;
        OUTPUTS.iter().map(|(_, render)| render(&spec)).collect()
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
            "pub fn ja_levels(&self) -> List<talentdata_types::Record>",
            "path: \"/v1/ja/levels\",",
            "pub const LIST_JA_LEVELS: &Operation",
        ] {
            assert!(text.contains(wanted), "{wanted} is missing in\n{text}");
        }
    }

    #[test]
    fn a_value_in_the_middle_of_an_enum_renumbers_nothing_in_c() {
        let text = generate(|document| {
            let values = &mut document["components"]["schemas"]["ApiStatus"]["anyOf"][0]["enum"];
            *values = json!(["asleep", "operational", "degraded"]);
            let mut list = document["paths"]["/v1/pools"].clone();
            list["get"]["operationId"] = json!("listAnts");
            let paths = document["paths"].as_object_mut().unwrap();
            paths.shift_insert(0, "/v1/ants".into(), list);
        })
        .unwrap();
        for wanted in [
            "TALENTDATA_API_STATUS_ASLEEP = 4,",
            "TALENTDATA_API_STATUS_OPERATIONAL = 1,",
            "TALENTDATA_API_STATUS_DEGRADED = 3,",
            "which no other value gets.\nTALENTDATA_API_STATUS_MAINTENANCE = 2\n",
            "TALENTDATA_RESOURCE_ANTS = 10,",
            "TALENTDATA_RESOURCE_CONTACTS = 1,",
        ] {
            assert!(text.contains(wanted), "{wanted} is missing in\n{text}");
        }
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
            "pub enum ContactStateValue {",
            "pub enum ContactTagsItemsValue {",
            "pub state: crate::ContactStateValue,",
            "pub unknown_fields: ::serde_json::Map",
            "pub age: ::std::option::Option<i64>,",
            "known_values: &[\"open\", \"shut\"],",
        ] {
            assert!(text.contains(wanted), "{wanted} is missing in\n{text}");
        }
    }

    #[test]
    fn what_generation_would_lose_is_refused_by_name() {
        let refused = |change: fn(&mut Value)| generate(change).unwrap_err();
        let nullable = refused(|document| {
            document["components"]["schemas"]["Contact"]["properties"]["id"]["nullable"] =
                json!(true);
        });
        assert!(
            nullable.contains("/components/schemas/Contact/properties/id: nullable"),
            "{nullable}"
        );
        let two_arrays = refused(|document| {
            let array =
                document["components"]["schemas"]["ContactList"]["properties"]["contacts"].clone();
            document["components"]["schemas"]["ContactList"]["properties"]["people"] = array;
        });
        assert!(two_arrays.contains("two arrays of objects"), "{two_arrays}");
    }
}
