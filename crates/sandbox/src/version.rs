//! Versions: what `getVersion` and `checkVersion` answer (sections 2, 3, 4 and 9).

use serde_json::{Map, Value, json};

use crate::samples::samples;

/// The version response of section 2.
///
/// The numbers are the sandbox's choice, except that matching has a higher major version than the others (section 9).
/// Only AI-powered categories have a model.
pub(crate) fn report() -> Value {
    samples()["version"].clone()
}

/// The version-check response of section 2: one entry per category asked for.
///
/// The rules are the sandbox's choice (section 9: not shown): version 1 of the client is compatible and 1.4 the
/// oldest that is supported; a category it does not know is not compatible.
pub(crate) fn check(body: &Value) -> Value {
    let version = body["clientVersion"].as_str().unwrap_or_default();
    let names = body["endpoints"].as_array().into_iter().flatten();
    let mut numbers = version.split('.').map(str::parse::<u32>);
    let major = numbers.next().and_then(Result::ok);
    let minor = numbers.next().and_then(Result::ok).unwrap_or(0);
    let compatible = major == Some(1);
    let report = report();
    let entry = |name: &str| {
        let Some(category) = report["endpoints"].get(name) else {
            let notes = "This category is not known to the sandbox.";
            return json!({"compatible": false, "version": "unknown", "notes": notes});
        };
        let mut entry = json!({"compatible": compatible, "version": category["version"]});
        if let Some(model) = category.get("model_version") {
            entry["model_version"] = model.clone();
        }
        if name == "matching" {
            let notes = "Version 2 stays backwards compatible with clients of version 1.";
            entry["notes"] = notes.into();
        }
        entry
    };
    let names = names.filter_map(Value::as_str);
    let entries: Map<String, Value> = names.map(|name| (name.to_owned(), entry(name))).collect();
    json!({
        "compatible": compatible,
        "supported": compatible && minor >= 4,
        "endpointCompatibility": entries,
    })
}
