//! libtalentdata: the client of the talent data service for C and C++.
//!
//! Ownership is in the signatures: `&T` borrows, `Box<T>` transfers, an error is the return value, and an out slot is
//! written only on success. Every exported function goes through [`export::guard`]. Lists, operations, fields and
//! settings are accessed by their names, so that no function and no number depends on the spec.

#![deny(unsafe_op_in_unsafe_fn)]
// No item is reachable from Rust: the exported symbols are the interface.
#![allow(unreachable_pub)]

// Exports the entry point of the ADBC driver, `AdbcTalentdataInit`.
use talentdata_adbc as _;

#[cfg(panic = "abort")]
compile_error!("a panic must become an error: build libtalentdata with panic = \"unwind\"");

mod boundary;
mod call;
mod client;
mod config;
mod descriptor;
mod error;
mod export;
mod job;
mod log;
mod mirror;
mod options;
mod record;
mod scan;
mod text;
