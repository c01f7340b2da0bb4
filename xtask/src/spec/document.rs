//! Reads the text of a spec, JSON or YAML, and refuses what is no OpenAPI 3 document.

use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::Value;

/// The largest file that is read; the largest public descriptions have about a third of it.
const MAX_BYTES: usize = 32 << 20;
/// How deep values may stand in each other, as `serde_json` has it for JSON.
const MAX_DEPTH: usize = 127;

/// The document in a text.
pub(crate) fn read(text: &str) -> Result<Value, String> {
    if text.len() > MAX_BYTES {
        let (megabytes, max) = (text.len() >> 20, MAX_BYTES >> 20);
        return Err(format!(
            "the file has {megabytes} MB, and at most {max} MB are read; take examples and descriptions out"
        ));
    }
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

fn yaml(text: &str) -> Result<Value, String> {
    let mut documents = Yaml::load_from_str(text).map_err(|error| {
        format!("neither JSON nor YAML: {error}; correct it, or convert the file to JSON")
    })?;
    match documents.len() {
        1 => value(&documents.remove(0), MAX_DEPTH),
        several => Err(format!("{several} YAML documents; give one")),
    }
}

fn value(node: &Yaml, depth: usize) -> Result<Value, String> {
    let depth = depth.checked_sub(1).ok_or_else(too_deep)?;
    let value = |node| value(node, depth);
    Ok(match node {
        Yaml::Value(scalar) => match scalar {
            Scalar::Null => Value::Null,
            Scalar::Boolean(flag) => Value::Bool(*flag),
            Scalar::Integer(number) => Value::from(*number),
            Scalar::FloatingPoint(number) => Value::from(number.into_inner()),
            Scalar::String(text) => Value::String(text.to_string()),
        },
        Yaml::Sequence(items) => items.iter().map(value).collect::<Result<_, _>>()?,
        Yaml::Mapping(pairs) => {
            // Status codes are numbers in YAML.
            let member = |(key, child)| Ok((text(&value(key)?), value(child)?));
            pairs.iter().map(member).collect::<Result<_, String>>()?
        }
        Yaml::Tagged(_, inner) => value(inner)?,
        Yaml::Representation(text, ..) => Value::String(text.to_string()),
        Yaml::Alias(_) | Yaml::BadValue => {
            return Err("YAML that has no counterpart in JSON; write the value out".into());
        }
    })
}

/// A text as it is, and what YAML takes for a number as it is written.
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
