//! The way of a call to the service and back: queue, token, gate, transport, response, retry.
//!
//! `call` is the one way through. A 429 is read by the gate, which alone decides when the next request may go;
//! `retry` only decides whether the call is worth another attempt.

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
