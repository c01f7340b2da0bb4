//! The typed model of the interface: what the spec says, in the form that every emitter reads.

use serde::Serialize;
use std::fmt::{Display, Formatter};

/// The operation that issues tokens, which the client calls on its own.
pub(crate) const TOKEN: &str = "createToken";

/// The parameters by which lists are paged.
pub(crate) const PAGING: [&str; 2] = ["limit", "offset"];

/// The whole interface.
#[derive(Debug, Default)]
pub(crate) struct Api {
    /// In the spec's order.
    pub(crate) operations: Vec<ApiOperation>,
    /// Objects with documented fields, in the spec's order, but each before those that hold it.
    pub(crate) models: Vec<Model>,
    /// Texts with known values, in the spec's order.
    pub(crate) enums: Vec<Enum>,
}

/// One method of one path.
#[derive(Debug, Serialize)]
pub(crate) struct ApiOperation {
    pub(crate) id: String,
    /// What languages call it, in the words of the spec: `x-talentdata-name`, else `operationId`.
    pub(crate) name: String,
    /// What the command line calls it: `x-talentdata-command`, else its name.
    pub(crate) command: String,
    /// The argument whose values need no flag on the command line: `x-talentdata-positional`.
    pub(crate) positional: Option<String>,
    /// The arguments that must hold more than white space: `x-talentdata-nonblank`.
    pub(crate) nonblank: Vec<String>,
    /// Whether sending it twice does no more than sending it once.
    pub(crate) idempotent: bool,
    /// Why no language can call it.
    pub(crate) obstacle: Option<String>,
    /// In upper case.
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) group: String,
    pub(crate) summary: String,
    pub(crate) description: String,
    pub(crate) deprecated: bool,
    pub(crate) token: TokenNeed,
    /// Those of the path item included.
    pub(crate) parameters: Vec<ApiParameter>,
    /// The JSON request body.
    pub(crate) body: Option<Body>,
    /// The JSON body of a successful response; none where there is no such body.
    pub(crate) response: Option<Type>,
    /// What makes it a paginated list.
    pub(crate) list: Option<ApiList>,
}

/// Whether an operation carries the bearer token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum TokenNeed {
    Never,
    WhenThereIsOne,
    Always,
}

impl TokenNeed {
    /// What people read of it.
    pub(crate) fn words(self) -> &'static str {
        [
            "without a token",
            "with a token if there is one",
            "with a token",
        ][self as usize]
    }

    /// How much of it users have to bring.
    pub(crate) fn demand(self) -> String {
        (self as u8).to_string()
    }
}

/// A parameter of an operation.
#[derive(Debug, Serialize)]
pub(crate) struct ApiParameter {
    pub(crate) name: String,
    /// `path`, `query`, `header` or `cookie`.
    pub(crate) location: String,
    pub(crate) description: String,
    pub(crate) required: bool,
    pub(crate) kind: Type,
    /// Where it stands in the spec, as a JSON pointer.
    pub(crate) place: String,
    /// The largest value of an integer.
    pub(crate) maximum: Option<u64>,
}

/// The JSON body of a request.
#[derive(Debug, Serialize)]
pub(crate) struct Body {
    pub(crate) kind: Type,
    pub(crate) required: bool,
}

/// What makes an operation a paginated list.
#[derive(Debug, Serialize)]
pub(crate) struct ApiList {
    /// The path after `/v1/`, with `_` for every separator.
    pub(crate) name: String,
    /// Key of the record array, where the spec shows it.
    pub(crate) key: Option<String>,
    /// The model of a record, where the spec shows its fields.
    pub(crate) model: Option<String>,
}

/// An object with documented fields.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Model {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) fields: Vec<ApiField>,
    /// Whether it occurs in responses, where unknown fields are kept.
    pub(crate) in_responses: bool,
    /// Whether calls send it, or what holds it.
    pub(crate) sent: bool,
    /// Whether C functions give it, or what holds it.
    pub(crate) given: bool,
    /// Whether a list has records of it.
    pub(crate) is_record: bool,
    /// Where it stands in the spec, as a JSON pointer.
    pub(crate) place: String,
}

/// A documented field.
#[derive(Debug, Serialize)]
pub(crate) struct ApiField {
    /// Its name in JSON.
    pub(crate) wire: String,
    /// What the spec says at this very place, or else of what is referred to there.
    pub(crate) description: String,
    /// Whether it is always there; in responses null counts as absent.
    pub(crate) required: bool,
    pub(crate) kind: Type,
    /// The enum that the names in a map are of.
    pub(crate) keys: Option<String>,
}

/// A text with known values, where others are legal.
#[derive(Debug, Serialize)]
pub(crate) struct Enum {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) values: Vec<String>,
    pub(crate) in_responses: bool,
    pub(crate) place: String,
}

impl Api {
    /// The operations that are paginated lists, in the spec's order.
    pub(crate) fn lists(&self) -> impl Iterator<Item = (&ApiOperation, &ApiList)> {
        self.operations
            .iter()
            .filter_map(|operation| Some((operation, operation.list.as_ref()?)))
    }

    pub(crate) fn model(&self, name: &str) -> Option<&Model> {
        self.models.iter().find(|model| model.name == name)
    }

    /// The model that a type is, if it is one.
    pub(crate) fn model_of(&self, kind: &Type) -> Option<&Model> {
        match kind.present() {
            Type::Model(name) => self.model(name),
            _ => None,
        }
    }

    /// The model that C sees of a type.
    pub(crate) fn exposed(&self, kind: &Type) -> Option<&Model> {
        let is_it = |one: &&Model| matches!(kind, Type::Model(name) if *name == one.name);
        let model = self.models.iter().find(is_it);
        model.filter(|one| one.is_exposed())
    }

    /// The values of an open enum.
    pub(crate) fn known_values(&self, kind: &Type) -> &[String] {
        let is_it = |known: &&Enum| matches!(kind, Type::Enum(name) if *name == known.name);
        let known = self.enums.iter().find(is_it);
        known.map_or(&[], |known| &known.values)
    }
}

impl ApiOperation {
    /// Whether every language has a call for it: lists are read as lists, and the token is the client's own business.
    pub(crate) fn is_call(&self) -> bool {
        self.list.is_none() && self.id != TOKEN && self.obstacle.is_none()
    }

    /// Whether every language can send its parameters: a call, or a list, whose filters go with every page.
    pub(crate) fn is_generated(&self) -> bool {
        self.list.is_some() || self.is_call()
    }

    /// A parameter of the query.
    pub(crate) fn query(&self, name: &str) -> Option<&ApiParameter> {
        let mut parameters = self.parameters.iter();
        parameters.find(|one| one.location == "query" && one.name == name)
    }

    /// The parameters that a call takes, in the order of the spec; of a list, those that do not page.
    pub(crate) fn taken(&self) -> impl Iterator<Item = &ApiParameter> {
        let pages = |one: &ApiParameter| {
            self.list.is_some() && one.location == "query" && PAGING.contains(&one.name.as_str())
        };
        let parameters = self.parameters.iter();
        parameters.filter(move |one| one.is_taken() && !pages(one))
    }

    /// Where it stands in the spec.
    pub(crate) fn place(&self) -> String {
        super::cursor::pointer(&["paths", &self.path, &self.method.to_lowercase()])
    }

    /// How people refer to it: `GET /v1/contacts (listContacts)`.
    pub(crate) fn title(&self) -> String {
        format!("{} {} ({})", self.method, self.path, self.id)
    }
}

impl ApiParameter {
    /// Whether OpenAPI leaves it to the client: a header that other parts of the document describe.
    pub(crate) fn is_of_client(&self) -> bool {
        let kept = ["accept", "content-type", "authorization"];
        self.location == "header" && kept.contains(&self.name.to_lowercase().as_str())
    }

    /// Whether a call can send it: texts, numbers and truth values, and arrays of them.
    pub(crate) fn is_taken(&self) -> bool {
        let sent = ["path", "query", "header"].contains(&self.location.as_str());
        sent && !self.is_of_client()
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

    /// Where a field stands in the spec.
    pub(crate) fn place_of(&self, wire: &str) -> String {
        self.place.clone() + &super::cursor::pointer(&["properties", wire])
    }

    /// A page of a list, which has handles and classes of its own.
    pub(crate) fn is_page(&self) -> bool {
        self.field("pagination").is_some()
    }

    /// Whether people see it: it comes with responses, is no envelope of a list, and holds no secret, which never leaves the
    /// core.
    pub(crate) fn has_class(&self) -> bool {
        let holds_secret = self.fields.iter().any(|field| field.kind == Type::Secret);
        self.in_responses && !self.is_page() && !holds_secret
    }

    /// Whether C sees it: records, and what calls give with all they hold, except for secrets and for pages.
    pub(crate) fn is_exposed(&self) -> bool {
        self.has_class() && (self.given || self.is_record)
    }
}

/// What a value is. Names are those of models and enums.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Type {
    Text,
    /// A text that must not be shown.
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
    /// The model or enum that the type refers to, directly or as what an array or a map holds.
    pub(crate) fn named(&self) -> Option<&str> {
        match self {
            Type::Enum(name) | Type::Model(name) => Some(name),
            Type::Array(held) | Type::Map(held) | Type::Nullable(held) => held.named(),
            _ => None,
        }
    }

    /// The type with null, where null is a value of it.
    pub(crate) fn or_null(self, nullable: bool) -> Type {
        if nullable {
            Type::Nullable(self.into())
        } else {
            self
        }
    }

    /// The type without null.
    pub(crate) fn present(&self) -> &Type {
        match self {
            Type::Nullable(held) => held.present(),
            other => other,
        }
    }

    /// Whether a value of it is one text, number or truth value.
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

/// What is said of what need not be given.
pub(crate) fn unless(required: bool) -> &'static str {
    if required { "" } else { ", optional" }
}

/// What these say, parted by commas.
pub(crate) fn joined(all: impl IntoIterator<Item: ToString>) -> String {
    let all = all.into_iter().map(|one| one.to_string());
    all.collect::<Vec<String>>().join(", ")
}
