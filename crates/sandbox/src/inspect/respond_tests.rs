//! What is answered by the document alone.

use serde_json::json;

use super::*;
use crate::schema::Way;
use crate::spec::{Operation, Spec};

fn document() -> Value {
    json!({
        "Pool": {"required": ["id", "name"], "properties": {"id": {"type": "string"}, "name": {"type": "string"}, "size": {"type": "integer"}}},
        "Pagination": {"required": ["total", "limit", "offset", "hasMore"], "properties": {
            "total": {"type": "integer"}, "limit": {"type": "integer"}, "offset": {"type": "integer"}, "hasMore": {"type": "boolean"}, "pages": {"type": "integer"},
        }},
    })
}

fn schemas() -> Schemas {
    Schemas(document())
}

fn operation(status: u16, content_type: Option<&str>, schema: Value) -> Operation {
    let content = content_type.map(|kind| json!({kind: {"schema": schema}}));
    let responses = json!({status.to_string(): {"content": content.unwrap_or_else(|| json!({}))}});
    let mut document = document();
    document["paths"] = json!({"/v1/pools/{id}": {"post": {"responses": responses}}});
    Spec::read(document).operations.remove(0)
}

fn found<'a>(operation: &'a Operation, id: &str) -> Found<'a> {
    Found {
        operation,
        parameters: vec![("id", id.to_owned())],
    }
}

fn json_of(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).unwrap()
}

#[test]
fn a_response_repeats_what_it_documents_of_the_request() {
    let pool = operation(201, Some("application/hal+json"), json!({"$ref": "#/Pool"}));
    let body = json!({"name": "north", "size": "large", "other": 1});
    let answer = made(
        &schemas(),
        &found(&pool, "7"),
        "/v1/pools/7",
        Some(&body),
        5,
    );
    assert_eq!(answer.status, 201);
    let kind = answer
        .headers
        .iter()
        .find(|(name, _)| name == "content-type");
    assert_eq!(kind.unwrap().1, "application/hal+json");
    let value = json_of(&answer);
    assert_eq!(
        (&value["id"], &value["name"]),
        (&json!("7"), &json!("north"))
    );
    assert!(
        value["size"].is_i64(),
        "what does not fit is not repeated: {value}"
    );
    assert_eq!(value.get("other"), None);
}

#[test]
fn an_integer_is_repeated_as_one() {
    let numbered = operation(
        200,
        Some("application/json"),
        json!({"properties": {"id": {"type": "integer"}}}),
    );
    for (text, same) in [("12345678901234567", true), ("x", false)] {
        let value = json_of(&made(&schemas(), &found(&numbered, text), "/", None, 0));
        assert!(value["id"].is_i64(), "{value}");
        let id = value["id"].to_string();
        assert_eq!(id == text, same, "{value}");
    }
}

#[test]
fn the_same_request_gets_the_same_answer() {
    let pool = operation(200, Some("application/json"), json!({"$ref": "#/Pool"}));
    let text = |id: &str, seed| {
        let path = format!("/v1/pools/{id}");
        made(&schemas(), &found(&pool, id), &path, None, seed).body
    };
    assert_eq!(text("a", 1), text("a", 1));
    assert_ne!(text("a", 1), text("a", 2));
    assert_ne!(text("a", 1), text("b", 1));
}

#[test]
fn without_documented_json_there_is_no_body() {
    for (status, content_type) in [(204, None), (202, None), (204, Some("application/json"))] {
        let nothing = operation(status, content_type, json!(true));
        let answer = made(&schemas(), &found(&nothing, "7"), "/", None, 0);
        assert_eq!(answer.status, status);
        assert!(answer.body.is_empty());
        assert!(
            answer
                .headers
                .iter()
                .all(|(name, _)| name != "content-type")
        );
    }
}

#[test]
fn a_page_of_a_search_is_the_last_one() {
    let search = operation(
        200,
        Some("application/json"),
        json!({
            "required": ["pools", "pagination"],
            "properties": {"pools": {"type": "array", "items": {"$ref": "#/Pool"}}, "pagination": {"$ref": "#/Pagination"}},
        }),
    );
    let value = json_of(&made(&schemas(), &found(&search, "7"), "/", None, 0));
    let count = value["pools"].as_array().unwrap().len();
    assert_eq!(count, 2);
    let pagination = &value["pagination"];
    assert_eq!(pagination["total"], count);
    assert_eq!(pagination["limit"], count);
    assert_eq!(pagination["offset"], 0);
    assert_eq!(pagination["hasMore"], false);
    assert!(pagination["pages"].is_i64());
}

#[test]
fn a_record_is_answered_as_it_is_or_under_its_name() {
    let record = json!({"id": "7", "name": "north", "note": "kept"});
    let reference = json!({"$ref": "#/Pool"});
    let answer = |schema: Value| {
        let one = operation(200, Some("application/json"), schema);
        let answer = of_record(&schemas(), &found(&one, "7"), "/", record.clone(), 0);
        json_of(&answer)
    };
    assert_eq!(answer(reference.clone()), record);
    let held = answer(
        json!({"required": ["pool", "success"], "properties": {"success": {"type": "boolean"}, "pool": reference}}),
    );
    assert_eq!(held, json!({"success": true, "pool": record}));
    let other = answer(json!({"required": ["pool"], "properties": {"pool": {
        "required": ["id", "size"], "properties": {"id": {"type": "string"}, "size": {"const": 5}},
    }}}));
    assert_eq!(
        (&other["pool"]["id"], &other["pool"]["size"]),
        (&json!("7"), &json!(5))
    );
    let more = json!({"allOf": [reference, {"required": ["owner"], "properties": {"owner": {"const": "me"}}}]});
    let detailed = answer(more.clone());
    assert_eq!(
        (&detailed["note"], &detailed["owner"]),
        (&json!("kept"), &json!("me"))
    );
    assert!(schemas().accepts(&more, &detailed, Way::Response));
}
