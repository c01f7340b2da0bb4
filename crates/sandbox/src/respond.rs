//! Answers that follow from the document alone: a value made by the schema of the response.

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::inspect::scalar;
use crate::rng::hash;
use crate::route::Found;
use crate::schema::{Maker, Schemas};
use crate::spec::Success;

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
    with_body(success, &value)
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
    with_body(success, &value)
}

/// A response made by hand, with what a changed document asks for besides.
pub(crate) fn fitted(schemas: &Schemas, success: &Success, value: Value, seed: u64) -> Answer {
    let value = Maker::new(schemas, seed).fit(&success.schema, value);
    with_body(success, &value)
}

fn with_body(success: &Success, value: &Value) -> Answer {
    match &success.content_type {
        Some(content_type) => {
            Answer::written(success.status, content_type, value.to_string().into_bytes())
        }
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
