//! A mirror: a directory that holds a list as of the last sync, and what each sync has changed.
//!
//! A [`Sync`] reads the whole list and compares it, record by record, with what the sync before has seen.
//! Each sync is a numbered *generation* of its list. A record that is not delivered is a `delete` only
//! if the scan proves that it was gone; else it is `missing`, and stays in the mirror.
//!
//! [`Mirror`] reads one, without a service and without a lock: its files never change once the manifest
//! names them, except that old generations may be folded away. `docs/mirror.md` describes the files.

mod absent;
mod between;
mod canonical;
mod change;
mod changes;
mod claim;
mod commit;
mod difference;
mod files;
mod fingerprint;
mod gather;
mod index;
mod look;
mod manifest;
mod manifest_file;
mod order;
mod order_writer;
mod page;
mod parquet_file;
mod read;
mod records;
mod retention;
mod schema;
mod second_look;
mod state;
mod sync;
mod table;
mod texts;
mod together;
#[cfg(test)]
pub(crate) mod trial;
mod write;

pub(crate) use look::most_pages_of_sync;

pub use change::{Change, ChangeCounts, Operation};
pub use changes::Changes;
pub use manifest::{FileEntry, Generation, SchemaChange, SchemaChangeKind, SecondLook};
pub use read::{AsOf, Mirror};
pub use records::{RecordBatches, Records};
pub use sync::{Sync, SyncReceipt};

/// The columns of `changes/NNNNNN.parquet` that stand before those of the record.
pub const CHANGE_COLUMNS: [&str; 5] = ["_generation", "_op", "_key", "_last_seen", "_seen"];

/// The column with the record's JSON text, as the service sent it.
pub const RECORD: &str = "_record";
