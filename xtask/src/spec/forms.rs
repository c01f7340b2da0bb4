//! What a schema may say: everything else is refused by name, because generation would lose it in silence.

use super::lift::Places;
use super::{pointer, references, refused};
use serde_json::{Map, Value};

/// Keywords that the generator reads.
const READ: [&str; 10] = [
    "$ref",
    "type",
    "properties",
    "required",
    "items",
    "additionalProperties",
    "enum",
    "anyOf",
    "oneOf",
    "format",
];

/// Keywords that change no type: prose, and constraints, which the client does not hold the service to.
const ADVICE: &str = "\
    title description default example examples deprecated readOnly writeOnly externalDocs xml \
    $comment $id $anchor contentEncoding contentMediaType contentSchema pattern minimum maximum \
    exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems maxItems \
    uniqueItems minProperties maxProperties propertyNames discriminator";

/// Keywords that have another way to be said.
const INSTEAD: [(&str, &str); 3] = [
    (
        "nullable",
        "write type: [..., \"null\"] as OpenAPI 3.1 does",
    ),
    ("const", "write an enum"),
    ("allOf", "write the properties out"),
];

const ANYTHING: &str = "or {} to take the value as JSON";

/// Checks every schema that code is generated from; `places` are those that do not stand under their names.
pub(super) fn check(document: &Value, places: &Places) -> Result<(), String> {
    check_instead(document, "")?;
    for (name, schema) in super::object(document, "/components/schemas")? {
        let own = || pointer(&["components", "schemas", name]);
        let at = places.get(name).cloned().unwrap_or_else(own);
        if accepts_null(schema) {
            let way = "say so where it is referred to: anyOf: [{$ref: ...}, {type: \"null\"}]";
            return Err(refused(&at, "a schema of its own cannot be null", way));
        }
        check_schema(schema, &at)?;
        let mut above = vec![name.as_str()];
        references::check_circles(document, schema, &at, &mut above)?;
    }
    Ok(())
}

/// Refuses keywords that have another way to be said, wherever they are: a list might not be seen as one.
fn check_instead(value: &Value, at: &str) -> Result<(), String> {
    match value {
        Value::Object(map) => map.iter().try_for_each(|(key, child)| {
            // Under `properties` the keys are names of fields, not keywords.
            let keyword = !at.ends_with("/properties");
            if let Some((_, instead)) = INSTEAD.iter().find(|(word, _)| keyword && word == key) {
                return Err(refused(
                    at,
                    &format!("{key} is lost in generation"),
                    instead,
                ));
            }
            check_instead(child, &format!("{at}{}", pointer(&[key])))
        }),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(index, child)| check_instead(child, &format!("{at}/{index}"))),
        _ => Ok(()),
    }
}

fn check_schema(schema: &Value, at: &str) -> Result<(), String> {
    if *schema == Value::Bool(true) {
        return Ok(());
    }
    let Some(map) = schema.as_object() else {
        return Err(refused(at, "it is no schema", "write an object"));
    };
    for key in map.keys() {
        let known = READ.contains(&key.as_str()) || ADVICE.split(' ').any(|word| word == key);
        if !known && !key.starts_with("x-") {
            let lost = format!("{key} is lost in generation");
            return Err(refused(at, &lost, "say it in the description instead"));
        }
    }
    check_reference(map, at)?;
    check_type(map, at)?;
    check_values(map, at)?;
    check_shape(map, at)?;
    check_choices(map, at)?;
    let properties = map.get("properties").and_then(Value::as_object);
    for (name, child) in properties.into_iter().flatten() {
        check_schema(child, &format!("{at}{}", pointer(&["properties", name])))?;
    }
    let required = map.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if properties.is_none_or(|known| !known.contains_key(name)) {
            let what = format!("{name:?} is required, but not among the properties");
            return Err(refused(
                at,
                &what,
                "add it to them, as {} where nothing is known",
            ));
        }
    }
    if let Some(items) = map.get("items") {
        check_schema(items, &format!("{at}/items"))?;
    }
    match map.get("additionalProperties") {
        None | Some(Value::Bool(_)) => Ok(()),
        Some(values) => check_schema(values, &format!("{at}/additionalProperties")),
    }
}

fn check_reference(map: &Map<String, Value>, at: &str) -> Result<(), String> {
    let Some(reference) = map.get("$ref") else {
        return Ok(());
    };
    let name = reference
        .as_str()
        .and_then(|text| text.strip_prefix("#/components/schemas/"))
        .filter(|name| !name.contains('/'));
    let at = &format!("{at}/$ref");
    if name.is_none() {
        let what = format!("{reference} is no schema of this document");
        return Err(refused(at, &what, "refer to #/components/schemas/NAME"));
    }
    let beside = map
        .keys()
        .find(|key| *key != "$ref" && READ.contains(&key.as_str()));
    match beside {
        None => Ok(()),
        Some(key) => {
            let what = format!("{key} beside it is lost in generation");
            Err(refused(
                at,
                &what,
                "write the properties out, or the reference alone",
            ))
        }
    }
}

/// Each keyword is what it has to be, and beside the type that it is for.
fn check_shape(map: &Map<String, Value>, at: &str) -> Result<(), String> {
    let kind = without_null(map.get("type"));
    let kinds = [
        ("properties", "object"),
        ("required", "object"),
        ("additionalProperties", "object"),
        ("items", "array"),
        ("enum", "string"),
    ];
    for (key, wanted) in kinds {
        let Some(value) = map.get(key) else { continue };
        let at = format!("{at}/{key}");
        let fits = match key {
            "properties" => value.is_object(),
            "items" | "additionalProperties" => true,
            _ => value.is_array(),
        };
        if !fits {
            let way = "write an object for properties, an array for required and enum";
            return Err(refused(&at, "it has another form", way));
        }
        if kind != wanted && (!kind.is_empty() || key == "items") {
            let way = format!("write type: {wanted}, or leave {key} out");
            return Err(refused(&at, &format!("the type is not {wanted}"), &way));
        }
    }
    Ok(())
}

/// The one type of a schema, apart from null; empty where it has none.
fn without_null(kinds: Option<&Value>) -> &str {
    let listed = kinds.and_then(Value::as_array);
    let mut others = listed.into_iter().flatten().filter(|kind| *kind != "null");
    let kind = others.next().or(kinds).and_then(Value::as_str);
    kind.unwrap_or_default()
}

fn check_type(map: &Map<String, Value>, at: &str) -> Result<(), String> {
    let kinds: Vec<&str> = match map.get("type") {
        None => return Ok(()),
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        Some(_) => Vec::new(),
    };
    let at = &format!("{at}/type");
    let mut kinds = kinds.into_iter().filter(|kind| *kind != "null");
    let (Some(kind), None) = (kinds.next(), kinds.next()) else {
        let way = format!("write the one type it has (and \"null\"), {ANYTHING}");
        return Err(refused(at, "it is not one type", &way));
    };
    let known = ["string", "integer", "number", "boolean", "array", "object"];
    if known.contains(&kind) {
        return Ok(());
    }
    let way = format!("the types are {}", known.join(", "));
    Err(refused(at, &format!("there is no type {kind:?}"), &way))
}

fn check_values(map: &Map<String, Value>, at: &str) -> Result<(), String> {
    let Some(values) = map.get("enum") else {
        return Ok(());
    };
    let values = values.as_array().map(Vec::as_slice).unwrap_or_default();
    let texts = values.iter().filter(|value| value.is_string()).count();
    if texts > 0
        && values
            .iter()
            .all(|value| value.is_string() || value.is_null())
    {
        return Ok(());
    }
    let way = "write the type alone, and the values in the description";
    Err(refused(
        &format!("{at}/enum"),
        "only an enum of texts is generated",
        way,
    ))
}

/// Either null or one other schema, or some known texts and any other text.
fn check_choices(map: &Map<String, Value>, at: &str) -> Result<(), String> {
    for key in ["anyOf", "oneOf"] {
        let Some(choices) = map.get(key).and_then(Value::as_array) else {
            continue;
        };
        let at = format!("{at}/{key}");
        for (index, choice) in choices.iter().enumerate().filter(|(_, one)| !is_null(one)) {
            check_schema(choice, &format!("{at}/{index}"))?;
        }
        let others: Vec<&Value> = choices.iter().filter(|one| !is_null(one)).collect();
        let texts = others.iter().all(|one| one["type"] == "string");
        let open = texts
            && others
                .iter()
                .filter(|one| one.get("enum").is_some())
                .count()
                == 1;
        if others.len() != 1 && !(others.len() == 2 && open) {
            let way = format!("write the one schema it has (and {{type: \"null\"}}), {ANYTHING}");
            return Err(refused(
                &at,
                "a choice between schemas is not generated",
                &way,
            ));
        }
    }
    Ok(())
}

pub(super) fn is_null(schema: &Value) -> bool {
    schema["type"] == "null"
}

/// Whether null is a value of this schema.
pub(super) fn accepts_null(schema: &Value) -> bool {
    let lists_null = |key: &str, null: &dyn Fn(&Value) -> bool| {
        let items = schema.get(key).and_then(Value::as_array);
        items.is_some_and(|items| items.iter().any(null))
    };
    lists_null("type", &|kind| kind == "null")
        || lists_null("enum", &Value::is_null)
        || lists_null("anyOf", &is_null)
        || lists_null("oneOf", &is_null)
}
