//! The keywords of schemas: which make a type, which are advice, and that each has the form it must have.

use super::findings::{Findings, Topic};
use serde_json::{Map, Value};

/// Keywords that make a type.
pub(super) const STRUCTURE: [&str; 9] = [
    "type",
    "properties",
    "required",
    "items",
    "additionalProperties",
    "enum",
    "anyOf",
    "oneOf",
    "format",
];

/// Those that say more about what stands beside them; a type beside a reference is a repetition.
pub(super) const REFINING: [&str; 7] = [
    "properties",
    "required",
    "items",
    "additionalProperties",
    "enum",
    "anyOf",
    "oneOf",
];

/// Keywords that are read elsewhere.
const READ: [&str; 4] = ["$ref", "allOf", "const", "nullable"];

/// Keywords that change no type: prose, and constraints, which the client does not hold the service to.
const ADVICE: &str = "\
    title description default example examples deprecated readOnly writeOnly externalDocs xml \
    $comment $id $anchor $schema $defs definitions contentEncoding contentMediaType contentSchema \
    pattern minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength \
    minItems maxItems uniqueItems minProperties maxProperties propertyNames discriminator \
    unevaluatedProperties";

/// Which type each keyword is for.
const FOR: [(&str, &str); 4] = [
    ("properties", "object"),
    ("required", "object"),
    ("additionalProperties", "object"),
    ("items", "array"),
];

/// Refuses keywords that have another form than they must have, notes those that are not read, and
/// removes both.
pub(super) fn check(map: &mut Map<String, Value>, at: &str, findings: &mut Findings) {
    let kind = one_type(map.get("type")).to_owned();
    map.retain(|key, value| {
        let known = STRUCTURE.contains(&key.as_str())
            || READ.contains(&key.as_str())
            || ADVICE.split(' ').any(|word| word == key)
            || key.starts_with("x-");
        if !known {
            findings.note(Topic::Keyword, format!("{at}: {key}"));
            return false;
        }
        let place = format!("{at}/{key}");
        let fits = match key.as_str() {
            "properties" => value.is_object(),
            "items" | "additionalProperties" => value.is_object() || value.is_boolean(),
            "required" | "enum" | "anyOf" | "oneOf" | "allOf" => value.is_array(),
            "$ref" => value.is_string(),
            _ => true,
        };
        if key == "required" && value.is_boolean() {
            findings.note(
                Topic::Keyword,
                format!("{place}: true or false, not a list"),
            );
            return false;
        }
        if !fits {
            let way = "write an object for properties and items, an array for required, enum, \
                       anyOf, oneOf and allOf, a text for $ref";
            findings.refuse(&place, "it has another form", way);
            return false;
        }
        let wanted = FOR
            .iter()
            .find(|(word, _)| word == key)
            .map(|(_, kind)| *kind);
        if let Some(wanted) = wanted.filter(|wanted| !kind.is_empty() && *wanted != kind) {
            let text = format!("{place}: the type is {kind}, not {wanted}");
            findings.note(Topic::Keyword, text);
            return false;
        }
        true
    });
}

/// The one type of a schema, apart from null; empty where it has none or several.
fn one_type(kinds: Option<&Value>) -> &str {
    match kinds {
        Some(Value::String(kind)) => kind,
        Some(Value::Array(kinds)) => {
            let mut others = kinds.iter().filter(|kind| *kind != "null");
            let first = others.next().and_then(Value::as_str);
            first.filter(|_| others.next().is_none()).unwrap_or("")
        }
        _ => "",
    }
}
