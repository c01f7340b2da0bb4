//! Mirrors: lists in one SQLite file, read from there as streams of the Arrow C data interface.

use crate::boundary::{caught, get, guard, guard_or, lent, slot, terminated};
use crate::client::list;
use crate::error::Error;
use crate::json_text::JsonText;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use serde::Serialize;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use talentdata_columns::arrow::TableOptions;
use talentdata_core::{Error as CoreError, ErrorKind, Result};
use talentdata_mirror::{Mirror as RustMirror, RecordBatches, forget};

/// Rows of a batch.
const ROWS: usize = 8192;

/// A mirror: one SQLite file, with lists as of their last sync and what each sync has changed. Freed with talentdata_mirror_free.
pub struct Mirror {
    inner: RustMirror,
}

/// Opens a mirror. Each stream shows the mirror as it is when the stream is made; syncs do not disturb it.
///
/// @param path the file, NUL-terminated UTF-8 text
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
        let inner = RustMirror::open(path)?;
        mirror.write(Box::new(Mirror { inner }));
        Ok(())
    })
}

/// The syncs of a list that are kept, the oldest first.
///
/// @param mirror the mirror
/// @param resource the list, a talentdata_resource
/// @param syncs_out a JSON array, with an object for each as talentdata_syncer_run gives it
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
        json(&mirror.inner.syncs(list(resource)?)?)
    })
}

/// What has changed in a list after a sync, from the oldest change to the newest, as a stream of the Arrow C data
/// interface: the columns _generation, _op (insert, update, delete, missing or reappeared), _key, _last_seen and _seen,
/// and those of the record: the new one, or for delete and missing the last that is known.
///
/// @param mirror the mirror
/// @param resource the list, a talentdata_resource
/// @param since the number of a sync such as 16, or a time as for talentdata_mirror_as_of, NUL-terminated UTF-8 text; 0 for
/// all changes
/// @param stream_out the stream; what was there before is overwritten
/// Ownership: the caller, or whoever receives the stream, calls its release function. It outlives the mirror.
/// Threads: any; one at a time per stream.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list, or one that the mirror does not have, and where there is no such sync
/// yet, or changes after it are no longer kept; IO.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_mirror_changes(
    mirror: Option<&Mirror>,
    resource: u32,
    since: *const c_char,
    stream_out: Option<&mut MaybeUninit<FFI_ArrowArrayStream>>,
) -> Option<Box<Error>> {
    get((mirror, "mirror"), (stream_out, "stream_out"), |mirror| {
        let since = terminated(&since, "since")?.parse()?;
        let changes = mirror.inner.changes(list(resource)?, &since)?;
        Ok(stream(changes.into_batches(ROWS)?))
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
/// @param at the number of a sync such as 17, or a time such as 2026-11-20T06:00:00Z, NUL-terminated UTF-8 text. Of a time the
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
        let records = mirror.inner.as_of(list(resource)?, &at)?;
        Ok(stream(
            records.into_batches(ROWS, &TableOptions::default())?,
        ))
    })
}

/// Reads everything in a mirror and compares it with what the syncs have written down of it.
///
/// @param mirror the mirror
/// @param report_out a JSON object: `holds`, `differences`, an array of texts, and `syncs`, how many are kept of each list
/// Ownership: the caller frees `*report_out` with talentdata_json_text_free.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL; IO, where the file cannot be opened. Damage is no error.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_mirror_verify(
    mirror: Option<&Mirror>,
    report_out: Option<&mut MaybeUninit<Box<JsonText>>>,
) -> Option<Box<Error>> {
    get((mirror, "mirror"), (report_out, "report_out"), |mirror| {
        json(&mirror.inner.verify()?)
    })
}

/// Removes a list from a mirror, with all that is kept of it.
///
/// @param mirror the mirror
/// @param resource the list, a talentdata_resource
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list, or one that the mirror does not have; IO, also while a sync is
/// writing to the mirror.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_mirror_forget(
    mirror: Option<&Mirror>,
    resource: u32,
) -> Option<Box<Error>> {
    guard(|| forget(lent(mirror, "mirror")?.inner.path(), list(resource)?))
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
