//! A budget shared on real servers by real processes, against a sandbox with a limit.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod access;
mod failures;
mod members;
mod proxy;
#[allow(dead_code, reason = "the tests of the script need one of each kind")]
mod server;
mod share;
mod tls;
