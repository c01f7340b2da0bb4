//! Makes a value that a schema allows, the same one for the same seed.

use std::cmp::Reverse;

use serde_json::{Map, Value, json};

use super::shape::elements;
use super::{Schemas, Shape, Way, number, text};
use crate::data::Rng;

/// Values within values up to here, what need not be there is made; deeper only what has to be there.
const USUAL_DEPTH: usize = 4;
/// The same for the number of values.
const USUAL_VALUES: usize = 300;
/// Where a schema asks for more, nothing is made.
pub(super) const MOST_VALUES: usize = 5000;
/// How often a schema may lead back to itself.
const MOST_REPEATS: usize = 2;
const MOST_DEPTH: usize = 60;

/// Makes values.
pub(crate) struct Maker<'a> {
    pub(super) schemas: &'a Schemas,
    pub(super) rng: Rng,
    /// Whether what may be absent or null sometimes is.
    pub(super) varied: bool,
    /// The references that led here.
    stack: Vec<String>,
    depth: usize,
    made: usize,
}

impl<'a> Maker<'a> {
    pub(crate) fn new(schemas: &'a Schemas, seed: u64) -> Self {
        Maker {
            schemas,
            rng: Rng::new(seed),
            varied: false,
            stack: Vec::new(),
            depth: 0,
            made: 0,
        }
    }

    /// Leaves out now and then what may be absent, and has null for what may be null.
    pub(crate) fn varied(self) -> Self {
        Maker {
            varied: true,
            ..self
        }
    }

    /// A value that the schema allows; null where there is none, or only too large ones.
    pub(crate) fn make(&mut self, schema: &Value) -> Value {
        self.made = 0;
        self.value(schema).unwrap_or_default()
    }

    pub(super) fn value(&mut self, schema: &Value) -> Option<Value> {
        let mut shape = self.schemas.shape(schema);
        let choices = std::mem::take(&mut shape.choices);
        let value = self.choose(&shape, &choices);
        // Whatever the parts say, as the document means it.
        let nullable = schema.get("nullable") == Some(&Value::Bool(true));
        value.or_else(|| nullable.then_some(Value::Null))
    }

    /// Takes the first alternative of each choice that leads to a value; null is the last one.
    fn choose(&mut self, shape: &Shape<'_>, choices: &[(&Value, &'static str)]) -> Option<Value> {
        let Some(((part, key), others)) = choices.split_last() else {
            return self.shaped(shape);
        };
        let mut alternatives: Vec<&Value> = elements(part, key).collect();
        let schemas = self.schemas;
        let only_null = |one: &&Value| schemas.shape(one).types() == ["null"];
        alternatives.sort_by_key(only_null);
        if self.varied && alternatives.last().is_some_and(only_null) && self.rng.one_in(8) {
            alternatives.rotate_right(1);
        }
        for one in alternatives {
            let named = discriminated(part, one);
            // The name first, and without it where the alternative has another idea of itself.
            for named in named.iter().map(Some).chain([None]) {
                let mut chosen = shape.clone();
                chosen.add(self.schemas, one);
                if let Some(named) = named {
                    chosen.add(self.schemas, named);
                }
                let mut choices = others.to_vec();
                choices.append(&mut chosen.choices);
                if let Some(value) = self.choose(&chosen, &choices) {
                    return Some(value);
                }
            }
        }
        None
    }

    fn shaped(&mut self, shape: &Shape<'_>) -> Option<Value> {
        let repeats = |reference: &&str| self.stack.iter().filter(|one| one == reference).count();
        let repeated = shape
            .references
            .iter()
            .any(|one| repeats(one) >= MOST_REPEATS);
        self.made += 1;
        if shape.impossible || repeated || self.made > MOST_VALUES || self.depth > MOST_DEPTH {
            return None;
        }
        let before = self.stack.len();
        self.stack
            .extend(shape.references.iter().map(|one| (*one).to_owned()));
        self.depth += 1;
        let value = self.of_a_type(shape);
        self.depth -= 1;
        self.stack.truncate(before);
        value
    }

    fn of_a_type(&mut self, shape: &Shape<'_>) -> Option<Value> {
        let mut types = shape.types();
        if self.varied && types.contains(&"null") && self.rng.one_in(8) {
            types.sort_by_key(|kind| Reverse(*kind == "null"));
        } else {
            types.sort_by_key(|kind| *kind == "null");
        }
        let fixed = shape.values("const").next().is_some() || shape.values("enum").next().is_some();
        let given = self.given(shape);
        if given.is_some() || fixed {
            return given;
        }
        types.into_iter().find_map(|kind| match kind {
            "string" => Some(text::text(shape, &mut self.rng)),
            "integer" => Some(number::integer(shape, &mut self.rng)),
            "number" => Some(number::number(shape, &mut self.rng)),
            "boolean" => Some((!self.varied || self.rng.one_in(2)).into()),
            "object" => self.object(shape),
            "array" => self.array(shape),
            _ => Some(Value::Null),
        })
    }

    /// A value that the document itself gives, if all parts allow it.
    fn given(&mut self, shape: &Shape<'_>) -> Option<Value> {
        let schemas = self.schemas;
        let fits = |value: &&Value| {
            let mut parts = shape.parts.iter();
            parts.all(|part| schemas.accepts(part, value, Way::Response))
        };
        if let Some(constant) = shape.values("const").find(fits) {
            return Some(constant.clone());
        }
        let enums = shape.values("enum").filter_map(Value::as_array);
        let known: Vec<&Value> = enums.flatten().filter(fits).collect();
        if !known.is_empty() {
            let chosen = self.rng.pick(&known);
            // Null only where there is nothing else.
            let shown = known
                .iter()
                .find(|one| !one.is_null())
                .filter(|_| chosen.is_null());
            return Some((*shown.unwrap_or(&chosen)).clone());
        }
        let single = ["example", "default"]
            .into_iter()
            .flat_map(|key| shape.values(key));
        let several = shape
            .values("examples")
            .filter_map(|all| all.as_array()?.first());
        several
            .chain(single)
            .filter(|one| !one.is_null())
            .find(fits)
            .cloned()
    }

    /// Whether only what has to be there is made.
    pub(super) fn is_brief(&self) -> bool {
        self.depth > USUAL_DEPTH || self.made > USUAL_VALUES
    }
}

/// What a discriminator says of an alternative: the property that names it.
fn discriminated(part: &Value, alternative: &Value) -> Option<Value> {
    let discriminator = part.get("discriminator")?;
    let property = discriminator.get("propertyName")?.as_str()?;
    let reference = alternative.get("$ref")?.as_str()?;
    let schema = reference.rsplit('/').next()?;
    let mapping = discriminator.get("mapping").and_then(Value::as_object);
    let mut mapping = mapping.into_iter().flatten();
    let mapped = mapping
        .find(|(_, target)| [reference, schema].contains(&target.as_str().unwrap_or_default()));
    let name = mapped.map_or(schema, |(name, _)| name);
    let mut properties = Map::new();
    properties.insert(
        property.to_owned(),
        json!({"type": "string", "const": name}),
    );
    Some(json!({"properties": properties, "required": [property]}))
}
