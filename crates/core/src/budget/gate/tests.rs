//! The rate gate: step by step, and against simulated servers on virtual time.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy knows tests by cfg(test) alone"
)]

mod goals;
mod headers;
mod properties;
mod rule;
mod simulation;
