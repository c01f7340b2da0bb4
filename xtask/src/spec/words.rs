//! Types and fields in words.

use super::api::{Field, Type};
use std::fmt::{Display, Formatter, Result};

impl Display for Type {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
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

impl Display for Field {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        let presence = match (self.required, self.nullable) {
            (true, false) => "",
            (true, true) => " or null",
            (false, false) => ", optional",
            (false, true) => " or null, optional",
        };
        write!(formatter, "{}: {}{presence}", self.wire, self.kind)
    }
}
