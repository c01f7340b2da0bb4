//! One form for every schema: references and `allOf` resolved, null set apart, single choices unwrapped.

use super::cursor::Cursor;
use super::findings::RAW;
use serde_json::Value;

const TYPES: [&str; 6] = ["string", "integer", "number", "boolean", "array", "object"];

/// Keywords that say more than a reference beside them does; a type would only repeat it.
const REFINING: [&str; 5] = [
    "properties",
    "required",
    "items",
    "additionalProperties",
    "enum",
];

/// What all the parts of a schema say together.
#[derive(Default)]
pub(super) struct Schema<'a> {
    /// Where it stands.
    pub(super) at: String,
    /// Whether null is a value of it.
    pub(super) nullable: bool,
    /// What it says for itself, also beside a reference.
    pub(super) description: Option<&'a str>,
    /// Where the reference leads that is all it says; then the rest is empty.
    pub(super) reference: Option<Cursor<'a>>,
    /// The one type, apart from null, and where it is written.
    pub(super) kind: Option<(&'a str, String)>,
    /// Each property with its schemas, which all hold.
    pub(super) properties: Vec<(String, Vec<Cursor<'a>>)>,
    pub(super) required: Vec<Cursor<'a>>,
    pub(super) items: Vec<Cursor<'a>>,
    /// The schemas of further properties.
    pub(super) additional: Vec<Cursor<'a>>,
    /// The texts of an enum, and where it is written.
    pub(super) values: Option<(Vec<&'a str>, String)>,
    /// The schemas of `anyOf` or `oneOf`, without null.
    pub(super) choices: Option<(Cursor<'a>, Vec<Cursor<'a>>)>,
    pub(super) format: Option<Cursor<'a>>,
}

/// Reads the schema that holds where all of these hold.
pub(super) fn schema<'a>(mut parts: Vec<Cursor<'a>>) -> Schema<'a> {
    parts.dedup_by(|one, other| one.at == other.at);
    let mut out = Schema {
        at: parts.first().map_or(String::new(), |one| one.at.clone()),
        ..Schema::default()
    };
    while let [only] = parts.as_slice() {
        out.at = only.at.clone();
        let wrapped = Wrapped::of(only);
        out.nullable |= wrapped.nullable;
        out.description = out.description.or_else(|| only.text("description"));
        match wrapped.parts.as_slice() {
            [next] if wrapped.is_reference && !wrapped.refines => {
                out.reference = Some(next.clone());
                return out;
            }
            [next] if !wrapped.refines && !only.has("type") => parts = vec![next.clone()],
            _ => break,
        }
    }
    for part in &parts {
        out.add(part, &mut Vec::new());
    }
    out
}

/// What a schema says by other schemas.
struct Wrapped<'a> {
    nullable: bool,
    /// The types without null.
    kinds: Vec<&'a str>,
    /// The schemas that have to hold, too.
    parts: Vec<Cursor<'a>>,
    /// Whether one of them is referred to.
    is_reference: bool,
    /// Whether it says more than they do.
    refines: bool,
    choices: Option<(Cursor<'a>, Vec<Cursor<'a>>)>,
}

impl<'a> Wrapped<'a> {
    fn of(schema: &Cursor<'a>) -> Self {
        check_forms(schema);
        let values = values(schema).map_or(Vec::new(), |(_, values)| values);
        let (kinds, has_null) = types(schema);
        let mut out = Wrapped {
            nullable: schema.flag("nullable") || has_null || values.iter().any(|one| one.is_null()),
            kinds,
            parts: schema.target().into_iter().collect(),
            is_reference: schema.has("$ref"),
            refines: REFINING.iter().any(|key| schema.has(key)),
            choices: None,
        };
        let parts = schema.get("allOf").map(|parts| parts.items());
        out.parts.extend(parts.into_iter().flatten());
        for written in ["anyOf", "oneOf"].iter().filter_map(|key| schema.get(key)) {
            let items = written.items().into_iter();
            let (null, mut others): (Vec<_>, Vec<_>) = items.partition(is_null);
            out.nullable |= !null.is_empty();
            null.iter().for_each(Cursor::mark_all);
            match others.len() {
                0 => {}
                1 => out.parts.append(&mut others),
                _ => {
                    out.refines = true;
                    out.choices = Some((written, others));
                }
            }
        }
        out
    }
}

impl<'a> Schema<'a> {
    /// Adds what a schema and its parts say; `above` are the places that lead to it.
    fn add(&mut self, one: &Cursor<'a>, above: &mut Vec<String>) {
        if above.contains(&one.at) {
            let way = "write the properties out in one of the schemas";
            return one.refuse("allOf leads back to the schema that it is part of", way);
        }
        self.description = self.description.or_else(|| one.text("description"));
        let wrapped = Wrapped::of(one);
        above.push(one.at.clone());
        wrapped.parts.iter().for_each(|part| self.add(part, above));
        above.pop();
        self.choices = self.choices.take().or(wrapped.choices);
        let kinds = wrapped.kinds;
        if let [kind] = kinds.as_slice() {
            self.add_kind(kind, one);
        }
        let of = |kind: &str| kinds.is_empty() || kinds == [kind];
        if of("object") {
            let properties = one.get("properties").map(|all| all.entries());
            for (name, schema) in properties.into_iter().flatten() {
                match self.properties.iter_mut().find(|(other, _)| *other == name) {
                    Some((_, schemas)) => schemas.push(schema),
                    None => self.properties.push((name, vec![schema])),
                }
            }
            if let Some(names) = one.peek("required").filter(|names| names.value.is_array()) {
                names.mark();
                let names = names.children().into_iter();
                self.required.extend(names.map(|(_, name)| name));
            }
            let additional = one.peek("additionalProperties");
            match additional.as_ref().map(|one| one.value) {
                Some(Value::Object(map)) if !map.is_empty() => self.additional.extend(additional),
                _ => additional.iter().for_each(Cursor::mark),
            }
        }
        if of("array") {
            let items = one.get("items").filter(|items| items.value.is_object());
            self.items.extend(items);
        }
        if kinds.len() < 2 {
            self.add_values(one);
        }
        self.format = self.format.take().or_else(|| one.peek("format"));
    }

    /// Two types hold together where one contains the other.
    fn add_kind(&mut self, kind: &'a str, of: &Cursor) {
        let at = format!("{}/type", of.at);
        match &self.kind {
            Some(("integer", _)) if kind == "number" => {}
            Some((other, place)) if *other != kind && (*other, kind) != ("number", "integer") => {
                let reason = format!("{kind} here and {other} at {place} cannot both hold");
                let way = "write one type in all parts of allOf";
                of.document.refuse(&at, &reason, way);
            }
            _ => self.kind = Some((kind, at)),
        }
    }

    /// Values that are all texts are an enum; of others only the type is read.
    fn add_values(&mut self, one: &Cursor<'a>) {
        let Some((written, mut values)) = values(one) else {
            return;
        };
        let is_empty = values.is_empty();
        values.retain(|value| !value.is_null());
        let all = |is: fn(&Value) -> bool| !values.is_empty() && values.iter().all(|one| is(one));
        if all(Value::is_string) {
            written.mark_all();
            let mut texts: Vec<&str> = values.iter().filter_map(|one| one.as_str()).collect();
            if let Some((before, at)) = &self.values {
                texts.retain(|text| before.contains(text));
                if texts.is_empty() {
                    let reason = format!("none of these values is among those at {at}");
                    written.refuse(&reason, "write values that all parts of allOf have");
                }
            }
            self.values = Some((texts, written.at));
        } else {
            if values.is_empty() && !is_empty {
                written.mark_all();
            }
            let is_integer = |one: &Value| one.is_i64() || one.is_u64();
            let kind = match () {
                () if all(Value::is_boolean) => Some("boolean"),
                () if all(is_integer) => Some("integer"),
                () if all(Value::is_number) => Some("number"),
                () => None,
            };
            let kind = kind.map(|kind| (kind, one.at.clone()));
            self.kind = self.kind.take().or(kind);
        }
    }
}

/// The types of a schema without null, and whether null is one.
fn types<'a>(schema: &Cursor<'a>) -> (Vec<&'a str>, bool) {
    let Some(written) = schema.get("type") else {
        return (Vec::new(), false);
    };
    let kinds: Vec<&Value> = match written.value {
        Value::Array(kinds) => kinds.iter().collect(),
        one => vec![one],
    };
    written.mark_all();
    let (null, others): (Vec<&Value>, Vec<&Value>) =
        kinds.into_iter().partition(|kind| *kind == "null");
    for kind in &others {
        if !kind.as_str().is_some_and(|kind| TYPES.contains(&kind)) {
            let way = format!("the types are {}", TYPES.join(", "));
            written.refuse(&format!("there is no type {kind}"), &way);
        }
    }
    let texts: Vec<&str> = others.iter().filter_map(|kind| kind.as_str()).collect();
    let shown = match texts.as_slice() {
        [_] => return (texts, !null.is_empty()),
        [] => "only null is documented".to_owned(),
        several => several.join(" or "),
    };
    schema.document.note(RAW, format!("{}: {shown}", schema.at));
    (texts, !null.is_empty())
}

/// The values that an enum or a constant lists.
fn values<'a>(schema: &Cursor<'a>) -> Option<(Cursor<'a>, Vec<&'a Value>)> {
    let written = schema.peek("enum").or_else(|| schema.peek("const"))?;
    let values = match (written.value, schema.has("enum")) {
        (Value::Array(values), true) => values.iter().collect(),
        (one, _) => vec![one],
    };
    Some((written, values))
}

/// Whether null is the only value.
fn is_null(schema: &Cursor) -> bool {
    let all_null = |all: &[&Value]| !all.is_empty() && all.iter().all(|one| one.is_null());
    let kind = schema.value.get("type");
    kind.is_some_and(|kind| *kind == "null" || *kind == serde_json::json!(["null"]))
        || values(schema).is_some_and(|(_, values)| all_null(&values))
}

/// Refuses what is no schema, and keywords that have another form than they must have.
fn check_forms(schema: &Cursor) {
    if !schema.value.is_object() && *schema.value != Value::Bool(true) {
        schema.refuse("this is not a schema", "write an object");
    }
    for (key, one) in schema.children() {
        let fits = match key.as_str() {
            "properties" => one.value.is_object(),
            "items" | "additionalProperties" => one.value.is_object() || one.value.is_boolean(),
            // OpenAPI 2 marked a field by true.
            "required" => one.value.is_array() || one.value.is_boolean(),
            "enum" | "anyOf" | "oneOf" | "allOf" => one.value.is_array(),
            "$ref" => one.value.is_string(),
            _ => true,
        };
        if !fits {
            let way = "write an object for properties and items, an array for required, enum, \
                       anyOf, oneOf and allOf, a text for $ref";
            one.refuse("it has another form", way);
        }
    }
}
