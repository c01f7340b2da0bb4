//! A budget shared on real servers by real processes, against a sandbox with a limit.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod failures;
mod members;
mod proxy;
mod server;
mod share;
mod tls;
