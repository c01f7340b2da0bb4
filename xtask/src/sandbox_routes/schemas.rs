//! The schemas of a document as they are written, without prose; references are kept, and what they lead to is collected.

use serde_json::{Map, Value};

/// What schemas say to readers only.
const PROSE: [&str; 7] = [
    "title",
    "description",
    "summary",
    "externalDocs",
    "xml",
    "deprecated",
    "$comment",
];

/// Keywords whose value is an object of schemas by name.
const SCHEMAS_BY_NAME: [&str; 5] = [
    "properties",
    "patternProperties",
    "dependentSchemas",
    "$defs",
    "definitions",
];

/// Keywords whose value is data, which is kept as it is.
const DATA: [&str; 6] = [
    "const",
    "enum",
    "default",
    "example",
    "examples",
    "discriminator",
];

/// Reads a document.
pub(super) struct Reader<'a> {
    pub(super) document: &'a Value,
    /// By the text of the reference.
    schemas: Map<String, Value>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(document: &'a Value) -> Self {
        Reader {
            document,
            schemas: Map::new(),
        }
    }

    /// What was collected.
    pub(super) fn taken(&mut self) -> Map<String, Value> {
        std::mem::take(&mut self.schemas)
    }

    /// A schema without prose; what its references lead to is collected.
    pub(super) fn schema(&mut self, schema: &Value) -> Value {
        let Some(keywords) = schema.as_object() else {
            return schema.clone();
        };
        let mut out = Map::new();
        for (key, value) in keywords {
            if PROSE.contains(&key.as_str()) || key.starts_with("x-") {
                continue;
            }
            let kept = match (key.as_str(), value) {
                ("$ref", Value::String(reference)) => {
                    self.referred(reference);
                    value.clone()
                }
                (key, _) if DATA.contains(&key) => value.clone(),
                (key, Value::Object(named)) if SCHEMAS_BY_NAME.contains(&key) => {
                    let named = named.iter();
                    let named = named.map(|(name, one)| (name.clone(), self.schema(one)));
                    Value::Object(named.collect())
                }
                (_, Value::Object(_)) => self.schema(value),
                (_, Value::Array(several)) => several.iter().map(|one| self.schema(one)).collect(),
                _ => value.clone(),
            };
            out.insert(key.clone(), kept);
        }
        Value::Object(out)
    }

    /// Notes what a reference leads to, under its own text.
    pub(super) fn referred(&mut self, reference: &str) {
        let target = pointer(reference).and_then(|at| self.document.pointer(&at));
        let Some(target) = target.filter(|_| !self.schemas.contains_key(reference)) else {
            return;
        };
        // Its place is taken first, because it may lead back to itself.
        self.schemas.insert(reference.to_owned(), Value::Null);
        let schema = self.schema(target);
        self.schemas.insert(reference.to_owned(), schema);
    }

    /// Follows the references of what is no schema.
    pub(super) fn resolved(&self, mut value: &'a Value) -> &'a Value {
        // Ends also where references lead in a circle.
        for _ in 0..100 {
            let reference = value.get("$ref").and_then(Value::as_str);
            let at = reference.and_then(pointer);
            let Some(next) = at.and_then(|at| self.document.pointer(&at)) else {
                break;
            };
            value = next;
        }
        value
    }
}

/// The JSON pointer of a reference within the document, where it is percent-encoded.
fn pointer(reference: &str) -> Option<String> {
    let mut pieces = reference.strip_prefix('#')?.split('%');
    let mut bytes = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        let code = piece.get(..2).filter(|code| !code.starts_with('+'));
        let code = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        match code {
            Some(code) => {
                bytes.push(code);
                bytes.extend_from_slice(&piece.as_bytes()[2..]);
            }
            None => {
                bytes.push(b'%');
                bytes.extend_from_slice(piece.as_bytes());
            }
        }
    }
    String::from_utf8(bytes).ok()
}
