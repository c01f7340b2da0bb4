//! Whether a request is as documented: its parameters and its body, held against their schemas.

use http::header;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::request::Received;
use crate::schema::{Mismatch, Schemas, Way};
use crate::spec::{Found, Parameter, Request};

/// Header parameters that OpenAPI leaves to other parts of the document.
const IGNORED_HEADERS: [&str; 3] = ["accept", "content-type", "authorization"];

/// Holds every parameter against its schema, but for those that `skipped` names.
pub(crate) fn parameters(
    schemas: &Schemas,
    found: &Found<'_>,
    request: &Received,
    skipped: &[&str],
) -> Result<(), Answer> {
    for one in &found.operation.parameters {
        let ignored = one.location == "header"
            && IGNORED_HEADERS.contains(&one.name.to_ascii_lowercase().as_str());
        if ignored || (one.location == "query" && skipped.contains(&one.name.as_str())) {
            continue;
        }
        let refuse = |pointer: &str, expected: &str| {
            Err(invalid_parameter(
                &one.location,
                &one.name,
                pointer,
                expected,
            ))
        };
        let candidates = match one.json {
            true => as_json(one, found, request),
            false => candidates(schemas, one, found, request),
        };
        let (Some(first), Some(last)) = (candidates.first(), candidates.last()) else {
            if one.required {
                refuse("", "a value; it is required")?;
            }
            continue;
        };
        let check = |value| schemas.check(&one.schema, value, Way::Request);
        if candidates.iter().any(|value| check(value).is_ok()) {
            continue;
        }
        let is_text = schemas.shape(&one.schema).types().first() == Some(&"string");
        if let Err(Mismatch { pointer, expected }) = check(if is_text { first } else { last }) {
            refuse(&pointer, &expected)?;
        }
    }
    Ok(())
}

/// The refusal of a parameter; `pointer` is the place within its value.
pub(crate) fn invalid_parameter(
    location: &str,
    name: &str,
    pointer: &str,
    expected: &str,
) -> Answer {
    let message = format!("{location} parameter {name:?}: expected {expected}");
    let error = json!({
        "code": "invalid_request",
        "message": message,
        "in": location,
        "parameter": name,
        "pointer": pointer,
        "expected": expected,
    });
    Answer::json(400, &json!({"error": error}))
}

/// The JSON body, if there is one, held against its schema.
pub(crate) fn body(
    schemas: &Schemas,
    documented: Option<&Request>,
    request: &Received,
) -> Result<Option<Value>, Answer> {
    let Some(documented) = documented else {
        return Ok(None);
    };
    if request.body.is_empty() && !documented.required {
        return Ok(None);
    }
    if !documented.json {
        return match request.body.is_empty() {
            true => Err(invalid_body("", "a body; it is required")),
            false => Ok(None),
        };
    }
    if !request.says_json() {
        let message = "the content type must be application/json";
        return Err(Answer::error(415, "unsupported_media_type", message));
    }
    let body: Value =
        serde_json::from_slice(&request.body).map_err(|_| invalid_body("", "JSON"))?;
    match schemas.check(&documented.schema, &body, Way::Request) {
        Ok(()) => Ok(Some(body)),
        Err(Mismatch { pointer, expected }) => Err(invalid_body(&pointer, &expected)),
    }
}

/// The refusal of a body. What was found instead is not repeated, because it may be secret.
fn invalid_body(pointer: &str, expected: &str) -> Answer {
    let place = match pointer {
        "" => "request body".to_owned(),
        pointer => format!("request body at {pointer:?}"),
    };
    let error = json!({
        "code": "invalid_request",
        "message": format!("{place}: expected {expected}"),
        "pointer": pointer,
        "expected": expected,
    });
    Answer::json(400, &json!({"error": error}))
}

/// The texts of a parameter, one for each time that it is given.
fn texts(one: &Parameter, found: &Found<'_>, request: &Received) -> Vec<String> {
    match one.location.as_str() {
        "path" => {
            let all = found.parameters.iter();
            let named = all.filter(|(name, _)| *name == one.name);
            named.map(|(_, text)| text.clone()).collect()
        }
        "query" => request.parameters(&one.name),
        "header" => {
            let all = request.headers.get_all(&one.name).iter();
            let texts = all.filter_map(|value| value.to_str().ok());
            texts.map(str::to_owned).collect()
        }
        "cookie" => {
            let all = request.headers.get_all(header::COOKIE).iter();
            let pairs = all
                .filter_map(|value| value.to_str().ok())
                .flat_map(|text| text.split(';'));
            let pairs = pairs.filter_map(|pair| pair.trim().split_once('='));
            let named = pairs.filter(|(name, _)| *name == one.name);
            named.map(|(_, text)| text.to_owned()).collect()
        }
        _ => Vec::new(),
    }
}

fn as_json(one: &Parameter, found: &Found<'_>, request: &Received) -> Vec<Value> {
    let texts = texts(one, found, request).into_iter();
    let mut values = texts.map(|text| serde_json::from_str(&text).unwrap_or(Value::String(text)));
    values.next_back().into_iter().collect()
}

/// What the texts of a parameter may stand for; none where it is not given.
fn candidates(
    schemas: &Schemas,
    one: &Parameter,
    found: &Found<'_>,
    request: &Received,
) -> Vec<Value> {
    let style = one.style.as_deref().unwrap_or(match one.location.as_str() {
        "query" | "cookie" => "form",
        _ => "simple",
    });
    let types = schemas.shape(&one.schema).types();
    if style == "deepObject" {
        return members(one, request).into_iter().collect();
    }
    let texts = texts(one, found, request);
    let Some(last) = texts.last() else {
        return Vec::new();
    };
    match types.as_slice() {
        ["array", ..] => {
            let separator = match style {
                "form" if one.explode.unwrap_or(true) => None,
                "spaceDelimited" => Some(' '),
                "pipeDelimited" => Some('|'),
                _ => Some(','),
            };
            let items: Vec<&str> = match separator {
                None => texts.iter().map(String::as_str).collect(),
                Some(separator) => texts
                    .iter()
                    .flat_map(|text| text.split(separator))
                    .map(|item| {
                        if one.location == "header" {
                            item.trim()
                        } else {
                            item
                        }
                    })
                    .collect(),
            };
            let plain = items.iter().map(|text| Value::from(*text)).collect();
            let read = items.iter().map(|text| scalar(text)).collect();
            vec![plain, read]
        }
        // Its properties may be parameters of their own.
        ["object", ..] => Vec::new(),
        _ => vec![last.as_str().into(), scalar(last)],
    }
}

/// The members `name[key]` of an object in the query.
fn members(one: &Parameter, request: &Received) -> Option<Value> {
    let start = format!("{}[", one.name);
    let pairs = request.pairs();
    let members = pairs.filter_map(|(name, text)| {
        let key = name.strip_prefix(&start)?.strip_suffix(']')?;
        Some((key.to_owned(), scalar(&text)))
    });
    let members: serde_json::Map<String, Value> = members.collect();
    (!members.is_empty()).then(|| members.into())
}

/// A number or boolean that is spelt as JSON has it, or else the text.
pub(crate) fn scalar(text: &str) -> Value {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let spelt = value.to_string();
    match value {
        Value::Number(_) | Value::Bool(_) if spelt == text => value,
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests;
