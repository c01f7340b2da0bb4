//! Open enums: a value that the API description shows, or the text of any other value.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt::{Debug, Display, Formatter};
use std::str::FromStr;

/// An enum with the values that the API description shows.
pub trait Known: Copy + Debug + PartialEq + 'static {
    /// The name of the enum in the API description.
    const NAME: &'static str;
    /// All known values, in the order of the API description.
    const ALL: &'static [Self];
    /// The text of each value in the API, in the same order.
    const TEXTS: &'static [&'static str];
}

/// A value that the API description shows, or any other value, as received.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Open<T> {
    /// A value that the document shows.
    Known(T),
    /// A value that the document does not show, as received.
    Other(String),
}

impl<T: Known> Open<T> {
    /// The texts of the values that the API description shows.
    pub const KNOWN: &'static [&'static str] = T::TEXTS;

    /// Returns the text of the value in the API.
    pub fn as_str(&self) -> &str {
        match self {
            Open::Known(known) => {
                let place = T::ALL.iter().position(|one| one == known);
                place.and_then(|place| T::TEXTS.get(place)).unwrap_or(&"")
            }
            Open::Other(text) => text,
        }
    }
}

impl<T: Known> From<T> for Open<T> {
    fn from(known: T) -> Self {
        Open::Known(known)
    }
}

impl<T: Known> From<&str> for Open<T> {
    fn from(text: &str) -> Self {
        let place = T::TEXTS.iter().position(|one| *one == text);
        match place.and_then(|place| T::ALL.get(place)) {
            Some(known) => Open::Known(*known),
            None => Open::Other(text.to_owned()),
        }
    }
}

impl<T: Known> FromStr for Open<T> {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::from(text))
    }
}

impl<T: Known> Display for Open<T> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl<T: Known> Serialize for Open<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de, T: Known> Deserialize<'de> for Open<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        Ok(Self::from(&*text))
    }
}

impl<T: Known> JsonSchema for Open<T> {
    fn schema_name() -> Cow<'static, str> {
        T::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [{"type": "string", "enum": T::TEXTS}, {"type": "string"}]})
    }
}
