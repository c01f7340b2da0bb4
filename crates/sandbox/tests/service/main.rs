//! The sandbox as a client meets it: over real sockets, with a client written for these tests alone.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cuts;
mod document;
mod drift;
mod faults;
mod limit;
mod lists;
mod log;
mod odd;
mod start;
mod support;
mod token;
mod version;
mod wire;
