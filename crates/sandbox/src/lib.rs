//! The talent data service itself, in-process on loopback, for trying and for testing.
#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod answer;
mod changes;
mod contents;
mod drift;
mod faults;
mod handle;
mod id;
mod inspect;
pub mod limit;
mod list;
mod name;
mod options;
mod order;
mod page;
mod records;
mod request;
mod respond;
mod rng;
mod route;
mod samples;
mod schema;
mod sequence;
mod server;
mod service;
mod shared;
mod spec;
mod state;
mod stats;
mod token;
mod version;

pub use changes::{Logged, Operation};
pub use drift::{Change, Drift, Replicas};
pub use handle::Sandbox;
pub use list::{List, lists};
pub use name::UnknownName;
pub use options::Options;
pub use order::Order;
pub use page::Total;
pub use records::Ids;
pub use stats::Stats;
pub use token::Tokens;
