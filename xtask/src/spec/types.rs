//! The one place that decides what a value is: from schemas to types, models and enums.

use super::api::{Api, Enum, Field, Model, Type};
use super::cursor::{Cursor, Document, pointer};
use super::findings::{Findings, Topic};
use super::said;
use super::schema::{Form, Keywords, Schema, schema};
use crate::names;
use std::collections::BTreeMap;

const COMPONENTS: &str = "/components/schemas/";

/// What stands at a place.
#[derive(Clone, Debug)]
pub(super) struct Typed {
    pub(super) kind: Type,
    pub(super) nullable: bool,
    pub(super) description: Option<String>,
}

impl Typed {
    fn of(kind: Type) -> Self {
        Typed {
            kind,
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
    pub(super) findings: &'a mut Findings,
    pub(super) api: Api,
    /// What is known of a place: nothing yet while it is being read.
    known: BTreeMap<String, Option<Typed>>,
    /// Names for schemas without one, by place.
    pub(super) names: BTreeMap<String, String>,
    /// Where each name of a model or an enum belongs.
    owners: BTreeMap<String, String>,
}

impl<'a> Types<'a> {
    pub(super) fn new(document: &'a Document, findings: &'a mut Findings) -> Self {
        let mut owners = BTreeMap::new();
        for name in schemas(document).iter().flat_map(Cursor::keys) {
            let place = pointer(&["components", "schemas", name]);
            owners.entry(names::model(name)).or_insert(place);
        }
        Types {
            document,
            findings,
            api: Api::default(),
            known: BTreeMap::new(),
            names: BTreeMap::new(),
            owners,
        }
    }

    /// Reads every schema that has a name of its own.
    pub(super) fn components(&mut self) {
        let schemas = schemas(self.document);
        for (_, schema) in schemas.iter().flat_map(Cursor::entries) {
            self.referred(schema, "");
        }
    }

    /// What was read on the way stands where the document has it; what has no place there, at the end.
    pub(super) fn finish(self) -> Api {
        let names = schemas(self.document);
        let names = names.iter().flat_map(Cursor::keys).enumerate();
        let names: BTreeMap<String, usize> = names
            .map(|(index, name)| (pointer(&[name]), index))
            .collect();
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
    pub(super) fn of(&mut self, parts: Vec<Cursor<'a>>, name: &str) -> Typed {
        let schema = schema(parts, self.findings);
        let own = said(schema.description);
        let nullable = schema.nullable;
        let mut typed = match &schema.form {
            Form::Reference(target) => self.referred(target.clone(), &schema.at),
            Form::Keywords(keywords) => {
                let known = self.known.get(&schema.at).cloned().flatten();
                known.unwrap_or_else(|| self.in_place(keywords, &schema, name))
            }
        };
        typed.description = own.or(typed.description);
        typed.nullable |= nullable;
        typed
    }

    /// What a reference at a place leads to.
    pub(super) fn referred(&mut self, target: Cursor<'a>, from: &str) -> Typed {
        let at = target.at.clone();
        match self.known.get(&at) {
            Some(Some(typed)) => return typed.clone(),
            Some(None) => {
                self.findings
                    .note(Topic::Raw, format!("{at}: it holds itself"));
                return Typed::of(Type::Json);
            }
            None => {}
        }
        if at.starts_with("/components/")
            && !at.starts_with(COMPONENTS)
            && at.matches('/').count() <= 3
        {
            let reason = format!("\"#{at}\" is not a schema of this document");
            let way = "refer to #/components/schemas/NAME";
            self.findings.refuse(&format!("{from}/$ref"), &reason, way);
            return Typed::of(Type::Json);
        }
        self.known.insert(at.clone(), None);
        let schema = schema(vec![target], self.findings);
        let typed = match &schema.form {
            Form::Reference(next) => {
                let mut typed = self.referred(next.clone(), &at);
                typed.nullable |= schema.nullable;
                typed
            }
            // A schema that others refer to is a model or an enum of its own, or stands for another type.
            Form::Keywords(keywords) => {
                let name = self.name_of(&at);
                let description = said(schema.description);
                let mut typed = match self.named(keywords, &at, &name, description.as_deref(), None)
                {
                    Some(kind) => Typed::of(kind),
                    None => Typed {
                        description,
                        ..Typed::of(self.kind(keywords, &name))
                    },
                };
                typed.nullable = schema.nullable;
                typed
            }
        };
        self.known.insert(at, Some(typed.clone()));
        typed
    }

    /// The name of a component, or of what stands within it.
    fn name_of(&self, target: &str) -> String {
        let Some(rest) = target.strip_prefix(COMPONENTS) else {
            return names::camel(&target.replace(['/', '~'], " "));
        };
        let mut steps = rest.split('/');
        let unescape = |step: &str| step.replace("~1", "/").replace("~0", "~");
        let mut name = names::model(&unescape(steps.next().unwrap_or_default()));
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

    /// A schema where it is used: a model or an enum is named by the place, with `Value` behind, since
    /// in C the place itself is the name of a function.
    fn in_place(&mut self, keywords: &Keywords<'a>, schema: &Schema<'a>, place: &str) -> Typed {
        let at = &schema.at;
        let hint = self.names.get(at).cloned();
        let name = hint.unwrap_or_else(|| names::camel(&format!("{place}Value")));
        let name = self.free_name(name, at);
        let description = said(schema.description);
        match self.named(keywords, at, &name, description.as_deref(), Some(place)) {
            Some(kind) => {
                let typed = Typed::of(kind);
                self.known.insert(at.clone(), Some(typed.clone()));
                typed
            }
            None => Typed {
                description,
                ..Typed::of(self.kind(keywords, place))
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

    /// Makes a model or an enum of a schema that is one.
    fn named(
        &mut self,
        keywords: &Keywords<'a>,
        at: &str,
        name: &str,
        description: Option<&str>,
        place: Option<&str>,
    ) -> Option<Type> {
        let about = description.unwrap_or("Not described.").to_owned();
        if keywords.properties.is_empty() {
            let values = match &keywords.values {
                Some((values, _)) => values.iter().map(|one| (*one).to_owned()).collect(),
                None => match self.open_enum(keywords, at)? {
                    OpenEnum::Known(name) => return Some(Type::Enum(name)),
                    OpenEnum::Values(values) => values,
                },
            };
            if self.is_free(name, at) {
                self.api.enums.push(Enum {
                    name: name.to_owned(),
                    description: about,
                    values,
                    answered: false,
                    place: at.to_owned(),
                });
            }
            return Some(Type::Enum(name.to_owned()));
        }
        let kind = Type::Model(name.to_owned());
        self.known
            .insert(at.to_owned(), Some(Typed::of(kind.clone())));
        if let Some((choices, _)) = &keywords.choices {
            let text = format!("{}: beside the properties", choices.at);
            self.findings.note(Topic::Raw, text);
        }
        let fields = self.fields(keywords, place.unwrap_or(name));
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

    fn fields(&mut self, keywords: &Keywords<'a>, name: &str) -> Vec<Field> {
        let mut fields = Vec::new();
        for (wire, schemas) in &keywords.properties {
            let required = keywords.required.iter();
            let required: Vec<_> = required.filter(|one| one.value == *wire).collect();
            required.iter().for_each(|one| one.mark());
            let names = schemas
                .iter()
                .find_map(|one| one.peek("propertyNames")?.target());
            let typed = self.of(schemas.clone(), &format!("{name}{}", names::camel(wire)));
            let keys = names.map(|names| {
                let at = names.at.clone();
                self.referred(names, &at).kind
            });
            fields.push(Field {
                keys: keys.and_then(|kind| kind.named().map(str::to_owned)),
                wire: (*wire).to_owned(),
                description: typed.description,
                required: !required.is_empty(),
                nullable: typed.nullable,
                kind: typed.kind,
            });
        }
        fields
    }

    /// What is neither a model nor an enum.
    fn kind(&mut self, keywords: &Keywords<'a>, name: &str) -> Type {
        if let Some((written, choices)) = &keywords.choices {
            return self.choice(written, choices, name);
        }
        let inferred = match (&*keywords.additional, &*keywords.items) {
            ([_, ..], _) => "object",
            (_, [_, ..]) => "array",
            _ => "",
        };
        let kind = keywords.kind.as_ref().map_or(inferred, |(kind, _)| kind);
        let format = keywords.format.as_ref();
        let format = (
            kind,
            format
                .and_then(|one| one.value.as_str())
                .unwrap_or_default(),
        );
        let read = [
            ("string", "password"),
            ("integer", "int32"),
            ("integer", "int64"),
            ("integer", "uint64"),
            ("number", "float"),
            ("number", "double"),
        ];
        if read.contains(&format) {
            keywords.format.iter().for_each(Cursor::mark);
        }
        match format {
            ("string", "password") => Type::Secret,
            ("integer", "uint64") => Type::Unsigned,
            ("string", _) => Type::Text,
            ("integer", _) => Type::Integer,
            ("number", _) => Type::Number,
            ("boolean", _) => Type::Boolean,
            ("array", _) if keywords.items.is_empty() => Type::Array(Type::Json.into()),
            ("array", _) => {
                let items = self.of(keywords.items.clone(), &format!("{name}Items"));
                Type::Array(items.held())
            }
            ("object", _) if keywords.additional.is_empty() => Type::Object,
            ("object", _) => {
                let name = format!("{name}AdditionalProperties");
                Type::Map(self.of(keywords.additional.clone(), &name).held())
            }
            _ => Type::Json,
        }
    }

    /// One of several schemas: their type where they share it, else any value.
    fn choice(&mut self, written: &Cursor<'a>, choices: &[Cursor<'a>], name: &str) -> Type {
        let is_plain = |one: &Cursor| {
            let of = |kind: &str| one.value.get("type").is_some_and(|own| own == kind);
            let composed = of("object") || of("array");
            let has_fields = one.has("properties") || one.has("allOf");
            one.has("$ref") && !one.has("allOf") || !(composed || has_fields)
        };
        let kinds = choices.iter().map(|one| {
            let plain = is_plain(one).then(|| self.of(vec![one.clone()], name).kind);
            plain.filter(|kind| *kind != Type::Json)
        });
        let kinds: Vec<Option<Type>> = kinds.collect();
        if let [Some(first), others @ ..] = kinds.as_slice()
            && others.iter().all(|other| other.as_ref() == Some(first))
        {
            return first.clone();
        }
        let text = format!("{}: one of {} schemas", written.at, choices.len());
        self.findings.note(Topic::Raw, text);
        Type::Json
    }

    /// The values of an enum that is written as a choice: of a list and any text, or of several lists.
    fn open_enum(&mut self, keywords: &Keywords<'a>, at: &str) -> Option<OpenEnum> {
        let (_, choices) = keywords.choices.as_ref()?;
        let (mut texts, mut lists, mut known) = (Vec::new(), 0, None);
        for choice in choices {
            if choice.clone().followed().has("properties") {
                return None;
            }
            let schema = schema(vec![choice.clone()], self.findings);
            match schema.form {
                Form::Reference(target) => match self.referred(target, at).kind {
                    Type::Enum(name) => {
                        let one = self.api.enumeration(&name);
                        texts.extend(one.into_iter().flat_map(|one| one.values.clone()));
                        (lists, known) = (lists + 1, Some(name));
                    }
                    Type::Text => {}
                    _ => return None,
                },
                Form::Keywords(keywords) => match keywords.values {
                    Some((values, _)) => {
                        lists += 1;
                        texts.extend(values.into_iter().map(str::to_owned));
                    }
                    None if keywords.kind.as_ref()?.0 == "string" => {}
                    None => return None,
                },
            }
        }
        texts.dedup();
        match (lists, known) {
            (0, _) => None,
            (1, Some(name)) => Some(OpenEnum::Known(name)),
            _ => Some(OpenEnum::Values(texts)),
        }
    }
}

/// The values of an enum, or the enum that has them already.
enum OpenEnum {
    Known(String),
    Values(Vec<String>),
}

fn schemas(document: &Document) -> Option<Cursor<'_>> {
    document.at("/components/schemas".to_owned())
}
