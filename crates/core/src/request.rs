//! The way of a call to the service and back: queue, token, gate, transport, response, retry.
//!
//! `call` is the one way through. The gate reads every response: after a 429 it holds all requests back until the
//! reset. `retry` decides whether the call is worth another attempt, and lets it wait longer where a 429 repeats.

pub(crate) mod auth;
pub(crate) mod memory;
pub(crate) mod metrics;
pub(crate) mod queue;
pub(crate) mod response;
pub(crate) mod retry;
pub(crate) mod transport;

mod admission;
mod call;
mod message;
mod token;

pub(crate) use call::Call;
