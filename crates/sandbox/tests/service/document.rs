//! Every operation of the document is there, under its method, with its token, body and status.

use serde_json::{Value, json};
use talentdata_sandbox::{Options, Sandbox};

use crate::support::{Reply, operations, send, token, unlimited};

/// The path with `1` for every parameter.
fn path(template: &str) -> String {
    let segments = template
        .split('/')
        .map(|segment| match segment.contains('{') {
            true => "1",
            false => segment,
        });
    segments.collect::<Vec<_>>().join("/")
}

fn call(sandbox: &Sandbox, method: &str, path: &str, bearer: &str, body: &str) -> Reply {
    let headers = [
        ("authorization", bearer),
        ("content-type", "application/json"),
    ];
    let headers = &headers[usize::from(bearer.is_empty())..];
    send(sandbox, method, path, headers, body)
}

#[test]
fn every_operation_is_served_with_the_documented_status() {
    let sandbox = unlimited(Options::default());
    let bearer = format!("Bearer {}", token(&sandbox));
    let mut called = 0;
    for (method, path, operation) in operations() {
        let required = |one: &Value| one["required"] == true;
        let parameters = operation["parameters"].as_array();
        let needs_more = parameters.into_iter().flatten().any(required);
        if needs_more || required(&operation["requestBody"]) || path.contains('{') {
            continue;
        }
        let reply = call(&sandbox, &method, &path, &bearer, "");
        let documented = &operation["responses"][reply.status.to_string()];
        assert!((200..300).contains(&reply.status), "{method} {path}");
        let kind = reply.header("content-type").unwrap_or_default();
        assert!(
            documented["content"][kind].is_object(),
            "{method} {path} {kind}"
        );
        called += 1;
    }
    assert!(called > 0);
}

#[test]
fn tokens_are_needed_where_the_document_says_so() {
    let sandbox = unlimited(Options::default());
    for (method, path, operation) in operations() {
        let security = operation["security"].as_array().unwrap();
        let without = !security.is_empty() && !security.contains(&json!({}));
        for (bearer, refused) in [("", without), ("Bearer wrong", !security.is_empty())] {
            let reply = call(&sandbox, &method, &self::path(&path), bearer, "[0]");
            // The token request itself is refused for its body.
            assert_eq!(reply.status == 401, refused, "{bearer} {method} {path}");
        }
    }
}

#[test]
fn another_method_is_told_which_ones_there_are() {
    let sandbox = unlimited(Options::default());
    for (method, path, _) in operations() {
        let path = self::path(&path);
        let reply = send(&sandbox, "PROPFIND", &path, &[], "");
        assert_eq!(reply.status, 405, "{path}");
        let allowed = reply.header("allow").unwrap();
        assert!(
            allowed.split(", ").any(|one| one == method),
            "{path}: {allowed}"
        );
        let nothing = send(&sandbox, &method, &format!("{path}/1/2/3/4"), &[], "");
        assert_eq!(nothing.status, 404, "{path}");
    }
}

#[test]
fn a_wrong_body_is_told_where() {
    let sandbox = unlimited(Options::default());
    let bearer = format!("Bearer {}", token(&sandbox));
    let of = |id: &str| {
        let mut all = operations().into_iter();
        all.find(|(_, _, one)| one["operationId"] == id).unwrap()
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
        let (method, path, _) = of(id);
        let reply = call(&sandbox, &method, &path, &bearer, &body.to_string());
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
