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
pub mod clock;
#[doc(hidden)]
pub mod files;
pub mod json;
pub mod log;
pub mod page;
pub mod process;
pub mod scan;
pub mod settings;
pub mod sink;
#[doc(hidden)]
pub mod streams;

mod arguments;
mod budget;
mod choice;
mod client;
mod error;
mod list;
mod record;
mod request;
mod tls;
mod value;

#[rustfmt::skip]
mod generated {
    pub(crate) mod calls;
    pub(crate) mod checks;
}

pub use arguments::Arguments;
pub use budget::{BudgetState, BudgetStats, MemberStats};
pub use client::Client;
pub use error::{Error, ErrorKind, ErrorReport, Remedy, Result, failure, is_terminal_control};
pub use json::decoded;
pub use list::{List, Plan};
pub use page::{Page, Paging};
pub use record::RawRecord;
pub use scan::{Scan, ScanOptions};
pub use settings::{Builder, Config};
pub use sink::Stop;
pub use talentdata_types as types;
pub use value::{NestedValue, ValueKind};
