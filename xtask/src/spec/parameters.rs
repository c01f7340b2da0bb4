//! Parameters of operations: where each is sent, and what it is.

use super::api::{Parameter, Type};
use super::references::resolve;
use super::types::Types;
use super::{content, said};
use crate::names;
use serde_json::Value;

/// Reads the parameter that stands at this place.
pub(super) fn parameter(
    types: &mut Types<'_>,
    at: &str,
    written: &Value,
    id: &str,
    whose: &str,
) -> Option<Parameter> {
    let document = types.document();
    let text = |key: &str| written.get(key).and_then(Value::as_str);
    let flag = |key: &str| written.get(key) == Some(&Value::Bool(true));
    let (Some(name), Some(location)) = (text("name"), text("in")) else {
        types
            .findings
            .refuse(at, "this is not a parameter", "give it `name` and `in`");
        return None;
    };
    let schema_at = match written.get("schema") {
        Some(_) => Some(format!("{at}/schema")),
        None => content::json(document, at, whose, types.findings),
    };
    let schema = schema_at.as_ref().and_then(|at| document.pointer(at));
    // A shared parameter is named by itself.
    let place = match at.strip_prefix("/components/parameters/") {
        Some(shared) => names::camel(&format!("{shared} parameter")),
        None => names::camel(&format!("{id} {name}")),
    };
    let kind = schema.zip(schema_at.as_ref());
    let kind = kind.map_or(Type::Text, |(schema, at)| types.of(schema, at, &place).kind);
    Some(Parameter {
        name: name.to_owned(),
        location: location.to_owned(),
        description: said(text("description")).unwrap_or_else(|| "Not described.".to_owned()),
        required: flag("required") || location == "path",
        deprecated: flag("deprecated"),
        kind,
        maximum: schema.and_then(|schema| maximum(resolve(document, schema))),
    })
}

/// The largest integer that a schema allows, however it is written.
fn maximum(schema: &Value) -> Option<u64> {
    let number = |key: &str| schema.get(key).and_then(Value::as_f64);
    // OpenAPI 3.0 marks the maximum as exclusive, 3.1 has another keyword for it.
    let marked = schema.get("exclusiveMaximum") == Some(&Value::Bool(true));
    let below = |bound: f64| bound.ceil() - 1.0;
    let inclusive = number("maximum").map(|bound| match marked {
        true => below(bound),
        false => bound.floor(),
    });
    let exclusive = number("exclusiveMaximum").map(below);
    let bound = inclusive.into_iter().chain(exclusive).reduce(f64::min)?;
    // The cast saturates, as a bound should.
    (bound >= 0.0).then_some(bound as u64)
}
