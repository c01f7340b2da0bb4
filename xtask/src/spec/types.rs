//! Decides the type of every value: turns schemas into types, models and enums.

use super::api::{Api, ApiField, Enum, Model, Type, joined};
use super::cursor::{Cursor, Document, RAW, RENAMED, UNNAMED};
use super::schema::{COMPONENTS, ResolvedSchema, schema};
use crate::names;
use crate::text::or_not_described;
use std::collections::{BTreeMap, BTreeSet};

/// The supported formats of numbers.
const NUMBERS: &str = "int32 int64 uint64 float double";

/// Collects the models and enums of a document.
pub(super) struct Types<'a> {
    pub(super) document: &'a Document,
    pub(super) api: Api,
    /// The models and enums of responses.
    pub(super) in_responses: BTreeSet<String>,
    /// The name that the operation gives to a record that is written within its response.
    pub(super) record: Option<String>,
    /// The names of the records within pages, by place.
    records: BTreeMap<String, String>,
    /// The type of each schema; `None` while it is being read.
    known: BTreeMap<String, Option<Type>>,
    /// The names of models and enums, and of schemas that could have become one.
    taken: BTreeSet<String>,
}

impl<'a> Types<'a> {
    /// Reads every schema that has a name of its own. A model comes after those that it contains.
    pub(super) fn new(document: &'a Document) -> Self {
        let schemas = document.at("/components/schemas");
        let mut schemas = schemas.map_or(Vec::new(), |all| all.items());
        let mut types = Types {
            document,
            api: Api::default(),
            in_responses: BTreeSet::new(),
            record: None,
            records: BTreeMap::new(),
            known: BTreeMap::new(),
            taken: schemas.iter().map(|one| names::model(&one.key())).collect(),
        };
        // If a record contains a page of its own list, the page is cut, not the list.
        schemas.sort_by_key(|one| one.value.pointer("/properties/pagination").is_none());
        for schema in schemas {
            types.kind(schema, "");
        }
        types
    }

    /// Returns the type of one schema, without null.
    pub(super) fn kind(&mut self, schema: Cursor<'a>, name: &str) -> Type {
        self.of(vec![schema], name).0
    }

    /// Returns the type without null of schemas that must all hold, and their combined content. A model or an enum gets
    /// this name, unless it has one of its own.
    fn of(&mut self, mut parts: Vec<Cursor<'a>>, name: &str) -> (Type, ResolvedSchema<'a>) {
        parts.dedup_by(|one, other| one.at == other.at);
        let places: Vec<&str> = parts.iter().map(|one| one.at.as_str()).collect();
        let schema = schema(&parts);
        let key = match places.as_slice() {
            [_] => schema.at.clone(),
            several => several.join(" "),
        };
        let kind = match self.known.get(&key) {
            Some(Some(kind)) => kind.clone(),
            // Neither a C handle nor a Python class can contain itself.
            Some(None) => {
                let fix = "refer to it by an identifier, or take its parts apart by hand";
                let cause = "it leads back to a schema that holds it";
                self.document.note(RAW, places[0], cause, fix);
                Type::Json
            }
            None => {
                self.known.insert(key.clone(), None);
                let name = self.name(&schema, name);
                let kind = self.read(&schema, &name);
                self.known.insert(key, Some(kind.clone()));
                kind
            }
        };
        (kind, schema)
    }

    /// Returns the name of a component, or a name that no other schema has.
    fn name(&mut self, schema: &ResolvedSchema, name: &str) -> String {
        let steps = schema.at.strip_prefix(COMPONENTS).unwrap_or(&schema.at);
        if !steps.contains('/') {
            let written = steps.replace("~1", "/").replace("~0", "~");
            let name = names::model(&written);
            if !names::is_a_name(&written) {
                let cause = format!("{written:?} is no name: it is called {name}");
                self.document
                    .note(RENAMED, &schema.at, &cause, "rename the schema");
            }
            return self.document.numbered(&schema.at, &name);
        }
        let record = self.records.get(&schema.at);
        let name = record.map_or(name, String::as_str).to_owned();
        let numbered = (2..).map(|number| format!("{name}{number}"));
        let mut names = std::iter::once(name.clone()).chain(numbered);
        let free = names.find(|name| self.taken.insert(name.clone()));
        self.document.numbered(&schema.at, &free.unwrap_or(name))
    }

    fn read(&mut self, schema: &ResolvedSchema<'a>, name: &str) -> Type {
        // In C, the name of a field without `Value` is the name of a function.
        let place = name.strip_suffix("Value").unwrap_or(name);
        if schema.raw {
            return Type::Json;
        }
        if !schema.properties.is_empty() {
            return self.model(schema, name, place);
        }
        if let Some((values, _)) = &schema.values {
            let values = values.iter().map(ToString::to_string);
            return self.enumeration(schema, name, values.collect());
        }
        if let Some(choices) = &schema.choices {
            return self.choice(schema, choices, name);
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
        let is_number = NUMBERS.split(' ').any(|one| one == format);
        if format == "password" || kind != "string" && is_number {
            written.inspect(|one| one.mark());
        }
        match kind {
            "string" if format == "password" => Type::Secret,
            "string" => Type::Text,
            "integer" if format == "uint64" => Type::Unsigned,
            "integer" => Type::Integer,
            "number" => Type::Number,
            "boolean" => Type::Boolean,
            "array" if schema.items.is_empty() => Type::Array(Type::Json.into()),
            "array" => Type::Array(self.held(&schema.items, place, "Items")),
            "object" if schema.additional.is_empty() => Type::Object,
            "object" => Type::Map(self.held(&schema.additional, place, "AdditionalProperties")),
            _ => Type::Json,
        }
    }

    /// Returns the type of the content of an array or a map.
    fn held(&mut self, all: &[Cursor<'a>], place: &str, suffix: &str) -> Box<Type> {
        let (kind, of) = self.of(all.to_vec(), &value(&format!("{place}{suffix}")));
        let nullable = of.nullable && kind != Type::Json;
        kind.or_null(nullable).into()
    }

    fn model(&mut self, schema: &ResolvedSchema<'a>, name: &str, place: &str) -> Type {
        let is_page = schema.properties.contains_key("pagination");
        let mut fields = Vec::new();
        for (wire, schemas) in &schema.properties {
            let required = schema.required.iter().filter(|one| one.value == wire);
            let required = required.inspect(|one| one.mark()).count() > 0;
            let name = value(&format!("{place}{}", names::camel(wire)));
            if is_page && let Some(items) = self::schema(schemas).items.pop() {
                let record = self.record.clone();
                let record = record.unwrap_or_else(|| format!("{place}Record"));
                self.records.insert(items.at, record);
            }
            let (kind, of) = self.of(schemas.clone(), &name);
            let mut names = schemas.iter().filter_map(|one| one.peek("propertyNames"));
            let names = names.find_map(|one| one.has("$ref").then_some(one));
            let keys = names.map(|names| self.kind(names, &name));
            let at = schemas.first().map_or("", |one| one.at.as_str());
            fields.push(ApiField {
                name: self.document.numbered(at, wire),
                place: at.to_owned(),
                // Both flags at once contradict each other.
                read_only: of.read_only && !of.write_only,
                write_only: of.write_only && !of.read_only,
                keys: keys.and_then(|kind| kind.named().map(str::to_owned)),
                wire: wire.clone(),
                description: or_not_described(of.description),
                required,
                kind: kind.or_null(of.nullable),
            });
        }
        self.api.models.push(Model {
            name: name.to_owned(),
            description: or_not_described(schema.own.clone()),
            fields,
            place: schema.at.clone(),
            ..Model::default()
        });
        Type::Model(name.to_owned())
    }

    /// Adds an enum of the values that can be named. Without any, the type is a string.
    fn enumeration(&mut self, schema: &ResolvedSchema, name: &str, values: Vec<String>) -> Type {
        let (at, mut names) = (&schema.at, BTreeSet::new());
        let (named, unnamed): (Vec<String>, Vec<String>) = values.into_iter().partition(|value| {
            let constant = names::constant(&names::variant(value, &names::VALUE));
            names::is_a_name(value) && names.insert(constant)
        });
        if !unnamed.is_empty() {
            let fix = "leave it out: values that are not listed are delivered as they come";
            let cause = format!(
                "value {}",
                joined(unnamed.iter().map(|one| format!("{one:?}")))
            );
            self.document.note(UNNAMED, at, &cause, fix);
        }
        let values = named;
        if values.is_empty() {
            return Type::Text;
        }
        self.api.enums.push(Enum {
            name: name.to_owned(),
            description: or_not_described(schema.own.clone()),
            values,
            in_responses: false,
            place: at.to_owned(),
        });
        Type::Enum(name.to_owned())
    }

    /// Returns the type of a choice between schemas: their common type, an enum if all are strings and some list
    /// values, otherwise any value.
    fn choice(&mut self, schema: &ResolvedSchema<'a>, choices: &[Cursor<'a>], name: &str) -> Type {
        let (mut kinds, mut values, mut is_new) = (Vec::new(), Vec::new(), false);
        for one in choices {
            one.mark();
            let mut composing = ["properties", "allOf", "items", "additionalProperties"].iter();
            let is_composed = composing.any(|key| one.has(key));
            let is_inline = !one.has("$ref");
            let listed = |one| self::schema(std::slice::from_ref(one)).values;
            let kind = if is_inline && is_composed {
                Type::Json
            } else if let Some((texts, _)) = listed(one).filter(|_| is_inline) {
                let named = texts.into_iter().filter(|text| names::is_a_name(text));
                let before = values.len();
                values.extend(named.map(str::to_owned));
                is_new |= values.len() > before;
                Type::Text
            } else {
                self.kind(one.clone(), name)
            };
            values.extend(self.api.known_values(&kind).iter().cloned());
            kinds.push(kind);
        }
        kinds.dedup();
        values.dedup();
        let (texts, others): (Vec<Type>, Vec<Type>) =
            kinds.into_iter().partition(|kind| *kind == Type::Text);
        let is_text = others.iter().all(|kind| matches!(kind, Type::Enum(_)));
        match others.as_slice() {
            [known] if is_text && !is_new => known.clone(),
            _ if is_text && !values.is_empty() => self.enumeration(schema, name, values),
            [] => Type::Text,
            [only] if texts.is_empty() && *only != Type::Json => only.clone(),
            _ => {
                let cause = format!("one of {} schemas", choices.len());
                let fix = "give them one type, or take the value apart by its JSON";
                self.document.note(RAW, &schema.at, &cause, fix);
                Type::Json
            }
        }
    }
}

/// Returns the name of a schema within another one, made from its place.
pub(super) fn value(place: &str) -> String {
    names::camel(&format!("{place}Value"))
}
