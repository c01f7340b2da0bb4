//! References within the document: that each leads somewhere, and where.

use super::findings::Findings;
use super::pointer;
use serde_json::Value;

/// What holds things by their names, which may be any.
const NAMED: [&str; 10] = [
    "$defs",
    "callbacks",
    "headers",
    "links",
    "parameters",
    "properties",
    "requestBodies",
    "responses",
    "schemas",
    "securitySchemes",
];

/// Refuses every reference that leads nowhere in this document.
pub(super) fn check(document: &Value, value: &Value, at: &str, findings: &mut Findings) {
    let parent = at.rsplit('/').next().unwrap_or_default();
    let named = NAMED.contains(&parent);
    match value {
        Value::Object(map) => {
            for (key, child) in map {
                // An example may hold anything, and so may an extension.
                let is_open = key == "example" || key == "examples" || key.starts_with("x-");
                if is_open && !named {
                    continue;
                }
                let below = format!("{at}{}", pointer(&[key]));
                match child.as_str().filter(|_| key == "$ref") {
                    Some(text) if !leads_somewhere(document, text) => findings.refuse(
                        &below,
                        &format!("there is nothing at {text}"),
                        "add it to /components, or correct the reference",
                    ),
                    Some(_) => {}
                    None => check(document, child, &below, findings),
                }
            }
        }
        Value::Array(items) => {
            for (index, child) in items.iter().enumerate() {
                check(document, child, &format!("{at}/{index}"), findings);
            }
        }
        _ => {}
    }
}

/// Whether following the reference ends at something that is no reference itself.
fn leads_somewhere(document: &Value, reference: &str) -> bool {
    let Some(at) = target(reference) else {
        return false;
    };
    let found = document.pointer(&follow(document, at));
    found.is_some_and(|value| value.get("$ref").is_none_or(|next| !next.is_string()))
}

/// The JSON pointer of a reference within the document.
fn target(reference: &str) -> Option<String> {
    let at = reference.strip_prefix('#')?;
    // Pointers in URIs are percent-encoded.
    Some(
        at.replace("%7B", "{")
            .replace("%7D", "}")
            .replace("%20", " "),
    )
}

/// Where a reference at this place leads; any other place is itself.
pub(super) fn follow(document: &Value, mut at: String) -> String {
    // Ends also where references lead in a circle.
    for _ in 0..100 {
        let value = document.pointer(&at);
        let reference = value.and_then(|value| value.get("$ref")?.as_str());
        let Some(next) = reference.and_then(target) else {
            break;
        };
        at = next;
    }
    at
}

/// The pointer that a `$ref` leads to, without following further ones.
pub(super) fn step(reference: &str) -> String {
    target(reference).unwrap_or_default()
}

/// Follows the references of a value; anything else is itself.
pub(super) fn resolve<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let reference = value.get("$ref").and_then(Value::as_str);
    let end = reference.and_then(target).map(|at| follow(document, at));
    end.and_then(|at| document.pointer(&at)).unwrap_or(value)
}
