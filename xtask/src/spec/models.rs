//! Makes models and enums of schemas, and fields of their properties.

use super::api::{Enum, Field, Model, Type};
use super::findings::Topic;
use super::types::{Typed, Types};
use super::{pointer, references};
use crate::names;
use serde_json::{Map, Value};

impl Types<'_> {
    /// Makes a model or an enum of a schema that is one.
    pub(super) fn named(
        &mut self,
        map: &Map<String, Value>,
        at: &str,
        name: &str,
        description: Option<&str>,
        place: Option<&str>,
    ) -> Option<Type> {
        let about = description.unwrap_or("Not described.").to_owned();
        let properties = map.get("properties").and_then(Value::as_object);
        let properties = properties.filter(|properties| !properties.is_empty());
        let Some(properties) = properties else {
            let values = self.open_enum(map, at)?;
            if let Type::Enum(known) = values.kind {
                return Some(Type::Enum(known));
            }
            if self.is_free(name, at) {
                self.api.enums.push(Enum {
                    name: name.to_owned(),
                    description: about,
                    values: values.texts,
                    answered: false,
                    place: at.to_owned(),
                });
            }
            return Some(Type::Enum(name.to_owned()));
        };
        let kind = Type::Model(name.to_owned());
        self.known
            .insert(at.to_owned(), Some(Typed::of(kind.clone())));
        if let Some(choice) = ["anyOf", "oneOf"]
            .iter()
            .find(|key| map.contains_key(**key))
        {
            let text = format!("{at}: {choice} beside the properties");
            self.findings.note(Topic::Keyword, text);
        }
        let fields = self.fields(map, properties, at, place.unwrap_or(name));
        if self.is_free(name, at) {
            self.api.models.push(Model {
                name: name.to_owned(),
                description: about,
                fields,
                answered: false,
                place: at.to_owned(),
            });
        }
        Some(kind)
    }

    /// Refuses a name that another schema has.
    fn is_free(&mut self, name: &str, at: &str) -> bool {
        let other = self.owners.get(name).filter(|place| *place != at);
        let Some(other) = other.cloned() else {
            self.owners.insert(name.to_owned(), at.to_owned());
            return true;
        };
        let reason = format!("it would be named {name}, as {other} is");
        let way = "give it a name of its own under /components/schemas, and refer to it";
        self.findings.refuse(at, &reason, way);
        false
    }

    fn fields(
        &mut self,
        map: &Map<String, Value>,
        properties: &Map<String, Value>,
        at: &str,
        name: &str,
    ) -> Vec<Field> {
        let required = map.get("required").and_then(Value::as_array);
        let required: Vec<&str> = required
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        for missing in required
            .iter()
            .filter(|one| !properties.contains_key(**one))
        {
            let text =
                format!("{at}: required lists {missing:?}, which is not among the properties");
            self.findings.note(Topic::Keyword, text);
        }
        if map
            .get("additionalProperties")
            .is_some_and(Value::is_object)
        {
            let text = format!("{at}: the type of additionalProperties beside the properties");
            self.findings.note(Topic::Keyword, text);
        }
        let mut fields = Vec::new();
        for (wire, schema) in properties {
            let place = format!("{at}{}", pointer(&["properties", wire]));
            let typed = self.of(schema, &place, &format!("{name}{}", names::camel(wire)));
            let keys = schema
                .pointer("/propertyNames/$ref")
                .and_then(Value::as_str);
            let keys =
                keys.map(|reference| self.referred(&references::step(reference), &place).kind);
            fields.push(Field {
                keys: keys.and_then(|kind| kind.named().map(str::to_owned)),
                wire: wire.clone(),
                description: typed.description,
                required: required.contains(&wire.as_str()),
                nullable: typed.nullable,
                deprecated: typed.deprecated,
                kind: typed.kind,
            });
        }
        fields
    }
}
