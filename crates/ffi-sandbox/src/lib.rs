//! libtalentdata_sandbox: the sample service in the process of a test, for C and C++ programs.
//! It is a separate library, because it would make libtalentdata larger and no product needs it. It uses the errors,
//! settings and records of libtalentdata, which the program links as well.

#![deny(unsafe_op_in_unsafe_fn)]
// No item is reachable from Rust: the exported symbols are the interface.
#![allow(unreachable_pub)]

#[cfg(panic = "abort")]
compile_error!("a panic must become an error: build libtalentdata_sandbox with panic = \"unwind\"");

#[path = "../../ffi-c/src/boundary.rs"]
#[allow(dead_code, reason = "libtalentdata uses the rest of it")]
mod boundary;
mod library;
mod sandbox;
#[path = "../../ffi-c/src/text.rs"]
#[allow(dead_code, reason = "libtalentdata uses the rest of it")]
mod text;
