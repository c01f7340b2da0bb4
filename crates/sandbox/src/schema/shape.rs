//! A schema with its references followed and its `allOf` taken apart: what all parts say together.

use serde_json::{Map, Value};

use super::{Schemas, all_of};

/// More parts than any document has.
const MOST_PARTS: usize = 200;

/// The types of JSON, an integer before a number.
pub(super) const TYPES: [&str; 7] = [
    "string", "integer", "number", "boolean", "object", "array", "null",
];

/// The parts of a schema, all of which hold.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shape<'a> {
    pub(super) parts: Vec<&'a Value>,
    /// Parts with a choice, and its keyword, `oneOf` or `anyOf`; one alternative of each holds.
    pub(super) choices: Vec<(&'a Value, &'static str)>,
    /// The references on the way to the parts.
    pub(super) references: Vec<&'a str>,
    /// Whether a part is `false`.
    pub(super) impossible: bool,
}

impl Schemas {
    pub(crate) fn shape<'a>(&'a self, schema: &'a Value) -> Shape<'a> {
        let mut shape = Shape::default();
        shape.add(self, schema);
        shape
    }
}

impl<'a> Shape<'a> {
    /// Adds what has to hold as well.
    pub(super) fn add(&mut self, schemas: &'a Schemas, schema: &'a Value) {
        self.impossible |= *schema == Value::Bool(false);
        if !schema.is_object() || self.parts.len() >= MOST_PARTS {
            return;
        }
        self.parts.push(schema);
        let reference = schema.get("$ref").and_then(Value::as_str);
        // Followed once, because it may lead back to itself.
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

    /// The values of a keyword in all parts.
    pub(crate) fn values(&self, keyword: &str) -> impl Iterator<Item = &'a Value> {
        self.parts.iter().filter_map(move |part| part.get(keyword))
    }

    pub(crate) fn format(&self) -> Option<&'a str> {
        self.values("format").find_map(Value::as_str)
    }

    /// The types that all parts allow, in the order of the first one that names any.
    pub(crate) fn types(&self) -> Vec<&'a str> {
        let typed: Vec<Vec<&str>> = self.parts.iter().filter_map(|part| types(part)).collect();
        let first = typed.first().cloned().unwrap_or_else(|| TYPES.to_vec());
        let accepts = |types: &Vec<&str>, kind: &str| {
            types.contains(&kind) || (kind == "integer" && types.contains(&"number"))
        };
        let mut wanted = first;
        if wanted.contains(&"number") {
            wanted.push("integer");
        }
        wanted.retain(|kind| typed.iter().all(|types| accepts(types, kind)));
        wanted
    }

    /// The schemas of a property; none where it is not documented.
    pub(crate) fn property(&self, name: &str) -> Vec<&'a Value> {
        let all = self.values("properties");
        all.filter_map(|properties| properties.get(name)).collect()
    }

    /// The names of the documented properties, each once.
    pub(crate) fn names(&self) -> Vec<&'a str> {
        let mut names: Vec<&str> = Vec::new();
        for name in self
            .values("properties")
            .filter_map(Value::as_object)
            .flat_map(Map::keys)
        {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    /// Whether any property is documented, at least as an alternative.
    pub(crate) fn has_properties(&self) -> bool {
        !self.names().is_empty() || !self.choices.is_empty()
    }

    pub(crate) fn requires(&self, name: &str) -> bool {
        self.required().any(|other| other == name)
    }

    pub(super) fn required(&self) -> impl Iterator<Item = &'a str> {
        let lists = self.values("required").filter_map(Value::as_array);
        lists.flatten().filter_map(Value::as_str)
    }

    /// Whether properties that are not documented are excluded.
    pub(crate) fn is_closed(&self) -> bool {
        let mut keywords = ["additionalProperties", "unevaluatedProperties"].iter();
        keywords.any(|keyword| {
            self.values(keyword)
                .any(|value| *value == Value::Bool(false))
        })
    }

    /// The schema of properties that are not documented, where there is one.
    pub(super) fn additional(&self) -> Option<Value> {
        let all: Vec<&Value> = self
            .values("additionalProperties")
            .filter(|one| one.is_object())
            .collect();
        (!all.is_empty()).then(|| all_of(all))
    }

    /// The schema of the elements.
    pub(crate) fn items(&self) -> Value {
        all_of(self.values("items").filter(|one| one.is_object()).collect())
    }
}

/// The elements of a keyword that is an array.
pub(super) fn elements<'a>(part: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    part.get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// The types that a part allows by itself: those that it names, else what its keywords are about; none for any.
pub(super) fn types(part: &Value) -> Option<Vec<&str>> {
    let mut types: Vec<&str> = match part.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => vec![about(part)?],
    };
    if part.get("nullable") == Some(&Value::Bool(true)) {
        types.push("null");
    }
    Some(types)
}

/// What documents leave out: an object of properties, an array of items.
fn about(part: &Value) -> Option<&'static str> {
    let object = ["properties", "additionalProperties"];
    if object
        .iter()
        .any(|key| part.get(*key).is_some_and(Value::is_object))
    {
        Some("object")
    } else {
        part.get("items").map(|_| "array")
    }
}
