//! The models that cross into C, and the shape of each documented field.

use crate::normalise::{OpenEnum, normalise, open_enum};
use crate::spec::Spec;
use heck::{ToSnakeCase, ToUpperCamelCase};
use serde_json::Value;

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
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) required: bool,
    pub(crate) shape: Shape,
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
        format!("talentdata_{}", self.name.to_snake_case())
    }

    pub(crate) fn is_record(&self) -> bool {
        !self.lists.is_empty()
    }
}

/// The models that C sees: what the service answers, except for secrets, which never leave the
/// core, and for pages, which have a handle of their own.
pub(crate) fn models(spec: &Spec) -> Vec<Model> {
    let crossing = |name: &str| {
        let schema = spec.schema(name).filter(|_| spec.answered.contains(name))?;
        let properties = schema.get("properties")?.as_object()?;
        let secret = properties
            .values()
            .any(|field| field["format"] == "password");
        (!secret && !properties.contains_key("pagination")).then_some((schema, properties))
    };
    let mut out = Vec::new();
    for (name, _) in &spec.schemas {
        let Some((schema, properties)) = crossing(name) else {
            continue;
        };
        let required = schema.get("required").and_then(Value::as_array);
        let fields = properties.iter().map(|(wire, field)| Field {
            name: wire.to_snake_case(),
            description: text(field, spec),
            required: required.is_some_and(|names| names.iter().any(|one| one == wire)),
            shape: shape(spec, name, wire, field, &|name| crossing(name).is_some()),
            wire: wire.clone(),
        });
        let lists = spec.lists().filter(|(_, list)| {
            list.records
                .as_ref()
                .is_some_and(|records| records.model == *name)
        });
        let reference = format!("\"#/components/schemas/{name}\"");
        out.push(Model {
            name: name.clone(),
            description: text(schema, spec),
            fields: fields.collect(),
            lists: lists
                .map(|(_, list)| list.name.to_upper_camel_case())
                .collect(),
            root: !spec
                .schemas
                .iter()
                .any(|(_, other)| other.to_string().contains(&reference)),
        });
    }
    out
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

fn shape(
    spec: &Spec,
    model: &str,
    wire: &str,
    field: &Value,
    crossing: &dyn Fn(&str) -> bool,
) -> Shape {
    let inline = format!("{model}{}", wire.to_upper_camel_case());
    let named = |value: &Value| {
        let name = value.get("$ref")?.as_str()?.rsplit('/').next()?;
        Some(name.to_owned())
    };
    let held = |value: &Value| named(value).filter(|name| crossing(name));
    if open_enum(&inline, field).is_some() {
        return Shape::Enum(inline);
    }
    if let Some(name) = named(field) {
        return match spec.schema(&name) {
            Some(schema) if open_enum(&name, schema).is_some() => Shape::Enum(name),
            _ if crossing(&name) => Shape::Model(name),
            _ => Shape::Json,
        };
    }
    match field.get("type").and_then(Value::as_str) {
        Some("string") => Shape::Text,
        Some("integer") => Shape::Integer,
        Some("number") => Shape::Number,
        Some("boolean") => Shape::Boolean,
        Some("array") => match &field["items"] {
            items if items["type"] == "string" && items.get("enum").is_none() => Shape::Texts,
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
