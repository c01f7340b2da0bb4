//! Every operation of the document is there, under its method, with its token, body and status.

use serde_json::{Value, json};
use talentdata_sandbox::Options;

use crate::support::{Reply, operations, send, token, unlimited};

/// The path with `1` for every parameter.
fn path(operation: &Value) -> String {
    let template = operation["path"].as_str().unwrap();
    let segments = template
        .split('/')
        .map(|segment| match segment.contains('{') {
            true => "1",
            false => segment,
        });
    segments.collect::<Vec<_>>().join("/")
}

fn call(
    sandbox: &talentdata_sandbox::Sandbox,
    operation: &Value,
    bearer: &str,
    body: &str,
) -> Reply {
    let headers = [
        ("authorization", bearer),
        ("content-type", "application/json"),
    ];
    let headers = &headers[usize::from(bearer.is_empty())..];
    let method = operation["method"].as_str().unwrap();
    send(sandbox, method, &path(operation), headers, body)
}

#[test]
fn every_operation_is_served_with_the_documented_status() {
    let sandbox = unlimited(Options::default());
    let bearer = format!("Bearer {}", token(&sandbox));
    let mut called = 0;
    for operation in operations() {
        let required = |one: &Value| one["required"] == true && one["in"] != "path";
        let needs_more = operation["parameters"]
            .as_array()
            .unwrap()
            .iter()
            .any(required);
        if needs_more
            || operation["request"]["required"] == true
            || operation["path"].as_str().unwrap().contains('{')
        {
            continue;
        }
        let reply = call(&sandbox, &operation, &bearer, "");
        assert_eq!(reply.status, operation["success"]["status"], "{operation}");
        let kind = operation["success"]["content_type"].as_str();
        assert_eq!(reply.header("content-type"), kind, "{operation}");
        called += 1;
    }
    assert!(called > 0);
}

#[test]
fn tokens_are_needed_where_the_document_says_so() {
    let sandbox = unlimited(Options::default());
    for operation in operations() {
        let (without, wrong) = match operation["bearer"].as_str().unwrap() {
            "always" => (true, true),
            "optional" => (false, true),
            "never" => (false, false),
            other => panic!("{other}"),
        };
        for (bearer, refused) in [("", without), ("Bearer wrong", wrong)] {
            let reply = call(&sandbox, &operation, bearer, "[0]");
            // The token request itself is refused for its body.
            assert_eq!(reply.status == 401, refused, "{bearer} {operation}");
        }
    }
}

#[test]
fn another_method_is_told_which_ones_there_are() {
    let sandbox = unlimited(Options::default());
    for operation in operations() {
        let path = path(&operation);
        let reply = send(&sandbox, "PROPFIND", &path, &[], "");
        assert_eq!(reply.status, 405, "{path}");
        let allowed = reply.header("allow").unwrap();
        let method = operation["method"].as_str().unwrap();
        assert!(
            allowed.split(", ").any(|one| one == method),
            "{path}: {allowed}"
        );
        let nothing = send(&sandbox, method, &format!("{path}/1/2/3/4"), &[], "");
        assert_eq!(nothing.status, 404, "{path}");
    }
}

#[test]
fn a_wrong_body_is_told_where() {
    let sandbox = unlimited(Options::default());
    let bearer = format!("Bearer {}", token(&sandbox));
    let of = |id: &str| {
        operations()
            .into_iter()
            .find(|one| one["id"] == id)
            .unwrap()
    };
    for (id, body, pointer, expected) in [
        ("createToken", json!([]), "", "object"),
        (
            "createToken",
            json!({"clientId": "x"}),
            "/clientSecret",
            "a value; it is required",
        ),
        (
            "createToken",
            json!({"clientId": 7, "clientSecret": "x"}),
            "/clientId",
            "string",
        ),
        (
            "checkVersion",
            json!({"clientVersion": "1", "endpoints": "all"}),
            "/endpoints",
            "array",
        ),
        (
            "checkVersion",
            json!({"clientVersion": "1", "endpoints": ["a", 1]}),
            "/endpoints/1",
            "documented forms",
        ),
    ] {
        let reply = call(&sandbox, &of(id), &bearer, &body.to_string());
        assert_eq!(reply.status, 400, "{id} {body}");
        let error = &reply.json()["error"];
        assert_eq!(error["pointer"], pointer, "{error}");
        assert!(
            error["expected"].as_str().unwrap().contains(expected),
            "{error}"
        );
        let message = error["message"].as_str().unwrap();
        assert!(
            message.starts_with("request body") && message.contains(pointer),
            "{error}"
        );
        assert!(!message.contains(sandbox.client_secret()), "{error}");
    }
}
