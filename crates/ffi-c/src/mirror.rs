//! Mirrors: lists in one SQLite file, which are read as streams of the Arrow C data interface.

use crate::boundary::guard_or;
use crate::client::list_name;
use crate::error::ErrorHandle;
use crate::export::{get, guard, lent, optional_text, path, slot, stream};
use crate::options::OptionsHandle;
use crate::record::RecordHandle;
use crate::text::Text;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use std::mem::MaybeUninit;
use talentdata_columns::blocking::BATCH_ROWS;
use talentdata_core::Result;
use talentdata_core::types::ListName;
use talentdata_mirror::internal::JobKind;
use talentdata_mirror::{Mirror, Rows, SyncPoint, forget};

/// A mirror: one SQLite file, with lists as of their last sync and what each sync has changed. Freed with
/// talentdata_mirror_free.
pub struct MirrorHandle {
    inner: Mirror,
}

/// Opens a mirror. Each stream shows the mirror as it is when the stream is made; syncs do not disturb it.
///
/// @param path the file
/// @param mirror_out the mirror
/// Ownership: the caller frees `*mirror_out` with talentdata_mirror_free.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL or a path with a NUL; PATH when there is no mirror or the file is something else; IO when it cannot be read.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_mirror_open(
    path: Text,
    mirror_out: Option<&mut MaybeUninit<Box<MirrorHandle>>>,
) -> Option<Box<ErrorHandle>> {
    guard(|| {
        let path = self::path(&path, "path")?;
        let mirror = slot(mirror_out, "mirror_out")?;
        let inner = Mirror::open(path)?;
        mirror.write(Box::new(MirrorHandle { inner }));
        Ok(())
    })
}

/// The syncs of a list that are kept, the oldest first.
///
/// @param mirror the mirror
/// @param list the name of the list, such as TALENTDATA_LIST_CONTACTS
/// @param syncs_out a JSON array, with an object for each as talentdata_job_run gives it
/// Ownership: the caller frees `*syncs_out` with talentdata_record_free.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list, or one that the mirror does not have.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_mirror_syncs(
    mirror: Option<&MirrorHandle>,
    list: Text,
    syncs_out: Option<&mut MaybeUninit<Box<RecordHandle>>>,
) -> Option<Box<ErrorHandle>> {
    get((mirror, "mirror"), (syncs_out, "syncs_out"), |mirror| {
        RecordHandle::of(&mirror.inner.syncs(list_name(&list)?)?)
    })
}

/// Returns the changes of a list after a sync, from the oldest to the newest, as a stream of the Arrow C data
/// interface: the columns _generation, _op (insert, update, delete, missing or reappeared), _key, _last_seen and _seen,
/// and those of the record: the new one, or for delete and missing the last that is known. Note the `bookmark` of the last
/// sync with what was loaded, also where nothing has changed; the changes after it are the next ones. The metadata of the
/// schema has it as talentdata.bookmark.
///
/// @param mirror the mirror
/// @param list the name of the list, such as TALENTDATA_LIST_CONTACTS
/// @param since the bookmark that was noted, such as 9c41d0-51d2a7-5f2a03b8c6e1:17, a time as for
/// talentdata_mirror_records, or the number of a sync in a mirror that was never copied or restored; absent for all changes
/// @param options the options of the columns, or NULL for the columns of the mirror
/// @param stream_out the stream; what was there before is overwritten
/// @param sync_out NULL, or the sync up to which the changes go, a JSON object as talentdata_job_run gives it
/// Ownership: the caller, or whatever receives the stream, calls its release function; it outlives the mirror. The caller
/// frees `*sync_out` with talentdata_record_free.
/// Threads: any; one at a time per stream.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list, or one that the mirror does not have, and where there is no such sync
/// yet; MISMATCH where the sync is of another history, changes after it are no longer kept, or its number may be that of
/// another sync: then load the list again; IO.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_mirror_changes(
    mirror: Option<&MirrorHandle>,
    list: Text,
    since: Text,
    options: Option<&OptionsHandle>,
    stream_out: Option<&mut MaybeUninit<FFI_ArrowArrayStream>>,
    sync_out: Option<&mut MaybeUninit<Box<RecordHandle>>>,
) -> Option<Box<ErrorHandle>> {
    get((mirror, "mirror"), (stream_out, "stream_out"), |mirror| {
        let since = optional_text(&since, "since")?;
        let since = since.map_or(Ok(SyncPoint::Sync(0)), str::parse)?;
        let list = list_name(&list)?;
        let changes = mirror.inner.changes(list, &since)?;
        batches(list, options, changes, sync_out)
    })
}

/// A list as a sync has read it, or as of the last sync, with records that are missing without a proof that they are gone, as
/// a stream of the Arrow C data interface.
///
/// @param mirror the mirror
/// @param list the name of the list, such as TALENTDATA_LIST_CONTACTS
/// @param at the bookmark or the number of a sync, or a time such as 2026-11-20T06:00:00Z, of which the last sync that had
/// ended by then counts; absent for the last sync
/// @param options the options of the columns, or NULL for the columns of the mirror
/// @param stream_out the stream; what was there before is overwritten
/// @param sync_out NULL, or this sync, a JSON object as talentdata_job_run gives it, with the `bookmark` to be noted
/// Ownership: the caller, or whatever receives the stream, calls its release function; it outlives the mirror. The caller
/// frees `*sync_out` with talentdata_record_free.
/// Threads: any; one at a time per stream.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list, or one that the mirror does not have, and where there was no
/// such sync or it is no longer kept; MISMATCH for the bookmark of another history; IO.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_mirror_records(
    mirror: Option<&MirrorHandle>,
    list: Text,
    at: Text,
    options: Option<&OptionsHandle>,
    stream_out: Option<&mut MaybeUninit<FFI_ArrowArrayStream>>,
    sync_out: Option<&mut MaybeUninit<Box<RecordHandle>>>,
) -> Option<Box<ErrorHandle>> {
    get((mirror, "mirror"), (stream_out, "stream_out"), |mirror| {
        let list = list_name(&list)?;
        let at = optional_text(&at, "at")?.map(str::parse).transpose()?;
        let records = mirror.inner.records(list, at.as_ref())?;
        batches(list, options, records, sync_out)
    })
}

/// Reads everything in a mirror and compares it with what the syncs have written down of it. Damage is no error.
///
/// @param mirror the mirror
/// @param report_out a JSON object: whether the mirror is as the syncs left it, and the differences
/// Ownership: the caller frees `*report_out` with talentdata_record_free.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL; IO, where the file cannot be opened.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_mirror_verify(
    mirror: Option<&MirrorHandle>,
    report_out: Option<&mut MaybeUninit<Box<RecordHandle>>>,
) -> Option<Box<ErrorHandle>> {
    get((mirror, "mirror"), (report_out, "report_out"), |mirror| {
        RecordHandle::of(&mirror.inner.verify()?)
    })
}

/// Removes a list from a mirror, with all that is kept of it.
///
/// @param mirror the mirror
/// @param list the name of the list, such as TALENTDATA_LIST_CONTACTS
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list, or one that the mirror does not have; BUSY while a sync is
/// writing to the mirror; IO.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_mirror_forget(
    mirror: Option<&MirrorHandle>,
    list: Text,
) -> Option<Box<ErrorHandle>> {
    guard(|| forget(lent(mirror, "mirror")?.inner.path(), list_name(&list)?))
}

/// Frees a mirror; does nothing when it is NULL. Streams stay as they are.
///
/// Ownership: `mirror` must not be used any more.
/// Threads: any, once no other call with this mirror is in progress.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_mirror_free(mirror: Option<Box<MirrorHandle>>) {
    guard_or((), || drop(mirror));
}

/// Returns the stream of rows. Nothing can fail once the sync is written.
fn batches(
    list: ListName,
    options: Option<&OptionsHandle>,
    rows: Rows,
    sync_out: Option<&mut MaybeUninit<Box<RecordHandle>>>,
) -> Result<FFI_ArrowArrayStream> {
    let operation = list.shape().operation;
    let options = OptionsHandle::of_job(options, Some(JobKind::Mirror), operation, "a mirror")?;
    let sync = RecordHandle::of(rows.sync())?;
    let mut batches = rows.into_batches(BATCH_ROWS, options.table)?;
    if let Some(out) = sync_out {
        out.write(sync);
    }
    Ok(stream(batches.schema(), move || batches.next().transpose()))
}
