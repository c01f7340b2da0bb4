//! The rate gate: step by step, and against simulated servers on virtual time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod goals;
mod headers;
mod properties;
mod rule;
mod simulation;
