//! The syncer handle: brings a mirror up to date, shows its progress, and is cancelled from any thread.

use crate::boundary::{MayBeFreed, get, guard, guard_or, invalid, lent, shared, terminated};
use crate::client::{Client, list};
use crate::error::Error;
use crate::json_text::JsonText;
use crate::mirror::json;
use crate::options::ScanOptions;
use crate::receipt::Receipt;
use serde::Deserialize;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;
use talentdata_core::blocking::Job;
use talentdata_core::{Result, Stop};
use talentdata_mirror::{Sync, SyncReceipt, age, blocking};

/// Brings a mirror of a list up to date. One thread at a time may run it; any thread may cancel it or read its receipt
/// meanwhile. Freed with talentdata_syncer_free.
pub struct Syncer {
    inner: Arc<Job<SyncReceipt>>,
    stop: Stop,
    _lent: MayBeFreed,
}

/// Creates a sync of a list into a mirror, which may be run again and again. Nothing is sent or written yet.
///
/// @param client the client
/// @param resource the list, a talentdata_resource
/// @param path the file of the mirror, NUL-terminated UTF-8 text; it is made where there is none
/// @param options how the list is read, or NULL for the defaults; without a limit
/// @param settings a JSON object, NUL-terminated UTF-8 text, or NULL for the defaults: `confirm`, whether to scan again at
/// once if records are missing after the list changed during the scan; `max_deletes`, the most deletes to believe, such as
/// "500", "25%" or "100%"; `keep`, how long changes and earlier versions are kept, such as "90d"
/// @param syncer_out the syncer
/// Ownership: the caller frees `*syncer_out` with talentdata_syncer_free. It outlives the client. The texts and the
/// options are copied.
/// Threads: any; no other may change `options` meanwhile.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list, text that is not UTF-8, or settings that a sync cannot have; CLOSED.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_syncer(
    client: Option<&Client>,
    resource: u32,
    path: *const c_char,
    options: Option<&ScanOptions>,
    settings: *const c_char,
    syncer_out: Option<&mut MaybeUninit<Box<Syncer>>>,
) -> Option<Box<Error>> {
    get((client, "client"), (syncer_out, "syncer_out"), |client| {
        let mut sync = Sync::new(list(resource)?, terminated(&path, "path")?);
        if let Some(options) = options {
            sync.scan = options.scan.clone();
        }
        if !settings.is_null() {
            read(terminated(&settings, "settings")?, &mut sync)?;
        }
        let inner = blocking::sync(&client.inner.clone(), sync)?;
        Ok(Box::new(Syncer {
            stop: inner.stop_handle(),
            inner: Arc::new(inner),
            _lent: MayBeFreed::default(),
        }))
    })
}

/// The settings of a sync, as JSON has them.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    confirm: bool,
    max_deletes: Option<String>,
    keep: Option<String>,
}

fn read(settings: &str, sync: &mut Sync) -> Result<()> {
    let settings: Settings = serde_json::from_str(settings)
        .map_err(|error| invalid("settings", format_args!("{error}")))?;
    sync.confirm = settings.confirm;
    if let Some(max_deletes) = settings.max_deletes {
        sync.max_deletes = max_deletes.parse()?;
    }
    sync.keep = settings.keep.as_deref().map(age).transpose()?;
    Ok(())
}

/// Reads the list and commits what has changed. Waits until that is done. It may be called again, after an error too.
/// Until the commit, and after any error, the mirror is as it was.
///
/// @param syncer the syncer
/// @param receipt_out what was done, as a JSON object: `generation`, `started`, `ended`, `changes` by operation, `missing`,
/// `withheld`, `confirms`, `shortfall`, which says why the mirror may lack changes and is null where all is proven, and
/// `scan`, the receipt of the scan
/// Ownership: the caller frees `*receipt_out` with talentdata_json_text_free.
/// Threads: one at a time per syncer; waits for the service. Closing or freeing the client does not end it.
/// Errors: those of talentdata_scan_next; IO, with the path, also while another sync writes to the mirror, or where the file
/// is something else; INVALID_ARGUMENT for a mirror of another service or client, and while another thread runs it; CANCELLED after
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
        Ok(Box::new(Receipt::new(syncer.inner.progress())?))
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
