//! Versions: what `getVersion` and `checkVersion` answer (sections 2, 3, 4 and 9).

use serde_json::{Map, Value, json};

const API_VERSION: &str = "1.8.2";

struct Category {
    name: &'static str,
    status: &'static str,
    version: &'static str,
    /// Only AI-powered categories have a model (section 2).
    model: Option<Model>,
    notes: Option<&'static str>,
}

struct Model {
    model_version: &'static str,
    service_version: &'static str,
}

const fn model(model_version: &'static str, service_version: &'static str) -> Option<Model> {
    Some(Model {
        model_version,
        service_version,
    })
}

/// The six categories of section 2. The numbers are the sandbox's choice, except that matching has a higher major
/// version than the others (section 9).
const CATEGORIES: [Category; 6] = [
    Category {
        name: "authentication",
        status: "operational",
        version: "1.2.0",
        model: None,
        notes: None,
    },
    Category {
        name: "taxonomy",
        status: "operational",
        version: "1.5.1",
        model: model("2.3.0", "1.5.1"),
        notes: None,
    },
    Category {
        name: "inference",
        status: "operational",
        version: "1.4.0",
        model: model("3.0.2", "1.4.3"),
        notes: None,
    },
    Category {
        name: "matching",
        status: "operational",
        version: "2.1.0",
        model: model("4.2.0", "2.1.6"),
        notes: Some("Version 2 stays backwards compatible with clients of version 1."),
    },
    Category {
        name: "companies",
        status: "alpha",
        version: "0.3.0",
        model: None,
        notes: None,
    },
    Category {
        name: "corecrm",
        status: "operational",
        version: "1.8.0",
        model: None,
        notes: None,
    },
];

/// The version response of section 2.
pub(crate) fn report() -> Value {
    let entries = CATEGORIES.iter().map(|category| {
        let mut entry = json!({"status": category.status, "version": category.version});
        if let Some(model) = &category.model {
            entry["model_version"] = model.model_version.into();
            entry["service_version"] = model.service_version.into();
        }
        (category.name.to_owned(), entry)
    });
    let endpoints: Map<String, Value> = entries.collect();
    json!({
        "version": API_VERSION,
        "apiStatus": "operational",
        "endpoints": endpoints,
    })
}

/// The version-check response of section 2: one entry per category asked for.
///
/// The rules are the sandbox's choice (section 9: not shown): version 1 of the client is compatible and 1.4 the
/// oldest that is supported; a category it does not know is not compatible.
pub(crate) fn check(body: &Value) -> Value {
    let version = body.get("clientVersion").and_then(Value::as_str);
    let version = version.unwrap_or_default();
    let names = body.get("endpoints").and_then(Value::as_array);
    let names = names.into_iter().flatten().filter_map(Value::as_str);
    let mut numbers = version.split('.').map(str::parse::<u32>);
    let major = numbers.next().and_then(Result::ok);
    let minor = numbers.next().and_then(Result::ok).unwrap_or(0);
    let compatible = major == Some(1);
    let entries: Map<String, Value> = names
        .map(|name| (name.to_owned(), compatibility(name, compatible)))
        .collect();
    json!({
        "compatible": compatible,
        "supported": compatible && minor >= 4,
        "endpointCompatibility": entries,
    })
}

fn compatibility(name: &str, compatible: bool) -> Value {
    let Some(category) = CATEGORIES.iter().find(|category| category.name == name) else {
        let notes = "This category is not known to the sandbox.";
        return json!({"compatible": false, "version": "unknown", "notes": notes});
    };
    let mut entry = json!({"compatible": compatible, "version": category.version});
    if let Some(model) = &category.model {
        entry["model_version"] = model.model_version.into();
    }
    if let Some(notes) = category.notes {
        entry["notes"] = notes.into();
    }
    entry
}
