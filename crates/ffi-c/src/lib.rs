//! libtalentdata: the client of the talent data service for C and C++.
//!
//! Ownership is in the signatures: `&T` borrows, `Box<T>` transfers, an error is the return value, and
//! an out slot is written only on success. Every export goes through [`boundary::guard`].

#![deny(unsafe_op_in_unsafe_fn)]
// No item is reachable from Rust: the exported symbols are the interface.
#![allow(unreachable_pub)]

#[cfg(panic = "abort")]
compile_error!("a panic must become an error: build libtalentdata with panic = \"unwind\"");

mod arrow;
mod boundary;
mod call;
mod client;
mod config;
mod descriptor;
mod error;
mod export_options;
mod exporter;
mod json_text;
mod library;
mod log;
mod mirror;
mod model;
mod options;
mod page;
mod parameters;
mod plan;
mod receipt;
mod record;
mod scan;
mod schema;
mod source;
mod syncer;
mod text;
mod value;
mod value_items;
mod verify;
#[rustfmt::skip]
mod generated {
    pub(crate) mod calls;
    pub(crate) mod models;
    mod settings;
}
