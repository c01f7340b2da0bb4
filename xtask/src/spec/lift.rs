//! Brings the schemas to one form, so that every generator meets the same few things.
//!
//! - An enum or an object that is written where it is used becomes a schema of its own.
//! - A schema of its own that is neither of them (a text, an array) goes to where it is used.
//! - In answers a field that may be null is one that may be absent: a client reads both alike.
//! - Prose is one line that no comment ends in.

use super::forms::{accepts_null, is_null};
use super::{pointer, refused};
use crate::names;
use crate::normalise::open_enum;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Where each schema stands in the spec as it is written, by name.
pub(crate) type Places = BTreeMap<String, String>;

/// Gives what is written where it is used a name, and what has a needless name its place. The
/// document then holds the outcome; `places` are those of schemas that do not stand under their names.
pub(super) fn schemas(document: &mut Value, mut places: Places) -> Result<Places, String> {
    let written = document.pointer_mut("/components/schemas").map(Value::take);
    let Some(Value::Object(mut written)) = written else {
        return Err("spec/openapi.json has no object at /components/schemas".into());
    };
    written.values_mut().for_each(one_form);
    for name in written.keys() {
        let at = || pointer(&["components", "schemas", name]);
        places.entry(name.clone()).or_insert_with(at);
    }
    let mut out = Schemas {
        all: Map::new(),
        places,
    };
    for (name, mut schema) in written {
        let at = out.places.get(&name).cloned().unwrap_or_default();
        out.children(&mut schema, &name, &at)?;
        out.all.insert(name, schema);
    }
    let aliases = out.take_aliases();
    document["components"]["schemas"] = Value::Object(out.all);
    replace(document, &aliases);
    Ok(out.places)
}

/// Schemas by name, in the spec's order, and where each stands.
struct Schemas {
    all: Map<String, Value>,
    places: Places,
}

impl Schemas {
    fn insert(&mut self, name: String, schema: Value, at: &str) -> Result<(), String> {
        if let Some(other) = self.places.insert(name.clone(), at.to_owned()) {
            let what = format!("it would be named {name}, as {other} is");
            let way = "give it a name of its own under /components/schemas, and refer to it";
            return Err(refused(at, &what, way));
        }
        self.all.insert(name, schema);
        Ok(())
    }

    /// Lifts what is written within a schema; `name` is that of the place.
    fn children(&mut self, schema: &mut Value, name: &str, at: &str) -> Result<(), String> {
        let Value::Object(map) = schema else {
            return Ok(());
        };
        if let Some(Value::Object(properties)) = map.get_mut("properties") {
            for (property, child) in properties {
                let name = format!("{name}{}", names::camel(property));
                let at = format!("{at}{}", pointer(&["properties", property]));
                self.child(child, &name, &at)?;
            }
        }
        for (key, name_of) in [
            ("items", "Items"),
            ("additionalProperties", "AdditionalProperties"),
        ] {
            if let Some(child) = map.get_mut(key) {
                self.child(child, &format!("{name}{name_of}"), &format!("{at}/{key}"))?;
            }
        }
        if open_enum(name, schema).is_some() {
            return Ok(());
        }
        for key in ["anyOf", "oneOf"] {
            let choices = schema.get_mut(key).and_then(Value::as_array_mut);
            for choice in choices.into_iter().flatten() {
                self.child(choice, name, &format!("{at}/{key}"))?;
            }
        }
        Ok(())
    }

    /// An enum or object takes the name of the place it stands in, and `Value`, since in C the place
    /// itself is the name of a function.
    fn child(&mut self, schema: &mut Value, name: &str, at: &str) -> Result<(), String> {
        let nullable = accepts_null(schema);
        let mut core = schema.clone();
        without_null(&mut core);
        if open_enum(name, &core).is_none() && core.get("properties").is_none() {
            return self.children(schema, name, at);
        }
        self.children(&mut core, name, at)?;
        let name = names::camel(&format!("{name}Value"));
        *schema = json!({ "$ref": format!("#/components/schemas/{name}") });
        if nullable {
            *schema = json!({"anyOf": [schema, {"type": "null"}]});
        }
        self.insert(name, core, at)
    }

    /// What is neither a model nor an open enum, by the reference to it.
    fn take_aliases(&mut self) -> BTreeMap<String, Value> {
        let (mut models, mut aliases) = (Map::new(), BTreeMap::new());
        for (name, mut schema) in std::mem::take(&mut self.all) {
            if open_enum("", &schema).is_some() || schema.get("properties").is_some() {
                // What is generated has to be documented.
                if let Value::Object(map) = &mut schema {
                    let text = map.entry("description");
                    text.or_insert_with(|| json!("Not described."));
                }
                models.insert(name, schema);
            } else {
                aliases.insert(format!("#/components/schemas/{name}"), schema);
            }
        }
        self.all = models;
        aliases
    }
}

/// Makes the fields of answers that may be null optional ones.
pub(super) fn null_is_absent(schema: &mut Value) {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return;
    };
    let mut nullable = BTreeSet::new();
    for (name, child) in properties {
        if accepts_null(child) {
            without_null(child);
            nullable.insert(name.clone());
        }
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|name| name.as_str().is_none_or(|name| !nullable.contains(name)));
    }
}

/// There are no circles, so this ends.
fn replace(value: &mut Value, aliases: &BTreeMap<String, Value>) {
    while let Some(target) = value["$ref"].as_str().and_then(|name| aliases.get(name)) {
        let own = value.get("description").cloned();
        *value = target.clone();
        if let (Value::Object(map), Some(own)) = (&mut *value, own) {
            map.insert("description".into(), own);
        }
    }
    match value {
        Value::Object(map) => map.values_mut().for_each(|child| replace(child, aliases)),
        Value::Array(items) => items.iter_mut().for_each(|child| replace(child, aliases)),
        _ => {}
    }
}

/// The schema of what is not null.
fn without_null(schema: &mut Value) {
    if let Some(kinds) = schema.get_mut("type").filter(|kinds| kinds.is_array()) {
        let mut others = kinds
            .as_array()
            .into_iter()
            .flatten()
            .filter(|one| *one != "null");
        let kind = others.next().cloned().unwrap_or_default();
        *kinds = kind;
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    for key in ["anyOf", "oneOf"] {
        let Some(Value::Array(choices)) = schema.get_mut(key) else {
            continue;
        };
        choices.retain(|choice| !is_null(choice));
        if let [only] = choices.as_mut_slice() {
            let mut only = only.take();
            without_null(&mut only);
            let own = schema.get("description").cloned();
            *schema = only;
            if let (Value::Object(map), Some(own)) = (&mut *schema, own) {
                map.insert("description".into(), own);
            }
            return;
        }
    }
}

/// One way to write each thing, and prose that fits every comment.
fn one_form(schema: &mut Value) {
    let Value::Object(map) = schema else {
        return;
    };
    if map.contains_key("properties") || map.contains_key("additionalProperties") {
        map.entry("type").or_insert_with(|| json!("object"));
    }
    // No object is closed, and one without fields is any object.
    map.retain(|key, value| match key.as_str() {
        "additionalProperties" => *value != false,
        "properties" => value.as_object().is_none_or(|fields| !fields.is_empty()),
        _ => true,
    });
    if let Some(Value::String(text)) = map.get_mut("description") {
        *text = prose(text);
    }
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        properties.values_mut().for_each(one_form);
    }
    for key in ["items", "additionalProperties"] {
        map.get_mut(key).into_iter().for_each(one_form);
    }
    for key in ["anyOf", "oneOf"] {
        let choices = map.get_mut(key).and_then(Value::as_array_mut);
        choices.into_iter().flatten().for_each(one_form);
    }
}

/// Prose on one line; a comment of C ends at `*/`, and one of C++ goes on behind a `\`.
pub(super) fn prose(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.replace("*/", "* /").trim_end_matches('\\').to_owned()
}
