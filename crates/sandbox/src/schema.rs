//! JSON Schema as in OpenAPI 3.0 and 3.1: schemas with their references resolved and their `allOf` flattened.
//!
//! `pattern`, `not`, `if`, `dependentRequired` and formats are ignored. `oneOf` is read like `anyOf`, because the
//! alternatives of real documents overlap. A property that is not documented is allowed unless `additionalProperties`
//! or `unevaluatedProperties` is false in the schema or in a part of it.

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

mod make;

pub(crate) use make::Maker;

/// Limits the parts of a schema. No real schema has more.
const MAX_PARTS: usize = 200;
/// Limits the references or alternatives in a row for the same value. More are a cycle.
const MAX_REFERENCES: usize = 50;

/// The types of JSON, integer before number.
const TYPES: [&str; 7] = [
    "string", "integer", "number", "boolean", "object", "array", "null",
];

/// The API description, in which references of schemas are resolved.
#[derive(Debug, Default)]
pub(crate) struct Schemas(pub(crate) Value);

/// The direction of a value. Read-only properties are not sent in requests, and write-only ones not in responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Request,
    Response,
}

impl Direction {
    /// Returns whether values in this direction lack a property with this schema.
    fn lacks(self, schemas: &Schemas, schema: &Value) -> bool {
        let keyword = match self {
            Direction::Request => "readOnly",
            Direction::Response => "writeOnly",
        };
        schemas.shape(schema).has(keyword, true)
    }
}

impl Schemas {
    /// Returns the target of a reference; a schema that allows anything if there is no target.
    fn target(&self, reference: &str) -> &Value {
        let pointer = reference.strip_prefix('#').unwrap_or(reference);
        let pointer = percent_decode_str(pointer).decode_utf8_lossy();
        self.0.pointer(&pointer).unwrap_or(&Value::Bool(true))
    }

    /// Follows the references of a part of the API description that is not a schema.
    pub(crate) fn resolved<'a>(&'a self, mut value: &'a Value) -> &'a Value {
        for _ in 0..MAX_REFERENCES {
            match value.get("$ref").and_then(Value::as_str) {
                Some(reference) => value = self.target(reference),
                None => break,
            }
        }
        value
    }

    pub(crate) fn shape<'a>(&'a self, schema: &'a Value) -> Shape<'a> {
        let mut shape = Shape::default();
        shape.add(self, schema);
        shape
    }
}

/// The parts of a schema, all of which must hold.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shape<'a> {
    parts: Vec<&'a Value>,
    /// Parts with alternatives, and the keyword, `oneOf` or `anyOf`. One alternative of each must hold.
    choices: Vec<(&'a Value, &'static str)>,
    /// The references on the way to the parts.
    references: Vec<&'a str>,
    /// True if a part is `false`.
    impossible: bool,
}

impl<'a> Shape<'a> {
    /// Adds a schema that must hold as well.
    fn add(&mut self, schemas: &'a Schemas, schema: &'a Value) {
        self.impossible |= *schema == Value::Bool(false);
        if !schema.is_object() || self.parts.len() >= MAX_PARTS {
            return;
        }
        self.parts.push(schema);
        let reference = schema.get("$ref").and_then(Value::as_str);
        // Each reference is followed once, because it may lead back to itself.
        if let Some(reference) = reference.filter(|one| !self.references.contains(one)) {
            self.references.push(reference);
            self.add(schemas, schemas.target(reference));
        }
        for one in elements(schema, "allOf") {
            self.add(schemas, one);
        }
        let choices = ["oneOf", "anyOf"].into_iter();
        let choices = choices.filter(|key| elements(schema, key).next().is_some());
        self.choices.extend(choices.map(|key| (schema, key)));
    }

    /// Returns the values of a keyword in all parts.
    pub(crate) fn values(&self, keyword: &str) -> impl Iterator<Item = &'a Value> {
        self.parts.iter().filter_map(move |part| part.get(keyword))
    }

    fn has(&self, keyword: &str, value: bool) -> bool {
        self.values(keyword).any(|one| *one == value)
    }

    /// Returns the types that all parts allow, in the order of the first part that names any.
    pub(crate) fn types(&self) -> Vec<&'a str> {
        let typed: Vec<Vec<&str>> = self.parts.iter().filter_map(|part| types(part)).collect();
        let mut wanted = typed.first().cloned().unwrap_or_else(|| TYPES.to_vec());
        if wanted.contains(&"number") {
            wanted.push("integer");
        }
        let accepts = |types: &Vec<&str>, kind: &str| {
            types.contains(&kind) || (kind == "integer" && types.contains(&"number"))
        };
        wanted.retain(|kind| typed.iter().all(|types| accepts(types, kind)));
        wanted
    }

    /// Returns whether all values except null have this type.
    pub(crate) fn is(&self, kind: &str) -> bool {
        let types = self.types();
        types.contains(&kind) && types.iter().all(|one| *one == kind || *one == "null")
    }

    /// Returns the schema of a property; `None` if it is not documented.
    pub(crate) fn property(&self, name: &str) -> Option<Value> {
        let all = self.values("properties");
        let all: Vec<_> = all.filter_map(|properties| properties.get(name)).collect();
        (!all.is_empty()).then(|| all_of(all))
    }

    /// Returns the names of the documented properties, each once.
    pub(crate) fn names(&self) -> Vec<&'a str> {
        let mut names: Vec<&str> = Vec::new();
        let properties = self.values("properties").filter_map(Value::as_object);
        for name in properties.flat_map(Map::keys) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    /// Returns whether any property is documented, at least in an alternative.
    pub(crate) fn has_properties(&self) -> bool {
        !self.names().is_empty() || !self.choices.is_empty()
    }

    pub(crate) fn required(&self) -> impl Iterator<Item = &'a str> {
        let lists = self.values("required").filter_map(Value::as_array);
        lists.flatten().filter_map(Value::as_str)
    }

    /// Returns whether undocumented properties are excluded.
    pub(crate) fn is_closed(&self) -> bool {
        let closing = ["additionalProperties", "unevaluatedProperties"];
        closing.iter().any(|key| self.has(key, false)) && self.additional().is_none()
    }

    /// Returns the schema of undocumented properties, if there is one.
    fn additional(&self) -> Option<Value> {
        let all: Vec<_> = self
            .values("additionalProperties")
            .filter(|one| one.is_object())
            .collect();
        (!all.is_empty()).then(|| all_of(all))
    }

    /// Returns the greatest lower and the least upper bound of a number. The bounds themselves may be excluded.
    pub(crate) fn range(&self) -> [Option<f64>; 2] {
        let bounds = |keys: [&'static str; 2]| {
            let values = keys.into_iter().flat_map(|key| self.values(key));
            values.filter_map(Value::as_f64)
        };
        let least = bounds(["minimum", "exclusiveMinimum"]).reduce(f64::max);
        [
            least,
            bounds(["maximum", "exclusiveMaximum"]).reduce(f64::min),
        ]
    }

    /// Returns the schema of the elements.
    pub(crate) fn items(&self) -> Value {
        all_of(self.values("items").filter(|one| one.is_object()).collect())
    }
}

/// Returns the elements of a keyword that is an array.
fn elements<'a>(part: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    let array = part.get(key).and_then(Value::as_array);
    array.into_iter().flatten()
}

/// Returns the types that a part allows on its own: those that it names, otherwise those that its keywords imply;
/// `None` for any.
fn types(part: &Value) -> Option<Vec<&str>> {
    let mut types: Vec<&str> = match part.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        // Documents often omit the type of an object with properties, and of an array with items.
        _ if part.get("properties").is_some() => vec!["object"],
        _ if part["additionalProperties"].is_object() => vec!["object"],
        _ if part.get("items").is_some() => vec!["array"],
        _ => return None,
    };
    if is_nullable(part) {
        types.push("null");
    }
    Some(types)
}

/// Returns whether a schema is nullable in the form of OpenAPI 3.0.
fn is_nullable(schema: &Value) -> bool {
    schema.get("nullable") == Some(&Value::Bool(true))
}

/// Returns a schema that requires all of several schemas.
fn all_of(mut schemas: Vec<&Value>) -> Value {
    match schemas.len() {
        0 => Value::Bool(true),
        1 => schemas.remove(0).clone(),
        _ => Map::from_iter([("allOf".to_owned(), schemas.into_iter().cloned().collect())]).into(),
    }
}

/// The result of a check. An error names the expected value and its place.
pub(crate) type Checked = Result<(), String>;

impl Schemas {
    /// Compares a value with its schema. The mismatch has the form ` at "/pointer": expected ...`, for a message that
    /// begins with a name for the value.
    pub(crate) fn check(&self, schema: &Value, value: &Value, way: Direction) -> Checked {
        let check = SchemaCheck { schemas: self, way };
        check.whole(schema, value, "", 0)
    }

    pub(crate) fn accepts(&self, schema: &Value, value: &Value, way: Direction) -> bool {
        self.check(schema, value, way).is_ok()
    }
}

struct SchemaCheck<'a> {
    schemas: &'a Schemas,
    way: Direction,
}

impl SchemaCheck<'_> {
    /// Checks all requirements for the value at this place. `depth` counts the nested alternatives.
    fn whole(&self, schema: &Value, value: &Value, at: &str, depth: usize) -> Checked {
        let null = value.is_null() && is_nullable(schema);
        if null || depth > MAX_REFERENCES {
            return Ok(());
        }
        let shape = self.schemas.shape(schema);
        expect(!shape.impossible, at, || "nothing".to_owned())?;
        for part in &shape.parts {
            self.part(part, value, at)?;
        }
        for (part, key) in &shape.choices {
            let fits = |one| self.whole(one, value, at, depth + 1).is_ok();
            let count = elements(part, key).count();
            let expected = || format!("one of {count} documented forms");
            expect(elements(part, key).any(fits), at, expected)?;
        }
        match value {
            Value::Object(members) => self.closed(&shape, members, at),
            _ => Ok(()),
        }
    }

    /// Checks the requirements of one part on its own.
    fn part(&self, part: &Value, value: &Value, at: &str) -> Checked {
        if let Some(types) = types(part) {
            let fits = types.iter().any(|kind| is(kind, value));
            expect(fits, at, || types.join(" or "))?;
        }
        let constant = part.get("const").into_iter();
        let known: Vec<&Value> = constant.chain(elements(part, "enum")).collect();
        let fits = known.is_empty() || known.iter().any(|one| same(one, value));
        expect(fits, at, || {
            let known: Vec<String> = known.iter().map(|one| one.to_string()).collect();
            format!("one of {}", known.join(", "))
        })?;
        let wrong = match value {
            Value::Number(number) => number.as_f64().and_then(|one| not_within(part, one)),
            Value::String(text) => beyond(part, text.chars().count() as f64, LENGTH, " characters"),
            Value::Array(items) => beyond(part, items.len() as f64, COUNT, " elements"),
            _ => None,
        };
        if let Some(expected) = wrong {
            return expect(false, at, || expected);
        }
        match value {
            Value::Array(items) => {
                let schema = part.get("items").unwrap_or(&Value::Bool(true));
                let mut items = items.iter().enumerate();
                items.try_for_each(|(n, item)| self.whole(schema, item, &format!("{at}/{n}"), 0))
            }
            Value::Object(members) => self.object(part, members, at),
            _ => Ok(()),
        }
    }

    fn object(&self, part: &Value, members: &Map<String, Value>, at: &str) -> Checked {
        let property = |name: &str| part.get("properties").and_then(|all| all.get(name));
        for name in elements(part, "required").filter_map(Value::as_str) {
            let lacks = |schema| self.way.lacks(self.schemas, schema);
            let fits = members.contains_key(name) || property(name).is_some_and(lacks);
            let expected = || "a value; it is required".to_owned();
            expect(fits, &format!("{at}/{name}"), expected)?;
        }
        for (name, value) in members {
            if let Some(schema) = property(name).or(part.get("additionalProperties")) {
                // A property that one part excludes may be documented in another.
                let schema = schema.as_object().map_or(&Value::Bool(true), |_| schema);
                self.whole(schema, value, &format!("{at}/{name}"), 0)?;
            }
        }
        Ok(())
    }

    /// Checks that an object has only documented properties. The properties of all parts and alternatives count
    /// together, because authors expect that.
    fn closed(&self, shape: &Shape<'_>, members: &Map<String, Value>, at: &str) -> Checked {
        if !shape.is_closed() || shape.values("patternProperties").next().is_some() {
            return Ok(());
        }
        let alternatives = shape.choices.iter();
        let alternatives = alternatives.flat_map(|(part, key)| elements(part, key));
        let mut names = shape.names();
        names.extend(alternatives.flat_map(|one| self.schemas.shape(one).names()));
        let unknown = members.keys().find(|name| !names.contains(&name.as_str()));
        unknown.map_or(Ok(()), |name| {
            let documented = names.join(", ");
            let expected = || format!("nothing; the documented properties are {documented}");
            expect(false, &format!("{at}/{name}"), expected)
        })
    }
}

fn expect(fits: bool, at: &str, expected: impl FnOnce() -> String) -> Checked {
    match (fits, at) {
        (true, _) => Ok(()),
        (false, "") => Err(format!(": expected {}", expected())),
        (false, at) => Err(format!(" at {at:?}: expected {}", expected())),
    }
}

/// The keywords of bounds, each with the words for messages.
type BoundKeywords = [(&'static str, &'static str)];
const NUMBER: &BoundKeywords = &[
    ("minimum", "at least"),
    ("exclusiveMinimum", "more than"),
    ("maximum", "at most"),
    ("exclusiveMaximum", "less than"),
];
const LENGTH: &BoundKeywords = &[("minLength", "at least"), ("maxLength", "at most")];
const COUNT: &BoundKeywords = &[("minItems", "at least"), ("maxItems", "at most")];

/// Compares a number, or a number `of` something, with its bounds. Returns the bound that it violates, if any, for a
/// message.
fn beyond(part: &Value, number: f64, bounds: &BoundKeywords, of: &str) -> Option<String> {
    bounds.iter().find_map(|(key, words)| {
        let bound = part.get(*key)?.as_f64()?;
        let fits = match *words {
            "at least" => number >= bound,
            "more than" => number > bound,
            "at most" => number <= bound,
            _ => number < bound,
        };
        (!fits).then(|| format!("{words} {bound}{of}"))
    })
}

/// Returns the bound or factor that this number violates, if any, for a message.
fn not_within(part: &Value, number: f64) -> Option<String> {
    let wrong = beyond(part, number, NUMBER, "");
    wrong.or_else(|| {
        let factor = factor(part)?;
        let times = number / factor;
        // Decimal fractions are not exact in a double.
        let fits = (times - times.round()).abs() <= 1e-9 * times.abs().max(1.0);
        (!fits).then(|| format!("a multiple of {factor}"))
    })
}

fn factor(part: &Value) -> Option<f64> {
    let factor = part.get("multipleOf")?.as_f64();
    factor.filter(|factor| *factor > 0.0)
}

fn is(kind: &str, value: &Value) -> bool {
    // An integer may have any size; 1.0 is one.
    let whole = || value.as_f64().is_some_and(|number| number.fract() == 0.0);
    match value {
        Value::Null => kind == "null",
        Value::Bool(_) => kind == "boolean",
        Value::Number(_) => kind == "number" || (kind == "integer" && whole()),
        Value::String(_) => kind == "string",
        Value::Array(_) => kind == "array",
        Value::Object(_) => kind == "object",
    }
}

/// Returns whether two values are equal in the sense of JSON Schema: 1 equals 1.0.
fn same(one: &Value, other: &Value) -> bool {
    one == other || (one.is_number() && one.as_f64() == other.as_f64())
}

/// Returns the number or boolean that the text spells in JSON, otherwise the text.
pub(crate) fn scalar(text: &str) -> Value {
    let value: Option<Value> = serde_json::from_str(text).ok();
    let value = value.filter(|value| value.is_number() || value.is_boolean());
    value.unwrap_or(text.into())
}

#[cfg(test)]
mod tests;
