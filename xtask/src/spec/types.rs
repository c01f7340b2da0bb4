//! The one place that decides what a value is: from schemas to types, models and enums.

use super::api::{Api, Enum, Field, Model, Type};
use super::cursor::{Cursor, Document};
use super::findings::{RAW, UNNAMED};
use super::schema::{Schema, schema};
use super::{described, said};
use crate::names;
use std::collections::{BTreeMap, BTreeSet};

const COMPONENTS: &str = "/components/schemas/";

/// What stands at a place.
#[derive(Clone, Debug)]
pub(super) struct Typed {
    pub(super) kind: Type,
    pub(super) nullable: bool,
    pub(super) description: Option<String>,
}

impl Typed {
    fn json() -> Self {
        Typed {
            kind: Type::Json,
            nullable: false,
            description: None,
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
    pub(super) document: &'a Document,
    pub(super) api: Api,
    /// What is known of a place: nothing yet while it is being read.
    known: BTreeMap<String, Option<Typed>>,
    /// Names for schemas without one, by place.
    pub(super) names: BTreeMap<String, String>,
    /// Where each name of a model or an enum belongs.
    owners: BTreeMap<String, String>,
}

impl<'a> Types<'a> {
    pub(super) fn new(document: &'a Document) -> Self {
        let mut owners = BTreeMap::new();
        for (name, schema) in components(document) {
            owners.entry(names::model(&name)).or_insert(schema.at);
        }
        Types {
            document,
            api: Api::default(),
            known: BTreeMap::new(),
            names: BTreeMap::new(),
            owners,
        }
    }

    /// Reads every schema that has a name of its own.
    pub(super) fn components(&mut self) {
        for (_, schema) in components(self.document) {
            self.referred(schema, "");
        }
    }

    /// What was read on the way stands where the document has it; what has no place there, at the end.
    pub(super) fn finish(mut self) -> Api {
        let places = components(self.document).into_iter();
        let places: Vec<String> = places.map(|(_, schema)| schema.at + "/").collect();
        let order = |at: &str| {
            let at = format!("{at}/");
            let place = places.iter().position(|place| at.starts_with(place));
            place.unwrap_or(usize::MAX)
        };
        let (models, enums) = (&mut self.api.models, &mut self.api.enums);
        models.sort_by_cached_key(|model| order(&model.place));
        enums.sort_by_cached_key(|known| order(&known.place));
        self.api
    }

    /// What schemas say that all hold; `place` is the name of where they stand, for what has to be named by it: a model or an
    /// enum has `Value` behind, since in C the place itself is the name of a function.
    pub(super) fn of(&mut self, parts: Vec<Cursor<'a>>, place: &str) -> Typed {
        let schema = schema(parts);
        let at = &schema.at;
        let mut typed = match (&schema.reference, self.known.get(at)) {
            (Some(target), _) => self.referred(target.clone(), at),
            (None, Some(Some(known))) => known.clone(),
            _ => {
                let hint = self.names.get(at).cloned();
                let name = hint.unwrap_or_else(|| names::camel(&format!("{place}Value")));
                // A name that no other schema has.
                let is_free = |name: &String| self.owners.get(name).is_none_or(|owner| owner == at);
                let numbered = (2..).map(|number| format!("{name}{number}"));
                let mut names = std::iter::once(name.clone()).chain(numbered);
                let name = names.find(is_free).unwrap_or(name);
                self.read(&schema, &name, place)
            }
        };
        typed.description = said(schema.description).or(typed.description);
        typed.nullable |= schema.nullable;
        typed
    }

    /// What a reference at a place leads to: a model or an enum of its own, or another type.
    pub(super) fn referred(&mut self, target: Cursor<'a>, from: &str) -> Typed {
        let at = target.at.clone();
        match self.known.get(&at) {
            Some(Some(typed)) => return typed.clone(),
            Some(None) => {
                let text = format!("{at}: it holds itself");
                self.document.note(RAW, text);
                return Typed::json();
            }
            None => {}
        }
        let is_component = at.starts_with("/components/") && at.matches('/').count() <= 3;
        if is_component && !at.starts_with(COMPONENTS) {
            let reason = format!("\"#{at}\" is not a schema of this document");
            let way = "refer to #/components/schemas/NAME";
            self.document.refuse(&format!("{from}/$ref"), &reason, way);
            return Typed::json();
        }
        self.known.insert(at.clone(), None);
        let schema = schema(vec![target]);
        let mut typed = match &schema.reference {
            Some(next) => self.referred(next.clone(), &at),
            None => {
                let name = name_of(&at);
                self.read(
                    &Schema {
                        at: at.clone(),
                        ..schema
                    },
                    &name,
                    &name,
                )
            }
        };
        typed.nullable |= schema.nullable;
        self.known.insert(at, Some(typed.clone()));
        typed
    }

    /// Reads a schema; a model or an enum of it gets this name, and what stands within it is named by the place.
    fn read(&mut self, schema: &Schema<'a>, name: &str, place: &str) -> Typed {
        let description = said(schema.description);
        let kind = self.named(schema, name, place);
        let typed = Typed {
            kind: kind.unwrap_or_else(|| self.kind(schema, place)),
            nullable: schema.nullable,
            description,
        };
        self.known.insert(schema.at.clone(), Some(typed.clone()));
        typed
    }

    /// Makes a model or an enum of a schema that is one.
    fn named(&mut self, schema: &Schema<'a>, name: &str, place: &str) -> Option<Type> {
        let (at, description) = (&schema.at, described(schema.description));
        if schema.properties.is_empty() {
            let values = match &schema.values {
                Some((values, _)) => values.iter().map(|one| (*one).to_owned()).collect(),
                None => match self.open_enum(schema)? {
                    (Some(known), _) => return Some(Type::Enum(known)),
                    (None, values) => values,
                },
            };
            return Some(self.enumeration(name, at, description, values));
        }
        let kind = Type::Model(name.to_owned());
        let typed = Typed {
            kind,
            nullable: false,
            description: Some(description.clone()),
        };
        self.known.insert(at.clone(), Some(typed.clone()));
        if let Some((choices, _)) = &schema.choices {
            let text = format!("{}: beside the properties", choices.at);
            self.document.note(RAW, text);
        }
        let fields = self.fields(schema, place);
        if self.is_free(name, at) {
            self.api.models.push(Model {
                name: name.to_owned(),
                description,
                fields,
                answered: false,
                place: at.clone(),
            });
        }
        Some(typed.kind)
    }

    /// An enum of those values that can be named; without any, it is a text.
    fn enumeration(&mut self, name: &str, at: &str, about: String, values: Vec<String>) -> Type {
        let mut names = BTreeSet::new();
        let (values, others) = values.into_iter().partition::<Vec<String>, _>(|value| {
            let constant = names::constant(&names::value_variant(value));
            names::is_a_name(value) && names.insert(constant)
        });
        for value in others {
            self.document
                .note(UNNAMED, format!("{at}: value {value:?}"));
        }
        if values.is_empty() {
            return Type::Text;
        }
        if self.is_free(name, at) {
            self.api.enums.push(Enum {
                name: name.to_owned(),
                description: about,
                values,
                answered: false,
                place: at.to_owned(),
            });
        }
        Type::Enum(name.to_owned())
    }

    /// Refuses a name that another schema has.
    fn is_free(&mut self, name: &str, at: &str) -> bool {
        let owner = self.owners.entry(name.to_owned());
        let owner = owner.or_insert_with(|| at.to_owned());
        if *owner != at {
            let reason = format!("it would be named {name}, as {owner} is");
            let way = "give it a name of its own under /components/schemas, and refer to it";
            self.document.refuse(at, &reason, way);
        }
        *owner == at
    }

    fn fields(&mut self, schema: &Schema<'a>, place: &str) -> Vec<Field> {
        let mut fields = Vec::new();
        for (wire, schemas) in &schema.properties {
            let required = schema.required.iter().filter(|one| one.value == wire);
            let required = required.inspect(|one| one.mark()).count() > 0;
            let mut names = schemas.iter().filter_map(|one| one.peek("propertyNames"));
            let names = names.find_map(|one| one.target());
            let typed = self.of(schemas.clone(), &format!("{place}{}", names::camel(wire)));
            let keys = names.map(|names| {
                let at = names.at.clone();
                self.referred(names, &at).kind
            });
            fields.push(Field {
                keys: keys.and_then(|kind| kind.named().map(str::to_owned)),
                wire: wire.clone(),
                description: described(typed.description.as_deref()),
                required,
                nullable: typed.nullable,
                kind: typed.kind,
            });
        }
        fields
    }

    /// What is neither a model nor an enum.
    fn kind(&mut self, schema: &Schema<'a>, place: &str) -> Type {
        if let Some((written, choices)) = &schema.choices {
            return self.choice(written, choices, place);
        }
        let inferred = match (&*schema.additional, &*schema.items) {
            ([_, ..], _) => "object",
            (_, [_, ..]) => "array",
            _ => "",
        };
        let kind = schema.kind.as_ref().map_or(inferred, |(kind, _)| kind);
        let written = schema.format.as_ref();
        let format = written.and_then(|one| one.value.as_str());
        let format = format.unwrap_or_default();
        if matches!(
            (kind, format),
            ("string", "password")
                | ("integer", "int32" | "int64" | "uint64")
                | ("number", "float" | "double")
        ) {
            written.iter().for_each(|one| one.mark());
        }
        match (kind, format) {
            ("string", "password") => Type::Secret,
            ("integer", "uint64") => Type::Unsigned,
            ("string", _) => Type::Text,
            ("integer", _) => Type::Integer,
            ("number", _) => Type::Number,
            ("boolean", _) => Type::Boolean,
            ("array", _) if schema.items.is_empty() => Type::Array(Type::Json.into()),
            ("array", _) => {
                let items = self.of(schema.items.clone(), &format!("{place}Items"));
                Type::Array(items.held())
            }
            ("object", _) if schema.additional.is_empty() => Type::Object,
            ("object", _) => {
                let place = format!("{place}AdditionalProperties");
                Type::Map(self.of(schema.additional.clone(), &place).held())
            }
            _ => Type::Json,
        }
    }

    /// One of several schemas: their type where they share it, else any value.
    fn choice(&mut self, written: &Cursor<'a>, choices: &[Cursor<'a>], place: &str) -> Type {
        let mut kinds = Vec::new();
        for one in choices {
            let is_composed = ["object", "array"]
                .iter()
                .any(|kind| one.value["type"] == **kind);
            let is_composed = is_composed || one.has("properties");
            let is_read = !one.has("allOf") && (one.has("$ref") || !is_composed);
            kinds.push(match is_read {
                true => self.of(vec![one.clone()], place).kind,
                false => Type::Json,
            });
        }
        kinds.dedup();
        match kinds.as_slice() {
            [only] if *only != Type::Json => only.clone(),
            _ => {
                let text = format!("{}: one of {} schemas", written.at, choices.len());
                self.document.note(RAW, text);
                Type::Json
            }
        }
    }

    /// The values of an enum that is written as a choice, of a list and any text, or of several lists; and the enum that has
    /// them already.
    fn open_enum(&mut self, of: &Schema<'a>) -> Option<(Option<String>, Vec<String>)> {
        let (mut texts, mut lists, mut known) = (Vec::new(), 0, None);
        for choice in &of.choices.as_ref()?.1 {
            if choice.clone().followed().has("properties") {
                return None;
            }
            let one = schema(vec![choice.clone()]);
            match (one.reference, one.values) {
                (Some(target), _) => match self.referred(target, &of.at).kind {
                    Type::Enum(name) => {
                        let values = self.api.enumeration(&name).map(|one| &one.values);
                        texts.extend(values.into_iter().flatten().cloned());
                        (lists, known) = (lists + 1, Some(name));
                    }
                    Type::Text => {}
                    _ => return None,
                },
                (None, Some((values, _))) => {
                    lists += 1;
                    texts.extend(values.into_iter().map(str::to_owned));
                }
                (None, None) if one.kind?.0 == "string" => {}
                (None, None) => return None,
            }
        }
        texts.dedup();
        (lists > 0).then(|| (known.filter(|_| lists == 1), texts))
    }
}

/// The schemas that have a name of their own.
fn components(document: &Document) -> Vec<(String, Cursor<'_>)> {
    let schemas = document.at("/components/schemas");
    schemas.map_or(Vec::new(), |all| all.entries())
}

/// The name of a component, or of what stands within it.
fn name_of(at: &str) -> String {
    let Some(rest) = at.strip_prefix(COMPONENTS) else {
        return names::camel(&at.replace(['/', '~'], " "));
    };
    let rest: Vec<String> = rest
        .split('/')
        .map(|step| step.replace("~1", "/").replace("~0", "~"))
        .collect();
    let (first, within) = rest
        .split_first()
        .map_or(("", &[][..]), |(first, all)| (first, all));
    let within = within.iter().filter(|step| *step != "properties");
    let within: String = within.map(|step| names::camel(step)).collect();
    match within.as_str() {
        "" => names::model(first),
        within => names::camel(&format!("{}{within}Value", names::model(first))),
    }
}
