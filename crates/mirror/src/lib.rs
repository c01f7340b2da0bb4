//! Mirrors: SQLite files that contain lists as of their last sync, and the changes of each sync.
//!
//! ```text
//! List -> Sync -> a mirror (one SQLite file), and a SyncReceipt
//!                   '-> Mirror -> Rows: records as of any sync, or changes since one
//! ```
//! A [`Sync`] reads a whole list, compares each record with the last sync, and commits the difference in one
//! transaction. A record is reported as deleted only if a scan proves that it was gone. [`Mirror`] reads the file
//! without a service. Any other tool that opens SQLite files can read its views, which have a column for each field.
//!
//! | To | use |
//! |---|---|
//! | create or update a mirror | [`Sync::run`], or [`Sync::job`] without an async runtime |
//! | read a list, also as of an earlier sync | [`Mirror::records`] |
//! | list the syncs and their numbers of changes | [`Mirror::history`] |
//! | load changes elsewhere | [`Mirror::changes`], and [`Rows::bookmark`] for the next time |
//! | get record batches or a file | [`Rows::into_batches`], [`Rows::write`] |
//! | check the file | [`Mirror::verify`] |
//! | remove a list | [`forget`] |
//! | erase single records | [`Erase::run`], and later [`acknowledge`] |
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let records = [("contacts".to_owned(), 250)].into();
//! # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
//! # let mut settings = talentdata_core::Client::builder();
//! # settings.base_url(sandbox.base_url()).client_id(sandbox.client_id()).client_secret(sandbox.client_secret());
//! # settings.budget("process");
//! # let client = talentdata_core::blocking::Client::new(&settings)?;
//! # let directory = tempfile::tempdir()?;
//! use talentdata_core::ListName;
//! use talentdata_mirror::{Mirror, Sync, SyncPoint};
//!
//! let path = directory.path().join("talent.db");
//! Sync::new(ListName::Contacts, &path).job(&client)?.run()?.require_proven()?;
//!
//! let changes = Mirror::open(&path)?.changes(ListName::Contacts, &SyncPoint::Sync(0))?;
//! println!("next time, ask for the changes after {}", changes.bookmark());
//! assert_eq!(changes.count(), 250);
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod bookmark;
mod clean;
mod commit;
mod digest;
mod erase;
mod file;
mod forget;
mod history;
mod job_options;
mod keep;
mod mark;
mod mirror;
mod options;
mod order;
mod plain;
mod position;
mod receipt;
mod sql;
mod sync;
mod tables;
#[cfg(test)]
mod tests;
mod upgrade;
mod verify;
mod views;

/// Parts that only the other crates of this workspace use. They may change in any release.
#[doc(hidden)]
pub mod internal {
    pub use crate::job_options::{JOB_OPTIONS, JobKind, JobOption, JobOptions, OptionKind};
}

pub use bookmark::Bookmark;
pub use forget::{Erase, Erasure, acknowledge, forget};
pub use history::{SyncSummary, history_table};
pub use mirror::{Mirror, Rows};
pub use options::Sync;
pub use position::SyncPoint;
pub use receipt::{ChangeCounts, MaxDeletes, Removed, RowsReceipt, SyncReceipt, Withheld};
pub use verify::MirrorVerification;
