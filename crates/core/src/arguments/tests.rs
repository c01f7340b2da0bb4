//! The places of arguments in a request, and the arguments that cannot be sent.

use super::*;
use crate::error::ErrorKind;
use talentdata_types::{CHECK_VERSION, RequestBody};

const fn parameter(
    name: &'static str,
    location: Location,
    kind: FieldKind,
    required: bool,
    repeated: bool,
) -> Parameter {
    Parameter {
        name,
        wire: name,
        argument: name,
        flag: name,
        location,
        required,
        repeated,
        separator: None,
        positional: false,
        nonblank: false,
        kind,
        known_values: &[],
        description: "",
    }
}

static OPERATION: Operation = Operation {
    path: "/v1/pools/{id}/members:{view}",
    name: "put_members",
    parameters: &[
        parameter("id", Location::Path, FieldKind::Text, true, false),
        parameter("view", Location::Path, FieldKind::Text, true, false),
        parameter("tags", Location::Query, FieldKind::Text, false, true),
        parameter("depth", Location::Query, FieldKind::Integer, false, false),
        parameter("x-trace", Location::Header, FieldKind::Text, false, false),
    ],
    body: Some(RequestBody {
        media_type: "application/json",
        required: true,
        fields: &[],
    }),
    ..*CHECK_VERSION
};

/// Returns a query parameter with a separator between its values.
const fn joined(name: &'static str, separator: &'static str) -> Parameter {
    Parameter {
        separator: Some(separator),
        ..parameter(name, Location::Query, FieldKind::Text, false, true)
    }
}

/// Two parameters are called `id` in the API.
static SEPARATED: Operation = Operation {
    path: "/v1/pools/{id}",
    name: "search",
    parameters: &[
        parameter("id", Location::Path, FieldKind::Text, true, false),
        Parameter {
            wire: "id",
            ..parameter("id2", Location::Query, FieldKind::Text, false, false)
        },
        joined("ids", ","),
        joined("tags", "%7C"),
        joined("words", "%20"),
    ],
    body: None,
    ..*CHECK_VERSION
};

#[test]
fn values_are_separated_and_named_as_the_document_says() {
    let with = |values: &str| Arguments::new(serde_json::from_str(values).unwrap(), None);
    let values =
        r#"{"id": "a", "id2": "b", "ids": ["1", "2,3"], "tags": ["x&", "y"], "words": ["p", "q"]}"#;
    let parts = with(values).parts(&SEPARATED).unwrap();
    assert_eq!(parts.path, ["v1", "pools", "a"]);
    assert_eq!(parts.query, [("id", "b".to_owned())]);
    assert_eq!(
        parts.encoded,
        ["ids=1,2%2C3", "tags=x%26%7Cy", "words=p%20q"]
    );
    let none = with(r#"{"id": "a", "ids": []}"#).parts(&SEPARATED).unwrap();
    assert!(none.query.is_empty() && none.encoded.is_empty());
    let both = with(r#"{"id": "a", "tags": ["x|y"]}"#);
    let said = refused(both, &SEPARATED);
    assert_eq!(
        said,
        "tags: must not hold \"|\", which separates its values"
    );
}

fn arguments(values: &str) -> Arguments {
    Arguments::new(serde_json::from_str(values).unwrap(), Some("{}".into()))
}

/// Returns the message of the error for these arguments.
fn refused(arguments: Arguments, operation: &'static Operation) -> String {
    let error = arguments.parts(operation).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    error.message().to_owned()
}

#[test]
fn each_argument_goes_where_the_document_says() {
    let values = r#"{"id": "a/b", "view": "all", "tags": ["x", "y&z"], "depth": 18446744073709551615, "x-trace": "1"}"#;
    let parts = arguments(values).parts(&OPERATION).unwrap();
    assert_eq!(parts.path, ["v1", "pools", "a/b", "members:all"]);
    let query: Vec<(&str, &str)> = parts.query.iter().map(|(n, v)| (*n, v.as_str())).collect();
    let depth = "18446744073709551615";
    assert_eq!(query, [("tags", "x"), ("tags", "y&z"), ("depth", depth)]);
    assert_eq!(parts.headers["x-trace"], "1");
    assert_eq!(parts.body.as_deref(), Some(&b"{}"[..]));
    // Braces in a value are not placeholders.
    let values = r#"{"id": "{view}", "view": "{id}..", "depth": 1}"#;
    let parts = arguments(values).parts(&OPERATION).unwrap();
    assert_eq!(parts.path, ["v1", "pools", "{view}", "members:{id}.."]);
}

const UNKNOWN: &str =
    "put_members has no such parameter; its parameters are id, view, tags, depth, x-trace";

/// Arguments, and the message of their error.
const REFUSED: &str = r#"
{"view": "a"} | id: is required
{"id": "", "view": "a"} | id: must not be empty
{"id": "..", "view": "a"} | id: must not be "..", which leads to another address
{"id": 5, "view": "a"} | id: must be a string (got a number)
{"id": "1", "view": "a", "depth": 1.5} | depth: must be an integer (got a number)
{"id": "1", "view": "a", "tags": "x"} | tags: must be an array of values
{"id": "1", "view": "a", "x-trace": "a\nb"} | x-trace: has characters that a header cannot hold
"#;

#[test]
fn an_argument_that_cannot_be_sent_is_named() {
    for row in REFUSED.lines().filter(|row| !row.is_empty()) {
        let (values, message) = row.split_once(" | ").unwrap();
        assert_eq!(refused(arguments(values), &OPERATION), message);
    }
    let unknown = arguments(r#"{"id": "1", "view": "a", "page": 1}"#);
    assert_eq!(refused(unknown, &OPERATION), format!("page: {UNKNOWN}"));
    assert_eq!(
        refused(Arguments::default(), CHECK_VERSION),
        "body: is required"
    );
    let blank = r#"{"clientVersion": " ", "endpoints": []}"#;
    let blank = Arguments::default().with_json(blank.to_owned());
    assert_eq!(
        refused(blank, CHECK_VERSION),
        "client_version: must not be empty"
    );
}

#[test]
fn texts_become_values_of_the_parameters_type() {
    let mut given = arguments(r#"{"id": "7", "view": "x"}"#);
    for (name, text) in [("tags", "a"), ("tags", "b"), ("depth", "-1")] {
        given.add_text(&OPERATION, name, text).unwrap();
    }
    let parts = given.clone().parts(&OPERATION).unwrap();
    let query = [("tags", "a"), ("tags", "b"), ("depth", "-1")];
    assert_eq!(
        parts.query,
        query.map(|(name, text)| (name, text.to_owned()))
    );
    for (name, text, message) in [
        ("depth", "1", "depth: is given twice"),
        ("x-trace", "1", ""),
        ("deep", "1", &format!("deep: {UNKNOWN}")),
    ] {
        let added = given.add_text(&OPERATION, name, text);
        let said = added.err().map(|error| error.message().to_owned());
        assert_eq!(said.unwrap_or_default(), message);
    }
    let error = Arguments::default().add_text(&OPERATION, "depth", "deep");
    let error = error.err().unwrap();
    assert_eq!(error.message(), "depth: must be an integer (got \"deep\")");
}

#[test]
fn arguments_complete_others_and_are_not_shown() {
    let list = Arguments::default()
        .with("depth", 1)
        .with("tags", vec!["x"]);
    let given = Arguments::default()
        .with("depth", 2)
        .with("x-trace", "CANARY");
    let both = given
        .or(&list)
        .with_json(r#"{"password": "CANARY"}"#.to_owned());
    let recorded = both.recorded(&OPERATION);
    assert_eq!(recorded["depth"], 2);
    assert_eq!(recorded["tags"], serde_json::json!(["x"]));
    // A header is recorded as a hash.
    let header = recorded["x-trace"].as_str().unwrap();
    assert!(
        header.starts_with("hash ") && !header.contains("CANARY"),
        "{header}"
    );
    let other = Arguments::default().with("x-trace", "another");
    assert_ne!(other.recorded(&OPERATION)["x-trace"], header);
    let none = Arguments::default().with("tags", Value::Null);
    assert_eq!(none.recorded(&OPERATION).len(), 0);
    let shown = format!("{both:?}");
    assert!(
        shown.contains("x-trace") && !shown.contains("CANARY"),
        "{shown}"
    );
}
