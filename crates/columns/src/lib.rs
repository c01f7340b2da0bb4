//! Columns and files of lists: schemas, Arrow record batches, exports that survive interruptions, and their
//! verification.
//!
//! ```text
//! Scan (of talentdata-core) -> BatchScan -> Arrow record batches of one TableSchema
//! List                      -> Export ----> a file: JSON Lines, CSV, Parquet or Arrow, and its Receipt
//!                                           '-> verify: does the file match its receipt?
//! ```
//!
//! | To | use |
//! |---|---|
//! | read a list as record batches | [`arrow::BatchScan`], or [`blocking::BlockingScan`] without an async runtime |
//! | choose the columns | [`arrow::TableSchema`], [`arrow::TableOptions`] |
//! | write a list to a file | [`export::Export::run`], or [`export::Export::job`] without an async runtime |
//! | continue an interrupted export | [`export::KeptWork::Resume`] |
//! | check a file later | [`verify::verify`] |
//!
//! ```
//! # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let records = [("contacts".to_owned(), 250)].into();
//! # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
//! # let mut settings = talentdata_core::Client::builder();
//! # settings.base_url(sandbox.base_url()).client_id(sandbox.client_id()).client_secret(sandbox.client_secret());
//! # settings.budget("process");
//! # let client = settings.build()?;
//! use talentdata_columns::arrow::{BatchScan, TableOptions};
//!
//! let mut batches = BatchScan::new(client.contacts().list(), TableOptions::default());
//! let mut rows = 0;
//! while let Some(batch) = batches.next().await {
//!     rows += batch?.num_rows();
//! }
//! assert_eq!(rows, 250);
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

pub mod arrow;
pub mod blocking;
pub mod export;
pub mod verify;

mod digest;
mod format;
mod paths;
mod session;

/// Parts that only the other crates of this workspace use. They may change in any release.
#[doc(hidden)]
pub mod internal {
    pub use crate::arrow::check::Checker;
    pub use crate::arrow::remembered::SchemaMemory;
    pub use crate::export::kept::{WaysOut, check_kept};
    pub use crate::paths::check_replaceable;

    pub mod session {
        pub use crate::session::*;
    }
}
