//! The program as its users meet it: real processes against the sandbox, over real sockets.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
#[cfg(unix)]
mod continuation;
mod export;
mod failures;
mod help;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(unix)]
mod receipts;
#[cfg(unix)]
mod resume;
#[cfg(unix)]
mod ruins;
mod sandbox;
mod schemas;
mod secrets;
mod settings;
#[cfg(unix)]
mod shared_budget;
#[cfg(unix)]
mod signals;
mod support;
#[cfg(unix)]
mod terminal;
#[cfg(unix)]
mod token_cache;
mod verify;
