//! Makes a value that a schema allows, the same one for the same seed, and changes another value as far as a schema
//! requires it.

use super::{Direction, Schemas, Shape, elements, factor, is_nullable, not_within};
use crate::samples::{Rng, uuid};
use serde_json::{Map, Number, Value};

/// The number of values after which optional ones are no longer made.
const USUAL_VALUES: usize = 300;
/// The maximum number of values. If a schema needs more, nothing is made.
const MAX_VALUES: usize = 5000;
/// Limits the repetitions of a schema that leads back to itself.
const MAX_REPEATS: usize = 2;
/// Limits the length of a string. A longer string would be useless.
const MAX_TEXT: u64 = 1 << 20;
/// The number of steps by which a number may be away from its only bound.
const STEPS: f64 = 999.0;

/// The beginnings of strings without a format, some of them outside ASCII.
const WORDS: [&str; 6] = ["sample", "Übung", "пример", "例", "échantillon", "δείγμα"];

/// Makes values.
pub(crate) struct Maker<'a> {
    schemas: &'a Schemas,
    rng: Rng,
    /// True if only required values are made.
    brief: bool,
    /// The references that led here.
    stack: Vec<String>,
    made: usize,
}

impl<'a> Maker<'a> {
    pub(crate) fn new(schemas: &'a Schemas, seed: u64) -> Self {
        Maker {
            schemas,
            rng: Rng::new(seed),
            brief: false,
            stack: Vec::new(),
            made: 0,
        }
    }

    /// Returns a value that the schema allows; null if there is none, or only too large ones.
    pub(crate) fn make(&mut self, schema: &Value) -> Value {
        self.made = 0;
        self.value(schema).unwrap_or_default()
    }

    fn value(&mut self, schema: &Value) -> Option<Value> {
        let value = self.choose(self.schemas.shape(schema));
        // A nullable schema allows null regardless of its parts, because its author expects that.
        value.or_else(|| is_nullable(schema).then_some(Value::Null))
    }

    /// Takes the first alternative of each choice that leads to a value; null is the last one.
    fn choose(&mut self, mut shape: Shape<'_>) -> Option<Value> {
        let Some((part, key)) = shape.choices.pop() else {
            return self.shaped(&shape);
        };
        let schemas = self.schemas;
        let mut alternatives: Vec<&Value> = elements(part, key).collect();
        let only_null = |one: &&Value| schemas.shape(one).types() == ["null"];
        alternatives.sort_by_key(only_null);
        alternatives.into_iter().find_map(|one| {
            let mut chosen = shape.clone();
            chosen.add(schemas, one);
            self.choose(chosen)
        })
    }

    fn shaped(&mut self, shape: &Shape<'_>) -> Option<Value> {
        let repeats = |one: &&str| self.stack.iter().filter(|other| other == one).count();
        let mut references = shape.references.iter();
        let repeated = references.any(|one| repeats(one) >= MAX_REPEATS);
        self.made += 1;
        if shape.impossible || repeated || self.made > MAX_VALUES {
            return None;
        }
        let before = self.stack.len();
        let references = shape.references.iter().map(|one| (*one).to_owned());
        self.stack.extend(references);
        let value = self.of_a_type(shape);
        self.stack.truncate(before);
        value
    }

    fn of_a_type(&mut self, shape: &Shape<'_>) -> Option<Value> {
        let mut types = shape.types();
        types.sort_by_key(|kind| *kind == "null");
        let fixed = ["const", "enum"].map(|key| shape.values(key).next().is_some());
        let given = self.given(shape);
        if given.is_some() || fixed.contains(&true) {
            return given;
        }
        types.into_iter().find_map(|kind| match kind {
            "string" => Some(self.text(shape)),
            "integer" | "number" => self.number(shape, kind == "integer"),
            "boolean" => Some(true.into()),
            "object" => self.object(shape),
            "array" => self.array(shape),
            _ => Some(Value::Null),
        })
    }

    /// Returns a value that the document itself contains, if all parts allow it; null only if there is nothing else.
    fn given(&mut self, shape: &Shape<'_>) -> Option<Value> {
        let schemas = self.schemas;
        let fits = |value: &&Value| {
            let mut parts = shape.parts.iter();
            parts.all(|part| schemas.accepts(part, value, Direction::Response))
        };
        let enums = shape.values("enum").filter_map(Value::as_array).flatten();
        let mut known: Vec<_> = shape.values("const").chain(enums).filter(fits).collect();
        if known.iter().any(|one| !one.is_null()) {
            known.retain(|one| !one.is_null());
        }
        if !known.is_empty() {
            return Some(self.rng.pick(&known).clone());
        }
        let several = shape.values("examples").filter_map(|all| all.get(0));
        let single = ["example", "default"]
            .into_iter()
            .flat_map(|key| shape.values(key));
        let mut given = several.chain(single).filter(|one| !one.is_null());
        given.find(fits).cloned()
    }

    fn is_brief(&self) -> bool {
        self.brief || self.made > USUAL_VALUES
    }

    fn object(&mut self, shape: &Shape<'_>) -> Option<Value> {
        let mut out = Map::new();
        let mut names = shape.names();
        let required: Vec<&str> = shape.required().collect();
        names.extend(
            required
                .iter()
                .filter(|name| shape.property(name).is_none()),
        );
        let additional = shape.additional();
        for name in names {
            let schema = shape.property(name).or(additional.clone());
            let schema = schema.unwrap_or(true.into());
            let absent = self.is_brief();
            let needed = required.contains(&name);
            if Direction::Response.lacks(self.schemas, &schema) || (absent && !needed) {
                continue;
            }
            match self.value(&schema) {
                Some(value) => drop(out.insert(name.to_owned(), value)),
                None if needed => return None,
                None => {}
            }
        }
        // A map gets two entries, so that their schema is visible.
        if let Some(schema) = additional.filter(|_| out.is_empty() && !self.is_brief()) {
            let values = ["key1", "key2"].map(|name| Some((name.to_owned(), self.value(&schema)?)));
            out.extend(values.into_iter().flatten());
        }
        Some(out.into())
    }

    fn array(&mut self, shape: &Shape<'_>) -> Option<Value> {
        let [least, most] = sizes(shape, ["minItems", "maxItems"]);
        let usual = if self.is_brief() { 0 } else { 2 };
        let items = shape.items();
        let wanted = usual.max(least).min(most).min(MAX_VALUES as u64);
        let out: Vec<Value> = (0..wanted).map_while(|_| self.value(&items)).collect();
        (out.len() as u64 >= least.min(most)).then(|| out.into())
    }

    /// Returns a string that the schema allows, ignoring its `pattern`.
    fn text(&mut self, shape: &Shape<'_>) -> Value {
        let format = shape.values("format").find_map(Value::as_str);
        let mut text = of_format(format.unwrap_or_default(), &mut self.rng);
        let [least, most] = sizes(shape, ["minLength", "maxLength"]);
        let count = text.chars().count() as u64;
        if count > most {
            // The end differs most between strings.
            text = text.chars().skip((count - most) as usize).collect();
        }
        let padding = count..least.min(most).min(MAX_TEXT);
        text.extend(padding.map(|_| 'x'));
        text.into()
    }

    /// Returns a number, or an integer, that the schema allows; `None` if none was found.
    fn number(&mut self, shape: &Shape<'_>, integer: bool) -> Option<Value> {
        let range = shape.range();
        let factors = shape.parts.iter().filter_map(|part| factor(part));
        let step = match factors.reduce(f64::max) {
            Some(factor) if integer => factor.ceil(),
            Some(factor) => factor,
            None if integer => 1.0,
            None => 1.0 / (STEPS + 1.0),
        };
        let (least, most) = match range {
            [Some(least), Some(most)] => (least, most),
            [Some(least), None] => (least, least + STEPS * step),
            [None, Some(most)] => ((most - STEPS * step).max(most.min(0.0)), most),
            [None, None] => (0.0, STEPS * step),
        };
        let first = (least / step).ceil();
        let count = ((most / step).floor() - first + 1.0).clamp(0.0, 1e15) as u64;
        let start = self.rng.below(count);
        // Bounds may be excluded, and another part may require multiples of something else.
        let mut numbers =
            (0..count.min(1000)).map(|n| (first + ((start + n) % count) as f64) * step);
        let number = numbers.find(|number| {
            let mut parts = shape.parts.iter();
            parts.all(|part| not_within(part, *number).is_none())
        })?;
        if !integer {
            Number::from_f64(number).map(Value::Number)
        } else if number < 0.0 {
            Some((number as i64).into())
        } else {
            Some((number as u64).into())
        }
    }

    /// Returns the value in the form of the schema: missing members are added, and wrong ones are replaced.
    pub(crate) fn fit(&mut self, schema: &Value, value: Value) -> Value {
        if self.schemas.accepts(schema, &value, Direction::Response) {
            return value;
        }
        let before = std::mem::replace(&mut self.brief, true);
        let made = self.make(schema);
        self.brief = before;
        self.completed(schema, made, value)
    }

    /// Returns the value that was made from the schema, with the members of `value` in place of its own if the schema
    /// allows them.
    pub(crate) fn completed(&mut self, schema: &Value, mut made: Value, value: Value) -> Value {
        let shape = self.schemas.shape(schema);
        let whole = made.clone();
        match (&mut made, value) {
            (Value::Object(members), Value::Object(given)) => {
                for (name, member) in given {
                    let member = match shape.property(&name).or(shape.additional()) {
                        Some(schema) => self.fit(&schema, member),
                        None if shape.is_closed() => continue,
                        None => member,
                    };
                    members.insert(name, member);
                }
            }
            (Value::Array(items), Value::Array(given)) => {
                let given = given.into_iter();
                *items = given.map(|item| self.fit(&shape.items(), item)).collect();
            }
            _ => {}
        }
        if self.schemas.accepts(schema, &made, Direction::Response) {
            made
        } else {
            whole
        }
    }

    /// Adds a member to an object, if the schema documents it and allows the value.
    pub(crate) fn put(&mut self, schema: &Value, object: &mut Value, name: &str, value: Value) {
        let documented = self.schemas.shape(schema).property(name);
        let fits = |schema| self.schemas.accepts(&schema, &value, Direction::Response);
        let fits = documented.is_some_and(fits);
        if let Some(members) = object.as_object_mut().filter(|_| fits) {
            members.insert(name.to_owned(), value);
        }
    }
}

/// Returns the bounds of a length.
fn sizes(shape: &Shape<'_>, keys: [&str; 2]) -> [u64; 2] {
    let [least, most] = keys.map(|key| shape.values(key).filter_map(Value::as_u64));
    [
        least.max().unwrap_or_default(),
        most.min().unwrap_or(u64::MAX),
    ]
}

fn of_format(format: &str, rng: &mut Rng) -> String {
    let number = rng.below(100_000);
    let mut padded = |first: u64, count| format!("{:02}", first + rng.below(count));
    match format {
        "date-time" | "date" => {
            let mut moment = [padded(2019, 7), padded(1, 12), padded(1, 28)].join("-");
            if format == "date-time" {
                moment += &format!("T{}:{}:{}Z", padded(0, 24), padded(0, 60), padded(0, 60));
            }
            moment
        }
        "uuid" => uuid(rng.next()),
        "email" => format!("person{number}@example.com"),
        "uri" | "url" => format!("https://example.com/{number}"),
        "byte" => "c2FtcGxl".to_owned(),
        _ => format!("{} {number}", rng.pick(&WORDS)),
    }
}
