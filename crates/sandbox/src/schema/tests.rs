//! Tests with a table of schemas and right and wrong values. All values made from these schemas, and from our own API
//! description, must be right.

use super::*;
use crate::cases::table;
use crate::spec::ServiceSpec;
use serde::Deserialize;
use serde_json::{Value, json};

/// A schema, values that it accepts, and values that it rejects, each with the place of the mistake and words of the
/// message.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    schema: Value,
    #[serde(default)]
    right: Vec<Value>,
    #[serde(default)]
    wrong: Vec<(Value, String, String)>,
}

fn schemas() -> Schemas {
    Schemas(table("schemas"))
}

#[test]
fn right_values_pass_and_wrong_ones_are_placed() {
    let (schemas, cases) = (schemas(), table::<Vec<Case>>("checked"));
    assert!(cases.len() >= 50);
    for case in cases {
        let schema = &case.schema;
        let check = |value| schemas.check(schema, value, Direction::Response);
        for right in &case.right {
            assert_eq!(check(right), Ok(()), "{schema} {right}");
        }
        for (wrong, place, words) in &case.wrong {
            let mismatch = check(wrong).expect_err(&format!("{schema} takes {wrong}"));
            let place = match place.as_str() {
                "" => String::new(),
                pointer => format!(" at {pointer:?}"),
            };
            let expected = mismatch.strip_prefix(&format!("{place}: expected "));
            let contains = expected.is_some_and(|text| text.contains(words));
            assert!(contains, "{schema} {wrong}: {mismatch}");
        }
    }
}

/// Checks that each seed makes a value that passes, and the same one again.
fn assert_makes(schemas: &Schemas, schema: &Value) {
    for seed in 0..15 {
        let value = Maker::new(schemas, seed).make(schema);
        let checked = schemas.check(schema, &value, Direction::Response);
        assert_eq!(checked, Ok(()), "{schema} {value}");
        assert_eq!(value, Maker::new(schemas, seed).make(schema));
        assert!(value.to_string().len() < 100_000, "{schema}");
    }
}

#[test]
fn values_made_from_a_schema_pass() {
    for case in table::<Vec<Case>>("checked") {
        assert_makes(&schemas(), &case.schema);
    }
    // The schemas of our own API description, too.
    let spec = ServiceSpec::embedded();
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
    Maker::new(&schemas(), 1).make(schema)
}

#[test]
fn values_in_the_document_are_used_if_they_fit() {
    // Schemas, and the value made from each: null if nothing fits.
    for (schema, expected) in table::<Vec<(Value, Value)>>("made") {
        assert_eq!(made(&schema), expected, "{schema}");
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
fn requests_lack_read_only_properties() {
    let schema = json!({
        "required": ["id", "secret"],
        "properties": {"id": {"readOnly": true}, "secret": {"writeOnly": true}},
    });
    for (member, ways) in [("id", [false, true]), ("secret", [true, false])] {
        let fits = [Direction::Request, Direction::Response]
            .map(|way| Schemas::default().accepts(&schema, &json!({member: 1}), way));
        assert_eq!(fits, ways, "{member}");
    }
}

#[test]
fn values_made_by_hand_change_only_where_they_must() {
    for (schema, hand, fitted) in table::<Vec<(Value, Value, Value)>>("fitted") {
        let found = Maker::new(&Schemas::default(), 0).fit(&schema, hand);
        assert_eq!(found, fitted, "{schema}");
    }
}
