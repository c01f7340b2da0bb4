//! Lists as columns and as files: schemas, Arrow record batches, exports that survive interruptions, and their verification.
//!
//! ```no_run
//! # async fn run() -> talentdata_core::Result<()> {
//! use talentdata_columns::arrow::{BatchScan, TableOptions};
//!
//! let client = talentdata_core::Client::builder().base_url("https://talent.example").build()?;
//! let scan = client.contacts().raw().list();
//! let mut batches = BatchScan::new(scan, TableOptions::default(), 8192);
//! while let Some(batch) = batches.next().await {
//!     println!("{} rows", batch?.num_rows());
//! }
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
    pub use crate::export::kept::{WaysOut, check_kept};

    pub mod session {
        pub use crate::session::*;
    }
}
