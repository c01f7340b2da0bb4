//! Reads the text of a spec, JSON or YAML, and refuses documents that are not OpenAPI 3.

use super::cursor::BUNDLE;
use saphyr::{Scalar, ScalarStyle, Tag, Yaml, YamlLoader};
use saphyr_parser::{BufferedInput, Parser};
use serde_json::{Deserializer, Map, Value};
use std::collections::BTreeSet;

/// Limits the size of a file. The largest public descriptions have about a third of it.
const MAX_BYTES: usize = 32 << 20;
/// Limits the nesting of values, like `serde_json` does for JSON.
const MAX_DEPTH: usize = 127;
/// The versions of OpenAPI. What 3.2 adds to 3.1 is not generated, and reported.
const SUPPORTED: [&str; 3] = ["3.0", "3.1", "3.2"];
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
        Ok(document) => match repeated_key(text) {
            Some(key) => return Err(twice(&key)),
            None => document,
        },
        Err(error) if error.to_string().starts_with("recursion limit") => return Err(too_deep()),
        Err(error) if text.trim_start().starts_with('{') => {
            return Err(format!("not valid JSON: {error}; correct it"));
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

fn twice(key: &str) -> String {
    format!(
        "the key {key:?} is there twice in one object; give it once, or the first value is lost"
    )
}

/// Returns a key that an object in a text of valid JSON has twice.
fn repeated_key(text: &str) -> Option<String> {
    let mut objects: Vec<BTreeSet<String>> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['"', '{', '}']) {
        rest = &rest[at..];
        let mut strings = Deserializer::from_str(rest).into_iter::<String>();
        if let Some(Ok(string)) = strings.next() {
            rest = &rest[strings.byte_offset()..];
            let is_key = rest.trim_start().starts_with(':');
            if is_key && !objects.last_mut()?.insert(string.clone()) {
                return Some(string);
            }
            continue;
        }
        if rest.starts_with('{') {
            objects.push(BTreeSet::new());
        } else {
            objects.pop();
        }
        rest = &rest[1..];
    }
    None
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
        Yaml::Representation(_, _, Some(tag)) if includes(tag) => {
            return Err(format!("!{} refers to another file; {BUNDLE}", tag.suffix));
        }
        Yaml::Representation(text, style, tag) => {
            let read = Scalar::parse_from_cow_and_metadata(text.clone(), *style, tag.as_ref());
            scalar(&read.unwrap_or_else(|| Scalar::String(text.clone())))
        }
        Yaml::Value(read) => scalar(read),
        Yaml::Sequence(items) => items.iter().map(value).collect::<Result<_, _>>()?,
        Yaml::Mapping(pairs) => {
            let (mut own, mut merged) = (Map::new(), Vec::new());
            for (key, child) in pairs {
                let (key, is_plain) = match key {
                    Yaml::Representation(text, style, _) => {
                        (text.to_string(), *style == ScalarStyle::Plain)
                    }
                    other => (text(&value(other)?), false),
                };
                match value(child)? {
                    Value::Array(several) if is_plain && key == MERGE => merged.extend(several),
                    one @ Value::Object(_) if is_plain && key == MERGE => merged.push(one),
                    child => {
                        // The parser only compares keys that are written in the same way.
                        if own.insert(key.clone(), child).is_some() {
                            return Err(twice(&key));
                        }
                    }
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

/// Returns whether a tag has the content of another file, as tools that join files read it.
fn includes(tag: &Tag) -> bool {
    tag.suffix.eq_ignore_ascii_case("include")
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
        (_, Some(one)) if SUPPORTED.iter().any(|known| one.starts_with(known)) => Ok(()),
        (_, Some(version)) => Err(format!(
            "OpenAPI {version} is not supported; give OpenAPI {}",
            SUPPORTED.join(" or ")
        )),
        _ => Err("no field `openapi`: this is not an OpenAPI document".to_owned()),
    }
}
