//! Whether a value is as its schema describes it, and where it is not.

use serde_json::{Map, Value};

use super::{MAX_REFERENCES, Schemas, Way, elements, number, types};

/// The first place that is not as documented.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// A JSON pointer; empty for the whole value.
    pub(crate) pointer: String,
    pub(crate) expected: String,
}

type Checked = Result<(), Mismatch>;

impl Schemas {
    /// Compares a value with its schema.
    pub(crate) fn check(&self, schema: &Value, value: &Value, way: Way) -> Checked {
        Check { schemas: self, way }.whole(schema, value, "")
    }

    pub(crate) fn accepts(&self, schema: &Value, value: &Value, way: Way) -> bool {
        self.check(schema, value, way).is_ok()
    }
}

struct Check<'a> {
    schemas: &'a Schemas,
    way: Way,
}

impl Check<'_> {
    /// Everything that is required of the value at this place.
    fn whole(&self, schema: &Value, value: &Value, at: &str) -> Checked {
        self.part(schema, value, at, 0)?;
        match value {
            Value::Object(members) => self.closed(schema, members, at),
            _ => Ok(()),
        }
    }

    /// What one part requires; `depth` counts the references before it.
    fn part(&self, part: &Value, value: &Value, at: &str, depth: usize) -> Checked {
        expect(*part != Value::Bool(false), at, || "nothing".to_owned())?;
        let null = value.is_null() && part.get("nullable") == Some(&true.into());
        if null || depth > MAX_REFERENCES {
            return Ok(());
        }
        if let Some(reference) = part.get("$ref").and_then(Value::as_str) {
            self.part(self.schemas.target(reference), value, at, depth + 1)?;
        }
        for one in elements(part, "allOf") {
            self.part(one, value, at, depth + 1)?;
        }
        for key in ["oneOf", "anyOf"] {
            self.choice(elements(part, key).collect(), value, at, depth)?;
        }
        if let Some(types) = types(part) {
            let fits = types.iter().any(|kind| is(kind, value));
            expect(fits, at, || types.join(" or "))?;
        }
        if let Some(constant) = part.get("const") {
            expect(same(constant, value), at, || constant.to_string())?;
        }
        let known: Vec<&Value> = elements(part, "enum").collect();
        let fits = known.is_empty() || known.iter().any(|one| same(one, value));
        expect(fits, at, || {
            let known: Vec<String> = known.iter().map(|one| one.to_string()).collect();
            format!("one of {}", known.join(", "))
        })?;
        match value {
            Value::Number(number) => number::check(part, number)
                .map_or(Ok(()), |expected| expect(false, at, || expected)),
            Value::String(text) => {
                let count = text.chars().count();
                size(part, count, at, ["minLength", "maxLength"], "characters")
            }
            Value::Array(items) => {
                size(part, items.len(), at, ["minItems", "maxItems"], "elements")?;
                let schema = part.get("items").unwrap_or(&Value::Bool(true));
                let mut items = items.iter().enumerate();
                items.try_for_each(|(n, item)| self.whole(schema, item, &step(at, &n.to_string())))
            }
            Value::Object(members) => self.object(part, members, at),
            _ => Ok(()),
        }
    }

    /// One alternative has to fit; where there is only one that could, its own mismatch is more precise.
    fn choice(&self, all: Vec<&Value>, value: &Value, at: &str, depth: usize) -> Checked {
        let mut mismatches = Vec::new();
        for one in &all {
            match self.part(one, value, at, depth + 1) {
                Ok(()) => return Ok(()),
                Err(mismatch) => mismatches.push((*one, mismatch)),
            }
        }
        if all.len() > 1 {
            mismatches.retain(|(one, _)| {
                let types = self.schemas.shape(one).types();
                types.iter().any(|kind| is(kind, value))
            });
        }
        match (all.len(), mismatches.as_slice()) {
            (0, _) => Ok(()),
            (_, [(_, mismatch)]) => Err(mismatch.clone()),
            (count, _) => expect(false, at, || format!("one of {count} documented forms")),
        }
    }

    fn object(&self, part: &Value, members: &Map<String, Value>, at: &str) -> Checked {
        let property = |name: &str| part.get("properties").and_then(|all| all.get(name));
        for name in elements(part, "required").filter_map(Value::as_str) {
            let lacks = |schema| self.way.lacks(self.schemas, schema);
            let fits = members.contains_key(name) || property(name).is_some_and(lacks);
            expect(fits, &step(at, name), || {
                "a value; it is required".to_owned()
            })?;
        }
        let additional = part
            .get("additionalProperties")
            .filter(|one| one.is_object());
        for (name, value) in members {
            if let Some(schema) = property(name).or(additional) {
                self.whole(schema, value, &step(at, name))?;
            }
        }
        Ok(())
    }

    /// Properties of all parts and alternatives are documented together, as people mean it.
    fn closed(&self, schema: &Value, members: &Map<String, Value>, at: &str) -> Checked {
        let mut shape = self.schemas.shape(schema);
        if !shape.is_closed()
            || shape.additional().is_some()
            || shape.values("patternProperties").next().is_some()
        {
            return Ok(());
        }
        // Alternatives may lead back to themselves.
        for _ in 0..MAX_REFERENCES {
            let Some((part, key)) = shape.choices.pop() else {
                break;
            };
            for one in elements(part, key) {
                shape.add(self.schemas, one);
            }
        }
        let names = shape.names();
        let unknown = members.keys().find(|name| !names.contains(&name.as_str()));
        unknown.map_or(Ok(()), |name| {
            expect(false, &step(at, name), || {
                format!(
                    "nothing; the documented properties are {}",
                    names.join(", ")
                )
            })
        })
    }
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
    let (least, most) = (least.unwrap_or(0), most.unwrap_or(u64::MAX));
    expect(count as u64 >= least, at, || {
        format!("at least {least} {of}")
    })?;
    expect(count as u64 <= most, at, || format!("at most {most} {of}"))
}

fn is(kind: &str, value: &Value) -> bool {
    match value {
        Value::Null => kind == "null",
        Value::Bool(_) => kind == "boolean",
        Value::Number(one) => kind == "number" || (kind == "integer" && number::is_whole(one)),
        Value::String(_) => kind == "string",
        Value::Array(_) => kind == "array",
        Value::Object(_) => kind == "object",
    }
}

/// Equal as JSON Schema has it: 1 and 1.0 are.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64() == other.as_f64()
        }
        _ => one == other,
    }
}

/// A member of a JSON pointer.
fn step(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}
