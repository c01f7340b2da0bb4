//! The talent data service itself, in-process on loopback, for trying and for testing.
//!
//! [`Sandbox::start`] serves all operations of the service document with sample data, its rate limit and its tokens.
//! It is written from that document alone and holds raw JSON, so that it shares no mistake with the client. Where the
//! document says "not shown", the sandbox has to do *something*: each such place is marked "the sandbox's choice", and
//! nothing should be concluded from it about the real service.
#![forbid(unsafe_code)]

mod answer;
mod credentials;
mod data;
mod drift;
mod faults;
#[rustfmt::skip]
mod generated {
    pub(crate) mod lists;
}
mod handle;
pub mod limit;
mod list;
mod options;
mod request;
mod routes;
mod server;
mod service;
mod socket;
mod stats;
mod sync;
mod token;
mod version;

pub use data::{List, lists};
pub use handle::Sandbox;
pub use options::{Drift, Options};
pub use stats::Stats;
