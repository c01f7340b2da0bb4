//! Changes of what is documented and not generated: limits of values, formats, examples, and facts on the document.

use super::compare::Change;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Keywords that change no type.
const KEYWORDS: &str = "\
    format pattern minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength \
    minItems maxItems uniqueItems minProperties maxProperties default example examples title \
    readOnly writeOnly discriminator not";

/// Parts of the document that nothing is generated from; what is read of them stands elsewhere, too.
const PARTS: [&str; 9] = [
    "/info",
    "/servers",
    "/tags",
    "/externalDocs",
    "/webhooks",
    "/openapi",
    "/components/headers",
    "/components/responses",
    "/components/securitySchemes",
];

/// Parts of an operation that nothing is generated from, but for the content of its responses.
const WITHIN: [&str; 5] = ["responses", "headers", "links", "callbacks", "servers"];

/// Every such change between two documents.
pub(super) fn changes(old: &Value, new: &Value) -> Vec<Change> {
    let mut places = Vec::new();
    differing(old, new, "", false, &mut places);
    let changes = places.into_iter().map(|(at, old, new)| {
        let text = match (old, new) {
            (None, Some(new)) => format!("{at}: {new} is new"),
            (Some(old), None) => format!("{at}: {old} is gone"),
            (old, new) => {
                let text = |value: Option<&Value>| value.map(Value::to_string).unwrap_or_default();
                format!("{at}: {} becomes {}", text(old), text(new))
            }
        };
        Change {
            text: text + "; not generated",
            levels: BTreeMap::new(),
        }
    });
    changes.collect()
}

type Difference<'a> = (String, Option<&'a Value>, Option<&'a Value>);

/// Collects the places; with `all`, whatever differs, and else what a keyword tells.
fn differing<'a>(
    old: &'a Value,
    new: &'a Value,
    at: &str,
    all: bool,
    out: &mut Vec<Difference<'a>>,
) {
    match (old, new) {
        _ if old == new => {}
        (Value::Object(before), Value::Object(after)) => {
            let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            for key in keys {
                let place = format!("{at}{}", crate::spec::pointer(&[key]));
                // Below `properties` the keys are names of fields.
                let named = at.ends_with("/properties") || at.ends_with("/schemas");
                let keyword = !named && KEYWORDS.split(' ').any(|word| word == key);
                // The largest limit of a list is generated.
                let limit = key.contains("aximum") && at.contains("/parameters/");
                let within = !named && WITHIN.contains(&key.as_str());
                let all = PARTS.contains(&place.as_str()) || within || (all && key != "content");
                match (before.get(key), after.get(key)) {
                    (Some(old), Some(new)) if !keyword => differing(old, new, &place, all, out),
                    (old, new) if (keyword && !limit || all) && old != new => {
                        out.push((place, old, new));
                    }
                    _ => {}
                }
            }
        }
        (Value::Array(before), Value::Array(after)) if !all => {
            for (index, (old, new)) in before.iter().zip(after).enumerate() {
                differing(old, new, &format!("{at}/{index}"), all, out);
            }
        }
        _ if all => out.push((at.to_owned(), Some(old), Some(new))),
        _ => {}
    }
}
