//! The one place that decides what a value is: from schemas to types, models and enums.

use super::api::{Api, Type};
use super::findings::{Findings, Topic};
use super::view::{Form, View, Viewer};
use super::{pointer, said};
use crate::names;
use crate::names::taken::Taken;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

const COMPONENTS: &str = "/components/schemas/";

/// What stands at a place.
#[derive(Clone, Debug)]
pub(super) struct Typed {
    pub(super) kind: Type,
    pub(super) nullable: bool,
    pub(super) description: Option<String>,
    pub(super) deprecated: bool,
}

impl Typed {
    pub(super) fn of(kind: Type) -> Self {
        Typed {
            kind,
            nullable: false,
            description: None,
            deprecated: false,
        }
    }

    /// The type within an array or a map, where null is a value of its own.
    fn held(self) -> Box<Type> {
        match self.nullable && self.kind != Type::Json {
            true => Type::Nullable(self.kind.into()).into(),
            false => self.kind.into(),
        }
    }
}

/// Gathers the models and enums of a document.
pub(super) struct Types<'a> {
    pub(super) viewer: Viewer<'a>,
    pub(super) findings: &'a mut Findings,
    pub(super) taken: &'a Taken,
    pub(super) api: Api,
    /// What is known of a place: nothing yet while it is being read.
    pub(super) known: BTreeMap<String, Option<Typed>>,
    /// Names for schemas without one, by place.
    pub(super) names: BTreeMap<String, String>,
    /// Where each name of a model or an enum belongs.
    pub(super) owners: BTreeMap<String, String>,
    formats: BTreeMap<String, usize>,
}

impl<'a> Types<'a> {
    pub(super) fn new(document: &'a Value, taken: &'a Taken, findings: &'a mut Findings) -> Self {
        let schemas = document.pointer("/components/schemas");
        let mut owners = BTreeMap::new();
        for name in schemas
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(Map::keys)
        {
            let place = pointer(&["components", "schemas", name]);
            owners.entry(names::model(name, taken)).or_insert(place);
        }
        Types {
            owners,
            viewer: Viewer::new(document),
            findings,
            taken,
            api: Api::default(),
            known: BTreeMap::new(),
            names: BTreeMap::new(),
            formats: BTreeMap::new(),
        }
    }

    pub(super) fn document(&self) -> &'a Value {
        self.viewer.document
    }

    /// Reads every schema that has a name of its own.
    pub(super) fn components(&mut self) {
        let schemas = self.document().pointer("/components/schemas");
        for name in schemas
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(Map::keys)
        {
            self.referred(&pointer(&["components", "schemas", name]), "");
        }
    }

    /// Notes what was counted along the way.
    pub(super) fn finish(self) -> Api {
        for (format, count) in self.formats {
            let times = match count {
                1 => "once".to_owned(),
                several => format!("{several} times"),
            };
            let text = format!("{format} ({times})");
            self.findings.note(Topic::Format, text);
        }
        let schemas = self.viewer.document.pointer("/components/schemas");
        let schemas = schemas.and_then(Value::as_object);
        let names = schemas.into_iter().flat_map(Map::keys).enumerate();
        let names = names.map(|(index, name)| (pointer(&[name]), index));
        let names: BTreeMap<String, usize> = names.collect();
        // What was read on the way stands where the document has it; what has no place there, at the end.
        let position = |place: &str| {
            let owner = place.strip_prefix(COMPONENTS)?.split('/').next()?;
            names.get(&format!("/{owner}")).copied()
        };
        let order = |place: &str| position(place).unwrap_or(usize::MAX);
        let mut api = self.api;
        api.models.sort_by_cached_key(|model| order(&model.place));
        api.enums.sort_by_cached_key(|known| order(&known.place));
        api
    }

    /// What a schema says; `name` is that of the place, for what has to be named by it.
    pub(super) fn of(&mut self, schema: &Value, at: &str, name: &str) -> Typed {
        let view = self.viewer.view(schema, at, self.findings);
        let (nullable, deprecated) = (view.nullable, view.deprecated);
        if deprecated {
            self.findings.note(Topic::Deprecated, view.at.clone());
        }
        let own = said(view.description.as_deref());
        let mut typed = match view.form {
            Form::Reference(target) => self.referred(&target, &view.at),
            Form::Keywords(map) => {
                let known = self.known.get(&view.at).cloned().flatten();
                known.unwrap_or_else(|| self.in_place(&map, &view.at, name))
            }
        };
        typed.description = own.or(typed.description);
        typed.nullable |= nullable;
        typed.deprecated |= deprecated;
        typed
    }

    /// What a reference at a place leads to.
    pub(super) fn referred(&mut self, target: &str, from: &str) -> Typed {
        match self.known.get(target) {
            Some(Some(typed)) => return typed.clone(),
            Some(None) => {
                let text = format!("{target}: it holds itself");
                self.findings.note(Topic::Raw, text);
                return Typed::of(Type::Json);
            }
            None => {}
        }
        let is_schema = !target.starts_with("/components/")
            || target.starts_with(COMPONENTS)
            || target.matches('/').count() > 3;
        let schema = self.document().pointer(target).filter(|_| is_schema);
        let Some(schema) = schema else {
            let reason = format!("\"#{target}\" is not a schema of this document");
            let way = "refer to #/components/schemas/NAME";
            self.findings.refuse(&format!("{from}/$ref"), &reason, way);
            return Typed::of(Type::Json);
        };
        self.known.insert(target.to_owned(), None);
        let view = self.viewer.view(schema, target, self.findings);
        if view.deprecated {
            self.findings.note(Topic::Deprecated, target);
        }
        let typed = match &view.form {
            Form::Reference(next) => {
                let mut typed = self.referred(next, target);
                typed.nullable |= view.nullable;
                typed
            }
            Form::Keywords(map) => {
                let name = self.name_of(target);
                self.defined(map, &view, target, &name)
            }
        };
        self.known.insert(target.to_owned(), Some(typed.clone()));
        typed
    }

    /// The name of a component, or of what stands within it.
    fn name_of(&self, target: &str) -> String {
        let Some(rest) = target.strip_prefix(COMPONENTS) else {
            return names::camel(&target.replace(['/', '~'], " "));
        };
        let mut steps = rest.split('/');
        let unescape = |step: &str| step.replace("~1", "/").replace("~0", "~");
        let mut name = names::model(&unescape(steps.next().unwrap_or_default()), self.taken);
        let mut within = false;
        for step in steps.filter(|step| *step != "properties") {
            name += &names::camel(&unescape(step));
            within = true;
        }
        match within {
            true => names::camel(&(name + "Value")),
            false => name,
        }
    }

    /// A schema that others refer to: a model or an enum of its own, or what stands for another type.
    fn defined(&mut self, map: &Map<String, Value>, view: &View, at: &str, name: &str) -> Typed {
        let description = said(view.description.as_deref());
        let mut typed = match self.named(map, at, name, description.as_deref(), None) {
            Some(kind) => Typed::of(kind),
            None => Typed {
                description,
                ..Typed::of(self.kind(map, at, name))
            },
        };
        typed.nullable = view.nullable;
        typed
    }

    /// A schema where it is used: a model or an enum is named by the place, with `Value` behind, since
    /// in C the place itself is the name of a function.
    fn in_place(&mut self, map: &Map<String, Value>, at: &str, place: &str) -> Typed {
        let hint = self.names.get(at).cloned();
        let name = hint.unwrap_or_else(|| names::camel(&format!("{place}Value")));
        let name = self.free_name(name, at);
        let description = said(map.get("description").and_then(Value::as_str));
        match self.named(map, at, &name, description.as_deref(), Some(place)) {
            Some(kind) => {
                let typed = Typed::of(kind);
                self.known.insert(at.to_owned(), Some(typed.clone()));
                typed
            }
            None => Typed {
                description,
                ..Typed::of(self.kind(map, at, place))
            },
        }
    }

    /// A name that no other schema has: that of a schema in place gets a number behind.
    fn free_name(&self, name: String, at: &str) -> String {
        let is_free = |name: &String| self.owners.get(name).is_none_or(|place| place == at);
        let numbered = (2..).map(|number| format!("{name}{number}"));
        let mut all = std::iter::once(name.clone()).chain(numbered);
        all.find(is_free).unwrap_or(name)
    }

    /// What is neither a model nor an enum.
    fn kind(&mut self, map: &Map<String, Value>, at: &str, name: &str) -> Type {
        for key in ["anyOf", "oneOf"] {
            if let Some(choices) = map.get(key).and_then(Value::as_array) {
                return self.choice(choices, &format!("{at}/{key}"), name);
            }
        }
        let inferred = [("additionalProperties", "object"), ("items", "array")];
        let inferred = inferred.iter().find(|(key, _)| map.contains_key(*key));
        let written = map.get("type").and_then(Value::as_str);
        let format = map.get("format").and_then(Value::as_str);
        let kind = written.or(inferred.map(|(_, kind)| *kind)).unwrap_or("");
        match (kind, format) {
            ("string", Some("password")) => return Type::Secret,
            ("integer", Some("uint64")) => return Type::Unsigned,
            (_, None | Some("int32" | "int64" | "float" | "double")) => {}
            (_, Some(other)) => *self.formats.entry(other.to_owned()).or_default() += 1,
        }
        match kind {
            "string" => Type::Text,
            "integer" => Type::Integer,
            "number" => Type::Number,
            "boolean" => Type::Boolean,
            "array" => match map.get("items") {
                Some(items @ Value::Object(_)) => {
                    let items = self.of(items, &format!("{at}/items"), &format!("{name}Items"));
                    Type::Array(items.held())
                }
                _ => Type::Array(Type::Json.into()),
            },
            "object" => match map.get("additionalProperties") {
                Some(Value::Object(values)) if !values.is_empty() => {
                    let key = "additionalProperties";
                    let place = format!("{at}/{key}");
                    let values = Value::Object(values.clone());
                    let values = self.of(&values, &place, &format!("{name}{}", names::camel(key)));
                    Type::Map(values.held())
                }
                _ => Type::Object,
            },
            _ => Type::Json,
        }
    }
}
