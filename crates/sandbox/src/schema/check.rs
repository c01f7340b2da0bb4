//! Whether a value is what its schema says, and where it is not.

use serde_json::{Map, Value};

use super::number;
use super::shape::{elements, types};
use super::{Schemas, Way, step};

/// References in a row that stand for the same value; more are a circle.
const MOST_REFERENCES: usize = 50;

/// The first place that is not as documented.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// A JSON pointer; empty for the whole value.
    pub(crate) pointer: String,
    pub(crate) expected: String,
}

impl Schemas {
    /// Holds a value against a schema.
    pub(crate) fn check(&self, schema: &Value, value: &Value, way: Way) -> Result<(), Mismatch> {
        let check = Check { schemas: self, way };
        check.whole(schema, value, "")
    }

    pub(crate) fn accepts(&self, schema: &Value, value: &Value, way: Way) -> bool {
        self.check(schema, value, way).is_ok()
    }
}

struct Check<'a> {
    schemas: &'a Schemas,
    way: Way,
}

type Checked = Result<(), Mismatch>;

impl Check<'_> {
    /// Everything that is said of the value at this place.
    fn whole(&self, schema: &Value, value: &Value, at: &str) -> Checked {
        self.part(schema, value, at, 0)?;
        match value {
            Value::Object(members) => self.closed(schema, members, at),
            _ => Ok(()),
        }
    }

    /// What one part says; `depth` counts the references before it.
    fn part(&self, schema: &Value, value: &Value, at: &str, depth: usize) -> Checked {
        expect(*schema != Value::Bool(false), at, || "nothing".to_owned())?;
        let part = schema;
        let null = value.is_null() && part.get("nullable") == Some(&true.into());
        if null || depth > MOST_REFERENCES {
            return Ok(());
        }
        if let Some(reference) = part.get("$ref").and_then(Value::as_str) {
            self.part(self.schemas.target(reference), value, at, depth + 1)?;
        }
        for one in elements(part, "allOf") {
            self.part(one, value, at, depth + 1)?;
        }
        self.choice(part, value, at, depth)?;
        if let Some(types) = types(part) {
            let fits = types.iter().any(|kind| is(kind, value));
            expect(fits, at, || types.join(" or "))?;
        }
        if let Some(constant) = part.get("const") {
            expect(same(constant, value), at, || constant.to_string())?;
        }
        if elements(part, "enum").next().is_some() {
            let known = elements(part, "enum");
            let texts = || known.map(Value::to_string).collect::<Vec<_>>();
            let fits = elements(part, "enum").any(|one| same(one, value));
            expect(fits, at, || format!("one of {}", texts().join(", ")))?;
        }
        match value {
            Value::Number(number) => number::check(part, number)
                .map_or(Ok(()), |expected| expect(false, at, || expected)),
            Value::String(text) => {
                let count = text.chars().count();
                size(part, count, at, ["minLength", "maxLength"], "characters")
            }
            Value::Array(items) => self.array(part, items, at),
            Value::Object(members) => self.object(part, members, at),
            _ => Ok(()),
        }
    }

    /// One alternative has to fit; where there is only one that could, its own mismatch says more.
    fn choice(&self, part: &Value, value: &Value, at: &str, depth: usize) -> Checked {
        for key in ["oneOf", "anyOf"] {
            let mismatches: Vec<Checked> = elements(part, key)
                .map(|one| self.part(one, value, at, depth + 1))
                .collect();
            if mismatches.is_empty() || mismatches.iter().any(Result::is_ok) {
                continue;
            }
            let of_value = |one: &&Value| types_fit(self.schemas, one, value);
            let candidates = elements(part, key).filter(of_value).count();
            let position = elements(part, key).position(|one| of_value(&one));
            let only = position.filter(|_| candidates == 1 || mismatches.len() == 1);
            let count = mismatches.len();
            match only.and_then(|only| mismatches.into_iter().nth(only)) {
                Some(mismatch) => mismatch?,
                None => expect(false, at, || format!("one of {count} documented forms"))?,
            }
        }
        Ok(())
    }

    fn array(&self, part: &Value, items: &[Value], at: &str) -> Checked {
        size(part, items.len(), at, ["minItems", "maxItems"], "elements")?;
        if part.get("uniqueItems") == Some(&true.into()) {
            let again = (0..items.len())
                .find(|end| items[..*end].iter().any(|one| same(one, &items[*end])));
            if let Some(again) = again {
                let at = step(at, &again.to_string());
                expect(false, &at, || {
                    "an element that differs from the others".to_owned()
                })?;
            }
        }
        let first: Vec<&Value> = elements(part, "prefixItems").collect();
        for (index, item) in items.iter().enumerate() {
            let schema = first.get(index).copied().or(part.get("items"));
            if let Some(schema) = schema {
                self.whole(schema, item, &step(at, &index.to_string()))?;
            }
        }
        Ok(())
    }

    fn object(&self, part: &Value, members: &Map<String, Value>, at: &str) -> Checked {
        size(
            part,
            members.len(),
            at,
            ["minProperties", "maxProperties"],
            "properties",
        )?;
        let properties = part.get("properties");
        for name in elements(part, "required").filter_map(Value::as_str) {
            let property = properties.and_then(|all| all.get(name));
            let lacks = property.is_some_and(|schema| self.way.lacks(self.schemas, schema));
            let fits = lacks || members.contains_key(name);
            expect(fits, &step(at, name), || {
                "a value; it is required".to_owned()
            })?;
        }
        for (name, value) in members {
            let at = step(at, name);
            let documented = properties.and_then(|all| all.get(name));
            let additional = part
                .get("additionalProperties")
                .filter(|one| one.is_object());
            if let Some(schema) = documented.or(additional) {
                self.whole(schema, value, &at)?;
            }
            if let Some(names) = part.get("propertyNames") {
                let mismatch = self.whole(names, &Value::from(name.as_str()), "");
                let expected = mismatch.err().map(|one| one.expected);
                if let Some(expected) = expected {
                    expect(false, &at, || format!("a name that is {expected}"))?;
                }
            }
        }
        Ok(())
    }

    /// Properties of all parts and alternatives are documented together, as people mean it.
    fn closed(&self, schema: &Value, members: &Map<String, Value>, at: &str) -> Checked {
        let mut shape = self.schemas.shape(schema);
        let open = |shape: &super::Shape<'_>| {
            !shape.is_closed()
                || shape.additional().is_some()
                || shape.values("patternProperties").next().is_some()
        };
        if open(&shape) {
            return Ok(());
        }
        // Alternatives may lead back to themselves.
        for _ in 0..MOST_REFERENCES {
            let Some((part, key)) = shape.choices.pop() else {
                break;
            };
            for one in elements(part, key) {
                shape.add(self.schemas, one);
            }
        }
        let names = shape.names();
        let unknown = members.keys().find(|name| !names.contains(&name.as_str()));
        let known = || {
            format!(
                "nothing; the documented properties are {}",
                names.join(", ")
            )
        };
        unknown.map_or(Ok(()), |name| expect(false, &step(at, name), known))
    }
}

/// Whether the types of an alternative allow the value at all.
fn types_fit(schemas: &Schemas, schema: &Value, value: &Value) -> bool {
    schemas
        .shape(schema)
        .types()
        .iter()
        .any(|kind| is(kind, value))
}

fn expect(fits: bool, at: &str, expected: impl FnOnce() -> String) -> Checked {
    match fits {
        true => Ok(()),
        false => Err(Mismatch {
            pointer: at.to_owned(),
            expected: expected(),
        }),
    }
}

/// A count within its bounds.
fn size(part: &Value, count: usize, at: &str, bounds: [&str; 2], of: &str) -> Checked {
    let [least, most] = bounds.map(|key| part.get(key).and_then(Value::as_u64));
    let count = count as u64;
    expect(least.is_none_or(|least| count >= least), at, || {
        format!("at least {} {of}", least.unwrap_or_default())
    })?;
    expect(most.is_none_or(|most| count <= most), at, || {
        format!("at most {} {of}", most.unwrap_or_default())
    })
}

fn is(kind: &str, value: &Value) -> bool {
    match value {
        Value::Null => kind == "null",
        Value::Bool(_) => kind == "boolean",
        Value::Number(number) => {
            kind == "number" || (kind == "integer" && number::is_whole(number))
        }
        Value::String(_) => kind == "string",
        Value::Array(_) => kind == "array",
        Value::Object(_) => kind == "object",
    }
}

/// Equal as JSON Schema has it: 1 and 1.0 are.
pub(super) fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64() == other.as_f64()
        }
        _ => one == other,
    }
}
