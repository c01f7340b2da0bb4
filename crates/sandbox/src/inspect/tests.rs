//! Requests that are as documented, and others, which are told where they are not.

use ::http::{HeaderMap, HeaderName, HeaderValue, Method};
use bytes::Bytes;
use serde_json::{Value, json};

use super::*;
use crate::spec::Spec;

/// `POST /things/{id}` with every kind of parameter, and a body.
fn spec() -> Spec {
    let array = json!({"type": "array", "items": {"type": "integer"}});
    let point = json!({"type": "object", "required": ["x"], "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}});
    let query = json!({"properties": {"a": {"type": "integer"}}});
    Spec::read(json!({
        "paths": {"/things/{id}": {"post": {
            "parameters": [
                {"name": "id", "in": "path", "required": true, "schema": {"type": "integer", "minimum": 1}},
                {"name": "limit", "in": "query", "schema": {"type": "integer", "maximum": 5}},
                {"name": "since", "in": "query", "required": true, "schema": {"type": "string", "format": "date-time"}},
                {"name": "open", "in": "query", "schema": {"type": "boolean"}},
                {"name": "either", "in": "query", "schema": {"oneOf": [{"type": "integer"}, {"enum": ["all"]}]}},
                {"name": "tags", "in": "query", "schema": {"$ref": "#/Tags"}},
                {"name": "ids", "in": "query", "explode": false, "schema": array},
                {"name": "pipes", "in": "query", "style": "pipeDelimited", "schema": array},
                {"name": "filter", "in": "query", "style": "deepObject", "schema": {"properties": {"age": {"type": "integer"}}}},
                {"name": "point", "in": "query", "explode": false, "schema": point},
                {"name": "query", "in": "query", "content": {"application/json": {"schema": query}}},
                {"name": "X-Tenant", "in": "header", "schema": {"enum": ["north"]}},
                {"name": "x-ids", "in": "header", "schema": array},
                {"name": "x-point", "in": "header", "explode": true, "schema": point},
                {"name": "Accept", "in": "header", "required": true, "schema": {"enum": ["text/csv"]}},
                {"name": "sid", "in": "cookie", "schema": {"type": "string", "maxLength": 3}},
            ],
            "requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/Thing"}}}},
        }}},
        "Tags": {"type": "array", "items": {"enum": ["a", "b,c"]}},
        "Thing": {"required": ["name"], "properties": {"name": {"type": "string"}, "sizes": {"type": "array", "items": {"type": "integer"}}}},
    }))
}

fn received(query: &str, headers: &[(&str, &str)], body: &str) -> Received {
    let header = |(name, value): &(&str, &str)| {
        (
            name.parse::<HeaderName>().unwrap(),
            HeaderValue::from_str(value).unwrap(),
        )
    };
    Received {
        method: Method::POST,
        path: String::new(),
        query: query.to_owned(),
        headers: headers.iter().map(header).collect::<HeaderMap>(),
        body: Bytes::copy_from_slice(body.as_bytes()),
        connection: 1,
    }
}

fn error(refusal: &Answer) -> Value {
    let body: Value = serde_json::from_slice(&refusal.body).unwrap();
    body["error"].clone()
}

#[test]
fn parameters_are_compared_with_their_schemas() {
    let spec = spec();
    for (id, query, header, wrong) in [
        ("1", "since=now", "", None),
        (
            "1",
            "since=now&limit=5&open=true&either=all&unknown=x",
            "x-tenant: north",
            None,
        ),
        (
            "1",
            "since=7&either=12&tags=a&tags=b%2Cc&ids=1,2&pipes=3|4",
            "cookie: a=b; sid=123",
            None,
        ),
        (
            "1",
            "since=now&filter[age]=4&filter[x]=y&query=%7B%22a%22:1%7D",
            "",
            None,
        ),
        ("1", "since=now&limit=9&limit=2", "", None),
        ("1", "since=now", "x-ids: 1, 2,3", None),
        ("1", "since=now&point=x,1,y,2", "", None),
        ("1", "since=now", "x-point: x=1,y=2", None),
        (
            "1",
            "since=now&point=y,2",
            "",
            Some(("query", "point", "/x", "a value; it is required")),
        ),
        (
            "1",
            "since=now",
            "x-point: x=old",
            Some(("header", "x-point", "/x", "integer")),
        ),
        ("x", "since=now", "", Some(("path", "id", "", "integer"))),
        (
            "0",
            "since=now",
            "",
            Some(("path", "id", "", "a number of at least 1")),
        ),
        ("+1", "since=now", "", Some(("path", "id", "", "integer"))),
        (
            "1",
            "",
            "",
            Some(("query", "since", "", "a value; it is required")),
        ),
        (
            "1",
            "since=now&limit=6",
            "",
            Some(("query", "limit", "", "a number of at most 5")),
        ),
        (
            "1",
            "since=now&open=yes",
            "",
            Some(("query", "open", "", "boolean")),
        ),
        (
            "1",
            "since=now&either=some",
            "",
            Some(("query", "either", "", "one of \"all\"")),
        ),
        (
            "1",
            "since=now&tags=a&tags=b",
            "",
            Some(("query", "tags", "/1", "one of \"a\", \"b,c\"")),
        ),
        (
            "1",
            "since=now&ids=1,x",
            "",
            Some(("query", "ids", "/1", "integer")),
        ),
        (
            "1",
            "since=now&pipes=1,2",
            "",
            Some(("query", "pipes", "/0", "integer")),
        ),
        (
            "1",
            "since=now&filter[age]=old",
            "",
            Some(("query", "filter", "/age", "integer")),
        ),
        (
            "1",
            "since=now&query=%7B%22a%22:%22b%22%7D",
            "",
            Some(("query", "query", "/a", "integer")),
        ),
        (
            "1",
            "since=now",
            "x-tenant: south",
            Some(("header", "X-Tenant", "", "\"north\"")),
        ),
        (
            "1",
            "since=now",
            "cookie: sid=1234",
            Some(("cookie", "sid", "", "at most 3 characters")),
        ),
    ] {
        let found = Found {
            operation: &spec.operations[0],
            parameters: vec![("id", id.to_owned())],
        };
        let headers: Vec<(&str, &str)> = header.split_once(": ").into_iter().collect();
        let checked = parameters(&spec.schemas, &found, &received(query, &headers, ""), false);
        let told = checked.err().map(|refusal| {
            assert_eq!(refusal.status, 400);
            error(&refusal)
        });
        let wanted = wrong.is_some();
        assert_eq!(told.is_some(), wanted, "{id} {query} {header}: {told:?}");
        if let (Some(told), Some((location, name, pointer, expected))) = (told, wrong) {
            assert_eq!(told["in"], location, "{told}");
            assert_eq!(told["parameter"], name, "{told}");
            assert_eq!(told["pointer"], pointer, "{told}");
            let text = told["expected"].as_str().unwrap();
            assert!(text.contains(expected), "{told}");
            assert!(told["message"].as_str().unwrap().ends_with(text), "{told}");
        }
    }
}

#[test]
fn parameters_that_others_check_are_skipped() {
    let spec = spec();
    let found = Found {
        operation: &spec.operations[0],
        parameters: vec![("id", "1".to_owned())],
    };
    let request = received("since=now&limit=6", &[], "");
    assert!(parameters(&spec.schemas, &found, &request, true).is_ok());
}

#[test]
fn bodies_are_compared_with_their_schemas() {
    let spec = spec();
    let json = "application/json";
    for (kind, text, status, pointer) in [
        (json, r#"{"name":"x","sizes":[1],"other":true}"#, 200, ""),
        (
            "application/merge-patch+json; charset=utf-8",
            r#"{"name":"x"}"#,
            200,
            "",
        ),
        (json, r#"{"sizes":[1]}"#, 400, "/name"),
        (json, r#"{"name":"x","sizes":[1,"2"]}"#, 400, "/sizes/1"),
        (json, "[]", 400, ""),
        (json, "{", 400, ""),
        (json, "", 400, ""),
        ("text/plain", r#"{"name":"x"}"#, 415, ""),
    ] {
        let request = received("", &[("content-type", kind)], text);
        match body(&spec.schemas, spec.operations[0].request.as_ref(), &request) {
            Ok(read) => {
                let sent: Value = serde_json::from_str(text).unwrap();
                assert_eq!((status, read), (200, Some(sent)), "{text}");
            }
            Err(refusal) => {
                assert_eq!(refusal.status, status, "{text}");
                let told = error(&refusal);
                assert_eq!(
                    told["pointer"].as_str().unwrap_or_default(),
                    pointer,
                    "{told}"
                );
            }
        }
    }
}

#[test]
fn a_body_may_be_left_out_or_be_no_json() {
    let documented = |required, json: bool| Body {
        required,
        schema: json.then(|| json!({"type": "object"})),
    };
    for (documented, text, wanted) in [
        (None, "anything", Ok(None)),
        (Some(documented(false, true)), "", Ok(None)),
        (Some(documented(false, true)), "{}", Err(415)),
        (Some(documented(true, true)), "", Err(415)),
        (Some(documented(true, false)), "a,b", Ok(None)),
        (Some(documented(true, false)), "", Err(400)),
    ] {
        let checked = body(
            &Schemas::default(),
            documented.as_ref(),
            &received("", &[], text),
        );
        let checked = checked.map_err(|refusal| refusal.status);
        assert_eq!(checked, wanted, "{documented:?} {text}");
    }
}

/// Its properties are parameters of their own, so that no parameter has its name.
#[test]
fn an_object_in_the_query_is_found_in_its_properties() {
    let operation = |schema: Value| {
        let filter = json!({"name": "filter", "in": "query", "required": true, "schema": schema});
        let page = json!({"name": "page", "in": "query", "schema": {}});
        Spec::read(json!({"paths": {"/things": {"get": {"parameters": [filter, page]}}}}))
    };
    let point = json!({"type": "object", "properties": {"x": {"type": "integer"}, "y": {}}});
    let counts = json!({"type": "object", "additionalProperties": {"type": "integer"}});
    for (schema, query, wrong) in [
        (&point, "x=1&y=2", None),
        (&point, "y=2&page=7", None),
        (&point, "x=one", Some(("/x", "integer"))),
        (&point, "page=7", Some(("", "a value; it is required"))),
        (&counts, "a=1&b=2&page=seven", None),
        (&counts, "a=one", Some(("/a", "integer"))),
        (&counts, "page=7", Some(("", "a value; it is required"))),
    ] {
        let spec = operation(schema.clone());
        let found = Found {
            operation: &spec.operations[0],
            parameters: Vec::new(),
        };
        let checked = parameters(&spec.schemas, &found, &received(query, &[], ""), false);
        let refused = checked.err().map(|refusal| error(&refusal));
        assert_eq!(refused.is_some(), wrong.is_some(), "{query} {refused:?}");
        if let (Some(refused), Some((pointer, expected))) = (refused, wrong) {
            assert_eq!(refused["pointer"], pointer, "{query} {refused}");
            assert_eq!(refused["expected"], expected, "{query} {refused}");
        }
    }
}
