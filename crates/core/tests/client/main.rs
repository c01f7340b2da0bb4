//! The client against services on real sockets: the sandbox, and services that a test scripts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod blocking;
mod calls;
mod cases;
#[cfg(unix)]
mod certificates;
#[cfg(unix)]
mod company;
mod completeness;
#[cfg(unix)]
mod doctor;
#[cfg(target_os = "linux")]
mod memory;
mod messages;
mod network;
mod operators;
mod outages;
mod redirects;
#[cfg(unix)]
mod rotation;
mod secrets;
#[allow(dead_code, reason = "shared with the tests of other crates")]
mod stub;
mod too_large;
mod whole_pages;
mod wire;

use talentdata_core::settings::Builder;
use talentdata_sandbox::{Options, Sandbox, limit::Policy};

/// Starts a sandbox without a rate limit, and returns it with settings of a client.
fn start(options: Options) -> (Sandbox, Builder) {
    secrets::listen();
    let policy = Policy::Unlimited;
    let sandbox = Sandbox::start(Options { policy, ..options }).unwrap();
    let mut settings = stub::settings(sandbox.base_url());
    settings
        .client_id(sandbox.client_id())
        .client_secret(sandbox.client_secret());
    (sandbox, settings)
}
