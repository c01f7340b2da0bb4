//! Models and operations of the talent data service, generated from `spec/openapi.json`.
//!
//! Only this file is written by hand: the shapes that the generated tables fill.

#![forbid(unsafe_code)]

#[rustfmt::skip]
mod generated {
    pub(crate) mod models;
    pub(crate) mod operations;
}

pub use generated::models::*;
pub use generated::operations::*;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::str::FromStr;

/// A record whose fields the document does not show: every field by its name on the wire.
pub type Record = serde_json::Map<String, serde_json::Value>;

/// One method of one path (section 4).
#[derive(Debug)]
pub struct Operation {
    /// The spec's `operationId`.
    pub id: &'static str,
    /// Its name, with `_` between words: the spec's `x-talentdata-name`, else the words of `operationId`.
    pub name: &'static str,
    /// Its name on the command line, with `-` between words.
    pub command: &'static str,
    /// The HTTP method.
    pub method: Method,
    /// The path below the base URL, with the names of path parameters in braces.
    pub path: &'static str,
    /// The group the document puts it in.
    pub group: &'static str,
    /// A few words on what it does or lists.
    pub summary: &'static str,
    /// What the document says of it.
    pub description: &'static str,
    /// Whether it carries the bearer token.
    pub token: TokenUse,
    /// Whether sending it twice does no more than sending it once.
    pub idempotent: bool,
    /// Whether the document advises against it.
    pub deprecated: bool,
    /// Whether a successful response has a JSON body.
    pub answers: bool,
    /// Whether a call can be made of it: all that it requires can be sent.
    pub callable: bool,
    /// What it takes in path, query and headers.
    pub parameters: &'static [Parameter],
    /// The JSON body it takes.
    pub body: Option<RequestBody>,
}

impl Operation {
    /// The list that this operation reads a page of.
    pub fn resource(&self) -> Option<Resource> {
        let mut all = Resource::ALL.into_iter();
        all.find(|one| one.shape().operation.id == self.id)
    }
}

/// The HTTP methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Reads.
    Get,
    /// Reads the headers only.
    Head,
    /// Asks what is possible.
    Options,
    /// Creates or replaces.
    Put,
    /// Removes.
    Delete,
    /// Does what the operation says.
    Post,
    /// Changes a part.
    Patch,
    /// Returns the request.
    Trace,
}

impl Method {
    /// Its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Head => "HEAD",
            Method::Options => "OPTIONS",
            Method::Put => "PUT",
            Method::Delete => "DELETE",
            Method::Post => "POST",
            Method::Patch => "PATCH",
            Method::Trace => "TRACE",
        }
    }
}

/// A parameter of an operation, or a field of its body.
#[derive(Debug)]
pub struct Parameter {
    /// Its name on the wire.
    pub name: &'static str,
    /// Its name as an argument, with `_` between words.
    pub argument: &'static str,
    /// Its flag on the command line, without the dashes in front.
    pub flag: &'static str,
    /// Where it is sent.
    pub location: Location,
    /// Whether the operation cannot be called without it.
    pub required: bool,
    /// Whether it takes several values.
    pub repeated: bool,
    /// On the command line, whether its values need no flag.
    pub positional: bool,
    /// The JSON type of a value.
    pub kind: FieldKind,
    /// The values that the document shows; empty where it restricts none. Others are legal.
    pub known_values: &'static [&'static str],
    /// What the document says of it.
    pub description: &'static str,
}

impl Parameter {
    /// A value that is given as text, such as on a command line.
    ///
    /// # Errors
    /// A sentence, where the text is no value of the parameter's type.
    pub fn value_of_text(&self, text: &str) -> Result<serde_json::Value, String> {
        let (read, noun) = match self.kind {
            FieldKind::Text => (Some(text.into()), "a string"),
            FieldKind::Boolean => (text.parse::<bool>().ok().map(Into::into), "true or false"),
            FieldKind::Integer => {
                let integer = text.parse::<i64>().map(Into::into);
                let integer = integer.or_else(|_| text.parse::<u64>().map(Into::into));
                (integer.ok(), "an integer")
            }
            FieldKind::Number => {
                let number = serde_json::from_str::<serde_json::Number>(text);
                (number.ok().map(Into::into), "a number")
            }
            FieldKind::Json => (serde_json::from_str(text).ok(), "JSON"),
        };
        let argument = self.argument;
        read.ok_or_else(|| format!("{argument}: must be {noun} (got {text:?})"))
    }
}

/// Where a parameter is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// Within the path.
    Path,
    /// In the query.
    Query,
    /// As a header.
    Header,
    /// As a field of the JSON body.
    Body,
}

/// The JSON body that an operation takes.
#[derive(Debug)]
pub struct RequestBody {
    /// Whether the operation cannot be called without it.
    pub required: bool,
    /// Its documented fields, in the spec's order; empty where it is no object, or none are documented.
    pub fields: &'static [Parameter],
}

/// Whether an operation carries the bearer token (section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenUse {
    /// It needs none and is sent without.
    Never,
    /// It is refused without one.
    Always,
    /// The document leaves it open: sent when there are credentials.
    WhenThereIsOne,
}

/// What the spec says of a paginated list (sections 4 and 8).
#[derive(Debug)]
pub struct ListShape {
    /// The path after `/v1/`, with `_` for every separator.
    pub name: &'static str,
    /// The operation that reads a page.
    pub operation: &'static Operation,
    /// The key of the record array; `None` where the document does not show it.
    pub record_key: Option<&'static str>,
    /// The largest `limit`, in records.
    pub max_limit: Option<u64>,
    /// The documented fields of a record, in the spec's order.
    pub fields: &'static [Field],
}

/// A documented field of a record.
#[derive(Debug)]
pub struct Field {
    /// Its name on the wire.
    pub name: &'static str,
    /// The JSON type of its value.
    pub kind: FieldKind,
    /// Whether every record carries it.
    pub required: bool,
    /// The values that the document shows; empty where it restricts none. Others are legal.
    pub known_values: &'static [&'static str],
}

/// The JSON type of a documented field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A string.
    Text,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// True or false.
    Boolean,
    /// An array, an object, or what the document leaves open.
    Json,
}

impl Resource {
    /// The name of the list: `contacts`, `ja_skills`.
    pub fn name(self) -> &'static str {
        self.shape().name
    }
}

impl std::fmt::Display for Resource {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}

/// No list bears this name; the text is what was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownResource(pub String);

impl std::fmt::Display for UnknownResource {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = Resource::ALL
            .iter()
            .map(|resource| resource.name())
            .collect();
        write!(
            formatter,
            "no list is named {:?}; the lists are {}",
            self.0,
            names.join(", ")
        )
    }
}

impl std::error::Error for UnknownResource {}

impl FromStr for Resource {
    type Err = UnknownResource;

    /// Takes the name with `_` or `-`: `ja_skills` and `ja-skills` are the same list.
    fn from_str(text: &str) -> Result<Self, UnknownResource> {
        let name = text.replace('-', "_");
        let found = Resource::ALL
            .into_iter()
            .find(|resource| resource.name() == name);
        found.ok_or_else(|| UnknownResource(text.to_owned()))
    }
}

/// A string that must not be seen: it prints as `[redacted]`.
///
/// Its own memory is overwritten when it is dropped. Copies are not: those of the caller, of request bodies
/// and of TLS buffers may stay in memory.
///
/// Serialising it writes the value, because the token request has to carry the secret.
#[derive(Clone)]
pub struct Secret(SecretString);

impl Secret {
    /// Takes the value in.
    pub fn new(value: impl Into<String>) -> Self {
        Secret(SecretString::from(value.into()))
    }

    /// The value itself, for the one place that sends it.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("[redacted]")
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        let (left, right) = (self.expose().as_bytes(), other.expose().as_bytes());
        // Every byte is looked at, so that the time taken does not tell where two differ.
        let differences = left.iter().zip(right).fold(0, |sum, (a, b)| sum | (a ^ b));
        left.len() == right.len() && differences == 0
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.expose())
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Secret::new)
    }
}

impl JsonSchema for Secret {
    fn schema_name() -> Cow<'static, str> {
        "Secret".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "password"})
    }
}
