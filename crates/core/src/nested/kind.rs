//! The kinds of JSON values, with their numbers in C.

/// What a JSON value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum ValueKind {
    /// `null`.
    Null = 1,
    /// `true` or `false`.
    Boolean = 2,
    /// A number.
    Number = 3,
    /// A string.
    String = 4,
    /// An array.
    Array = 5,
    /// An object.
    Object = 6,
}
