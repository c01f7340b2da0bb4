//! Tests of the program as users run it: real processes against the sandbox, over real sockets.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod doctor;
mod endings;
#[cfg(target_os = "linux")]
mod memory;
mod mirror;
mod personal;
mod sandbox;
mod scripts;
mod secrets;
#[allow(dead_code, reason = "shared with the tests of budgets on servers")]
#[path = "../../../core/tests/budget_redis/server.rs"]
mod server;
mod sharing;
mod support;
mod terminal;
mod usage;
