//! A common form for all schemas: references and `allOf` resolved, null separated, single choices unwrapped.

use super::cursor::{Cursor, RAW};
use crate::text::one_line;
use indexmap::IndexMap;
use serde_json::Value;

pub(super) const COMPONENTS: &str = "/components/schemas/";

const TYPES: [&str; 6] = ["string", "integer", "number", "boolean", "array", "object"];

/// Keywords that add information to a reference next to them. A type would only repeat it.
const REFINING: &str = "properties required items additionalProperties enum";

/// The types that values of keywords may have. OpenAPI 2 marked a required field with true.
const FORMS: [(&str, &str); 5] = [
    ("an object", "properties"),
    ("an object or a boolean", "items additionalProperties"),
    ("an array or a boolean", "required"),
    ("an array", "enum anyOf oneOf allOf"),
    ("a string", "$ref"),
];

/// The combined content of all parts of a schema.
#[derive(Default)]
pub(super) struct ResolvedSchema<'a> {
    /// The place of the schema, after following references and other parts that add nothing of their own.
    pub(super) at: String,
    /// True if null is a valid value.
    pub(super) nullable: bool,
    /// True if only responses have it.
    pub(super) read_only: bool,
    /// True if only requests have it.
    pub(super) write_only: bool,
    /// True if its parts contradict each other, or one is not a schema. Then any value is accepted.
    pub(super) raw: bool,
    /// The description nearest to the place of use.
    pub(super) description: Option<String>,
    /// The description in the schema itself.
    pub(super) own: Option<String>,
    /// The only type other than null, and its place.
    pub(super) kind: Option<(&'a str, String)>,
    /// Each property with its schemas, all of which must hold.
    pub(super) properties: IndexMap<String, Vec<Cursor<'a>>>,
    pub(super) required: Vec<Cursor<'a>>,
    pub(super) items: Vec<Cursor<'a>>,
    /// The schemas of further properties.
    pub(super) additional: Vec<Cursor<'a>>,
    /// The strings of an enum, and its place.
    pub(super) values: Option<(Vec<&'a str>, String)>,
    /// The schemas of `anyOf` or `oneOf`, without null.
    pub(super) choices: Option<Vec<Cursor<'a>>>,
    pub(super) format: Option<Cursor<'a>>,
}

/// Reads several schemas, all of which must hold, as one.
pub(super) fn schema<'a>(parts: &[Cursor<'a>]) -> ResolvedSchema<'a> {
    let mut out = ResolvedSchema::default();
    if let [first, _, ..] = parts {
        out.at = first.at.clone();
    }
    for part in parts {
        out.add(part, &mut Vec::new());
    }
    if let (true, [only]) = (out.at.is_empty(), parts) {
        out.at = only.at.clone();
    }
    out.description = out.description.or(out.own.clone());
    out
}

impl<'a> ResolvedSchema<'a> {
    /// Adds the content of a schema and its parts. `above` are the places that lead to it.
    fn add(&mut self, one: &Cursor<'a>, above: &mut Vec<String>) {
        if above.contains(&one.at) {
            let fix = "write the properties out in one of the schemas";
            return one.raw("allOf leads back to the schema that it is part of", fix);
        }
        one.mark();
        self.raw |= !is_schema(one);
        self.read_only |= one.flag("readOnly");
        self.write_only |= one.flag("writeOnly");
        let (kinds, mut nullable) = types(one);
        let mut parts: Vec<Cursor> = referred(one).into_iter().collect();
        parts.extend(one.get("allOf").iter().flat_map(Cursor::items));
        for written in ["anyOf", "oneOf"].iter().filter_map(|key| one.peek(key)) {
            let items = written.children().into_iter();
            let followed = |one: &Cursor<'a>| one.clone().followed();
            let (null, others): (Vec<_>, Vec<_>) = items.partition(|one| is_null(&followed(one)));
            nullable |= !null.is_empty() || others.iter().any(|one| allows_null(&followed(one)));
            null.iter().for_each(|one| followed(one).mark_all());
            match others.len() {
                0 | 1 => parts.extend(others),
                _ => self.choices = self.choices.take().or(Some(others)),
            }
        }
        let text = one_line(one.text("description"));
        if self.at.is_empty() {
            self.nullable |= nullable || allows_null(one);
            self.description = self.description.take().or(text.clone());
            let refines = REFINING.split(' ').any(|key| one.has(key));
            let refines = refines || self.choices.is_some() || one.has("type") && !one.has("$ref");
            if refines || parts.len() != 1 {
                self.at = one.at.clone();
            }
        }
        self.own = self.own.take().or(text);
        if self.at.is_empty() && one.has("$ref") {
            self.own = None;
        }
        above.push(one.at.clone());
        parts.iter().for_each(|part| self.add(part, above));
        above.pop();
        if let [kind] = kinds.as_slice() {
            self.add_kind(kind, one);
        }
        let of = |kind: &str| kinds.is_empty() || kinds == [kind];
        if of("object") {
            for schema in one.get("properties").iter().flat_map(Cursor::items) {
                let schemas = self.properties.entry(schema.key()).or_default();
                schemas.push(schema);
            }
            if let Some(names) = one.peek("required").filter(|names| names.value.is_array()) {
                names.mark();
                self.required.extend(names.children());
            }
            let additional = one.get("additionalProperties");
            let is_shown = |one: &Cursor| one.value.as_object().is_some_and(|map| !map.is_empty());
            self.additional.extend(additional.filter(is_shown));
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

    /// Adds a type. Two types are compatible if one contains the other.
    fn add_kind(&mut self, kind: &'a str, of: &Cursor) {
        let at = format!("{}/type", of.at);
        match &self.kind {
            Some(("integer", _)) if kind == "number" => {}
            Some((other, place)) if *other != kind && (*other, kind) != ("number", "integer") => {
                let reason = format!("{kind} here and {other} at {place} cannot both hold");
                let fix = "write one type in all parts of allOf";
                of.document.note(RAW, &at, &reason, fix);
                self.raw = true;
            }
            _ => self.kind = Some((kind, at)),
        }
    }

    /// Adds listed values. If all are strings, they are an enum; otherwise only their type is read.
    fn add_values(&mut self, one: &Cursor<'a>) {
        let Some((written, mut values)) = values(one) else {
            return;
        };
        values.retain(|value| !value.is_null());
        let mut kinds: Vec<&str> = values.iter().map(|value| kind_of(value)).collect();
        kinds.dedup();
        match kinds.as_slice() {
            ["string"] => {
                written.mark_all();
                let mut texts: Vec<&str> = values.iter().filter_map(|one| one.as_str()).collect();
                if let Some((before, at)) = &self.values {
                    texts.retain(|text| before.contains(text));
                    if texts.is_empty() {
                        let reason = format!("none of these values is among those at {at}");
                        written.raw(&reason, "write values that all parts of allOf have");
                        self.raw = true;
                    }
                }
                self.values = Some((texts, written.at));
            }
            [kind] if self.kind.is_none() => self.kind = Some((kind, one.at.clone())),
            _ => {}
        }
    }
}

/// Returns the type of a value.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Returns the types of a schema without null, and whether null is one of them. Several types, and null alone, are not
/// marked as read.
fn types<'a>(schema: &Cursor<'a>) -> (Vec<&'a str>, bool) {
    let Some(written) = schema.peek("type") else {
        return (Vec::new(), false);
    };
    let kinds = written.value.as_array();
    let kinds = kinds.map_or(std::slice::from_ref(written.value), Vec::as_slice);
    let mut out = Vec::new();
    for kind in kinds.iter().filter(|kind| !says_null(kind)) {
        match kind.as_str().filter(|kind| TYPES.contains(kind)) {
            Some(kind) => out.push(kind),
            None => {
                let fix = format!("the types are {}", TYPES.join(", "));
                written.raw(&format!("there is no type {kind}"), &fix);
            }
        }
    }
    if out.len() == 1 {
        written.mark_all();
    }
    (out, kinds.iter().any(says_null))
}

/// Returns whether a type is null. YAML reads an unquoted `null` as null.
fn says_null(kind: &Value) -> bool {
    kind.is_null() || kind == "null"
}

/// Returns the values of an enum or a constant.
fn values<'a>(schema: &Cursor<'a>) -> Option<(Cursor<'a>, Vec<&'a Value>)> {
    let written = schema.peek("enum").or_else(|| schema.peek("const"))?;
    let values = match (written.value, schema.has("enum")) {
        (Value::Array(values), true) => values.iter().collect(),
        (one, _) => vec![one],
    };
    Some((written, values))
}

/// Returns whether null is the only value.
fn is_null(schema: &Cursor) -> bool {
    let kind = schema.value.get("type");
    let is_null = kind.is_some_and(|kind| match kind.as_array().map(Vec::as_slice) {
        Some([one]) => says_null(one),
        _ => says_null(kind),
    });
    let all_null = |all: &[&Value]| !all.is_empty() && all.iter().all(|one| one.is_null());
    is_null || values(schema).is_some_and(|(_, values)| all_null(&values))
}

/// Returns whether the schema itself allows null.
fn allows_null(schema: &Cursor) -> bool {
    let listed = values(schema).is_some_and(|(_, all)| all.iter().any(|one| one.is_null()));
    let kinds = schema.value.get("type").and_then(Value::as_array);
    let kinds = kinds.is_some_and(|kinds| kinds.iter().any(says_null));
    listed || kinds || schema.flag("nullable")
}

/// Returns the target of a reference; `None` if it is another kind of component.
fn referred<'a>(schema: &Cursor<'a>) -> Option<Cursor<'a>> {
    let target = schema.target()?;
    let is_component = target.at.starts_with("/components/") && target.at.matches('/').count() < 4;
    if is_component && !target.at.starts_with(COMPONENTS) {
        let reason = format!("\"#{}\" is not a schema of this document", target.at);
        let fix = "refer to #/components/schemas/NAME";
        schema.peek("$ref")?.raw(&reason, fix);
        return None;
    }
    Some(target)
}

/// Returns whether it is a schema. Keywords with a wrong type are noted and ignored.
fn is_schema(schema: &Cursor) -> bool {
    for (forms, keys) in FORMS {
        for one in keys.split(' ').filter_map(|key| schema.peek(key)) {
            if !forms.contains(kind_of(one.value)) {
                one.raw("it has another form", &format!("write {forms}"));
            }
        }
    }
    let is_schema = schema.value.is_object() || *schema.value == Value::Bool(true);
    if !is_schema {
        schema.raw("this is not a schema", "write an object");
    }
    is_schema
}
