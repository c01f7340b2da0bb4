//! The typed model of the interface: the content of the spec, in the form that every generator reads.

use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};

/// The operation that issues tokens. The client calls it on its own.
pub(crate) const TOKEN: &str = "createToken";

/// The parameters by which lists are paged.
pub(crate) const PAGING: [&str; 2] = ["limit", "offset"];

/// The headers that the client, or its HTTP library, sends on its own.
const OF_CLIENT: &str = "accept accept-encoding authorization connection content-length content-type expect host \
                         keep-alive te trailer transfer-encoding upgrade user-agent";

/// The whole interface.
#[derive(Debug, Default)]
pub(crate) struct Api {
    /// The operations, in the spec's order.
    pub(crate) operations: Vec<ApiOperation>,
    /// The objects with documented fields, in the spec's order, but each before those that contain it.
    pub(crate) models: Vec<Model>,
    /// The strings with known values, in the spec's order.
    pub(crate) enums: Vec<Enum>,
}

/// One method of one path.
#[derive(Debug, Serialize)]
pub(crate) struct ApiOperation {
    pub(crate) id: String,
    /// The name in languages, in the words of the spec: `x-talentdata-name`, otherwise `operationId`.
    pub(crate) name: String,
    /// The name on the command line: `x-talentdata-command`, otherwise the name.
    pub(crate) command: String,
    /// The argument whose values need no flag on the command line: `x-talentdata-positional`.
    pub(crate) positional: Option<String>,
    /// The arguments that must not be blank: `x-talentdata-nonblank`.
    pub(crate) nonblank: Vec<String>,
    /// True if sending it twice has the same effect as sending it once.
    pub(crate) idempotent: bool,
    /// The reason why no language can call it.
    pub(crate) obstacle: Option<String>,
    /// The method in upper case.
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) group: String,
    pub(crate) summary: String,
    pub(crate) description: String,
    pub(crate) deprecated: bool,
    pub(crate) token: TokenNeed,
    /// The parameters, including those of the path item.
    pub(crate) parameters: Vec<ApiParameter>,
    /// The JSON request body.
    pub(crate) body: Option<Body>,
    /// The JSON body of a successful response; `None` if there is none.
    pub(crate) response: Option<Type>,
    /// The media type of that body.
    pub(crate) accept: String,
    /// Present if the operation is a paginated list.
    pub(crate) list: Option<ApiList>,
}

/// The use of the bearer token by an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum TokenNeed {
    Never,
    WhenThereIsOne,
    Always,
}

impl TokenNeed {
    /// Returns a phrase for messages.
    pub(crate) fn words(self) -> &'static str {
        [
            "without a token",
            "with a token if there is one",
            "with a token",
        ][self as usize]
    }

    /// Returns a number that is larger the more users must provide.
    pub(crate) fn demand(self) -> String {
        (self as u8).to_string()
    }
}

/// A parameter of an operation.
#[derive(Debug, Serialize)]
pub(crate) struct ApiParameter {
    /// The name in the API.
    pub(crate) name: String,
    /// The words of its name as an argument.
    pub(crate) argument: String,
    /// `path`, `query`, `header` or `cookie`.
    pub(crate) location: String,
    pub(crate) description: String,
    pub(crate) required: bool,
    pub(crate) kind: Type,
    /// The reason why no call sends it, although its type can be sent.
    pub(crate) obstacle: Option<String>,
    /// The separator between several values in a query; `None` if each value repeats the name.
    pub(crate) separator: Option<&'static str>,
    /// The place in the spec, as a JSON pointer.
    pub(crate) place: String,
    /// The largest value of an integer.
    pub(crate) maximum: Option<u64>,
}

/// The JSON body of a request.
#[derive(Debug, Serialize)]
pub(crate) struct Body {
    pub(crate) media_type: String,
    pub(crate) kind: Type,
    pub(crate) required: bool,
}

/// The properties of a paginated list.
#[derive(Debug, Serialize)]
pub(crate) struct ApiList {
    /// The path after `/v1/`, with `_` for every separator.
    pub(crate) name: String,
    /// The key of the array of records, if the spec shows it.
    pub(crate) key: Option<String>,
    /// The model of a record, if the spec shows its fields.
    pub(crate) model: Option<String>,
}

/// An object with documented fields.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Model {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) fields: Vec<ApiField>,
    /// True if it occurs in responses, where unknown fields are kept.
    pub(crate) in_responses: bool,
    /// True if calls send it, or a model that contains it.
    pub(crate) sent: bool,
    /// True if C functions return it, or a model that contains it.
    pub(crate) given: bool,
    /// True if it is the record of a list.
    pub(crate) is_record: bool,
    /// The place in the spec, as a JSON pointer.
    pub(crate) place: String,
}

/// A documented field.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ApiField {
    /// The place in the spec, as a JSON pointer.
    pub(crate) place: String,
    /// The name in JSON.
    pub(crate) wire: String,
    /// The words of its name elsewhere.
    pub(crate) name: String,
    /// True if only responses have it.
    pub(crate) read_only: bool,
    /// True if only requests have it.
    pub(crate) write_only: bool,
    /// The description at this place in the spec, otherwise that of the schema that it refers to.
    pub(crate) description: String,
    /// True if it is always present. In responses null counts as absent.
    pub(crate) required: bool,
    pub(crate) kind: Type,
    /// The enum of the names in a map.
    pub(crate) keys: Option<String>,
}

/// A string with known values, for which other values are legal, too.
#[derive(Debug, Serialize)]
pub(crate) struct Enum {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) values: Vec<String>,
    pub(crate) in_responses: bool,
    pub(crate) place: String,
}

impl Api {
    /// Returns the operations that are paginated lists, in the spec's order.
    pub(crate) fn lists(&self) -> impl Iterator<Item = (&ApiOperation, &ApiList)> {
        self.operations
            .iter()
            .filter_map(|operation| Some((operation, operation.list.as_ref()?)))
    }

    pub(crate) fn model(&self, name: &str) -> Option<&Model> {
        self.models.iter().find(|model| model.name == name)
    }

    /// Returns the model that a type is, if it is one.
    pub(crate) fn model_of(&self, kind: &Type) -> Option<&Model> {
        match kind.present() {
            Type::Model(name) => self.model(name),
            _ => None,
        }
    }

    /// Returns the model that C sees of a type.
    pub(crate) fn exposed(&self, kind: &Type) -> Option<&Model> {
        let is_it = |one: &&Model| matches!(kind, Type::Model(name) if *name == one.name);
        let model = self.models.iter().find(is_it);
        model.filter(|one| one.is_exposed())
    }

    /// Returns the known values of an open enum.
    pub(crate) fn known_values(&self, kind: &Type) -> &[String] {
        let is_it = |known: &&Enum| matches!(kind, Type::Enum(name) if *name == known.name);
        let known = self.enums.iter().find(is_it);
        known.map_or(&[], |known| &known.values)
    }
}

impl ApiOperation {
    /// Returns whether every language has a call for the operation. Lists are read as lists, and the client requests
    /// the token itself.
    pub(crate) fn is_call(&self) -> bool {
        self.list.is_none() && self.id != TOKEN && self.obstacle.is_none()
    }

    /// Returns whether every language can send its parameters: it is a call, or a list, whose filters go with every
    /// page.
    pub(crate) fn is_generated(&self) -> bool {
        self.list.is_some() || self.is_call()
    }

    /// Returns a parameter of the query.
    pub(crate) fn query(&self, name: &str) -> Option<&ApiParameter> {
        let mut parameters = self.parameters.iter();
        parameters.find(|one| one.location == "query" && one.name == name)
    }

    /// Returns the parameters that a call takes, in the order of the spec; for a list, those that do not page.
    pub(crate) fn taken(&self) -> impl Iterator<Item = &ApiParameter> {
        let pages = |one: &ApiParameter| {
            self.list.is_some() && one.location == "query" && PAGING.contains(&one.name.as_str())
        };
        let parameters = self.parameters.iter();
        parameters.filter(move |one| one.is_taken() && !pages(one))
    }

    /// Returns the place in the spec.
    pub(crate) fn place(&self) -> String {
        super::cursor::pointer(&["paths", &self.path, &self.method.to_lowercase()])
    }

    /// Returns the name for messages: `GET /v1/contacts (listContacts)`.
    pub(crate) fn title(&self) -> String {
        format!("{} {} ({})", self.method, self.path, self.id)
    }
}

impl ApiParameter {
    /// Returns whether it is a header that the client sends on its own.
    pub(crate) fn is_of_client(&self) -> bool {
        let mut kept = OF_CLIENT.split(' ');
        self.location == "header" && kept.any(|one| self.name.eq_ignore_ascii_case(one))
    }

    /// Returns whether calls send parameters at its location.
    pub(crate) fn has_place(&self) -> bool {
        ["path", "query", "header"].contains(&self.location.as_str())
    }

    /// Returns whether a call can send it: strings, numbers and booleans, and arrays of them.
    pub(crate) fn is_taken(&self) -> bool {
        self.has_place()
            && !self.is_of_client()
            && self.obstacle.is_none()
            && match self.kind.present() {
                Type::Array(held) => held.present().is_scalar(),
                other => other.is_scalar(),
            }
    }
}

impl Model {
    pub(crate) fn field(&self, wire: &str) -> Option<&ApiField> {
        self.fields.iter().find(|field| field.wire == wire)
    }

    /// Returns whether it is a page of a list, which has handles and classes of its own.
    pub(crate) fn is_page(&self) -> bool {
        self.field("pagination").is_some()
    }

    /// Returns whether users see it: it comes with responses, is not an envelope of a list, and contains no secret,
    /// because secrets never leave the core.
    pub(crate) fn has_class(&self) -> bool {
        let holds_secret = self.fields.iter().any(|field| field.kind == Type::Secret);
        self.in_responses && !self.is_page() && !holds_secret
    }

    /// Returns whether C sees it: records, and what calls return with all they contain, except secrets and pages.
    pub(crate) fn is_exposed(&self) -> bool {
        self.has_class() && (self.given || self.is_record)
    }
}

/// The type of a value. Names are those of models and enums.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Type {
    Text,
    /// A string that must not be shown.
    Secret,
    Integer,
    /// An integer that needs all 64 bits for its value.
    Unsigned,
    Number,
    Boolean,
    Enum(String),
    Model(String),
    Array(Box<Type>),
    /// An object whose fields all have this type.
    Map(Box<Type>),
    /// An object with any fields.
    Object,
    /// Any value.
    Json,
    /// A value that may be null, within an array, a map or what a request sends.
    Nullable(Box<Type>),
}

impl Type {
    /// Returns the model or enum that the type refers to, directly or as the content of an array or a map.
    pub(crate) fn named(&self) -> Option<&str> {
        match self {
            Type::Enum(name) | Type::Model(name) => Some(name),
            Type::Array(held) | Type::Map(held) | Type::Nullable(held) => held.named(),
            _ => None,
        }
    }

    /// Replaces the names of models.
    pub(crate) fn rename(&mut self, names: &BTreeMap<String, String>) {
        match self {
            Type::Model(name) => name.clone_from(names.get(name).unwrap_or(&name.clone())),
            Type::Array(held) | Type::Map(held) | Type::Nullable(held) => held.rename(names),
            _ => {}
        }
    }

    /// Returns the type with null if `nullable`.
    pub(crate) fn or_null(self, nullable: bool) -> Type {
        if nullable {
            Type::Nullable(self.into())
        } else {
            self
        }
    }

    /// Returns the type without null.
    pub(crate) fn present(&self) -> &Type {
        match self {
            Type::Nullable(held) => held.present(),
            other => other,
        }
    }

    /// Returns whether a value of it is a single string, number or boolean.
    pub(crate) fn is_scalar(&self) -> bool {
        use Type::{Boolean, Enum, Integer, Number, Text, Unsigned};
        matches!(self, Text | Integer | Unsigned | Number | Boolean | Enum(_))
    }
}

impl Display for Type {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Type::Text => formatter.write_str("text"),
            Type::Secret => formatter.write_str("secret text"),
            Type::Integer => formatter.write_str("integer"),
            Type::Unsigned => formatter.write_str("unsigned 64-bit integer"),
            Type::Number => formatter.write_str("number"),
            Type::Boolean => formatter.write_str("boolean"),
            Type::Enum(name) | Type::Model(name) => formatter.write_str(name),
            Type::Array(held) => write!(formatter, "array of {held}"),
            Type::Map(held) => write!(formatter, "map of {held}"),
            Type::Object => formatter.write_str("object"),
            Type::Json => formatter.write_str("any JSON"),
            Type::Nullable(held) => write!(formatter, "{held} or null"),
        }
    }
}

impl Display for ApiField {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        let presence = unless(self.required);
        write!(formatter, "{}: {}{presence}", self.wire, self.kind)
    }
}

/// Returns the note for an optional item.
pub(crate) fn unless(required: bool) -> &'static str {
    if required { "" } else { ", optional" }
}

/// Returns these items as text, separated by commas.
pub(crate) fn joined(all: impl IntoIterator<Item: ToString>) -> String {
    let all = all.into_iter().map(|one| one.to_string());
    all.collect::<Vec<String>>().join(", ")
}
