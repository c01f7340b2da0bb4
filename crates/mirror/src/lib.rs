//! Mirrors: one SQLite file that holds lists as of their last sync, and what each sync has changed.
//!
//! A [`Sync`] reads a whole list, compares it record by record with what the last sync saw, and commits the difference in
//! one transaction. A record is reported as deleted only where a scan proves that it was gone. [`Mirror`] reads the file,
//! without a service; so does every tool that opens SQLite files, for which there are views with a column for each field.

#![forbid(unsafe_code)]

mod bookmark;
mod commit;
mod digest;
mod file;
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
pub use mirror::{Mirror, Rows, forget};
pub use options::Sync;
pub use position::SyncPoint;
pub use receipt::{ChangeCounts, MaxDeletes, Removed, RowsReceipt, SyncReceipt, Withheld};
pub use verify::MirrorVerification;
