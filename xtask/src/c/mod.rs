//! Files of the C library that the spec and the Rust signatures yield: accessors, headers, lists, tests.

pub(crate) mod accessors;
pub(crate) mod cpp;
pub(crate) mod header;
pub(crate) mod nulls;
mod parse;
mod shapes;
pub(crate) mod symbols;
