//! Models and operations of the talent data service, generated from `spec/openapi.json`.
//!
//! Only the types that the generated tables fill are written by hand.

#![forbid(unsafe_code)]

mod open;
mod operation;
mod whole;

#[rustfmt::skip]
mod generated {
    pub(crate) mod models;
    pub(crate) mod operations;
}

pub use generated::models::*;
pub use generated::operations::*;
pub use open::{Known, Open};
pub use operation::{Location, Method, Operation, Parameter, RequestBody, TokenUse};
pub use whole::{decimal, whole};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::str::FromStr;

/// A record whose fields the API description does not show: each field by its name in the API.
pub type Record = serde_json::Map<String, serde_json::Value>;

/// The description of a paginated list, from the API description.
#[derive(Debug)]
pub struct ListShape {
    /// The path after `/v1/`, with `_` for every separator.
    pub name: &'static str,
    /// The operation that reads a page.
    pub operation: &'static Operation,
    /// The key of the record array; `None` if the API description does not show it.
    pub record_key: Option<&'static str>,
    /// The largest `limit`, in records.
    pub max_limit: Option<u64>,
    /// The documented fields of a record, in the order of the API description.
    pub fields: &'static [Field],
}

/// A documented field of a record.
#[derive(Debug)]
pub struct Field {
    /// The name of the field in the API.
    pub name: &'static str,
    /// The JSON type of the value.
    pub kind: FieldKind,
    /// True if every record has the field.
    pub required: bool,
    /// The values that the API description shows; empty if it shows none. Other values are legal.
    pub known_values: &'static [&'static str],
}

/// The JSON type of a documented field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A string.
    Text,
    /// An integer.
    Integer,
    /// Any number.
    Number,
    /// True or false.
    Boolean,
    /// An array, an object, or a value of an undocumented type.
    Json,
}

impl ListName {
    /// Returns the name of the list, for example `ja_skills`.
    pub fn name(self) -> &'static str {
        self.shape().name
    }
}

impl std::fmt::Display for ListName {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for ListName {
    type Err = String;

    /// Takes the name in any spelling: `ja_skills`, `ja-skills`, `ja/skills`, `/v1/ja/skills` and `JA_SKILLS` are the same
    /// list.
    fn from_str(text: &str) -> Result<Self, String> {
        let all = || ListName::ALL.into_iter();
        let wanted = letters(text.trim_start_matches('/').trim_start_matches("v1/"));
        let exact = all().find(|one| one.name() == text);
        let found = exact.or_else(|| all().find(|one| letters(one.name()) == wanted));
        found.ok_or_else(|| {
            let is_near = |name: &&str| {
                let name = letters(name);
                distance(&name, &wanted) <= 2 || (wanted.len() > 2 && name.contains(&wanted))
            };
            let near: Vec<&str> = all().map(ListName::name).filter(is_near).collect();
            let hint = if near.is_empty() {
                String::new()
            } else {
                format!("did you mean {}? ", near.join(" or "))
            };
            let names = ListName::ALL.map(ListName::name).join(", ");
            format!("no list is named {text:?}; {hint}the lists are {names}")
        })
    }
}

/// Returns the letters and digits of a name, which are equal in all its spellings.
fn letters(name: &str) -> String {
    let kept = name.chars().filter(|letter| letter.is_alphanumeric());
    kept.flat_map(char::to_lowercase).collect()
}

/// Returns the number of letters to change, insert or remove until both are equal (Levenshtein distance).
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (place, compared) in other.bytes().enumerate() {
            let changed = diagonal + usize::from(letter != compared);
            diagonal = row[place + 1];
            row[place + 1] = changed.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row[other.len()]
}

/// A string that must not be shown. It prints as `[redacted]`.
///
/// Its own memory is overwritten when it is dropped. Copies of the caller, in request bodies and in TLS buffers may
/// stay in memory.
///
/// Serialising it writes the value, because the token request has to carry the secret.
#[derive(Clone)]
pub struct Secret(SecretString);

impl Secret {
    /// Wraps a value.
    pub fn new(value: impl Into<String>) -> Self {
        Secret(SecretString::from(value.into()))
    }

    /// Returns the value itself, for code that must send it.
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
        // Every byte is compared, so that the time does not reveal where two secrets differ.
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
