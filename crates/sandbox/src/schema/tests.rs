//! A table of schemas with right and wrong values; whatever is made from them, and from our own document, is right.

use super::*;
use crate::spec::Spec;
use serde_json::{Value, json};

fn table() -> (Schemas, Vec<Value>) {
    let mut table: Value = serde_json::from_str(include_str!("tests/schemas.json")).unwrap();
    let cases = table["cases"].as_array().unwrap().clone();
    assert!(cases.len() >= 50);
    (Schemas(table["schemas"].take()), cases)
}

fn elements(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[test]
fn right_values_pass_and_wrong_ones_are_placed() {
    let (schemas, cases) = table();
    for case in &cases {
        let schema = &case["schema"];
        for right in elements(&case["right"]) {
            let checked = schemas.check(schema, right, Way::Response);
            assert_eq!(checked, Ok(()), "{schema} {right}");
        }
        for wrong in elements(&case["wrong"]) {
            let checked = schemas.check(schema, &wrong[0], Way::Response);
            let mismatch = checked.expect_err(&format!("{schema} takes {wrong}"));
            let place = match wrong[1].as_str().unwrap() {
                "" => String::new(),
                pointer => format!(" at {pointer:?}"),
            };
            let expected = mismatch.strip_prefix(&format!("{place}: expected "));
            let contains = expected.is_some_and(|text| text.contains(wrong[2].as_str().unwrap()));
            assert!(contains, "{schema} {wrong}: {mismatch}");
        }
    }
}

/// Each seed makes a value that passes, and the same one again.
fn assert_makes(schemas: &Schemas, schema: &Value) {
    for seed in 0..15 {
        let value = Maker::new(schemas, seed).make(schema);
        let checked = schemas.check(schema, &value, Way::Response);
        assert_eq!(checked, Ok(()), "{schema} {value}");
        assert_eq!(value, Maker::new(schemas, seed).make(schema));
        assert!(value.to_string().len() < 100_000, "{schema}");
    }
}

#[test]
fn what_is_made_passes() {
    let (schemas, cases) = table();
    for case in &cases {
        assert_makes(&schemas, &case["schema"]);
    }
    // From our own document, too.
    let spec = Spec::embedded();
    let schemas = &spec.schemas.0["components"]["schemas"];
    for schema in schemas.as_object().unwrap().values() {
        assert_makes(&spec.schemas, schema);
    }
    for operation in &spec.operations {
        assert_makes(&spec.schemas, &operation.success.schema);
        for parameter in &operation.parameters {
            assert_makes(&spec.schemas, &parameter.schema);
        }
    }
}

fn made(schema: &Value) -> Value {
    Maker::new(&table().0, 1).make(schema)
}

/// Schemas, and what is made from each: what the document gives, if it fits; null where nothing does.
const GIVEN: &str = r#"
{"type": "string", "example": "Ada"} -> "Ada"
{"type": "string", "examples": ["Eve", "Bob"]} -> "Eve"
{"type": "integer", "default": 30} -> 30
{"type": "integer", "example": 500, "maximum": 9, "minimum": 9} -> 9
{"type": "boolean"} -> true
{"oneOf": [{"type": "null"}, {"const": 7}]} -> 7
{"type": ["null", "boolean"]} -> true
{"enum": [null, "a"]} -> "a"
{"required": ["a"], "example": {"a": 5}} -> {"a": 5}
{"type": "number", "minimum": 10, "maximum": 12, "multipleOf": 5} -> 10.0
{"type": "integer", "minimum": 10, "maximum": 12, "multipleOf": 5} -> 10
{"type": "number", "exclusiveMinimum": 10, "maximum": 12, "multipleOf": 5} -> null
{"type": "integer", "minimum": 11, "maximum": 12, "multipleOf": 5} -> null
false -> null
{"type": "string", "allOf": [{"type": "integer"}]} -> null
"#;

#[test]
fn what_the_document_gives_is_used_if_it_fits() {
    for case in GIVEN.trim().lines() {
        let (schema, expected) = case.split_once(" -> ").unwrap();
        let [schema, expected] = [schema, expected].map(|one| serde_json::from_str(one).unwrap());
        assert_eq!(made(&schema), expected, "{case}");
    }
}

#[test]
fn circles_are_shown_once_and_then_cut() {
    let node = made(&json!({"$ref": "#/Node"}));
    assert!(node["next"]["id"].is_i64(), "{node}");
    assert_eq!(node["next"].get("next"), None, "{node}");
    assert_eq!(node["children"].as_array().unwrap().len(), 2, "{node}");
    assert_eq!(node["children"][0]["children"], json!([]), "{node}");
    let tree = made(&json!({"$ref": "#/Tree"}));
    assert!(tree["left"]["right"].is_i64(), "{tree}");
}

#[test]
fn requests_lack_what_is_only_read() {
    let schema = json!({
        "required": ["id", "secret"],
        "properties": {"id": {"readOnly": true}, "secret": {"writeOnly": true}},
    });
    for (member, ways) in [("id", [false, true]), ("secret", [true, false])] {
        let fits = [Way::Request, Way::Response]
            .map(|way| Schemas::default().accepts(&schema, &json!({member: 1}), way));
        assert_eq!(fits, ways, "{member}");
    }
}

/// Schemas, values that were made by hand, and what becomes of them.
const FITTED: &str = r#"
{"required": ["a", "b"], "properties": {"a": {"type": "string"}, "b": {"enum": ["x"]}}} | {"a": "1", "c": 5} | {"a": "1", "c": 5, "b": "x"}
{"additionalProperties": {"required": ["a"], "properties": {"a": {"const": 7}}}} | {"x": {"b": 1}, "y": {"a": 7}} | {"x": {"b": 1, "a": 7}, "y": {"a": 7}}
{"items": {"required": ["a"], "properties": {"a": {"const": 7}}}, "type": "array"} | ["x"] | [{"a": 7}]
{"properties": {"a": {"type": "integer"}}, "additionalProperties": false} | {"a": 5, "b": 6} | {"a": 5}
"#;

#[test]
fn what_was_made_by_hand_changes_only_where_it_must() {
    for case in FITTED.trim().lines() {
        let columns = case
            .split(" | ")
            .map(|one| serde_json::from_str(one).unwrap());
        let [schema, hand, fitted]: [Value; 3] = columns.collect::<Vec<_>>().try_into().unwrap();
        let found = Maker::new(&Schemas::default(), 0).fit(&schema, hand);
        assert_eq!(found, fitted, "{case}");
    }
}
