//! JSON Schema as OpenAPI 3.0 and 3.1 write it: values made from schemas, and values held against them.
//!
//! `pattern`, `not`, `if`, `dependentRequired` and formats are neither obeyed nor checked. `oneOf` is read like
//! `anyOf`, since the alternatives of real documents overlap. A property that is not documented is legal unless
//! `additionalProperties` or `unevaluatedProperties` is false in the schema or in a part of it.

mod check;
mod compose;
mod fit;
mod make;
mod number;
mod shape;
#[cfg(test)]
mod tests;
mod text;

use serde::Deserialize;
use serde_json::{Map, Value};

pub(crate) use check::Mismatch;
pub(crate) use make::Maker;
pub(crate) use number::{least, most};
pub(crate) use shape::Shape;

/// What `$ref`s refer to, by their text.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Schemas(pub(crate) Map<String, Value>);

/// Which way a value goes: properties that are only read are not sent, and the other way around.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Request,
    Response,
}

impl Way {
    /// Whether values that go this way have no such property.
    fn lacks(self, schemas: &Schemas, schema: &Value) -> bool {
        let keyword = match self {
            Way::Request => "readOnly",
            Way::Response => "writeOnly",
        };
        let shape = schemas.shape(schema);
        shape
            .values(keyword)
            .any(|value| *value == Value::Bool(true))
    }
}

impl Schemas {
    /// What a reference refers to; anything goes where it leads nowhere.
    fn target(&self, reference: &str) -> &Value {
        self.0.get(reference).unwrap_or(&Value::Bool(true))
    }
}

/// A schema for what has to fit all of several.
pub(crate) fn all_of(mut schemas: Vec<&Value>) -> Value {
    match schemas.len() {
        0 => Value::Bool(true),
        1 => schemas.remove(0).clone(),
        _ => Map::from_iter([("allOf".to_owned(), schemas.into_iter().cloned().collect())]).into(),
    }
}

/// A member of a JSON pointer.
fn step(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}
