//! Where arguments go, and which cannot be sent.

use super::*;
use serde_json::json;
use talentdata_types::{CHECK_VERSION, Method, RequestBody, TokenUse};

const fn parameter(
    name: &'static str,
    location: Location,
    kind: FieldKind,
    required: bool,
    repeated: bool,
) -> Parameter {
    Parameter {
        name,
        argument: name,
        flag: name,
        location,
        required,
        repeated,
        positional: false,
        nonblank: false,
        kind,
        known_values: &[],
        description: "",
    }
}

static OPERATION: Operation = Operation {
    path: "/v1/pools/{id}/members:{view}",
    method: Method::Put,
    id: "putMembers",
    name: "put_members",
    command: "put-members",
    group: "",
    summary: "",
    description: "",
    token: TokenUse::Always,
    idempotent: true,
    deprecated: false,
    answers: true,
    callable: true,
    parameters: &[
        parameter("id", Location::Path, FieldKind::Text, true, false),
        parameter("view", Location::Path, FieldKind::Text, true, false),
        parameter("tags", Location::Query, FieldKind::Text, false, true),
        parameter("depth", Location::Query, FieldKind::Integer, false, false),
        parameter("x-trace", Location::Header, FieldKind::Text, false, false),
    ],
    body: Some(RequestBody {
        required: true,
        fields: &[],
    }),
};

fn arguments(values: &Value) -> Arguments {
    Arguments::new(values.as_object().unwrap().clone(), Some("{}".into()))
}

#[test]
fn each_argument_goes_where_the_document_says() {
    let values = serde_json::json!({
        "id": "a/b", "view": "all", "tags": ["x", "y&z"], "depth": 18446744073709551615_u64, "x-trace": "1"
    });
    let parts = arguments(&values).parts(&OPERATION).unwrap();
    assert_eq!(parts.path, ["v1", "pools", "a/b", "members:all"]);
    let query: Vec<(&str, &str)> = parts.query.iter().map(|(n, v)| (*n, v.as_str())).collect();
    let depth = "18446744073709551615";
    assert_eq!(query, [("tags", "x"), ("tags", "y&z"), ("depth", depth)]);
    assert_eq!(parts.headers["x-trace"], "1");
    assert_eq!(parts.body.as_deref(), Some(&b"{}"[..]));
}

#[test]
fn what_cannot_be_sent_is_named() {
    for (values, message) in [
        (serde_json::json!({"view": "a"}), "id: is required"),
        (
            serde_json::json!({"id": "", "view": "a"}),
            "id: must not be empty",
        ),
        (
            serde_json::json!({"id": "..", "view": "a"}),
            "id: must not be \"..\", which leads to another address",
        ),
        (
            serde_json::json!({"id": 5, "view": "a"}),
            "id: must be a string (got a number)",
        ),
        (
            serde_json::json!({"id": "1", "view": "a", "depth": 1.5}),
            "depth: must be an integer (got a number)",
        ),
        (
            serde_json::json!({"id": "1", "view": "a", "tags": "x"}),
            "tags: must be an array of values",
        ),
        (
            serde_json::json!({"id": "1", "view": "a", "x-trace": "a\nb"}),
            "x-trace: has characters that a header cannot hold",
        ),
        (
            serde_json::json!({"id": "1", "view": "a", "page": 1}),
            "page: put_members has no such parameter; its parameters are id, view, tags, depth, x-trace",
        ),
    ] {
        let error = arguments(&values).parts(&OPERATION).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert_eq!(error.message(), message);
    }
    let refused = |body: Option<&str>| {
        let arguments = Arguments::new(Map::new(), body.map(str::to_owned));
        let error = arguments.parts(CHECK_VERSION).err().unwrap();
        error.message().to_owned()
    };
    assert_eq!(refused(None), "body: is required");
    let blank = r#"{"clientVersion": " ", "endpoints": []}"#;
    assert_eq!(refused(Some(blank)), "client_version: must not be empty");
}

#[test]
fn texts_become_values_of_the_parameters_type() {
    let mut arguments = arguments(&serde_json::json!({}));
    for (name, text) in [
        ("id", "7"),
        ("view", "x"),
        ("tags", "a"),
        ("tags", "b"),
        ("depth", "-1"),
    ] {
        arguments.add_text(&OPERATION, name, text).unwrap();
    }
    let parts = arguments.clone().parts(&OPERATION).unwrap();
    assert_eq!(parts.path[2], "7");
    assert_eq!(parts.query.len(), 3);
    for (name, text, message) in [
        ("depth", "1", "depth: is given twice"),
        (
            "deep",
            "1",
            "deep: put_members has no such parameter; its parameters are id, view, tags, depth, x-trace",
        ),
    ] {
        let error = arguments.add_text(&OPERATION, name, text).err().unwrap();
        assert_eq!(error.message(), message);
    }
    let mut arguments = Arguments::default();
    let error = arguments
        .add_text(&OPERATION, "depth", "deep")
        .err()
        .unwrap();
    assert_eq!(error.message(), "depth: must be an integer (got \"deep\")");
}

#[test]
fn a_value_with_braces_names_no_other_parameter() {
    let values = serde_json::json!({"id": "{view}", "view": "{id}..", "depth": 1});
    let parts = arguments(&values).parts(&OPERATION).unwrap();
    assert_eq!(parts.path, ["v1", "pools", "{view}", "members:{id}.."]);
}

#[test]
fn arguments_are_not_shown() {
    let arguments = Arguments::default()
        .with("token", "CANARY-value")
        .with_json(r#"{"password": "CANARY-body"}"#.to_owned());
    let shown = format!("{arguments:?}");
    assert!(
        shown.contains("token") && !shown.contains("CANARY"),
        "{shown}"
    );
}

#[test]
fn texts_are_read_when_the_operation_is_known() {
    let given = arguments(&json!({"id": "a", "view": "b"}));
    let given = given
        .with_text("tags", "x")
        .with_text("tags", "y")
        .with_text("depth", "3");
    let parts = given.clone().parts(&OPERATION).unwrap();
    let wanted = [("tags", "x"), ("tags", "y"), ("depth", "3")];
    assert_eq!(
        parts.query,
        wanted.map(|(name, text)| (name, text.to_owned()))
    );
    let wrong = given
        .clone()
        .with_text("depth", "deep")
        .parts(&OPERATION)
        .err()
        .unwrap();
    assert!(wrong.message().starts_with("depth: "), "{wrong}");
    let unknown = given.with_text("deep", "1").check(&OPERATION).unwrap_err();
    assert!(unknown.message().contains("no such parameter"), "{unknown}");
}

#[test]
fn arguments_complete_others_and_hide_headers_in_records() {
    let list = Arguments::default().with("depth", 1).with_text("tags", "x");
    let given = Arguments::default()
        .with("depth", 2)
        .with("x-trace", "secret");
    let both = given.or(&list);
    let recorded = both.recorded(&OPERATION);
    assert_eq!(recorded["depth"], 2);
    assert_eq!(recorded["tags"], json!(["x"]));
    let header = recorded["x-trace"].as_str().unwrap();
    assert!(
        header.starts_with("hash ") && !header.contains("secret"),
        "{header}"
    );
    let other = Arguments::default().with("x-trace", "another");
    assert_ne!(other.recorded(&OPERATION)["x-trace"], header);
    assert_eq!(
        Arguments::default()
            .with("tags", Value::Null)
            .recorded(&OPERATION)
            .len(),
        0
    );
}
