//! The syncer handle: brings a mirror up to date, shows its progress, and is cancelled from any thread.

use crate::boundary::{MayBeFreed, get, guard, guard_or, lent, shared};
use crate::client::Client;
use crate::error::Error;
use crate::json_text::JsonText;
use crate::mirror::{json, sync_of};
use crate::options::ScanOptions;
use crate::receipt::Receipt;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;
use talentdata_core::Stop;
use talentdata_core::blocking::Syncer as Blocking;

/// Brings a mirror of a list up to date. One thread at a time may run it; any thread may cancel it or read its receipt
/// meanwhile. Freed with talentdata_syncer_free.
pub struct Syncer {
    inner: Arc<Blocking>,
    stop: Stop,
    _lent: MayBeFreed,
}

/// Creates a sync of a list into a mirror, which may be run again and again. Nothing is sent or written yet. Without
/// progress and cancelling, talentdata_client_sync does the same in one call.
///
/// @param client the client
/// @param resource the list, a talentdata_resource
/// @param path the directory, NUL-terminated UTF-8 text
/// @param options how the list is read, or NULL for the defaults; without a limit, and not fast
/// @param keep_seconds generations that are older are folded together; 0 keeps all
/// @param syncer_out the syncer
/// Ownership: the caller frees `*syncer_out` with talentdata_syncer_free. It outlives the client. The path and the
/// options are copied.
/// Threads: any; no other may change `options` meanwhile.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list, text that is not UTF-8, or options that a sync cannot have; CLOSED.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_syncer(
    client: Option<&Client>,
    resource: u32,
    path: *const c_char,
    options: Option<&ScanOptions>,
    keep_seconds: i64,
    syncer_out: Option<&mut MaybeUninit<Box<Syncer>>>,
) -> Option<Box<Error>> {
    get((client, "client"), (syncer_out, "syncer_out"), |client| {
        let sync = sync_of(resource, &path, options, keep_seconds)?;
        let inner = client.inner.clone().syncer(sync)?;
        Ok(Box::new(Syncer {
            stop: inner.stop_handle(),
            inner: Arc::new(inner),
            _lent: MayBeFreed::default(),
        }))
    })
}

/// Reads the list and commits what has changed. Waits until that is done. It may be called again, after an error too.
///
/// @param syncer the syncer
/// @param receipt_out what was done, as talentdata_client_sync says it
/// Ownership: the caller frees `*receipt_out` with talentdata_json_text_free.
/// Threads: one at a time per syncer; waits for the service. Closing or freeing the client does not end it.
/// Errors: those of talentdata_client_sync; INVALID_ARGUMENT while another thread runs it; CANCELLED after
/// talentdata_syncer_cancel; CLOSED in a forked child for a syncer of the parent.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_syncer_run(
    syncer: Option<NonNull<Syncer>>,
    receipt_out: Option<&mut MaybeUninit<Box<JsonText>>>,
) -> Option<Box<Error>> {
    get(
        (shared(&syncer), "syncer"),
        (receipt_out, "receipt_out"),
        |syncer| {
            let inner = Arc::clone(&syncer.inner);
            json(&inner.run()?)
        },
    )
}

/// Cancels a sync: the call that runs it leaves the mirror as it was and fails with CANCELLED, and so does every later one.
///
/// @param syncer the syncer
/// Threads: any, also while another thread runs it, and from a log callback.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_syncer_cancel(syncer: Option<NonNull<Syncer>>) -> Option<Box<Error>> {
    guard(|| {
        lent(shared(&syncer), "syncer")?.stop.stop();
        Ok(())
    })
}

/// How far the scan of the last run is; never waits. Its records and talentdata_receipt_total are the progress.
///
/// @param syncer the syncer
/// @param receipt_out the receipt
/// Ownership: the caller frees `*receipt_out` with talentdata_receipt_free.
/// Threads: any, also while another thread runs it.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_syncer_receipt(
    syncer: Option<&Syncer>,
    receipt_out: Option<&mut MaybeUninit<Box<Receipt>>>,
) -> Option<Box<Error>> {
    get((syncer, "syncer"), (receipt_out, "receipt_out"), |syncer| {
        Ok(Box::new(Receipt::new(syncer.inner.receipt())?))
    })
}

/// Frees a syncer; does nothing when it is NULL.
///
/// Ownership: `syncer` must not be used any more.
/// Threads: any, once every other call with this syncer has returned. If another thread may be running it,
/// cancel it and join that thread first.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_syncer_free(syncer: Option<Box<Syncer>>) {
    guard_or((), || drop(syncer));
}
