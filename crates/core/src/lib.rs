//! Client of the talent data service: authentication, rate gate, retry, pages and scans.
//!
//! ```no_run
//! # async fn run() -> talentdata_core::Result<()> {
//! let client = talentdata_core::Client::builder().base_url("https://talent.example").build()?;
//! let mut contacts = client.contacts().list();
//! while let Some(contact) = contacts.next().await {
//!     println!("{}", contact?.first_name);
//! }
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
mod error;
mod files;
mod json;
mod list;
mod log;
mod page;
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
    pub use crate::error::Remedy;
    pub use crate::page::Paging;
    pub use crate::sink::Stop;
    pub use crate::value::ValueKind;
    pub use talentdata_types::*;
}

/// Parts that only the other crates of this workspace use. They may change in any release.
#[doc(hidden)]
pub mod internal {
    pub use crate::choice;
    pub use crate::clock::utc;
    pub use crate::error::is_terminal_control;
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
        pub use crate::settings::profile::{read_secret_file, read_text};
        pub use crate::settings::table::*;
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
