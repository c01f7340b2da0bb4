//! Tokens: issuing, refusing, expiring, and what they are needed for (section 5).

use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};
use talentdata_sandbox::{Options, lists};

use crate::support::{credentials, get, post, send, token, unlimited};

#[test]
fn valid_credentials_get_a_new_token_each_time_and_all_stay_valid() {
    let sandbox = unlimited(Options::default());
    let reply = post(&sandbox, "/v1/oauth/token", &credentials(&sandbox));
    assert_eq!(reply.status, 200);
    let body = reply.json();
    assert_eq!(body["token_type"], "Bearer");
    assert_eq!(body["expires_in"], 3600);
    let first = body["access_token"].as_str().unwrap().to_owned();
    let second = token(&sandbox);
    assert_ne!(first, second);
    for token in [first, second] {
        assert_eq!(
            get(&sandbox, "/v1/oauth/token/permissions", &token).status,
            200
        );
    }
}

#[test]
fn a_service_may_accept_the_newest_token_only() {
    let sandbox = unlimited(Options {
        tokens: "newest".parse().unwrap(),
        ..Options::default()
    });
    let path = "/v1/oauth/token/permissions";
    let first = token(&sandbox);
    assert_eq!(get(&sandbox, path, &first).status, 200);
    let second = token(&sandbox);
    assert_eq!(get(&sandbox, path, &first).status, 401);
    assert_eq!(get(&sandbox, path, &second).status, 200);
    let wrong = json!({"clientId": sandbox.client_id(), "clientSecret": "wrong"});
    assert_eq!(post(&sandbox, "/v1/oauth/token", &wrong).status, 401);
    assert_eq!(
        get(&sandbox, path, &second).status,
        200,
        "nothing was issued"
    );
}

#[test]
fn wrong_credentials_and_wrong_bodies_are_refused() {
    let sandbox = unlimited(Options::default());
    let (id, secret) = (sandbox.client_id(), sandbox.client_secret());
    for (status, body) in [
        (401, json!({"clientId": id, "clientSecret": "wrong"})),
        (401, json!({"clientId": "wrong", "clientSecret": secret})),
        (400, json!({"clientId": id})),
        (400, json!({"clientId": id, "clientSecret": 5})),
        (400, json!([id, secret])),
    ] {
        let reply = post(&sandbox, "/v1/oauth/token", &body);
        assert_eq!(reply.status, status, "{body}");
        assert!(reply.json()["error"]["message"].is_string());
    }
    let text = credentials(&sandbox).to_string();
    let headers = [("content-type", "text/plain")];
    let reply = send(&sandbox, "POST", "/v1/oauth/token", &headers, &text);
    assert_eq!(reply.status, 415);
    assert_eq!(sandbox.stats().token_posts, 6);
}

#[test]
fn permissions_have_the_documented_form() {
    let sandbox = unlimited(Options::default());
    let body = get(&sandbox, "/v1/oauth/token/permissions", &token(&sandbox)).json();
    assert!(!body["roles"].as_array().unwrap().is_empty());
    let permissions = body["permissions"].as_array().unwrap();
    assert!(!permissions.is_empty());
    for permission in permissions.iter().filter_map(Value::as_str) {
        let (action, resource) = permission.split_once(':').unwrap();
        assert!(
            ["read", "write"].contains(&action) && !resource.is_empty(),
            "{permission}"
        );
    }
}

#[test]
fn everything_but_tokens_and_versions_needs_a_token() {
    let sandbox = unlimited(Options::default());
    let paths = lists().iter().map(|list| list.path.as_str());
    for path in paths.chain(["/v1/oauth/token/permissions"]) {
        assert_eq!(send(&sandbox, "GET", path, &[], "").status, 401, "{path}");
        assert_eq!(get(&sandbox, path, "wrong").status, 401, "{path}");
        let basic = [("authorization", "Basic c2FuZGJveDpzYW5kYm94")];
        assert_eq!(
            send(&sandbox, "GET", path, &basic, "").status,
            401,
            "{path}"
        );
    }
    assert_eq!(get(&sandbox, "/v1/version", "wrong").status, 200);
}

#[test]
fn tokens_expire() {
    let token_lifetime = Duration::from_millis(500);
    let sandbox = unlimited(Options {
        token_lifetime,
        ..Options::default()
    });
    let reply = post(&sandbox, "/v1/oauth/token", &credentials(&sandbox));
    assert_eq!(reply.json()["expires_in"].to_string(), "0.5");
    let old = reply.json()["access_token"].as_str().unwrap().to_owned();
    sleep(token_lifetime);
    assert_eq!(get(&sandbox, "/v1/contacts", &old).status, 401);
}
