//! The path of a call to the service and back: queue, token, gate, transport, response, retry.
//!
//! Every call goes through `Service::call`. The gate reads every response, and decides when the next request may be
//! sent, also after a 429 and while the service is down. `retry` decides whether a call gets another attempt.

pub(crate) mod auth;
pub(crate) mod page_memory;
pub(crate) mod page_size;
pub(crate) mod queue;
pub(crate) mod response;
pub(crate) mod retry;
pub(crate) mod sentence;
pub(crate) mod stats;
pub(crate) mod transport;

mod call;
mod in_flight;
mod service;
mod troubles;

pub(crate) use call::Call;
pub(crate) use service::Service;
