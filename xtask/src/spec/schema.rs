//! One form for every schema: references and `allOf` resolved, null set apart, single choices unwrapped.

use super::cursor::Cursor;
use super::findings::{Findings, Topic};
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

/// A schema in its one form.
pub(super) struct Schema<'a> {
    /// Whether null is a value of it.
    pub(super) nullable: bool,
    /// What it says for itself, also beside a reference.
    pub(super) description: Option<&'a str>,
    /// Where it stands.
    pub(super) at: String,
    pub(super) form: Form<'a>,
}

pub(super) enum Form<'a> {
    Reference(Cursor<'a>),
    Keywords(Box<Keywords<'a>>),
}

/// What all the parts of a schema say together.
#[derive(Default)]
pub(super) struct Keywords<'a> {
    /// The one type, apart from null, and where it is written.
    pub(super) kind: Option<(&'a str, String)>,
    /// Each property with its schemas, which all hold.
    pub(super) properties: Vec<(&'a str, Vec<Cursor<'a>>)>,
    pub(super) required: Vec<Cursor<'a>>,
    pub(super) items: Vec<Cursor<'a>>,
    /// The schemas of further properties.
    pub(super) additional: Vec<Cursor<'a>>,
    /// The texts of an enum, and where it is written.
    pub(super) values: Option<(Vec<&'a str>, String)>,
    /// The schemas of `anyOf` or `oneOf`, without null.
    pub(super) choices: Option<(Cursor<'a>, Vec<Cursor<'a>>)>,
    pub(super) format: Option<Cursor<'a>>,
    /// The schema of the names of properties.
    pub(super) names: Option<Cursor<'a>>,
}

/// Reads the schema that holds where all of these hold.
pub(super) fn schema<'a>(mut parts: Vec<Cursor<'a>>, findings: &mut Findings) -> Schema<'a> {
    parts.dedup_by(|one, other| one.at == other.at);
    let at = parts.first().map(|one| one.at.clone()).unwrap_or_default();
    let mut out = Schema {
        nullable: false,
        description: None,
        at,
        form: Form::Keywords(Box::default()),
    };
    while let [only] = parts.as_slice() {
        out.at = only.at.clone();
        let wrapped = Wrapped::of(only, findings);
        out.nullable |= wrapped.nullable;
        out.description = out.description.or_else(|| only.text("description"));
        match wrapped.parts.as_slice() {
            [next] if wrapped.is_reference && !wrapped.refines => {
                out.form = Form::Reference(next.clone());
                return out;
            }
            [next] if !wrapped.refines && !only.has("type") => parts = vec![next.clone()],
            _ => break,
        }
    }
    let mut keywords = Keywords::default();
    for part in &parts {
        keywords.add(part, &mut Vec::new(), findings);
    }
    let within = parts
        .iter()
        .flat_map(|one| Wrapped::of(one, findings).parts);
    let within: Vec<Cursor> = within.collect();
    let mut described = parts.iter().chain(&within);
    let described = || described.find_map(|one| one.clone().followed().text("description"));
    out.description = out.description.or_else(described);
    out.form = Form::Keywords(keywords.into());
    out
}

/// What a schema says by other schemas.
struct Wrapped<'a> {
    nullable: bool,
    /// The schemas that have to hold, too.
    parts: Vec<Cursor<'a>>,
    /// Whether one of them is referred to.
    is_reference: bool,
    /// Whether it says more than they do.
    refines: bool,
    choices: Option<(Cursor<'a>, Vec<Cursor<'a>>)>,
}

impl<'a> Wrapped<'a> {
    fn of(schema: &Cursor<'a>, findings: &mut Findings) -> Self {
        let mut out = Wrapped {
            nullable: schema.flag("nullable"),
            parts: Vec::new(),
            is_reference: false,
            refines: REFINING.iter().any(|key| schema.has(key)),
            choices: None,
        };
        if !schema.value.is_object() && schema.value != &Value::Bool(true) {
            findings.refuse(&schema.at, "this is not a schema", "write an object");
        }
        check_forms(schema, findings);
        out.nullable |= types(schema, findings).1 || has_null(schema);
        if let Some(target) = schema.target() {
            out.parts.push(target);
            out.is_reference = true;
        }
        let parts = schema.get("allOf").map(|parts| parts.items());
        out.parts.extend(parts.into_iter().flatten());
        for key in ["anyOf", "oneOf"] {
            let Some(written) = schema.get(key) else {
                continue;
            };
            let (null, mut others): (Vec<_>, Vec<_>) =
                written.items().into_iter().partition(is_null);
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

impl<'a> Keywords<'a> {
    /// Adds what a schema and its parts say; `above` are the places that lead to it.
    fn add(&mut self, one: &Cursor<'a>, above: &mut Vec<String>, findings: &mut Findings) {
        if above.contains(&one.at) {
            let way = "write the properties out in one of the schemas";
            let reason = "allOf leads back to the schema that it is part of";
            return findings.refuse(&one.at, reason, way);
        }
        let wrapped = Wrapped::of(one, findings);
        above.push(one.at.clone());
        for part in &wrapped.parts {
            self.add(part, above, findings);
        }
        above.pop();
        self.choices = self.choices.take().or(wrapped.choices);
        let (kinds, _) = types(one, findings);
        let of = |kind: &str| kinds.is_empty() || kinds == [kind];
        if let [kind] = kinds.as_slice() {
            self.add_kind(kind, format!("{}/type", one.at), findings);
        }
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
                self.required.extend(names.peek_items());
            }
            if let Some(additional) = one.peek("additionalProperties") {
                let map = additional.value.as_object();
                match map.is_some_and(|map| !map.is_empty()) {
                    true => self.additional.push(additional),
                    false => additional.mark(),
                }
            }
        }
        if of("array") {
            let items = one.get("items").filter(|items| items.value.is_object());
            self.items.extend(items);
        }
        if kinds.len() < 2 {
            self.add_values(one, findings);
        }
        self.format = self.format.take().or_else(|| one.peek("format"));
        let names = one.peek("propertyNames");
        self.names = self
            .names
            .take()
            .or(names.filter(|names| names.has("$ref")));
    }

    /// Two types hold together where one contains the other.
    fn add_kind(&mut self, kind: &'a str, at: String, findings: &mut Findings) {
        let known = self.kind.as_ref().map(|(kind, _)| *kind);
        match (known, kind) {
            (Some("integer"), "number") => {}
            (Some(other), kind) if other != kind && (other, kind) != ("number", "integer") => {
                let place = self.kind.as_ref().map_or("", |(_, at)| at);
                let reason = format!("{kind} here and {other} at {place} cannot both hold");
                findings.refuse(&at, &reason, "write one type in all parts of allOf");
            }
            _ => self.kind = Some((kind, at)),
        }
    }

    /// Values that are all texts are an enum; of others only the type is read.
    fn add_values(&mut self, one: &Cursor<'a>, findings: &mut Findings) {
        let values = written_values(one);
        let others: Vec<&Value> = values
            .iter()
            .filter(|value| !value.is_null())
            .copied()
            .collect();
        let kind = match others.first() {
            Some(Value::String(_)) if others.iter().all(|one| one.is_string()) => {
                let key = if one.has("enum") { "enum" } else { "const" };
                one.peek(key).iter().for_each(Cursor::mark_all);
                let mut texts: Vec<&str> = others.iter().filter_map(|one| one.as_str()).collect();
                if let Some((before, at)) = &self.values {
                    texts.retain(|text| before.contains(text));
                    if texts.is_empty() {
                        let reason = format!("none of these values is among those at {at}");
                        let way = "write values that all parts of allOf have";
                        findings.refuse(&format!("{}/{key}", one.at), &reason, way);
                    }
                }
                self.values = Some((texts, format!("{}/{key}", one.at)));
                return;
            }
            Some(Value::Bool(_)) if others.iter().all(|one| one.is_boolean()) => "boolean",
            Some(Value::Number(_)) if others.iter().all(|one| one.is_i64() || one.is_u64()) => {
                "integer"
            }
            Some(Value::Number(_)) if others.iter().all(|one| one.is_number()) => "number",
            _ => return,
        };
        if self.kind.is_none() {
            self.kind = Some((kind, one.at.clone()));
        }
    }
}

/// The types of a schema without null, and whether null is one.
fn types<'a>(schema: &Cursor<'a>, findings: &mut Findings) -> (Vec<&'a str>, bool) {
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
            let reason = format!("there is no type {kind}");
            let way = format!("the types are {}", TYPES.join(", "));
            findings.refuse(&written.at, &reason, &way);
        }
    }
    let texts: Vec<&str> = others.iter().filter_map(|kind| kind.as_str()).collect();
    let at = &schema.at;
    match texts.as_slice() {
        [_] => {}
        [] => findings.note(Topic::Raw, format!("{at}: only null is documented")),
        several => findings.note(Topic::Raw, format!("{at}: {}", several.join(" or "))),
    }
    (texts, !null.is_empty())
}

/// The values that an enum or a constant lists.
fn written_values<'a>(schema: &Cursor<'a>) -> Vec<&'a Value> {
    match (schema.value.get("enum"), schema.value.get("const")) {
        (Some(Value::Array(values)), _) => values.iter().collect(),
        (None, Some(value)) => vec![value],
        _ => Vec::new(),
    }
}

/// Whether null is among the values that are listed.
fn has_null(schema: &Cursor) -> bool {
    let values = written_values(schema);
    if !values.is_empty() && values.iter().all(|value| value.is_null()) {
        schema
            .get("enum")
            .or_else(|| schema.get("const"))
            .iter()
            .for_each(Cursor::mark_all);
    }
    values.iter().any(|value| value.is_null())
}

/// Whether null is the only value.
fn is_null(schema: &Cursor) -> bool {
    let kind = schema.value.get("type");
    let only = |value: &Value| {
        value == "null"
            || value
                .as_array()
                .is_some_and(|all| all.iter().all(|one| one == "null") && !all.is_empty())
    };
    let values = written_values(schema);
    kind.is_some_and(only) || (!values.is_empty() && values.iter().all(|value| value.is_null()))
}

/// Refuses keywords that have another form than they must have.
fn check_forms(schema: &Cursor, findings: &mut Findings) {
    let Some(map) = schema.value.as_object() else {
        return;
    };
    for (key, value) in map {
        let fits = match key.as_str() {
            "properties" => value.is_object(),
            "items" | "additionalProperties" => value.is_object() || value.is_boolean(),
            // OpenAPI 2 marked a field by true.
            "required" => value.is_array() || value.is_boolean(),
            "enum" | "anyOf" | "oneOf" | "allOf" => value.is_array(),
            "$ref" => value.is_string(),
            _ => true,
        };
        if !fits {
            let way = "write an object for properties and items, an array for required, enum, \
                       anyOf, oneOf and allOf, a text for $ref";
            findings.refuse(&format!("{}/{key}", schema.at), "it has another form", way);
        }
    }
}
