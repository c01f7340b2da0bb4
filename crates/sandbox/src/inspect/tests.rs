//! Requests that are as documented, others, which are told where they are not, and what the document alone answers.

use super::*;
use crate::schema::Way;
use crate::spec::{Operation, Spec};
use ::http::{HeaderMap, HeaderName, HeaderValue, Method};
use bytes::Bytes;

/// `POST /things/{id}` with every kind of parameter, and a body; then objects in the query that are no one parameter.
fn spec() -> Spec {
    let integer = json!({"type": "integer"});
    let array = json!({"type": "array", "items": integer});
    let xy = json!({"x": integer, "y": integer});
    let point = json!({"type": "object", "required": ["x"], "properties": xy});
    let query = json!({"properties": {"a": integer}});
    let age = json!({"properties": {"age": integer}});
    let counts = json!({"type": "object", "additionalProperties": integer});
    let one = |name: &str, place: &str, schema: Value| json!({"name": name, "in": place, "schema": schema});
    let styled = |name: &str, style: &str, schema: &Value| json!({"name": name, "in": "query", "style": style, "explode": false, "schema": schema});
    let needed = |mut parameter: Value| {
        parameter["required"] = true.into();
        parameter
    };
    let either = json!({"oneOf": [{"type": "integer"}, {"enum": ["all"]}]});
    let tags = json!({"type": "array", "items": {"enum": ["a", "b,c"]}});
    let thing =
        json!({"required": ["name"], "properties": {"name": {"type": "string"}, "sizes": array}});
    let mut exploded = one("x-point", "header", point.clone());
    exploded["explode"] = true.into();
    let page = one("page", "query", json!({}));
    let filter = |schema: &Value| json!({"parameters": [needed(one("filter", "query", schema.clone())), page]});
    Spec::read(json!({"paths": {
        "/things/{id}": {"post": {
            "parameters": [
                one("id", "path", json!({"type": "integer", "minimum": 1})),
                one("limit", "query", json!({"type": "integer", "maximum": 5})),
                needed(one("since", "query", json!({"type": "string", "format": "date-time"}))),
                one("open", "query", json!({"type": "boolean"})),
                one("either", "query", either),
                one("tags", "query", json!({"$ref": "#/Tags"})),
                styled("ids", "form", &array),
                styled("pipes", "pipeDelimited", &array),
                styled("filter", "deepObject", &age),
                styled("point", "form", &point),
                {"name": "query", "in": "query", "content": {"application/json": {"schema": query}}},
                one("X-Tenant", "header", json!({"enum": ["north"]})),
                one("x-ids", "header", array.clone()),
                exploded,
                needed(one("Accept", "header", json!({"enum": ["text/csv"]}))),
                one("sid", "cookie", json!({"type": "string", "maxLength": 3})),
            ],
            "requestBody": {"required": true, "content": {"application/json": {"schema": thing}}},
        }},
        "/points": {"get": filter(&point)},
        "/counts": {"get": filter(&counts)},
    }, "Tags": tags}))
}

fn received(path: &str, query: &str, headers: &[(&str, &str)], body: &str) -> Received {
    let header = |(name, value): &(&str, &str)| {
        let name = name.parse::<HeaderName>().unwrap();
        (name, HeaderValue::from_str(value).unwrap())
    };
    Received {
        method: Method::POST,
        path: path.to_owned(),
        query: query.to_owned(),
        headers: headers.iter().map(header).collect::<HeaderMap>(),
        body: Bytes::copy_from_slice(body.as_bytes()),
        connection: 1,
    }
}

fn json_of(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).unwrap()
}

/// Path, query, header, and what is refused: where, the parameter, the place in its value, and what is expected.
const PARAMETERS: &str = r#"
/things/1 | since=now
/things/1 | since=now&limit=5&open=true&either=all&unknown=x | x-tenant: north
/things/1 | since=7&either=12&tags=a&tags=b%2Cc&ids=1,2&pipes=3|4 | cookie: a=b; sid=123
/things/1 | since=now&filter[age]=4&filter[x]=y&query=%7B%22a%22:1%7D
/things/1 | since=now&limit=9&limit=2
/things/1 | since=now | x-ids: 1, 2,3
/things/1 | since=now&point=x,1,y,2
/things/1 | since=now | x-point: x=1,y=2
/things/1 | since=now&point=y,2 |  | query | point | /x | a value; it is required
/things/1 | since=now | x-point: x=old | header | x-point | /x | integer
/things/x | since=now |  | path | id |  | integer
/things/0 | since=now |  | path | id |  | a number of at least 1
/things/+1 | since=now |  | path | id |  | integer
/things/1 |  |  | query | since |  | a value; it is required
/things/1 | since=now&limit=6 |  | query | limit |  | a number of at most 5
/things/1 | since=now&open=yes |  | query | open |  | boolean
/things/1 | since=now&either=some |  | query | either |  | one of "all"
/things/1 | since=now&tags=a&tags=b |  | query | tags | /1 | one of "a", "b,c"
/things/1 | since=now&ids=1,x |  | query | ids | /1 | integer
/things/1 | since=now&pipes=1,2 |  | query | pipes | /0 | integer
/things/1 | since=now&filter[age]=old |  | query | filter | /age | integer
/things/1 | since=now&query=%7B%22a%22:%22b%22%7D |  | query | query | /a | integer
/things/1 | since=now | x-tenant: south | header | X-Tenant |  | "north"
/things/1 | since=now | cookie: sid=1234 | cookie | sid |  | at most 3 characters
/points | x=1&y=2
/points | x=2&page=7
/points | x=one |  | query | filter | /x | integer
/points | page=7 |  | query | filter |  | a value; it is required
/counts | a=1&b=2&page=seven
/counts | a=one |  | query | filter | /a | integer
/counts | page=7 |  | query | filter |  | a value; it is required
"#;

#[test]
fn parameters_are_compared_with_their_schemas() {
    let spec = spec();
    for case in PARAMETERS.trim().lines() {
        let mut columns = case.split(" | ").map(str::trim);
        let [path, query, header] = [(); 3].map(|()| columns.next().unwrap_or_default());
        let headers: Vec<(&str, &str)> = header.split_once(": ").into_iter().collect();
        let found = spec.find(path).remove(0);
        let request = received(path, query, &headers, "");
        let refused = parameters(&spec.schemas, &found, &request, false).err();
        let refused = refused.map(|refusal| {
            assert_eq!(refusal.status, 400);
            json_of(&refusal)["error"].clone()
        });
        let columns: Vec<&str> = columns.collect();
        assert_eq!(
            refused.is_some(),
            !columns.is_empty(),
            "{case}: {refused:?}"
        );
        let Some(error) = refused else { continue };
        let text = |name: &str| error[name].as_str().unwrap();
        assert_eq!(
            ["in", "parameter", "pointer"].map(text),
            columns[..3],
            "{case}"
        );
        assert!(text("expected").contains(columns[3]), "{case}: {error}");
        assert!(text("message").ends_with(text("expected")), "{error}");
    }
    // The limit of a list is read elsewhere.
    let found = spec.find("/things/1").remove(0);
    let request = received("/things/1", "since=now&limit=6", &[], "");
    assert!(parameters(&spec.schemas, &found, &request, true).is_ok());
}

#[test]
fn bodies_are_compared_with_their_schemas() {
    let spec = spec();
    let documented = spec.find("/things/1").remove(0).operation.request.clone();
    let other = |required, json: bool| {
        let schema = json.then(|| json!({"type": "object"}));
        Some(Body { required, schema })
    };
    let (json, none) = ("application/json", "");
    let patch = "application/merge-patch+json; charset=utf-8";
    for (documented, kind, text, expected) in [
        (
            &documented,
            json,
            r#"{"name":"x","sizes":[1],"other":true}"#,
            Ok(true),
        ),
        (&documented, patch, r#"{"name":"x"}"#, Ok(true)),
        (&documented, json, r#"{"sizes":[1]}"#, Err((400, "/name"))),
        (
            &documented,
            json,
            r#"{"name":"x","sizes":[1,"2"]}"#,
            Err((400, "/sizes/1")),
        ),
        (&documented, json, "[]", Err((400, ""))),
        (&documented, json, "{", Err((400, ""))),
        (&documented, json, "", Err((400, ""))),
        (&documented, "text/plain", r#"{"name":"x"}"#, Err((415, ""))),
        (&None, none, "anything", Ok(false)),
        (&other(false, true), none, "", Ok(false)),
        (&other(false, true), none, "{}", Err((415, ""))),
        (&other(true, true), none, "", Err((415, ""))),
        (&other(true, false), none, "a,b", Ok(false)),
        (&other(true, false), none, "", Err((400, ""))),
    ] {
        let request = received("", "", &[("content-type", kind)], text);
        let read = body(&spec.schemas, documented.as_ref(), &request);
        let read = read.map_err(|refusal| {
            let pointer = json_of(&refusal)["error"]["pointer"].clone();
            (
                refusal.status,
                pointer.as_str().unwrap_or_default().to_owned(),
            )
        });
        let sent = || serde_json::from_str::<Value>(text).unwrap();
        let expected = expected.map(|read| read.then(sent));
        let expected = expected.map_err(|(status, at): (u16, &str)| (status, at.to_owned()));
        assert_eq!(read, expected, "{kind} {text}");
    }
}

/// A document of schemas, and one operation whose response is as given.
fn operation(status: u16, kind: Option<&str>, schema: Value) -> (Schemas, Operation) {
    let content = kind.map_or(json!({}), |kind| json!({kind: {"schema": schema}}));
    let responses = json!({status.to_string(): {"content": content}});
    let [text, integer] = ["string", "integer"].map(|kind| json!({"type": kind}));
    let pagination = json!({"total": integer, "limit": integer, "offset": integer,
        "hasMore": {"type": "boolean"}, "pages": integer});
    let mut spec = Spec::read(json!({
        "paths": {"/v1/pools/{id}": {"post": {"responses": responses}}},
        "Pool": {"required": ["id", "name"], "properties": {"id": text, "name": text, "size": integer}},
        "Pagination": {"required": ["total", "limit", "offset", "hasMore"], "properties": pagination},
    }));
    (spec.schemas, spec.operations.remove(0))
}

fn found<'a>(operation: &'a Operation, id: &str) -> Found<'a> {
    let parameters = vec![("id", id.to_owned())];
    Found {
        operation,
        parameters,
    }
}

#[test]
fn a_response_repeats_what_it_documents_of_the_request() {
    let hal = Some("application/hal+json");
    let (schemas, pool) = operation(201, hal, json!({"$ref": "#/Pool"}));
    let answer = |id: &str, body: Option<&Value>, seed| {
        let path = format!("/v1/pools/{id}");
        made(&schemas, &found(&pool, id), &path, body, seed)
    };
    let body = json!({"name": "north", "size": "large", "other": 1});
    let repeated = answer("7", Some(&body), 5);
    let mut headers = repeated.headers.iter();
    let kind = headers.find(|(name, _)| name == "content-type").unwrap();
    assert_eq!(
        (repeated.status, kind.1.as_ref()),
        (201, "application/hal+json")
    );
    let value = json_of(&repeated);
    assert_eq!(
        (&value["id"], &value["name"]),
        (&json!("7"), &json!("north"))
    );
    assert!(
        value["size"].is_i64(),
        "what does not fit is not repeated: {value}"
    );
    assert_eq!(value.get("other"), None);
    assert_eq!(answer("a", None, 1).body, answer("a", None, 1).body);
    assert_ne!(answer("a", None, 1).body, answer("a", None, 2).body);
    assert_ne!(answer("a", None, 1).body, answer("b", None, 1).body);

    let numbered = json!({"properties": {"id": {"type": "integer"}}});
    let (schemas, numbered) = operation(200, Some("application/json"), numbered);
    for (text, same) in [("12345678901234567", true), ("x", false)] {
        let value = json_of(&made(&schemas, &found(&numbered, text), "/", None, 0));
        assert!(value["id"].is_i64(), "{value}");
        let id = value["id"].to_string();
        assert_eq!(id == text, same, "{value}");
    }
    for (status, kind) in [(204, None), (202, None), (204, Some("application/json"))] {
        let (schemas, nothing) = operation(status, kind, json!(true));
        let answer = made(&schemas, &found(&nothing, "7"), "/", None, 0);
        assert!(answer.status == status && answer.body.is_empty());
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
    let pools = json!({"type": "array", "items": {"$ref": "#/Pool"}});
    let page = json!({"required": ["pools", "pagination"],
        "properties": {"pools": pools, "pagination": {"$ref": "#/Pagination"}}});
    let (schemas, search) = operation(200, Some("application/json"), page);
    let mut value = json_of(&made(&schemas, &found(&search, "7"), "/", None, 0));
    assert_eq!(value["pools"].as_array().unwrap().len(), 2);
    let pages = value["pagination"]["pages"].take();
    assert!(pages.is_i64());
    let expected = json!({"total": 2, "limit": 2, "offset": 0, "hasMore": false, "pages": null});
    assert_eq!(value["pagination"], expected);
}

#[test]
fn a_record_is_answered_as_it_is_or_under_its_name() {
    let record = json!({"id": "7", "name": "north", "note": "kept"});
    let pool = json!({"$ref": "#/Pool"});
    let answer = |schema: &Value| {
        let (schemas, one) = operation(200, Some("application/json"), schema.clone());
        let answer = of_record(&schemas, &found(&one, "7"), "/", record.clone(), 0);
        let value = json_of(&answer);
        assert!(schemas.accepts(schema, &value, Way::Response), "{value}");
        value
    };
    assert_eq!(answer(&pool), record);
    let under = json!({"required": ["pool", "success"],
        "properties": {"success": {"type": "boolean"}, "pool": pool}});
    assert_eq!(answer(&under), json!({"success": true, "pool": record}));
    let other = json!({"required": ["pool"], "properties": {"pool": {"required": ["id", "size"],
        "properties": {"id": {"type": "string"}, "size": {"const": 5}}}}});
    let held = &answer(&other)["pool"];
    assert_eq!((&held["id"], &held["size"]), (&json!("7"), &json!(5)));
    let more = json!({"required": ["owner"], "properties": {"owner": {"const": "me"}}});
    let detailed = answer(&json!({"allOf": [pool, more]}));
    assert_eq!(
        (&detailed["note"], &detailed["owner"]),
        (&json!("kept"), &json!("me"))
    );
}
