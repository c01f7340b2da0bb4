//! Mirrors: lists in one SQLite file, which applications read as streams of the Arrow C data interface.

use crate::boundary::guard_or;
use crate::client::list_name;
use crate::config::ConfigHandle;
use crate::error::ErrorHandle;
use crate::export::{get, guard, invalid, lent, optional_text, path, slot, stream, text};
use crate::options::OptionsHandle;
use crate::record::RecordHandle;
use crate::text::Text;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use std::ffi::c_int;
use std::mem::MaybeUninit;
use talentdata_core::Result;
use talentdata_core::types::ListName;
use talentdata_mirror::internal::JobKind;
use talentdata_mirror::{Erase, Mirror, Rows, SyncPoint, acknowledge, forget};

/// A mirror: one SQLite file with lists as of their last sync, and the changes of each sync. Freed with
/// talentdata_mirror_free.
pub struct MirrorHandle {
    inner: Mirror,
}

/// Opens a mirror. Each stream shows the mirror as of the time when the stream is created, even while a sync runs.
///
/// @param path the file
/// @param mirror_out the mirror
/// Ownership: the caller frees `*mirror_out` with talentdata_mirror_free.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL or a path with a NUL; PATH if the file does not exist or is not a mirror; IO if it
/// cannot be read.
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

/// Returns the kept syncs of a list, oldest first.
///
/// @param mirror the mirror
/// @param list the name of the list, such as TALENTDATA_LIST_CONTACTS
/// @param syncs_out a JSON array of the receipts, as talentdata_job_run returns them
/// Ownership: the caller frees `*syncs_out` with talentdata_record_free.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list, or a list that the mirror does not have.
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
/// interface. The columns are _generation, _op (insert, update, delete, missing, reappeared or erased), _key, _last_seen,
/// _seen and _changed (for update the names of the fields that differ, as a JSON array), and the columns of the record. The
/// record is the new version, or for delete and missing the last known version. For an erased record, only the key is
/// left. With the option before, _before has the version before an update, as JSON.
///
/// Store the `bookmark` of the last sync with the rows, even if there are no changes, and pass it as `since` the next time.
/// The metadata of the schema contains it as talentdata.bookmark.
///
/// @param mirror the mirror
/// @param list the name of the list, such as TALENTDATA_LIST_CONTACTS
/// @param since the bookmark that was stored, such as 9c41d0-51d2a7-5f2a03b8c6e1:17, a time as for
/// talentdata_mirror_records, or the number of a sync in a mirror that was never copied or restored; absent for all changes
/// @param options the options of the columns, or NULL for the columns of the mirror
/// @param stream_out the stream; its previous content is overwritten
/// @param sync_out NULL, or the last sync whose changes the stream has, a JSON object as talentdata_job_run returns it
/// Ownership: the caller, or the consumer that receives the stream, calls its release function; the stream outlives the
/// mirror. The caller frees `*sync_out` with talentdata_record_free.
/// Threads: any; one at a time per stream.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list, a list that the mirror does not have, or a sync that does not exist
/// yet; MISMATCH if the sync belongs to another history, changes after it are no longer kept, or its number is ambiguous:
/// then load the list again; IO.
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
        let point = match optional_text(&since, "since")? {
            Some(text) => text.parse()?,
            None => SyncPoint::Sync(0),
        };
        let list = list_name(&list)?;
        let changes = mirror.inner.changes(list, &point)?;
        batches((list, JobKind::Changes), options, changes, sync_out)
    })
}

/// Returns a list as of the last sync or an earlier one, as a stream of the Arrow C data interface. The list as of the last
/// sync includes missing records whose deletion is not proven; in the column _missing_since, they have the start of the last
/// scan that delivered them.
///
/// @param mirror the mirror
/// @param list the name of the list, such as TALENTDATA_LIST_CONTACTS
/// @param at the bookmark or the number of a sync, or a time, which selects the last sync that ended at or before it: such
/// as 2026-11-20T06:00:00Z, a date, yesterday (the beginning of that day), or an age such as 1d, in UTC unless it has an
/// offset; absent for the last sync
/// @param options the options of the columns, or NULL for the columns of the mirror
/// @param stream_out the stream; its previous content is overwritten
/// @param sync_out NULL, or the selected sync, a JSON object as talentdata_job_run returns it, with the `bookmark` to store
/// Ownership: the caller, or the consumer that receives the stream, calls its release function; the stream outlives the
/// mirror. The caller frees `*sync_out` with talentdata_record_free.
/// Threads: any; one at a time per stream.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list, a list that the mirror does not have, or a sync that does not exist
/// or is no longer kept; MISMATCH for the bookmark of another history; IO.
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
        batches((list, JobKind::Mirror), options, records, sync_out)
    })
}

/// Reads the whole mirror and compares it with the digests of the syncs. A difference is not an error.
///
/// @param mirror the mirror
/// @param report_out a JSON object: `matches`, true if there is no difference, and `differences`, an array of strings
/// Ownership: the caller frees `*report_out` with talentdata_record_free.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL; IO if the file cannot be opened.
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

/// Removes a list and its history from a mirror.
///
/// @param mirror the mirror
/// @param list the name of the list, such as TALENTDATA_LIST_CONTACTS
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list, or a list that the mirror does not have; BUSY while a sync is
/// writing to the mirror; IO.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_mirror_forget(
    mirror: Option<&MirrorHandle>,
    list: Text,
) -> Option<Box<ErrorHandle>> {
    guard(|| forget(lent(mirror, "mirror")?.inner.path(), list_name(&list)?))
}

/// Erases records of a list from a mirror, with all their versions and changes. Afterwards no byte of them is left in
/// the files of the mirror, except for their keys in the changes `erased`, with which copies can follow. If the process
/// ends too early, the next talentdata_mirror_erase, talentdata_mirror_forget or sync completes the erasure.
///
/// @param mirror the mirror
/// @param list the name of the list, such as TALENTDATA_LIST_CONTACTS
/// @param records a JSON array with the ids of the records, as strings
/// @param unannounced 0 to report each record as a change `erased`; any other number to keep no change, because the key
/// may be personal data
/// @param keep_out 0 to let a sync store the records again if the service still lists them; any other number to keep a
/// keyed digest of each id, so that syncs do not store them
/// @param config the settings, or NULL for those of the environment and the profile. Their `hash_key` is needed if the
/// list was synced with `id` in `hash` and `records` has the ids before they were hashed
/// @param erased_out NULL, or a JSON object with the numbers of erased `records`, `versions` and `changes`, and the `bookmark`
/// of the last sync
/// Ownership: the caller frees `*erased_out` with talentdata_record_free.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list, a list that the mirror does not have, an id that no record has,
/// or a list whose records have no id; CONFIG if ids are hashed and there is no key, MISMATCH for another key; nothing is
/// erased in these cases. BUSY while a sync is writing to the mirror, or
/// if the records were erased but a stream or another program still needs their bytes; IO.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_mirror_erase(
    mirror: Option<&MirrorHandle>,
    list: Text,
    records: Text,
    unannounced: c_int,
    keep_out: c_int,
    config: Option<&ConfigHandle>,
    erased_out: Option<&mut MaybeUninit<Box<RecordHandle>>>,
) -> Option<Box<ErrorHandle>> {
    guard(|| {
        let path = lent(mirror, "mirror")?.inner.path();
        let list = list_name(&list)?;
        let records = text(&records, "records")?;
        let records: Vec<String> = serde_json::from_str(records)
            .map_err(|_| invalid("records", "must be a JSON array of strings"))?;
        let erase = Erase::new(list, path, records);
        let erase = erase.with_announced(unannounced == 0);
        let erase = erase.with_keep_out(keep_out != 0);
        let key = ConfigHandle::or_default(config)?.read_hash_key();
        let erased = erase.with_hash_key(key).run()?;
        if let Some(out) = erased_out {
            out.write(RecordHandle::of(&erased)?);
        }
        Ok(())
    })
}

/// Removes the changes `erased` of a list up to a sync. Call it after every copy of the list applied them.
///
/// @param mirror the mirror
/// @param list the name of the list, such as TALENTDATA_LIST_CONTACTS
/// @param up_to the bookmark that was stored with the changes, or another value as for `since` of
/// talentdata_mirror_changes
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list, a list that the mirror does not have, or a sync that does not exist yet;
/// MISMATCH if the sync belongs to another history; BUSY while a sync is writing to the mirror; IO.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_mirror_acknowledge(
    mirror: Option<&MirrorHandle>,
    list: Text,
    up_to: Text,
) -> Option<Box<ErrorHandle>> {
    guard(|| {
        let path = lent(mirror, "mirror")?.inner.path();
        let list = list_name(&list)?;
        let up_to: SyncPoint = text(&up_to, "up_to")?.parse()?;
        acknowledge(path, list, &up_to)
    })
}

/// Frees a mirror. NULL does nothing. Streams of the mirror stay valid.
///
/// Ownership: `mirror` must no longer be used.
/// Threads: any, after every other call with this mirror has returned.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_mirror_free(mirror: Option<Box<MirrorHandle>>) {
    guard_or((), || drop(mirror));
}

/// Returns the stream of rows. `sync_out` is written last, because no call may fail after that.
fn batches(
    (list, job): (ListName, JobKind),
    options: Option<&OptionsHandle>,
    rows: Rows,
    sync_out: Option<&mut MaybeUninit<Box<RecordHandle>>>,
) -> Result<FFI_ArrowArrayStream> {
    let operation = list.shape().operation;
    let options = OptionsHandle::of_job(options, Some(job), operation, "a mirror")?;
    let sync = RecordHandle::of(rows.sync())?;
    let mut batches = rows
        .with_before(options.before)?
        .into_batches(options.table)?;
    if let Some(out) = sync_out {
        out.write(sync);
    }
    Ok(stream(batches.schema(), move || batches.next().transpose()))
}
