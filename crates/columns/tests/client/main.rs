//! Scans as columns, sessions and blocking scans against the sandbox, over real sockets.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod batches;
mod blocking;
mod session;

use talentdata_core::Client;
use talentdata_sandbox::{Options, Sandbox};

/// A sandbox and a client of it.
fn start(options: Options) -> (Sandbox, Client) {
    let sandbox = Sandbox::start(options).unwrap();
    let client = Client::builder()
        .base_url(sandbox.base_url())
        .client_id(sandbox.client_id())
        .client_secret(sandbox.client_secret())
        .build()
        .unwrap();
    (sandbox, client)
}
