//! Keeps credentials and tokens out of the log of requests, which anybody on this machine can read.

use http::HeaderName;
use http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION};
use serde_json::Value;

use crate::request::Received;
use crate::spec::find;
use crate::token::CREATE_TOKEN;

/// What stands where a secret stood.
const REDACTED: &str = "[redacted]";

/// Members and parameters that hold a secret, in small letters without underscores.
const SECRET: [&str; 4] = ["clientsecret", "accesstoken", "token", "secret"];

/// The value of a header as it is logged.
pub(super) fn header(name: &HeaderName, value: &str) -> String {
    if ![AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE].contains(name) {
        return value.to_owned();
    }
    match value.split_once(' ') {
        Some((scheme, _)) => format!("{scheme} {REDACTED}"),
        None => REDACTED.to_owned(),
    }
}

/// The query as it is logged.
pub(super) fn query(query: &str) -> String {
    let parameters = query
        .split('&')
        .map(|parameter| match parameter.split_once('=') {
            Some((name, _)) if is_secret(name) => format!("{name}={REDACTED}"),
            _ => parameter.to_owned(),
        });
    parameters.collect::<Vec<_>>().join("&")
}

/// The body as it is logged.
pub(super) fn body(request: &Received) -> String {
    let text = String::from_utf8_lossy(&request.body);
    match serde_json::from_slice::<Value>(&request.body) {
        Ok(mut value) => match redact(&mut value) {
            true => value.to_string(),
            false => text.into_owned(),
        },
        // What is no JSON may hold a secret anywhere.
        Err(_) if is_token_path(&request.path) && !text.is_empty() => REDACTED.to_owned(),
        Err(_) => text.into_owned(),
    }
}

fn is_token_path(path: &str) -> bool {
    find(path)
        .iter()
        .any(|found| found.operation.is(CREATE_TOKEN))
}

/// Redacts what is secret in a value; whether there was anything.
fn redact(value: &mut Value) -> bool {
    match value {
        Value::Object(members) => members.iter_mut().fold(false, |found, (name, value)| {
            let secret = is_secret(name);
            if secret {
                *value = REDACTED.into();
            }
            secret | redact(value) | found
        }),
        Value::Array(items) => items
            .iter_mut()
            .fold(false, |found, item| redact(item) | found),
        _ => false,
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.replace(['_', '-'], "").to_ascii_lowercase();
    SECRET.contains(&name.as_str())
}
