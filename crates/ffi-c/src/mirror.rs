//! Mirrors: a list synced into a directory, and read from there as streams of the Arrow C data interface.

use crate::boundary::{caught, get, guard, guard_or, invalid, slot, terminated};
use crate::client::{Client, list};
use crate::error::Error;
use crate::json_text::JsonText;
use crate::options::ScanOptions;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use serde::Serialize;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::time::Duration;
use talentdata_core::Stop;
use talentdata_core::arrow::TableOptions;
use talentdata_core::mirror::{Mirror as CoreMirror, RecordBatches, Sync};
use talentdata_core::{Error as CoreError, ErrorKind, Result};

/// Rows of a batch.
const ROWS: usize = 8192;

/// Reads a list to its end and commits what has changed since the last sync as the next generation of its mirror, a
/// directory that is begun where it does not exist. Until the commit, and after any error, the mirror is as it was.
/// A scan that is not proven complete deletes nothing: records that it lacks are missing.
///
/// @param client the client
/// @param resource the list, a talentdata_resource
/// @param path the directory, NUL-terminated UTF-8 text
/// @param options how the list is read, or NULL for the defaults; without a limit, and not fast
/// @param keep_seconds generations that are older are folded together; 0 keeps all
/// @param receipt_out what was done, as a JSON object: `generation`, `started`, `ended`, `changes` by operation,
/// `missing`, `second_look`, `schema_changes`, and `scan`, the receipt of the scan
/// Ownership: the caller frees `*receipt_out` with talentdata_json_text_free. The options are copied.
/// Threads: any; no other may change `options` meanwhile; waits for the service. talentdata_client_close ends it.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list, options that a sync cannot have, and a mirror of another client;
/// those of talentdata_scan_next; IO, with the path, also while another sync writes to the mirror; CLOSED.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_sync(
    client: Option<&Client>,
    resource: u32,
    path: *const c_char,
    options: Option<&ScanOptions>,
    keep_seconds: i64,
    receipt_out: Option<&mut MaybeUninit<Box<JsonText>>>,
) -> Option<Box<Error>> {
    get((client, "client"), (receipt_out, "receipt_out"), |client| {
        let sync = sync_of(resource, &path, options, keep_seconds)?;
        let inner = client.inner.clone();
        json(&inner.sync(&sync, &Stop::default(), |_| {})?)
    })
}

/// A sync with these settings.
pub(crate) fn sync_of(
    resource: u32,
    path: &*const c_char,
    options: Option<&ScanOptions>,
    keep_seconds: i64,
) -> Result<Sync> {
    let keep = u64::try_from(keep_seconds).map_err(|_| {
        invalid(
            "keep_seconds",
            format_args!("must be at least 0 (got {keep_seconds})"),
        )
    })?;
    Ok(Sync {
        scan: options.map_or_else(Default::default, |options| options.inner.clone()),
        keep: (keep > 0).then(|| Duration::from_secs(keep)),
        ..Sync::new(list(resource)?, terminated(path, "path")?)
    })
}

/// A mirror as the last sync has left it. Freed with talentdata_mirror_free.
pub struct Mirror {
    inner: CoreMirror,
}

/// Opens a mirror. What later syncs do is not seen; they do not disturb it.
///
/// @param path the directory, NUL-terminated UTF-8 text
/// @param mirror_out the mirror
/// Ownership: the caller frees `*mirror_out` with talentdata_mirror_free.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL or text that is not UTF-8; IO when there is no mirror, or it cannot be read.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_mirror_open(
    path: *const c_char,
    mirror_out: Option<&mut MaybeUninit<Box<Mirror>>>,
) -> Option<Box<Error>> {
    guard(|| {
        let path = terminated(&path, "path")?;
        let mirror = slot(mirror_out, "mirror_out")?;
        let inner = CoreMirror::open(path)?;
        mirror.write(Box::new(Mirror { inner }));
        Ok(())
    })
}

/// The syncs of a list that the mirror knows, the oldest first.
///
/// @param mirror the mirror
/// @param resource the list, a talentdata_resource
/// @param syncs_out a JSON array, with an object for each
/// Ownership: the caller frees `*syncs_out` with talentdata_json_text_free.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list, or one that the mirror does not have.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_mirror_syncs(
    mirror: Option<&Mirror>,
    resource: u32,
    syncs_out: Option<&mut MaybeUninit<Box<JsonText>>>,
) -> Option<Box<Error>> {
    get((mirror, "mirror"), (syncs_out, "syncs_out"), |mirror| {
        json(&mirror.inner.generations(list(resource)?)?)
    })
}

/// What has changed in a list after a generation, from the oldest change to the newest, as a stream of the Arrow C data
/// interface: the columns _generation, _op (insert, update, delete, missing or return), _key, _last_seen and _seen, and
/// those of the record: the new one, or for delete and missing the last that is known.
///
/// @param mirror the mirror
/// @param resource the list, a talentdata_resource
/// @param since the generation that was loaded last; 0 for all changes
/// @param stream_out the stream; what was there before is overwritten
/// Ownership: the caller, or whoever receives the stream, calls its release function. It outlives the mirror.
/// Threads: any; one at a time per stream.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list or one that the mirror does not have, a generation that is not
/// there yet, and changes that are no longer kept.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_mirror_changes(
    mirror: Option<&Mirror>,
    resource: u32,
    since: u64,
    stream_out: Option<&mut MaybeUninit<FFI_ArrowArrayStream>>,
) -> Option<Box<Error>> {
    get((mirror, "mirror"), (stream_out, "stream_out"), |mirror| {
        let changes = mirror.inner.changes(list(resource)?, since)?;
        Ok(stream(changes.into_batches(ROWS)))
    })
}

/// A list as of the last sync, with records that are missing without a proof that they are gone, as a stream of the
/// Arrow C data interface.
///
/// @param mirror the mirror
/// @param resource the list, a talentdata_resource
/// @param stream_out the stream; what was there before is overwritten
/// Ownership: the caller, or whoever receives the stream, calls its release function. It outlives the mirror.
/// Threads: any; one at a time per stream.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list, or one that the mirror does not have; IO.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_mirror_current(
    mirror: Option<&Mirror>,
    resource: u32,
    stream_out: Option<&mut MaybeUninit<FFI_ArrowArrayStream>>,
) -> Option<Box<Error>> {
    get((mirror, "mirror"), (stream_out, "stream_out"), |mirror| {
        let records = mirror.inner.current(list(resource)?)?;
        Ok(stream(
            records.into_batches(ROWS, &TableOptions::default())?,
        ))
    })
}

/// A list as a sync has read it, as a stream of the Arrow C data interface.
///
/// @param mirror the mirror
/// @param resource the list, a talentdata_resource
/// @param at a generation such as 17, or a time such as 2026-11-20T06:00:00Z, NUL-terminated UTF-8 text. Of a time the
/// last sync that had ended by then counts.
/// @param stream_out the stream; what was there before is overwritten
/// Ownership: the caller, or whoever receives the stream, calls its release function. It outlives the mirror.
/// Threads: any; one at a time per stream.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list, or one that the mirror does not have, and where there was no
/// such sync or it is no longer kept; IO.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_mirror_as_of(
    mirror: Option<&Mirror>,
    resource: u32,
    at: *const c_char,
    stream_out: Option<&mut MaybeUninit<FFI_ArrowArrayStream>>,
) -> Option<Box<Error>> {
    get((mirror, "mirror"), (stream_out, "stream_out"), |mirror| {
        let at = terminated(&at, "at")?.parse()?;
        let records = mirror.inner.as_of(list(resource)?, at)?;
        Ok(stream(
            records.into_batches(ROWS, &TableOptions::default())?,
        ))
    })
}

/// Frees a mirror; does nothing when it is NULL. Streams stay as they are.
///
/// Ownership: `mirror` must not be used any more.
/// Threads: one at a time per handle.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_mirror_free(mirror: Option<Box<Mirror>>) {
    guard_or((), || drop(mirror));
}

pub(crate) fn json(value: &impl Serialize) -> Result<Box<JsonText>> {
    let json = serde_json::to_string(value)
        .map_err(|_| CoreError::new(ErrorKind::Internal, "a value could not be written as JSON"))?;
    Ok(Box::new(JsonText::new(json)))
}

fn stream(batches: RecordBatches) -> FFI_ArrowArrayStream {
    FFI_ArrowArrayStream::new(Box::new(Reader {
        batches,
        failed: false,
    }))
}

/// After an error every batch is one: an incomplete stream never looks like one that ended.
struct Reader {
    batches: RecordBatches,
    failed: bool,
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        self.batches.schema()
    }
}

impl Iterator for Reader {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            let message = "the stream has failed before; open another one";
            return Some(Err(ArrowError::ExternalError(message.into())));
        }
        let next = caught(|| self.batches.next().transpose()).transpose()?;
        self.failed = next.is_err();
        Some(next.map_err(|error| ArrowError::ExternalError(Box::new(error))))
    }
}
