//! Makes a value that a schema allows, the same one for the same seed; changes another value as little as it asks for.

use super::{Schemas, Shape, Way, elements, number};
use crate::records::uuid;
use crate::samples::Rng;
use serde_json::{Map, Value};

/// Values within values up to here, what need not be there is made; deeper only what has to be there.
const USUAL_DEPTH: usize = 4;
/// The same for the number of values.
const USUAL_VALUES: usize = 300;
/// Where a schema asks for more, nothing is made.
const MAX_VALUES: usize = 5000;
const MAX_DEPTH: usize = 60;
/// How often a schema may lead back to itself.
const MAX_REPEATS: usize = 2;
/// A longer text is of no use to anybody.
const MAX_TEXT: u64 = 1 << 20;

/// Beginnings of texts without a format, some of them outside ASCII.
const WORDS: [&str; 6] = ["sample", "Übung", "пример", "例", "échantillon", "δείγμα"];

/// Makes values.
pub(crate) struct Maker<'a> {
    schemas: &'a Schemas,
    rng: Rng,
    /// Whether what may be absent or null sometimes is.
    varied: bool,
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

    fn value(&mut self, schema: &Value) -> Option<Value> {
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
        alternatives.into_iter().find_map(|one| {
            let mut chosen = shape.clone();
            chosen.add(schemas, one);
            let mut choices = others.to_vec();
            choices.append(&mut chosen.choices);
            self.choose(&chosen, &choices)
        })
    }

    fn shaped(&mut self, shape: &Shape<'_>) -> Option<Value> {
        let repeats = |one: &&str| self.stack.iter().filter(|other| other == one).count();
        let repeated = shape
            .references
            .iter()
            .any(|one| repeats(one) >= MAX_REPEATS);
        self.made += 1;
        if shape.impossible || repeated || self.made > MAX_VALUES || self.depth > MAX_DEPTH {
            return None;
        }
        let before = self.stack.len();
        let references = shape.references.iter().map(|one| (*one).to_owned());
        self.stack.extend(references);
        self.depth += 1;
        let value = self.of_a_type(shape);
        self.depth -= 1;
        self.stack.truncate(before);
        value
    }

    fn of_a_type(&mut self, shape: &Shape<'_>) -> Option<Value> {
        let mut types = shape.types();
        let null_first = self.varied && types.contains(&"null") && self.rng.one_in(8);
        types.sort_by_key(|kind| (*kind == "null") != null_first);
        let fixed = ["const", "enum"].map(|key| shape.values(key).next().is_some());
        let given = self.given(shape);
        if given.is_some() || fixed.contains(&true) {
            return given;
        }
        types.into_iter().find_map(|kind| match kind {
            "string" => Some(self.text(shape)),
            "integer" | "number" => number::number(shape, kind == "integer", &mut self.rng),
            "boolean" => Some((!self.varied || self.rng.one_in(2)).into()),
            "object" => self.object(shape),
            "array" => self.array(shape),
            _ => Some(Value::Null),
        })
    }

    /// A value that the document itself gives, if all parts allow it; null only where there is nothing else.
    fn given(&mut self, shape: &Shape<'_>) -> Option<Value> {
        let schemas = self.schemas;
        let fits = |value: &&Value| {
            let mut parts = shape.parts.iter();
            parts.all(|part| schemas.accepts(part, value, Way::Response))
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

    /// Whether only what has to be there is made.
    fn is_brief(&self) -> bool {
        self.depth > USUAL_DEPTH || self.made > USUAL_VALUES
    }

    fn object(&mut self, shape: &Shape<'_>) -> Option<Value> {
        let mut out = Map::new();
        let required: Vec<&str> = shape.required().collect();
        for name in shape.names() {
            let schema = shape.property(name).unwrap_or_default();
            let absent = self.is_brief() || (self.varied && self.rng.one_in(8));
            let needed = required.contains(&name);
            if Way::Response.lacks(self.schemas, &schema) || (absent && !needed) {
                continue;
            }
            match self.value(&schema) {
                Some(value) => drop(out.insert(name.to_owned(), value)),
                None if needed => return None,
                None => {}
            }
        }
        let additional = shape.additional();
        let others = additional.clone().unwrap_or(true.into());
        let undocumented = required
            .iter()
            .filter(|name| shape.property(name).is_none());
        for name in undocumented {
            out.insert((*name).to_owned(), self.value(&others)?);
        }
        // A map shows two entries, so that their schema is seen.
        if out.is_empty() && additional.is_some() && !self.is_brief() {
            let values = ["key1", "key2"].map(|name| Some((name.to_owned(), self.value(&others)?)));
            out.extend(values.into_iter().flatten());
        }
        Some(out.into())
    }

    fn array(&mut self, shape: &Shape<'_>) -> Option<Value> {
        let bound = |key| shape.values(key).filter_map(Value::as_u64);
        let least = bound("minItems").max().unwrap_or_default();
        let most = bound("maxItems").min().unwrap_or(u64::MAX);
        let usual = match (self.is_brief(), self.varied) {
            (true, _) => 0,
            (_, true) => self.rng.below(4),
            _ => 2,
        };
        let items = shape.items();
        let wanted = usual.max(least).min(most).min(MAX_VALUES as u64);
        let out: Vec<Value> = (0..wanted).map_while(|_| self.value(&items)).collect();
        (out.len() as u64 >= least.min(most)).then(|| out.into())
    }

    /// A text that the schema allows, apart from its `pattern`.
    fn text(&mut self, shape: &Shape<'_>) -> Value {
        let format = shape.values("format").find_map(Value::as_str);
        let mut text = of_format(format.unwrap_or_default(), &mut self.rng);
        let bound = |key| shape.values(key).filter_map(Value::as_u64);
        let least = bound("minLength").max().unwrap_or_default();
        let most = bound("maxLength").min().unwrap_or(u64::MAX);
        let count = text.chars().count() as u64;
        if count > most {
            // The end differs most.
            text = text.chars().skip((count - most) as usize).collect();
        }
        let padding = count..least.min(most).min(MAX_TEXT);
        text.extend(padding.map(|_| 'x'));
        text.into()
    }

    /// The value as the schema has it: missing members are made, others are replaced where they are wrong.
    pub(crate) fn fit(&mut self, schema: &Value, value: Value) -> Value {
        let schemas = self.schemas;
        if schemas.accepts(schema, &value, Way::Response) {
            return value;
        }
        let shape = schemas.shape(schema);
        let fitted = match value {
            Value::Object(mut members) => {
                if shape.is_closed() && shape.choices.is_empty() {
                    members.retain(|name, _| shape.property(name).is_some());
                }
                for (name, member) in &mut members {
                    let schema = shape.property(name).or(shape.additional());
                    *member = self.fit(&schema.unwrap_or(true.into()), member.take());
                }
                for name in shape.required() {
                    let schema = shape.property(name).unwrap_or(true.into());
                    if !members.contains_key(name) && !Way::Response.lacks(schemas, &schema) {
                        members.insert(name.to_owned(), self.make(&schema));
                    }
                }
                Value::Object(members)
            }
            Value::Array(items) => {
                let schema = shape.items();
                items
                    .into_iter()
                    .map(|item| self.fit(&schema, item))
                    .collect()
            }
            other => other,
        };
        match schemas.accepts(schema, &fitted, Way::Response) {
            true => fitted,
            false => self.make(schema),
        }
    }

    /// Gives an object a member, if the schema documents it and allows the value.
    pub(crate) fn put(&mut self, schema: &Value, object: &mut Value, name: &str, value: Value) {
        let documented = self.schemas.shape(schema).property(name);
        let fits = |schema| self.schemas.accepts(&schema, &value, Way::Response);
        let fits = documented.is_some_and(fits);
        if let Some(members) = object.as_object_mut().filter(|_| fits) {
            members.insert(name.to_owned(), value);
        }
    }
}

fn of_format(format: &str, rng: &mut Rng) -> String {
    let number = rng.below(100_000);
    let mut padded = |first: u64, count| format!("{:02}", first + rng.below(count));
    match format {
        "date-time" | "date" | "time" => {
            let date = [padded(2019, 7), padded(1, 12), padded(1, 28)].join("-");
            let time = [padded(0, 24), padded(0, 60), padded(0, 60)].join(":") + "Z";
            match format {
                "date" => date,
                "time" => time,
                _ => format!("{date}T{time}"),
            }
        }
        "duration" => format!("P{}D", 1 + number % 90),
        "uuid" => uuid(rng.next()),
        "email" | "idn-email" => format!("person{number}@example.com"),
        "uri" | "url" | "iri" | "uri-reference" | "iri-reference" => {
            format!("https://example.com/{number}")
        }
        "hostname" | "idn-hostname" => format!("host{number}.example.com"),
        "ipv4" => format!("192.0.2.{}", number % 256),
        "ipv6" => format!("2001:db8::{:x}", number % 0xffff),
        "byte" => "c2FtcGxl".to_owned(),
        _ => format!("{} {number}", rng.pick(&WORDS)),
    }
}
