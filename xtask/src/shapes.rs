//! The models that are exposed to C, and the shape of each documented field.

use crate::names;
use crate::spec::api::{self, Api, Type};
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
    /// What types of C have behind the model's name.
    types: Vec<String>,
}

impl Field {
    /// What a C function that reads it has behind the model's name: no type has the same.
    pub(crate) fn function(&self, suffix: &str) -> String {
        let mut name = names::c_function(&self.wire, suffix);
        while self.types.contains(&name) {
            name.push('_');
        }
        name
    }
}

/// What a field holds; names are those of other models and enums.
#[derive(Debug)]
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

impl Shape {
    /// Its name, for templates.
    pub(crate) fn name(&self) -> String {
        let text = format!("{self:?}");
        text.split('(').next().unwrap_or_default().to_owned()
    }

    /// The model or enum that it holds.
    pub(crate) fn held(&self) -> Option<&str> {
        match self {
            Shape::Enum(name) | Shape::Model(name) | Shape::Models(name) | Shape::Map(name) => {
                Some(name)
            }
            _ => None,
        }
    }

    /// Whether it is a number or a truth value.
    pub(crate) fn is_scalar(&self) -> bool {
        matches!(self, Shape::Integer | Shape::Number | Shape::Boolean)
    }
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
            Shape::Map(_) => &["_count", "_name", "_at", "_find"],
            Shape::Json => &["_json"],
        }
    }

    /// The same of C++, where arrays and maps are read at once.
    pub(crate) fn cpp_suffixes(&self, field: &Field) -> &'static [&'static str] {
        match self.suffixes(field) {
            ["_count", ..] => &[""],
            other => other,
        }
    }

    pub(crate) fn is_record(&self) -> bool {
        !self.lists.is_empty()
    }
}

/// The models that C sees: records, and what functions give with all it holds, except for
/// secrets, which never leave the core, and for pages, which have a handle of their own.
pub(crate) fn models(api: &Api) -> Vec<Model> {
    let exposed = |model: &&api::Model| model.answered && !model.holds_secret() && !model.is_page();
    let held = held(api);
    let models = api.models.iter().map(|model| &model.name);
    let named = models.chain(api.enums.iter().map(|known| &known.name));
    let types: Vec<String> = named.map(|name| names::snake(name)).collect();
    let mut out = Vec::new();
    for model in api.models.iter().filter(exposed) {
        let lists = api.lists();
        let lists = lists.filter(|(_, list)| list.model() == Some(&model.name));
        let lists = lists.map(|(_, list)| names::list_variant(&list.name));
        let lists: Vec<String> = lists.collect();
        if lists.is_empty() && !held.contains(&model.name) {
            continue;
        }
        let start = format!("{}_", names::snake(&model.name));
        let types = types.iter().filter_map(|name| name.strip_prefix(&start));
        let types: Vec<String> = types.map(str::to_owned).collect();
        let fields = model.fields.iter().map(|field| Field {
            types: types.clone(),
            wire: field.wire.clone(),
            description: api.about(field).unwrap_or("Not described.").to_owned(),
            required: field.required,
            shape: shape(&field.kind, &|name| {
                api.model(name).as_ref().is_some_and(exposed)
            }),
        });
        out.push(Model {
            name: model.name.clone(),
            description: model.description.clone(),
            fields: fields.collect(),
            lists,
            root: !api.models.iter().any(|one| one.refers_to(&model.name)),
        });
    }
    out
}

/// The names of the models that functions give, and of all that these hold.
pub(crate) fn held(api: &Api) -> BTreeSet<String> {
    let calls = api.operations.iter().filter(|one| one.is_call());
    let models = calls.filter_map(|one| match &one.response {
        Some(Type::Model(name)) => api.model(name),
        _ => None,
    });
    let models = models.filter(|model| !model.is_page());
    // A page has a function that gives it.
    let mut waiting: Vec<&str> = vec!["Pagination"];
    waiting.extend(models.map(|model| model.name.as_str()));
    let mut out = BTreeSet::new();
    while let Some(name) = waiting.pop() {
        let Some(model) = api.model(name).filter(|_| out.insert(name.to_owned())) else {
            continue;
        };
        waiting.extend(model.fields.iter().filter_map(|field| field.kind.named()));
    }
    out
}

/// Whether one of these models has a field of an open enum.
pub(crate) fn has_enum(models: &[Model], name: &str) -> bool {
    let mut fields = models.iter().flat_map(|model| &model.fields);
    fields.any(|field| matches!(&field.shape, Shape::Enum(known) if known == name))
}

fn shape(of: &Type, exposed: &dyn Fn(&str) -> bool) -> Shape {
    match of {
        Type::Text => Shape::Text,
        Type::Enum(name) => Shape::Enum(name.clone()),
        Type::Integer => Shape::Integer,
        Type::Number => Shape::Number,
        Type::Boolean => Shape::Boolean,
        Type::Model(name) if exposed(name) => Shape::Model(name.clone()),
        Type::Array(held) => match &**held {
            Type::Text => Shape::Texts,
            Type::Model(name) if exposed(name) => Shape::Models(name.clone()),
            _ => Shape::Items,
        },
        Type::Map(held) => match &**held {
            Type::Model(name) if exposed(name) => Shape::Map(name.clone()),
            _ => Shape::Json,
        },
        // What an int64_t cannot hold is lent as it came.
        Type::Unsigned => Shape::Json,
        Type::Model(_) | Type::Secret | Type::Object | Type::Json | Type::Nullable(_) => {
            Shape::Json
        }
    }
}
