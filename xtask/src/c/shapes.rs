//! The models that cross into C, and the shape of each documented field.

use crate::names;
use crate::normalise::{OpenEnum, normalise, open_enum};
use crate::spec::Spec;
use serde_json::Value;
use std::collections::BTreeSet;

/// A model of the spec as C sees it.
pub(crate) struct Model {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) fields: Vec<Field>,
    /// The lists whose records it describes (names of variants); none for other answers.
    pub(crate) lists: Vec<String>,
    /// Whether a call answers it, rather than another model holding it.
    pub(crate) root: bool,
}

/// A documented field.
pub(crate) struct Field {
    pub(crate) wire: String,
    pub(crate) description: String,
    pub(crate) required: bool,
    pub(crate) shape: Shape,
}

impl Field {
    /// What a C function that reads it has behind the model's name.
    pub(crate) fn function(&self, suffix: &str) -> String {
        names::c_function(&self.wire, suffix)
    }
}

/// What a field holds; names are those of other models and enums.
pub(crate) enum Shape {
    Text,
    Enum(String),
    Integer,
    Number,
    Boolean,
    Texts,
    Model(String),
    Models(String),
    Map(String),
    /// An array whose items are lent as JSON.
    Items,
    /// Anything else, lent as JSON.
    Json,
}

impl Model {
    pub(crate) fn prefix(&self) -> String {
        format!("talentdata_{}", names::snake(&self.name))
    }

    /// What a function of C and a member of C++ have behind the field's name, per thing that is read of it.
    pub(crate) fn suffixes(&self, field: &Field) -> &'static [&'static str] {
        match &field.shape {
            Shape::Text | Shape::Integer | Shape::Number | Shape::Boolean => &[""],
            Shape::Enum(_) => &["", "_text"],
            _ if self.is_record() => &["_json"],
            Shape::Model(_) => &[""],
            Shape::Texts | Shape::Items | Shape::Models(_) => &["_count", "_at"],
            Shape::Map(_) => &["_count", "_name", "_at", "_find", "_find_n"],
            Shape::Json => &["_json"],
        }
    }

    pub(crate) fn is_record(&self) -> bool {
        !self.lists.is_empty()
    }
}

/// The models that C sees: records, and what hand-written functions give with all it holds, except for
/// secrets, which never leave the core, and for pages, which have a handle of their own.
pub(crate) fn models(spec: &Spec) -> Vec<Model> {
    let crossing = |name: &str| {
        let schema = spec.schema(name).filter(|_| spec.answered.contains(name))?;
        let properties = schema.get("properties")?.as_object()?;
        let secret = properties
            .values()
            .any(|field| field["format"] == "password");
        (!secret && !properties.contains_key("pagination")).then_some((schema, properties))
    };
    let held = held(spec);
    let mut out = Vec::new();
    for (name, _) in &spec.schemas {
        let record = spec.lists().any(|(_, list)| list.model() == Some(name));
        let Some((schema, properties)) = crossing(name).filter(|_| record || held.contains(name))
        else {
            continue;
        };
        let required = schema.get("required").and_then(Value::as_array);
        let fields = properties.iter().map(|(wire, field)| Field {
            description: text(field, spec),
            required: required.is_some_and(|names| names.iter().any(|one| one == wire)),
            shape: shape(spec, field, &|name| crossing(name).is_some()),
            wire: wire.clone(),
        });
        let lists = spec.lists();
        let lists = lists.filter(|(_, list)| list.model() == Some(name));
        out.push(Model {
            name: name.clone(),
            description: text(schema, spec),
            fields: fields.collect(),
            lists: lists
                .map(|(_, list)| names::list_variant(&list.name))
                .collect(),
            root: !spec
                .schemas
                .iter()
                .any(|(_, other)| refers_to(&other.to_string(), name)),
        });
    }
    out
}

/// The names of the models that hand-written functions give, and of all that these hold.
pub(crate) fn held(spec: &Spec) -> BTreeSet<String> {
    let mut waiting: Vec<&String> = spec.taken.handles.iter().collect();
    let mut out = BTreeSet::new();
    while let Some(name) = waiting.pop() {
        let Some(schema) = spec.schema(name).filter(|_| out.insert(name.clone())) else {
            continue;
        };
        let text = schema.to_string();
        let names = spec.schemas.iter().map(|(name, _)| name);
        waiting.extend(names.filter(|name| refers_to(&text, name)));
    }
    out
}

/// Whether the text of a schema has a reference to this one.
fn refers_to(text: &str, name: &str) -> bool {
    text.contains(&format!("\"#/components/schemas/{name}\""))
}

/// The open enums that fields of these models hold.
pub(crate) fn enums(spec: &Spec, models: &[Model]) -> Vec<OpenEnum> {
    let used = |name: &str| {
        let fields = models.iter().flat_map(|model| &model.fields);
        fields
            .into_iter()
            .any(|field| matches!(&field.shape, Shape::Enum(known) if known == name))
    };
    let all = normalise(spec).enums.into_iter();
    all.filter(|known| used(&known.name)).collect()
}

fn shape(spec: &Spec, field: &Value, crossing: &dyn Fn(&str) -> bool) -> Shape {
    let named = |value: &Value| {
        let name = value.get("$ref")?.as_str()?.rsplit('/').next()?;
        Some(name.to_owned())
    };
    let held = |value: &Value| named(value).filter(|name| crossing(name));
    if let Some(name) = named(field) {
        return match spec.schema(&name) {
            Some(schema) if open_enum(&name, schema).is_some() => Shape::Enum(name),
            _ if crossing(&name) => Shape::Model(name),
            _ => Shape::Json,
        };
    }
    match field.get("type").and_then(Value::as_str) {
        Some("string") => Shape::Text,
        // What an int64_t cannot hold is lent as it came.
        Some("integer") if field["format"] == "uint64" => Shape::Json,
        Some("integer") => Shape::Integer,
        Some("number") => Shape::Number,
        Some("boolean") => Shape::Boolean,
        Some("array") => match &field["items"] {
            items if items["type"] == "string" => Shape::Texts,
            items => held(items).map_or(Shape::Items, Shape::Models),
        },
        Some("object") => {
            let values = field.get("additionalProperties").and_then(held);
            values.map_or(Shape::Json, Shape::Map)
        }
        _ => Shape::Json,
    }
}

/// What the spec says of it, or of what it refers to.
fn text(schema: &Value, spec: &Spec) -> String {
    let own = schema.get("description").and_then(Value::as_str);
    let referred = || {
        let name = schema.get("$ref")?.as_str()?.rsplit('/').next()?;
        spec.schema(name)?.get("description")?.as_str()
    };
    own.or_else(referred).unwrap_or("Not described.").to_owned()
}

/// The type of an optional number or truth value, which says whether the value is there.
pub(crate) struct Optional {
    /// Its name in Rust.
    pub(crate) name: &'static str,
    /// Its name in C.
    pub(crate) c: &'static str,
    /// The type of the value in Rust.
    pub(crate) rust: &'static str,
    /// The type of the value in C++.
    pub(crate) cpp: &'static str,
    of: fn(&Shape) -> bool,
}

const OPTIONALS: [Optional; 3] = [
    Optional {
        name: "OptionalInteger",
        c: "talentdata_optional_integer",
        rust: "i64",
        cpp: "std::int64_t",
        of: |shape| matches!(shape, Shape::Integer),
    },
    Optional {
        name: "OptionalNumber",
        c: "talentdata_optional_number",
        rust: "f64",
        cpp: "double",
        of: |shape| matches!(shape, Shape::Number),
    },
    Optional {
        name: "OptionalBoolean",
        c: "talentdata_optional_boolean",
        rust: "bool",
        cpp: "bool",
        of: |shape| matches!(shape, Shape::Boolean),
    },
];

/// The types of optional values that these models have.
pub(crate) fn optionals(models: &[Model]) -> impl Iterator<Item = Optional> {
    OPTIONALS.into_iter().filter(|one| {
        let mut fields = models.iter().flat_map(|model| &model.fields);
        fields.any(|field| !field.required && (one.of)(&field.shape))
    })
}
