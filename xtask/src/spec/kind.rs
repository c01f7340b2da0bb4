//! What a value is, as every emitter reads it.

/// What a value is. Names are those of models and enums.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// A value that may be null, within an array or a map.
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

    /// The type without null.
    pub(crate) fn present(&self) -> &Type {
        match self {
            Type::Nullable(held) => held.present(),
            other => other,
        }
    }

    /// Whether a value of it is one text, number or truth value.
    pub(crate) fn is_scalar(&self) -> bool {
        matches!(
            self,
            Type::Text
                | Type::Integer
                | Type::Unsigned
                | Type::Number
                | Type::Boolean
                | Type::Enum(_)
        )
    }

    /// The type with this one in place of the model or enum that it refers to.
    pub(crate) fn with_named(&self, other: &Type) -> Type {
        match self {
            Type::Enum(_) | Type::Model(_) => other.clone(),
            Type::Array(held) => Type::Array(held.with_named(other).into()),
            Type::Map(held) => Type::Map(held.with_named(other).into()),
            Type::Nullable(held) => held.with_named(other),
            plain => plain.clone(),
        }
    }
}
