//! Reads the text of a spec, JSON or YAML, and refuses documents that are not OpenAPI 3.

use saphyr::{Scalar, Yaml, YamlLoader};
use saphyr_parser::{BufferedInput, Parser};
use serde_json::{Map, Value};

/// Limits the size of a file. The largest public descriptions have about a third of it.
const MAX_BYTES: usize = 32 << 20;
/// Limits the nesting of values, like `serde_json` does for JSON.
const MAX_DEPTH: usize = 127;
/// The key with which a YAML mapping merges others.
const MERGE: &str = "<<";

/// Reads the document in a text.
pub(crate) fn read(text: &str) -> Result<Value, String> {
    if text.len() > MAX_BYTES {
        let (megabytes, max) = (text.len() >> 20, MAX_BYTES >> 20);
        return Err(format!(
            "the file has {megabytes} MB, and at most {max} MB are read; take examples and descriptions out"
        ));
    }
    let text = text.trim_start_matches('\u{feff}');
    let document = match serde_json::from_str(text) {
        Ok(document) => document,
        Err(error) if error.to_string().starts_with("recursion limit") => return Err(too_deep()),
        Err(error) if text.trim_start().starts_with('{') => {
            return Err(format!("not valid JSON: {error}"));
        }
        Err(_) => yaml(text)?,
    };
    check_version(&document)?;
    Ok(document)
}

fn too_deep() -> String {
    format!(
        "values are nested more than {MAX_DEPTH} levels deep; give inner schemas names under \
         /components/schemas, and refer to them"
    )
}

/// Reads YAML. Scalars are kept as written until it is known whether they are keys: `1.10` is one, and so are `NO` and
/// `200`.
fn yaml(text: &str) -> Result<Value, String> {
    let mut loader = YamlLoader::<Yaml>::default();
    loader.early_parse(false);
    let mut parser = Parser::new(BufferedInput::new(text.chars()));
    let loaded = parser.load(&mut loader, true);
    let fault = loaded.err().or_else(|| loader.error().cloned());
    if let Some(error) = fault {
        return Err(format!(
            "neither JSON nor YAML: {error}; correct it, or convert the file to JSON"
        ));
    }
    let mut documents = loader.into_documents();
    match documents.len() {
        1 => value(&documents.remove(0), MAX_DEPTH),
        several => Err(format!("{several} YAML documents; give one")),
    }
}

fn value(node: &Yaml, depth: usize) -> Result<Value, String> {
    let depth = depth.checked_sub(1).ok_or_else(too_deep)?;
    let value = |node| value(node, depth);
    Ok(match node {
        Yaml::Representation(text, style, tag) => {
            let read = Scalar::parse_from_cow_and_metadata(text.clone(), *style, tag.as_ref());
            scalar(&read.unwrap_or_else(|| Scalar::String(text.clone())))
        }
        Yaml::Value(read) => scalar(read),
        Yaml::Sequence(items) => items.iter().map(value).collect::<Result<_, _>>()?,
        Yaml::Mapping(pairs) => {
            let (mut own, mut merged) = (Map::new(), Vec::new());
            for (key, child) in pairs {
                let key = match key {
                    Yaml::Representation(text, ..) => text.to_string(),
                    other => text(&value(other)?),
                };
                match (key.as_str(), value(child)?) {
                    (MERGE, Value::Array(several)) => merged.extend(several),
                    (MERGE, one @ Value::Object(_)) => merged.push(one),
                    (_, child) => drop(own.insert(key, child)),
                }
            }
            // A mapping's own members take precedence over merged ones, and earlier merged ones over later ones.
            for (key, child) in merged.iter().filter_map(Value::as_object).flatten() {
                own.entry(key).or_insert_with(|| child.clone());
            }
            Value::Object(own)
        }
        Yaml::Tagged(_, inner) => value(inner)?,
        Yaml::Alias(_) | Yaml::BadValue => {
            return Err("YAML that has no counterpart in JSON; write the value out".into());
        }
    })
}

fn scalar(read: &Scalar) -> Value {
    match read {
        Scalar::Null => Value::Null,
        Scalar::Boolean(flag) => Value::Bool(*flag),
        Scalar::Integer(number) => Value::from(*number),
        Scalar::FloatingPoint(number) => Value::from(number.into_inner()),
        Scalar::String(text) => Value::String(text.to_string()),
    }
}

/// Returns a string as it is, and anything that YAML reads as a number as it is written.
fn text(value: &Value) -> String {
    let text = value.as_str().map(str::to_owned);
    text.unwrap_or_else(|| value.to_string())
}

fn check_version(document: &Value) -> Result<(), String> {
    let version = |key: &str| document.get(key).map(text);
    match (version("swagger"), version("openapi")) {
        (Some(version), _) => Err(format!(
            "this is Swagger {version}; convert it to OpenAPI 3, for example with swagger2openapi"
        )),
        (_, Some(one)) if one.starts_with("3.0") || one.starts_with("3.1") => Ok(()),
        (_, Some(version)) => Err(format!(
            "OpenAPI {version} is not supported; give OpenAPI 3.0 or 3.1"
        )),
        _ => Err("no field `openapi`: this is not an OpenAPI document".to_owned()),
    }
}
