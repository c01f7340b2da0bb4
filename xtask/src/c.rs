//! Files of the C library that the spec and the Rust signatures yield: accessors, headers, lists, tests.

mod accessor;
pub(crate) mod accessors;
pub(crate) mod calls;
pub(crate) mod cpp;
pub(crate) mod cpp_bodies;
pub(crate) mod cpp_calls;
mod cpp_members;
mod exports;
pub(crate) mod header;
mod inputs;
pub(crate) mod nulls;
pub(crate) mod numbers;
mod of_answer;
mod of_record;
pub(crate) mod shapes;
pub(crate) mod symbols;
