//! The rate gate against simulated servers, on virtual time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod goals;
mod properties;
mod server;
mod simulation;
