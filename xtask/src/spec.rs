//! Reads `spec/openapi.json`: refuses what cannot be generated, and infers the service's structure.

mod forms;
mod lift;
mod operations;
mod references;

pub(crate) use operations::{List, Operation, TokenUse};

use crate::names::claims;
use crate::names::taken::Taken;
use lift::Places;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The spec: its schemas in one form, its operations as the generator needs them.
pub(crate) struct Spec {
    /// The workspace that is generated into.
    pub(crate) root: PathBuf,
    /// Models and open enums by name, in the spec's order.
    pub(crate) schemas: Vec<(String, Value)>,
    /// Operations in the spec's order.
    pub(crate) operations: Vec<Operation>,
    /// Names of the schemas that occur in answers, where unknown fields are to be kept.
    pub(crate) answered: BTreeSet<String>,
    /// Names that the hand-written code has.
    pub(crate) taken: Taken,
    /// Where the schemas stand in the document.
    places: Places,
}

impl Spec {
    pub(crate) fn load(root: &Path) -> Result<Spec, String> {
        let path = root.join("spec/openapi.json");
        let text = std::fs::read_to_string(&path)
            .map_err(|error| format!("cannot read spec/openapi.json: {error}"))?;
        Spec::parse(root, &text)
    }

    pub(crate) fn parse(root: &Path, text: &str) -> Result<Spec, String> {
        let mut document: Value = serde_json::from_str(text)
            .map_err(|error| format!("spec/openapi.json is not JSON: {error}"))?;
        references::check_targets(&document, &document, "")?;
        let records = operations::name_records(&mut document)?;
        forms::check(&document, &records)?;
        let places = lift::schemas(&mut document, records)?;
        let mut answered = BTreeSet::new();
        for item in object(&document, "/paths")?.values() {
            for body in item.as_object().into_iter().flat_map(Map::values) {
                collect_schemas(&document, &body["responses"], &mut answered);
            }
        }
        let schemas = object(&document, "/components/schemas")?.clone();
        let schemas = schemas.into_iter().map(|(name, mut schema)| {
            if answered.contains(&name) {
                lift::null_is_absent(&mut schema);
            }
            (name, schema)
        });
        let spec = Spec {
            root: root.to_owned(),
            schemas: schemas.collect(),
            operations: operations::all(&document)?,
            answered,
            taken: Taken::read(root)?,
            places,
        };
        claims::check(&spec)?;
        Ok(spec)
    }

    /// The operations that are paginated lists, in the spec's order.
    pub(crate) fn lists(&self) -> impl Iterator<Item = (&Operation, &List)> {
        self.operations
            .iter()
            .filter_map(|operation| Some((operation, operation.list.as_ref()?)))
    }

    /// A component schema by name.
    pub(crate) fn schema(&self, name: &str) -> Option<&Value> {
        self.schemas
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, schema)| schema)
    }

    /// Where a schema stands in the document.
    pub(crate) fn place(&self, name: &str) -> &str {
        self.places.get(name).map_or("", String::as_str)
    }
}

/// The names of all schemas that `value` refers to, directly or through others.
fn collect_schemas(document: &Value, value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
                let schema = reference.strip_prefix("#/components/schemas/");
                if schema.is_none_or(|name| names.insert(name.to_owned())) {
                    collect_schemas(document, operations::resolve(document, value), names);
                }
            } else {
                map.values()
                    .for_each(|child| collect_schemas(document, child, names));
            }
        }
        Value::Array(items) => {
            items
                .iter()
                .for_each(|child| collect_schemas(document, child, names));
        }
        _ => {}
    }
}

fn object<'a>(document: &'a Value, pointer: &str) -> Result<&'a Map<String, Value>, String> {
    let value = document.pointer(pointer).and_then(Value::as_object);
    value.ok_or(format!("spec/openapi.json has no object at {pointer}"))
}

/// A JSON pointer of these steps.
pub(crate) fn pointer(steps: &[&str]) -> String {
    let escaped = steps
        .iter()
        .map(|step| step.replace('~', "~0").replace('/', "~1"));
    escaped.map(|step| format!("/{step}")).collect()
}

/// Why the spec is refused: where, what is wrong, and the way out.
pub(crate) fn refused(at: &str, what: &str, way: &str) -> String {
    format!("spec/openapi.json{at}: {what}; {way}")
}
