//! Scans, exports and schemas for callers without an async runtime.

mod scan;

pub use scan::{BatchScan, Scan};

use crate::arrow::{Columns, TableSchema};
use crate::export::Export;
use talentdata_core::blocking::{Client, Job};
use talentdata_core::scan::Receipt;
use talentdata_core::types::Resource;
use talentdata_core::{Arguments, Result};

/// An export that is ready to be run; nothing is sent or written yet. Stopped, it keeps what can be resumed.
///
/// # Errors
/// `InvalidArgument` as [`Export::check`]; `Closed` when the client was closed.
pub fn export(client: &Client, export: Export) -> Result<Job<Receipt>> {
    export.check()?;
    let begin = export.scan.receipt(export.resource);
    Job::new(client, "export", &begin, move |client, stop, progress| {
        let export = export.clone();
        async move {
            let note = |receipt: &Receipt| progress.note(receipt);
            let finished = export.run(&client, stop.stopped(), note).await?;
            progress.note(&finished);
            Ok(finished)
        }
    })
}

/// The columns that an export of a list would have, with these values of the list's parameters; see
/// [`TableSchema::of_list`].
///
/// # Errors
/// As there.
pub fn schema(
    client: &Client,
    resource: Resource,
    arguments: impl Into<Arguments>,
    columns: Columns,
) -> Result<TableSchema> {
    let arguments = arguments.into();
    client.run(move |client| async move {
        let list = client.resource(resource).with(arguments);
        TableSchema::of_list(&list, columns).await
    })
}
