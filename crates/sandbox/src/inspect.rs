//! Whether a request is as documented, and the responses that follow from the document alone.

use crate::http::{Answer, Received};
use crate::samples::hash;
use crate::schema::{Maker, Mismatch, Schemas, Way};
use crate::spec::{Body, Found, Parameter, Success};
use serde_json::{Map, Value, json};

/// Header parameters that OpenAPI leaves to other parts of the document.
const IGNORED_HEADERS: [&str; 3] = ["accept", "content-type", "authorization"];

/// Compares every parameter with its schema; `limit` and `offset` of a list are read elsewhere.
pub(crate) fn parameters(
    schemas: &Schemas,
    found: &Found<'_>,
    request: &Received,
    list: bool,
) -> Result<(), Answer> {
    for one in &found.operation.parameters {
        let ignored = match one.location.as_str() {
            "header" => IGNORED_HEADERS.contains(&one.name.to_ascii_lowercase().as_str()),
            "query" => list && ["limit", "offset"].contains(&one.name.as_str()),
            _ => false,
        };
        if ignored {
            continue;
        }
        let given = Given {
            schemas,
            one,
            found,
            request,
        };
        let refuse = |pointer: &str, expected: &str| {
            let (location, name) = (&one.location, &one.name);
            Err(invalid_parameter(location, name, pointer, expected))
        };
        let candidates = given.candidates();
        let (Some(first), Some(last)) = (candidates.first(), candidates.last()) else {
            if one.required {
                refuse("", "a value; it is required")?;
            }
            continue;
        };
        let check = |value| schemas.check(&one.schema, value, Way::Request);
        if candidates.iter().any(|value| check(value).is_ok()) {
            continue;
        }
        let is_text = schemas.shape(&one.schema).types().first() == Some(&"string");
        if let Err(Mismatch { pointer, expected }) = check(if is_text { first } else { last }) {
            refuse(&pointer, &expected)?;
        }
    }
    Ok(())
}

/// The refusal of a parameter; `pointer` is the place within its value.
pub(crate) fn invalid_parameter(
    location: &str,
    name: &str,
    pointer: &str,
    expected: &str,
) -> Answer {
    let message = format!("{location} parameter {name:?}: expected {expected}");
    let error = json!({
        "code": "invalid_request",
        "message": message,
        "in": location,
        "parameter": name,
        "pointer": pointer,
        "expected": expected,
    });
    Answer::json(400, &json!({"error": error}))
}

/// The JSON body, if there is one, compared with its schema.
pub(crate) fn body(
    schemas: &Schemas,
    documented: Option<&Body>,
    request: &Received,
) -> Result<Option<Value>, Answer> {
    let Some(documented) = documented else {
        return Ok(None);
    };
    if request.body.is_empty() && !documented.required {
        return Ok(None);
    }
    let Some(schema) = &documented.schema else {
        return match request.body.is_empty() {
            true => Err(invalid_body("", "a body; it is required")),
            false => Ok(None),
        };
    };
    if !request.says_json() {
        let message = "the content type must be application/json";
        return Err(Answer::error(415, "unsupported_media_type", message));
    }
    let body: Value =
        serde_json::from_slice(&request.body).map_err(|_| invalid_body("", "JSON"))?;
    match schemas.check(schema, &body, Way::Request) {
        Ok(()) => Ok(Some(body)),
        Err(Mismatch { pointer, expected }) => Err(invalid_body(&pointer, &expected)),
    }
}

/// The refusal of a body. What was found instead is not repeated, because it may be secret.
fn invalid_body(pointer: &str, expected: &str) -> Answer {
    let place = match pointer {
        "" => "request body".to_owned(),
        pointer => format!("request body at {pointer:?}"),
    };
    let error = json!({
        "code": "invalid_request",
        "message": format!("{place}: expected {expected}"),
        "pointer": pointer,
        "expected": expected,
    });
    Answer::json(400, &json!({"error": error}))
}

/// A parameter in a request.
struct Given<'a> {
    schemas: &'a Schemas,
    one: &'a Parameter,
    found: &'a Found<'a>,
    request: &'a Received,
}

impl Given<'_> {
    /// The texts of the parameter, one for each time that it is given.
    fn texts(&self) -> Vec<String> {
        let name = &self.one.name;
        let headers = |name: &str| {
            let all = self.request.headers.get_all(name).iter();
            all.filter_map(|value| value.to_str().ok())
        };
        match self.one.location.as_str() {
            "path" => {
                let all = self.found.parameters.iter();
                let named = all.filter(|(other, _)| other == name);
                named.map(|(_, text)| text.clone()).collect()
            }
            "query" => self.request.parameters(name),
            "header" => headers(name).map(str::to_owned).collect(),
            _ => {
                let pairs = headers("cookie").flat_map(|text| text.split(';'));
                let pairs = pairs.filter_map(|pair| pair.trim().split_once('='));
                let named = pairs.filter(|(other, _)| other == name);
                named.map(|(_, text)| text.to_owned()).collect()
            }
        }
    }

    /// What the texts may stand for; none where the parameter is not given.
    fn candidates(&self) -> Vec<Value> {
        let texts = self.texts();
        let types = self.schemas.shape(&self.one.schema).types();
        if self.one.json {
            let read = |text: &String| serde_json::from_str(text).unwrap_or(text.as_str().into());
            return texts.last().map(read).into_iter().collect();
        }
        if self.one.style == "deepObject" || types.first() == Some(&"object") {
            return self.object(&texts).into_iter().collect();
        }
        let Some(last) = texts.last() else {
            return Vec::new();
        };
        if types.first() != Some(&"array") {
            return vec![last.as_str().into(), scalar(last)];
        }
        let separator = match self.one.style.as_str() {
            "form" if self.one.explode => None,
            "spaceDelimited" => Some(' '),
            "pipeDelimited" => Some('|'),
            _ => Some(','),
        };
        let items: Vec<&str> = match separator {
            None => texts.iter().map(String::as_str).collect(),
            Some(separator) => texts
                .iter()
                .flat_map(|text| text.split(separator).map(str::trim))
                .collect(),
        };
        let plain = items.iter().map(|text| Value::from(*text)).collect();
        vec![plain, items.iter().map(|text| scalar(text)).collect()]
    }

    /// The object that is given: `name[key]=value` as a deep object; its properties as parameters of their own in an
    /// exploded form, `key=value` in other exploded styles, else `key,value`.
    fn object(&self, texts: &[String]) -> Option<Value> {
        let one = self.one;
        let mut members = Map::new();
        let mut add = |name: &str, text: &str| members.insert(name.to_owned(), scalar(text));
        if one.style == "deepObject" {
            for (name, text) in self.request.pairs() {
                let key = name
                    .strip_prefix(&one.name)
                    .and_then(|rest| rest.strip_prefix('['));
                if let Some(key) = key.and_then(|rest| rest.strip_suffix(']')) {
                    add(key, &text);
                }
            }
        } else if one.style == "form" && one.explode {
            let shape = self.schemas.shape(&one.schema);
            let names = shape.names();
            let open = !shape.is_closed() && names.is_empty();
            let all = &self.found.operation.parameters;
            let taken = |name: &str| all.iter().any(|other| other.name == name);
            for (name, text) in self.request.pairs() {
                if names.contains(&name.as_str()) || (open && !taken(&name)) {
                    add(&name, &text);
                }
            }
        } else {
            let parts: Vec<&str> = texts.iter().flat_map(|text| text.split(',')).collect();
            if one.explode {
                for (name, text) in parts.iter().filter_map(|part| part.split_once('=')) {
                    add(name.trim(), text);
                }
            } else {
                for pair in parts.chunks_exact(2) {
                    add(pair[0].trim(), pair[1]);
                }
            }
        }
        (!members.is_empty()).then(|| members.into())
    }
}

/// A number or boolean that is spelt as JSON has it, or else the text.
pub(crate) fn scalar(text: &str) -> Value {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let spelt = value.to_string();
    match value {
        Value::Number(_) | Value::Bool(_) if spelt == text => value,
        _ => text.into(),
    }
}

/// A successful answer, which repeats path parameters and members of the request that it documents.
///
/// The same request gets the same response, for the same seed.
pub(crate) fn made(
    schemas: &Schemas,
    found: &Found<'_>,
    path: &str,
    body: Option<&Value>,
    seed: u64,
) -> Answer {
    let success = &found.operation.success;
    let mut maker = Maker::new(schemas, seed ^ hash(path));
    let mut value = maker.make(&success.schema);
    let members = body.and_then(Value::as_object).into_iter().flatten();
    for (name, member) in members.filter(|(name, _)| *name != "pagination") {
        maker.put(&success.schema, &mut value, name, member.clone());
    }
    for (name, text) in &found.parameters {
        maker.put(&success.schema, &mut value, name, text.as_str().into());
        maker.put(&success.schema, &mut value, name, scalar(text));
    }
    count(schemas, &success.schema, &mut value);
    with_body(success, value.to_string().into_bytes())
}

/// The response for one record of a list: the record itself, or where the response holds a record under a name, that.
pub(crate) fn of_record(
    schemas: &Schemas,
    found: &Found<'_>,
    path: &str,
    record: Value,
    seed: u64,
) -> Answer {
    let success = &found.operation.success;
    let mut maker = Maker::new(schemas, seed ^ hash(path));
    let shape = schemas.shape(&success.schema);
    let has_id = |schema: &Value| schemas.shape(schema).property("id").is_some();
    let names = shape
        .names()
        .into_iter()
        .filter(|_| !has_id(&success.schema));
    let properties = names.filter_map(|name| Some((name, shape.property(name)?)));
    let held = properties.into_iter().find(|(_, schema)| has_id(schema));
    let value = match held {
        Some((name, schema)) => {
            let record = maker.fit(&schema, record);
            let mut value = maker.make(&success.schema);
            maker.put(&success.schema, &mut value, name, record);
            value
        }
        None => maker.fit(&success.schema, record),
    };
    with_body(success, value.to_string().into_bytes())
}

/// A response made by hand, with what a changed document asks for besides.
pub(crate) fn fitted(schemas: &Schemas, success: &Success, value: Value, seed: u64) -> Answer {
    let value = Maker::new(schemas, seed).fit(&success.schema, value);
    with_body(success, value.to_string().into_bytes())
}

/// A documented response, without its body where the document shows none.
pub(crate) fn with_body(success: &Success, body: Vec<u8>) -> Answer {
    match &success.content_type {
        Some(content_type) => Answer::written(success.status, content_type, body),
        None => Answer::empty(success.status),
    }
}

/// A page that is no list of ours holds all there is, so that nobody asks for the next one without end.
fn count(schemas: &Schemas, schema: &Value, value: &mut Value) {
    let members = value.as_object().into_iter().flatten();
    let arrays = members.filter_map(|(_, member)| member.as_array());
    let counts: Vec<usize> = arrays.map(Vec::len).collect();
    let documented = schemas.shape(schema).property("pagination");
    let ([count], Some(documented)) = (counts.as_slice(), documented) else {
        return;
    };
    let mut maker = Maker::new(schemas, 0);
    let Some(pagination) = value.get_mut("pagination") else {
        return;
    };
    for (name, told) in [
        ("total", json!(count)),
        ("limit", json!(count)),
        ("offset", json!(0)),
        ("hasMore", json!(false)),
    ] {
        maker.put(&documented, pagination, name, told);
    }
}

#[cfg(test)]
mod tests;
