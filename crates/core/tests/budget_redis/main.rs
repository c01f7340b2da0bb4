//! A budget shared on real servers by real processes, against a sandbox with a limit.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../client/certificates.rs"]
#[allow(dead_code, reason = "shared with the tests of the client")]
mod certificates;
mod failures;
mod members;
mod proxy;
mod server;
mod share;
mod tls;
