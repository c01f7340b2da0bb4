//! The talent data service itself, in-process on loopback, for trying and for testing.
#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod answer;
mod contents;
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
mod page;
mod request;
mod routes;
mod server;
mod service;
mod socket;
mod stats;
mod sync;
mod token;
mod version;

pub use handle::Sandbox;
pub use list::{List, lists};
pub use options::{Drift, Options};
pub use stats::Stats;
