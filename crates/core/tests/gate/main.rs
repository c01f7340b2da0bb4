//! The rate gate against simulated servers, on virtual time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod goals;
mod headers;
mod network;
mod properties;
mod referee;
mod rule;
mod scenario;
mod server;
mod sharing;
