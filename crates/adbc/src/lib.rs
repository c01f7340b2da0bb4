//! The ADBC driver: lists of the service, or of a mirror, as tables for every ADBC driver manager.
//!
//! The C library and the Python module export its entry point, `AdbcTalentdataInit`. The generic name `AdbcDriverInit`
//! is not exported, because it would clash in a program that links two drivers.

#![deny(unsafe_code)]

mod driver;
mod entry;
mod error;
mod metadata;
mod options;
mod source;
mod sql;

pub use driver::{TalentdataConnection, TalentdataDatabase, TalentdataDriver, TalentdataStatement};
pub use entry::AdbcTalentdataInit;
