//! Operations of the spec, and which of them are paginated lists.

use super::lift::{Places, prose};
use super::{pointer, refused};
use crate::names;
use serde_json::{Map, Value, json};

/// One method of one path.
pub(crate) struct Operation {
    pub(crate) id: String,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) group: String,
    pub(crate) summary: String,
    pub(crate) description: String,
    pub(crate) token: TokenUse,
    pub(crate) list: Option<List>,
}

/// Whether an operation carries the bearer token.
pub(crate) enum TokenUse {
    Never,
    Always,
    WhenThereIsOne,
}

/// What makes an operation a paginated list.
pub(crate) struct List {
    /// The path after `/v1/`, with `_` for every separator.
    pub(crate) name: String,
    /// Key of the record array and model of a record, where the spec shows them.
    pub(crate) records: Option<Records>,
    /// Largest `limit` the spec allows.
    pub(crate) max_limit: Option<u64>,
}

impl List {
    /// The model of a record, where the spec shows its fields.
    pub(crate) fn model(&self) -> Option<&str> {
        self.records.as_ref()?.model.as_deref()
    }
}

/// The record array of a list response.
pub(crate) struct Records {
    pub(crate) key: String,
    pub(crate) model: Option<String>,
}

/// What a path may hold besides methods.
const BESIDE_METHODS: [&str; 4] = ["parameters", "summary", "description", "servers"];

/// The methods that the client sends.
const METHODS: [&str; 2] = ["get", "post"];

impl Operation {
    /// Where it stands in the spec.
    pub(crate) fn place(&self) -> String {
        pointer(&["paths", &self.path, &self.method])
    }
}

/// A method of a path, with what the path says for all of its methods.
struct Written<'a> {
    path: &'a str,
    method: &'a str,
    body: &'a Value,
    item: &'a Map<String, Value>,
}

/// Every operation, in the spec's order.
pub(super) fn all(document: &Value) -> Result<Vec<Operation>, String> {
    let written = written(document)?;
    written.iter().map(|one| operation(document, one)).collect()
}

fn written(document: &Value) -> Result<Vec<Written<'_>>, String> {
    let mut out = Vec::new();
    for (path, item) in super::object(document, "/paths")? {
        let at = pointer(&["paths", path]);
        let Some(item) = item.as_object() else {
            return Err(refused(&at, "it is no path", "write an object of methods"));
        };
        for (method, body) in item {
            if BESIDE_METHODS.contains(&method.as_str()) || method.starts_with("x-") {
                continue;
            }
            if !METHODS.contains(&method.as_str()) {
                let what = format!("the client sends {}, not {method}", METHODS.join(" and "));
                let way = "leave it out, or teach Method in crates/types/src/lib.rs and the client's retries";
                return Err(refused(&format!("{at}{}", pointer(&[method])), &what, way));
            }
            out.push(Written {
                path,
                method,
                body,
                item,
            });
        }
    }
    Ok(out)
}

fn operation(document: &Value, written: &Written<'_>) -> Result<Operation, String> {
    let Written {
        path, method, body, ..
    } = written;
    let text = |key: &str| body.get(key).and_then(Value::as_str);
    let security = body
        .get("security")
        .or(document.get("security"))
        .and_then(Value::as_array);
    let requirements: Vec<bool> = security
        .map(|all| {
            all.iter()
                .map(|one| one.as_object().is_some_and(|map| !map.is_empty()))
                .collect()
        })
        .unwrap_or_default();
    let token = match (requirements.contains(&true), requirements.contains(&false)) {
        (false, _) => TokenUse::Never,
        (true, false) => TokenUse::Always,
        (true, true) => TokenUse::WhenThereIsOne,
    };
    let group = body
        .pointer("/tags/0")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let at = pointer(&["paths", path, method]);
    let Some(id) = text("operationId") else {
        let way = "give it one, such as listContacts: the operation is named by it";
        return Err(refused(&at, "it has no operationId", way));
    };
    Ok(Operation {
        id: id.to_owned(),
        method: (*method).to_owned(),
        path: (*path).to_owned(),
        group,
        summary: prose(text("summary").unwrap_or(id)),
        description: prose(text("description").unwrap_or("Not described.")),
        token,
        list: list(document, written)?,
    })
}

/// An operation with `limit` and `offset` whose response holds the pagination object is a list.
fn list(document: &Value, written: &Written<'_>) -> Result<Option<List>, String> {
    let Some((limit, envelope)) = paginated(document, written) else {
        return Ok(None);
    };
    if written.path.contains('{') {
        let at = pointer(&["paths", written.path, written.method]);
        let way = "leave it out: a list has a path of its own, and no method of a client can fill this one";
        return Err(refused(
            &at,
            "a list below one record is not generated",
            way,
        ));
    }
    let limit = resolve(document, limit.get("schema").unwrap_or(&Value::Null));
    Ok(Some(List {
        name: names::list(written.path),
        records: records(document, &envelope)?,
        max_limit: limit.get("maximum").and_then(Value::as_u64),
    }))
}

/// The parameter `limit` and the place of the response's schema, for a paginated operation.
fn paginated<'a>(document: &'a Value, written: &Written<'a>) -> Option<(&'a Value, String)> {
    let Written {
        path,
        method,
        body,
        item,
    } = written;
    // What the method says comes first: it stands for what the path says for all.
    let own = body.get("parameters").and_then(Value::as_array);
    let shared = item.get("parameters").and_then(Value::as_array);
    let parameters = own.into_iter().chain(shared).flatten();
    let parameters: Vec<&Value> = parameters.map(|one| resolve(document, one)).collect();
    let parameter = |name: &str| parameters.iter().find(|one| one["name"] == name).copied();
    let (limit, _) = parameter("limit").zip(parameter("offset"))?;
    let answer = follow(
        document,
        pointer(&["paths", path, method, "responses", "200"]),
    );
    let schema = answer + &pointer(&["content", "application/json", "schema"]);
    let envelope = follow(document, schema);
    document
        .pointer(&envelope)?
        .pointer("/properties/pagination")?;
    Some((limit, envelope))
}

/// The one array of objects among the response's properties; none where the spec shows none.
fn records(document: &Value, envelope: &str) -> Result<Option<Records>, String> {
    let mut found: Option<Records> = None;
    for (key, schema) in super::object(document, &format!("{envelope}/properties"))? {
        let items = resolve(document, schema)
            .get("items")
            .unwrap_or(&Value::Null);
        if resolve(document, items)["type"] != "object" {
            continue;
        }
        if let Some(first) = &found {
            let at = format!("{envelope}{}", pointer(&["properties", key]));
            let what = format!("the response has two arrays of objects, {} too", first.key);
            let way = "write items: {} for the one that is not the records";
            return Err(refused(&at, &what, way));
        }
        let reference = items.get("$ref").and_then(Value::as_str);
        found = Some(Records {
            key: key.clone(),
            model: reference.and_then(|text| Some(text.rsplit('/').next()?.to_owned())),
        });
    }
    Ok(found)
}

/// Makes records that are written within a list's response models, named by the list.
pub(super) fn name_records(document: &mut Value) -> Result<Places, String> {
    let mut places = Places::new();
    let lists: Vec<(String, String)> = written(document)?
        .iter()
        .filter_map(|one| Some((names::list(one.path), paginated(document, one)?.1)))
        .collect();
    for (list, envelope) in lists {
        let keys: Vec<String> = super::object(document, &format!("{envelope}/properties"))?
            .keys()
            .cloned()
            .collect();
        for key in keys {
            let array = format!("{envelope}{}", pointer(&["properties", &key]));
            let at = follow(document, array) + "/items";
            let Some(items) = document.pointer_mut(&at) else {
                continue;
            };
            if items.get("properties").is_none() {
                continue;
            }
            let name = names::camel(&format!("{}Record", names::camel(&list)));
            let record = std::mem::replace(
                items,
                json!({ "$ref": format!("#/components/schemas/{name}") }),
            );
            let schemas = document.pointer_mut("/components/schemas");
            let schemas = schemas.and_then(Value::as_object_mut);
            let before = schemas.and_then(|all| all.insert(name.clone(), record));
            if before.is_some() {
                let what =
                    format!("the records of this list would be named {name}, as another schema is");
                let way =
                    "give them a name of their own under /components/schemas, and refer to it";
                return Err(refused(&at, &what, way));
            }
            places.insert(name, at);
        }
    }
    Ok(places)
}

/// Where a `$ref` at this place leads within the document; any other place is itself.
fn follow(document: &Value, mut at: String) -> String {
    // Ends also where references lead in a circle, which hold no list.
    for _ in 0..100 {
        let value = document.pointer(&at);
        let Some(reference) = value.and_then(|value| value["$ref"].as_str()) else {
            break;
        };
        at = reference.trim_start_matches('#').to_owned();
    }
    at
}

/// Follows a `$ref` within the document; anything else is itself.
pub(super) fn resolve<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let reference = value.get("$ref").and_then(Value::as_str);
    let target = reference.and_then(|text| document.pointer(text.trim_start_matches('#')));
    target.unwrap_or(value)
}
