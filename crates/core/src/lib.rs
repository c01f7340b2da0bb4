//! The client of the talent data service: authentication, request budget, retries, pages and scans.
//!
//! ```text
//! Builder -> Client -> List -> Scan -> records, one by one or page by page
//!                        |       '---> Receipt: is the list proven complete?
//!                        '-> Page, Plan
//! ```
//!
//! | To | use |
//! |---|---|
//! | connect | [`Client::builder`]; settings that you do not give come from the environment or a profile file |
//! | read a whole list | [`List::list`] or [`List::scan`], and [`Receipt::require_proven`] at its end |
//! | read a part of a list | [`List::page`], or [`ScanOptions::with_limit`] |
//! | know the cost in advance | [`List::plan`] |
//! | read fields that the API description does not show | [`RawRecord`] and [`NestedValue`] |
//! | call any other operation | its method of [`Client`], or [`Client::invoke`] |
//! | work without an async runtime | [`blocking`] |
//! | decide what to do about a failure | [`Error::kind`], [`Error::is_retryable`] |
//!
//! All clients of a company share one budget of requests, so a scan uses the full rate that the service allows and no
//! more. Record batches, files and exports are in the crate `talentdata-columns`, and mirrors in `talentdata-mirror`.
//!
//! ```
//! # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let records = [("contacts".to_owned(), 250)].into();
//! # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
//! # let (base_url, id, secret) = (sandbox.base_url(), sandbox.client_id(), sandbox.client_secret());
//! use talentdata_core::Client;
//!
//! let client = Client::builder().base_url(base_url).client_id(id).client_secret(secret).build()?;
//! let mut contacts = client.contacts().list();
//! while let Some(contact) = contacts.next().await {
//!     println!("{}", contact?.first_name);
//! }
//! let receipt = contacts.receipt().require_proven()?;
//! assert_eq!(receipt.records, 250);
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

pub mod blocking;
pub mod scan;
pub mod settings;

mod arguments;
mod budget;
mod choice;
mod client;
mod clock;
mod doctor;
mod error;
mod files;
mod hash;
mod json;
mod list;
mod log;
mod page;
mod private_file;
mod process;
mod record;
mod request;
mod sink;
mod streams;
mod tls;
mod value;

#[rustfmt::skip]
mod generated {
    pub(crate) mod calls;
    pub(crate) mod checks;
}

/// Models of the service's API, and the small types of our own methods and fields.
pub mod types {
    pub use crate::budget::{BudgetState, BudgetStats, MemberStats};
    pub use crate::doctor::{Check, CheckStatus, Diagnosis};
    pub use crate::error::{ErrorReport, Remedy};
    pub use crate::page::Paging;
    pub use crate::settings::SettingInForce;
    pub use crate::sink::Stop;
    pub use crate::value::ValueKind;
    pub use talentdata_types::*;
}

/// Parts that only the other crates of this workspace use. They may change in any release.
#[doc(hidden)]
pub mod internal {
    pub use crate::choice;
    pub use crate::clock::utc;
    pub use crate::error::{is_terminal_control, system_text};
    pub use crate::scan::policy::{HASHED_FIELDS, KEY_NAME};
    pub use crate::scan::unknown_fields::counted_name;

    pub mod failure {
        pub use crate::error::failure::*;
    }
    pub mod files {
        pub use crate::files::*;
    }
    pub mod json {
        pub use crate::json::*;
    }
    pub mod log {
        pub use crate::log::*;
    }
    pub mod process {
        pub use crate::process::*;
    }
    pub mod settings {
        pub use crate::private_file::{read_secret_file, read_text};
        pub use crate::settings::table::*;
        pub use crate::settings::{NEEDS_HASH_KEY, TRIAL};
    }
    pub mod sink {
        pub use crate::sink::{Sink, run};
    }
    pub mod streams {
        pub use crate::streams::*;
    }
}

pub use arguments::Arguments;
pub use client::Client;
pub use error::{Error, ErrorKind, Result};
pub use list::{List, Plan};
pub use page::Page;
pub use record::RawRecord;
pub use scan::{Receipt, Scan, ScanOptions};
pub use settings::{Builder, Config};
pub use talentdata_types::ListName;
pub use value::NestedValue;
