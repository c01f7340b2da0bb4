//! References lead to something in the document, and never back to where they are.

use super::{pointer, refused};
use serde_json::Value;

/// Checks that every reference leads somewhere in this document.
pub(super) fn check_targets(document: &Value, value: &Value, at: &str) -> Result<(), String> {
    match value {
        Value::Object(map) => map.iter().try_for_each(|(key, child)| {
            let below = format!("{at}{}", pointer(&[key]));
            let Some(text) = child.as_str().filter(|_| key == "$ref") else {
                return check_targets(document, child, &below);
            };
            let target = text.strip_prefix('#').and_then(|at| document.pointer(at));
            if target.is_some_and(|found| !std::ptr::eq(found, value)) {
                return Ok(());
            }
            let what = format!("there is nothing at {text}");
            let way = "add it to /components, or correct the reference";
            Err(refused(&below, &what, way))
        }),
        Value::Array(items) => items.iter().enumerate().try_for_each(|(index, child)| {
            check_targets(document, child, &format!("{at}/{index}"))
        }),
        _ => Ok(()),
    }
}

/// Refuses a schema that holds itself, which neither a C handle nor a Python class can.
pub(super) fn check_circles<'a>(
    document: &'a Value,
    schema: &'a Value,
    at: &str,
    above: &mut Vec<&'a str>,
) -> Result<(), String> {
    let children: Vec<(String, &'a Value)> = match schema {
        Value::Object(map) => map.iter().map(|(key, one)| (key.clone(), one)).collect(),
        Value::Array(items) => {
            let numbered = items.iter().enumerate();
            numbered
                .map(|(index, one)| (index.to_string(), one))
                .collect()
        }
        _ => return Ok(()),
    };
    for (key, child) in children {
        let at = format!("{at}{}", pointer(&[&key]));
        let name = child.as_str().filter(|_| key == "$ref");
        let Some(name) = name.and_then(|text| text.rsplit('/').next()) else {
            check_circles(document, child, &at, above)?;
            continue;
        };
        if let Some(from) = above.iter().position(|one| *one == name) {
            let circle = [&above[from..], &[name]].concat().join(" -> ");
            let what = format!("models that hold each other are not generated: {circle}");
            let way = "write {} in place of one of the references, to take the value as JSON";
            return Err(refused(&at, &what, way));
        }
        let Some(target) = document.pointer(&pointer(&["components", "schemas", name])) else {
            continue;
        };
        above.push(name);
        check_circles(
            document,
            target,
            &pointer(&["components", "schemas", name]),
            above,
        )?;
        above.pop();
    }
    Ok(())
}
