//! Bodies of requests and responses: which response is the successful one, and which media type is JSON.

use super::findings::{Findings, Topic};
use super::references::{follow, resolve};
use super::{pointer, references};
use serde_json::{Map, Value};

/// Headers of responses that the client reads.
const READ_HEADERS: [&str; 6] = [
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "retry-after",
    "x-request-id",
    "content-type",
];

/// The place of the JSON schema in a request body or a response; other media types are noted.
pub(super) fn json(
    document: &Value,
    at: &str,
    whose: &str,
    findings: &mut Findings,
) -> Option<String> {
    let content = document.pointer(at)?.get("content")?.as_object()?;
    let is_json = |kind: &str| {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        let kind = kind.to_ascii_lowercase();
        kind == "application/json"
            || kind == "*/*"
            || kind.ends_with("+json")
            || kind == "text/json"
    };
    let found = ["application/json"]
        .into_iter()
        .find(|kind| content.contains_key(*kind))
        .or_else(|| {
            content
                .keys()
                .map(String::as_str)
                .find(|kind| is_json(kind))
        });
    for kind in content.keys().filter(|kind| Some(kind.as_str()) != found) {
        findings.note(Topic::MediaType, format!("{whose}: {kind}"));
    }
    let at = format!("{at}{}", pointer(&["content", found?, "schema"]));
    document.pointer(&at).map(|_| at)
}

/// The responses of an operation, told apart.
pub(super) struct Responses {
    /// The place of the successful one.
    pub(super) success: Option<String>,
    /// The places of all others.
    pub(super) others: Vec<String>,
}

/// Chooses the successful response: a status from 200 to 299, `2XX`, or `default` where neither is.
pub(super) fn responses(document: &Value, operation: &str, body: &Value) -> Responses {
    let statuses = body.get("responses").and_then(Value::as_object);
    let statuses: Vec<&String> = statuses.into_iter().flat_map(Map::keys).collect();
    let place = |status: &str| {
        follow(
            document,
            format!("{operation}{}", pointer(&["responses", status])),
        )
    };
    let has_body = |status: &&&String| {
        let response = document.pointer(&place(status));
        response.is_some_and(|response| response.get("content").is_some())
    };
    let mut successes: Vec<&&String> = statuses
        .iter()
        .filter(|status| status.starts_with('2'))
        .collect();
    successes.sort();
    // An empty response beside one with a body is one that need not be read.
    let with_body = successes.iter().copied().find(has_body);
    let default = || statuses.iter().find(|status| status.as_str() == "default");
    let chosen = with_body
        .or(successes.first().copied())
        .or_else(default)
        .copied();
    let others = statuses.iter().filter(|status| Some(**status) != chosen);
    Responses {
        success: chosen.map(|status| place(status)),
        others: others.map(|status| place(status)).collect(),
    }
}

/// Notes what is documented of responses and not read.
pub(super) fn note_unread(document: &Value, whose: &str, body: &Value, findings: &mut Findings) {
    let statuses = body.get("responses").and_then(Value::as_object);
    for (status, response) in statuses.into_iter().flatten() {
        let response = resolve(document, response);
        let headers = response.get("headers").and_then(Value::as_object);
        for name in headers.into_iter().flat_map(Map::keys) {
            if !READ_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
                findings.note(Topic::Header, format!("{whose}: {name}"));
            }
        }
        if response.get("links").is_some() {
            findings.note(Topic::Other, format!("{whose}: links of response {status}"));
        }
    }
}

/// The component that a schema refers to, if it is a plain reference.
pub(super) fn component(document: &Value, at: &str) -> Option<String> {
    let reference = document.pointer(at)?.get("$ref")?.as_str()?;
    Some(references::step(reference))
}
