//! The talent data service as a sandbox, in-process on loopback, for trials and tests.

#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![allow(clippy::result_large_err, reason = "a refusal is a response, too")]

mod admin;
mod clock;
mod faults;
mod http;
mod inspect;
pub mod limit;
mod list;
mod named;
mod options;
mod records;
mod request_log;
mod samples;
mod schema;
mod server;
mod service;
mod spec;
mod state;
mod token;

pub use options::{
    Change, Drift, Ids, LargeLimits, ListOrder, Options, Pages, Replicas, SANDBOX_OPTIONS,
    SandboxOption, SandboxValue, Tokens, Total,
};
pub use server::Sandbox;
pub use service::Stats;
pub use spec::{ServedList, lists};
pub use state::{ChangeKind, Logged};

#[cfg(test)]
mod cases {
    use serde_json::Value;

    /// Returns a table of `tests/cases.json`.
    pub(crate) fn table<Rows: serde::de::DeserializeOwned>(name: &str) -> Rows {
        let mut tables: Value = serde_json::from_str(include_str!("../tests/cases.json")).unwrap();
        serde_json::from_value(tables[name].take()).unwrap()
    }
}
