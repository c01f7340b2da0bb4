//! Reads `spec/openapi.json` and infers the service's structure from plain OpenAPI.

use heck::ToSnakeCase;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::path::Path;

/// Keywords that the generator would lose in silence; the spec says such things another way.
const REFUSED_KEYWORDS: [(&str, &str); 3] = [
    (
        "nullable",
        "write type: [..., \"null\"] as OpenAPI 3.1 does",
    ),
    ("const", "write an enum"),
    ("allOf", "write the properties out"),
];

/// The spec: its schemas as they stand, its operations as the generator needs them.
pub(crate) struct Spec {
    /// Component schemas by name, in the spec's order.
    pub(crate) schemas: Vec<(String, Value)>,
    /// Operations in the spec's order.
    pub(crate) operations: Vec<Operation>,
    /// Names of the schemas that occur in answers, where unknown fields are to be kept.
    pub(crate) answered: BTreeSet<String>,
}

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

/// The record array of a list response.
pub(crate) struct Records {
    pub(crate) key: String,
    pub(crate) model: String,
}

impl Spec {
    pub(crate) fn load(root: &Path) -> Result<Spec, String> {
        let path = root.join("spec/openapi.json");
        let text = std::fs::read_to_string(&path)
            .map_err(|error| format!("cannot read spec/openapi.json: {error}"))?;
        Spec::parse(&text)
    }

    pub(crate) fn parse(text: &str) -> Result<Spec, String> {
        let document: Value = serde_json::from_str(text)
            .map_err(|error| format!("spec/openapi.json is not JSON: {error}"))?;
        refuse_keywords(&document, "")?;
        let schemas = object(&document, "/components/schemas")?
            .iter()
            .map(|(name, schema)| (name.clone(), schema.clone()))
            .collect();
        let mut operations = Vec::new();
        let mut answered = BTreeSet::new();
        for (path, item) in object(&document, "/paths")? {
            let methods = item.as_object().ok_or(format!("{path} is not an object"))?;
            for (method, body) in methods {
                operations.push(operation(&document, path, method, body)?);
                collect_schemas(&document, &body["responses"], &mut answered);
            }
        }
        Ok(Spec {
            schemas,
            operations,
            answered,
        })
    }

    /// The operations that are paginated lists, in the spec's order.
    pub(crate) fn lists(&self) -> impl Iterator<Item = (&Operation, &List)> {
        self.operations
            .iter()
            .filter_map(|operation| Some((operation, operation.list.as_ref()?)))
    }

    /// A component schema by name.
    pub(crate) fn schema(&self, name: &str) -> Option<&Value> {
        self.schemas
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, schema)| schema)
    }
}

fn operation(
    document: &Value,
    path: &str,
    method: &str,
    body: &Value,
) -> Result<Operation, String> {
    let text = |key: &str| {
        let value = body.get(key).and_then(Value::as_str);
        value
            .map(str::to_owned)
            .ok_or(format!("{method} {path} has no {key}"))
    };
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
    Ok(Operation {
        id: text("operationId")?,
        method: method.to_owned(),
        path: path.to_owned(),
        group,
        summary: text("summary")?,
        description: text("description")?,
        token,
        list: list(document, path, body)?,
    })
}

/// An operation with `limit` and `offset` whose response holds the pagination object is a list.
fn list(document: &Value, path: &str, body: &Value) -> Result<Option<List>, String> {
    let parameters: Vec<&Value> = body
        .get("parameters")
        .and_then(Value::as_array)
        .map(|all| all.iter().map(|one| resolve(document, one)).collect())
        .unwrap_or_default();
    let parameter = |name: &str| {
        parameters
            .iter()
            .find(|one| one.get("name").and_then(Value::as_str) == Some(name))
    };
    let (Some(limit), Some(_)) = (parameter("limit"), parameter("offset")) else {
        return Ok(None);
    };
    let Some(response) = body.pointer("/responses/200/content/application~1json/schema") else {
        return Ok(None);
    };
    let response = resolve(document, response);
    let Some(properties) = response.get("properties").and_then(Value::as_object) else {
        return Ok(None);
    };
    if !properties.contains_key("pagination") {
        return Ok(None);
    }
    Ok(Some(List {
        name: path
            .trim_start_matches("/v1/")
            .replace(['/', '-'], "_")
            .to_snake_case(),
        records: records(document, path, properties)?,
        max_limit: limit.pointer("/schema/maximum").and_then(Value::as_u64),
    }))
}

/// The one array of objects among the response's properties; none where the spec shows none.
fn records(
    document: &Value,
    path: &str,
    properties: &Map<String, Value>,
) -> Result<Option<Records>, String> {
    let mut found = None;
    for (key, schema) in properties {
        let Some(reference) = schema.pointer("/items/$ref").and_then(Value::as_str) else {
            continue;
        };
        let item = resolve(document, &schema["items"]);
        if item.get("type").and_then(Value::as_str) != Some("object") {
            continue;
        }
        let model = reference.rsplit('/').next().unwrap_or_default().to_owned();
        if found
            .replace(Records {
                key: key.clone(),
                model,
            })
            .is_some()
        {
            return Err(format!("{path}: the response has two arrays of objects"));
        }
    }
    Ok(found)
}

/// The names of all schemas that `value` refers to, directly or through others.
fn collect_schemas(document: &Value, value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
                let schema = reference.strip_prefix("#/components/schemas/");
                if schema.is_none_or(|name| names.insert(name.to_owned())) {
                    collect_schemas(document, resolve(document, value), names);
                }
            } else {
                map.values()
                    .for_each(|child| collect_schemas(document, child, names));
            }
        }
        Value::Array(items) => {
            items
                .iter()
                .for_each(|child| collect_schemas(document, child, names));
        }
        _ => {}
    }
}

/// Follows a `$ref` within the document; anything else is itself.
fn resolve<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let reference = value.get("$ref").and_then(Value::as_str);
    let target = reference.and_then(|text| document.pointer(text.trim_start_matches('#')));
    target.unwrap_or(value)
}

fn object<'a>(document: &'a Value, pointer: &str) -> Result<&'a Map<String, Value>, String> {
    let value = document.pointer(pointer).and_then(Value::as_object);
    value.ok_or(format!("spec/openapi.json has no object at {pointer}"))
}

fn refuse_keywords(value: &Value, pointer: &str) -> Result<(), String> {
    match value {
        Value::Object(map) => {
            for (key, child) in map {
                // Under `properties` the keys are names of fields, not keywords.
                let keyword = !pointer.ends_with("/properties");
                let refused = REFUSED_KEYWORDS
                    .iter()
                    .find(|(word, _)| keyword && word == key);
                if let Some((word, instead)) = refused {
                    return Err(format!(
                        "spec/openapi.json{pointer}: {word} is lost in generation; {instead}"
                    ));
                }
                refuse_keywords(child, &format!("{pointer}/{key}"))?;
            }
            Ok(())
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(index, child)| refuse_keywords(child, &format!("{pointer}/{index}"))),
        _ => Ok(()),
    }
}
