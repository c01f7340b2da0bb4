//! The exporter handle: writes a list to a file, shows its progress, and is cancelled from any thread.
//!
//! Progress is polled, as that of a scan is: a callback would run on a thread of the library, and would need
//! rules about what it may do and when what it points at is released.

use crate::boundary::{MayBeFreed, get, guard, guard_or, lent, shared, terminated};
use crate::client::{Client, list};
use crate::error::Error;
use crate::export_options::ExportOptions;
use crate::receipt::Receipt;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::Arc;
use talentdata_columns::blocking;
use talentdata_columns::export::{Export, Format, Target};
use talentdata_core::Stop;
use talentdata_core::blocking::Job;
use talentdata_core::scan::Receipt as CoreReceipt;

/// Writes every record of a list to a file. One thread at a time may run it; any thread may cancel it or read
/// its receipt meanwhile. Freed with talentdata_exporter_free.
pub struct Exporter {
    inner: Arc<Job<CoreReceipt>>,
    stop: Stop,
    _lent: MayBeFreed,
}

/// Creates an export of a list to a file. Nothing is sent or written yet.
///
/// The file appears under its name when it is complete, and then replaces what was there. Until then the
/// records are in a directory beside it, the name with .part behind it. Anything else at that name is refused and
/// stays as it is. An interrupted export can be resumed: JSON Lines behind the first page, CSV once its columns are
/// decided, Parquet behind the first row group (8,192 records); an Arrow file begins again.
///
/// @param client the client
/// @param resource the list, a talentdata_resource
/// @param path the file, NUL-terminated UTF-8 text
/// @param options the options, or NULL for the defaults
/// @param exporter_out the exporter
/// Ownership: the caller frees `*exporter_out` with talentdata_exporter_free. It outlives the client. The path
/// and the options are copied.
/// Threads: any; no other may change `options` meanwhile.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list, text that is not UTF-8, or a resumed Arrow file; CLOSED.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_exporter(
    client: Option<&Client>,
    resource: u32,
    path: *const c_char,
    options: Option<&ExportOptions>,
    exporter_out: Option<&mut MaybeUninit<Box<Exporter>>>,
) -> Option<Box<Error>> {
    get(
        (client, "client"),
        (exporter_out, "exporter_out"),
        |client| {
            let path = PathBuf::from(terminated(&path, "path")?);
            let export = Export {
                resource: list(resource)?,
                format: options
                    .and_then(|options| options.format)
                    .map_or_else(|| Format::of_path(&path), Ok)?,
                target: Target::File(path),
                scan: options.map_or_else(Default::default, |options| options.scan.clone()),
                table: options.map_or_else(Default::default, |options| options.table.clone()),
                resume: options.is_some_and(|options| options.resume),
            };
            let inner = blocking::export(&client.inner.clone(), export)?;
            Ok(Box::new(Exporter {
                stop: inner.stop_handle(),
                inner: Arc::new(inner),
                _lent: MayBeFreed::default(),
            }))
        },
    )
}

/// Writes the file. Waits until it is complete. After an error it may be called again.
///
/// @param exporter the exporter
/// @param receipt_out what was done, by earlier exports too that were resumed
/// Ownership: the caller frees `*receipt_out` with talentdata_receipt_free.
/// Threads: one at a time per exporter; waits for the service. Closing or freeing the client does not end it.
/// Errors: those of talentdata_scan_next; IO, with the path, when a file cannot be written, when another
/// export is writing to it, or when a file is in the way; SCHEMA for a new field, where the options say so;
/// INVALID_ARGUMENT when what is to be resumed was begun with other options, and while another thread runs
/// it; CANCELLED after talentdata_exporter_cancel; CLOSED in a forked child for an exporter of the parent. The
/// message says what is kept to be resumed.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_exporter_run(
    exporter: Option<NonNull<Exporter>>,
    receipt_out: Option<&mut MaybeUninit<Box<Receipt>>>,
) -> Option<Box<Error>> {
    get(
        (shared(&exporter), "exporter"),
        (receipt_out, "receipt_out"),
        |exporter| {
            let inner = Arc::clone(&exporter.inner);
            Ok(Box::new(Receipt::new(inner.run()?)?))
        },
    )
}

/// Cancels an export: the call that runs it keeps what can be resumed and fails with CANCELLED, and so does
/// every later one.
///
/// @param exporter the exporter
/// Threads: any, also while another thread runs it, and from a log callback.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_exporter_cancel(
    exporter: Option<NonNull<Exporter>>,
) -> Option<Box<Error>> {
    guard(|| {
        lent(shared(&exporter), "exporter")?.stop.stop();
        Ok(())
    })
}

/// What the export has done so far; never waits. Its records and talentdata_receipt_total are the progress. It
/// says "unfinished" until the file is complete.
///
/// @param exporter the exporter
/// @param receipt_out the receipt
/// Ownership: the caller frees `*receipt_out` with talentdata_receipt_free.
/// Threads: any, also while another thread runs it.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_exporter_receipt(
    exporter: Option<&Exporter>,
    receipt_out: Option<&mut MaybeUninit<Box<Receipt>>>,
) -> Option<Box<Error>> {
    get(
        (exporter, "exporter"),
        (receipt_out, "receipt_out"),
        |exporter| Ok(Box::new(Receipt::new(exporter.inner.progress())?)),
    )
}

/// Frees an exporter; does nothing when it is NULL.
///
/// Ownership: `exporter` must not be used any more.
/// Threads: any, once every other call with this exporter has returned. If another thread may be running it,
/// cancel it and join that thread first.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_exporter_free(exporter: Option<Box<Exporter>>) {
    guard_or((), || drop(exporter));
}
