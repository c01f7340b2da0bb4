//! Jobs: exports to files and syncs into mirrors. Any thread can read the progress of a job or cancel it.
//!
//! The application polls the progress. A callback would run on a thread of the library, and would need rules about its
//! calls and about the release of its data.

use crate::boundary::{guard_or, shared};
use crate::call::{CallHandle, CallWork};
use crate::client::{ClientHandle, list_name};
use crate::error::ErrorHandle;
use crate::export::{get, path, text};
use crate::options::OptionsHandle;
use crate::record::RecordHandle;
use crate::text::Text;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use talentdata_columns::export::{Format, Target};
use talentdata_columns::verify::{parse_receipt, read_receipt, verify};
use talentdata_core::blocking::Job;
use talentdata_core::scan::Receipt;
use talentdata_core::types::Stop;
use talentdata_mirror::SyncReceipt;
use talentdata_mirror::internal::JobKind;

/// A number that C passes for a format; the header says `talentdata_format`.
pub type FormatNumber = u32;

/// An export of a list to a file, or a sync of a list into a mirror. One thread at a time may run it. Any other thread may
/// cancel it or read its progress while it runs. Freed with talentdata_job_free.
pub struct JobHandle {
    work: Work,
    stop: Stop,
}

enum Work {
    Export(Job<Receipt>),
    Sync(Job<SyncReceipt>),
}

/// Creates an export of a list to a file. Nothing is sent or written yet.
///
/// The file appears under its name when it is complete, and then replaces an existing file. Until then the records are
/// in a directory next to it, with .part after the name. If another file has that name, the export fails and does not
/// modify it. An interrupted export can be resumed as soon as it has kept its first page. An export to a path for which
/// records are kept fails unless the option resume or restart is set.
///
/// @param client the client
/// @param list the name of the list, such as TALENTDATA_LIST_CONTACTS
/// @param path the file
/// @param format the format, or TALENTDATA_FORMAT_OF_PATH for the format of the extension .jsonl, .csv, .parquet or .arrow
/// @param options the options, or NULL for the defaults
/// @param job_out the export
/// Ownership: the caller frees `*job_out` with talentdata_job_free; it outlives the client. The arguments are copied.
/// Threads: any; no other thread may change `options` during the call.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list or format, an option that exports do not take, both resume and
/// restart, or a path with a NUL; CLOSED.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_export(
    client: Option<&ClientHandle>,
    list: Text,
    path: Text,
    format: FormatNumber,
    options: Option<&OptionsHandle>,
    job_out: Option<&mut MaybeUninit<Box<JobHandle>>>,
) -> Option<Box<ErrorHandle>> {
    get((client, "client"), (job_out, "job_out"), |client| {
        let list = list_name(&list)?;
        let operation = list.shape().operation;
        let options =
            OptionsHandle::of_job(options, Some(JobKind::Export), operation, "an export")?;
        let path = self::path(&path, "path")?;
        let format = match format {
            0 => Format::of_path(path)?,
            number => Format::of_number(number)?,
        };
        let export = options.export(list, format, Target::File(path.to_owned()))?;
        let job = export.job(&client.inner)?;
        let stop = job.stop_handle();
        Ok(Box::new(JobHandle {
            work: Work::Export(job),
            stop,
        }))
    })
}

/// Creates a sync of a list into a mirror, which is one SQLite file. You may run the sync any number of times. Nothing is
/// sent or written yet.
///
/// @param client the client
/// @param list the name of the list, such as TALENTDATA_LIST_CONTACTS
/// @param path the file of the mirror, which is created if it does not exist
/// @param options the options, or NULL for the defaults
/// @param job_out the sync
/// Ownership: the caller frees `*job_out` with talentdata_job_free; it outlives the client. The arguments are copied.
/// Threads: any; no other thread may change `options` during the call.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list, an option that syncs do not take, or a path with a NUL; CLOSED.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_sync(
    client: Option<&ClientHandle>,
    list: Text,
    path: Text,
    options: Option<&OptionsHandle>,
    job_out: Option<&mut MaybeUninit<Box<JobHandle>>>,
) -> Option<Box<ErrorHandle>> {
    get((client, "client"), (job_out, "job_out"), |client| {
        let list = list_name(&list)?;
        let operation = list.shape().operation;
        let options = OptionsHandle::of_job(options, Some(JobKind::Sync), operation, "a sync")?;
        let sync = options.sync(list, self::path(&path, "path")?);
        let job = sync.job(&client.inner)?;
        let stop = job.stop_handle();
        Ok(Box::new(JobHandle {
            work: Work::Sync(job),
            stop,
        }))
    })
}

/// Runs a job, and waits until it is done. After an error you may call this function again. An export then resumes with
/// the kept records, whose number is in the message of the error. A sync changes its mirror only at the end, so an error
/// leaves the mirror unmodified.
///
/// @param job the job
/// @param receipt_out the receipt, a JSON object. For an export: the receipt of its scan, including the runs that it
/// resumed, and `written`. For a sync: `generation`, `bookmark`, `changes` by operation, `missing`, `withheld`, `removed`,
/// `shortfall`, the reason why changes may be missing from the mirror (null if completeness is proven), and `scan`, the
/// receipt of the scan
/// Ownership: the caller frees `*receipt_out` with talentdata_record_free.
/// Threads: one at a time per job; waits for the service. Closing or freeing the client does not end the job.
/// Errors: the errors of talentdata_scan_next; with the path, BUSY if another export or sync is writing to the file, PATH if
/// no file can be written at the path or another file is in the way, STORAGE_FULL if the disk is full, IO if writing fails
/// for another reason; SCHEMA for a new field, if the options say so; MISMATCH for a mirror of another service, client or
/// parameters; INVALID_ARGUMENT if an interrupted export kept records that may not be discarded by the options, and while
/// another thread runs the job; CANCELLED after talentdata_job_cancel; CLOSED in a forked child for a job of the parent.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_job_run(
    job: Option<NonNull<JobHandle>>,
    receipt_out: Option<&mut MaybeUninit<Box<RecordHandle>>>,
) -> Option<Box<ErrorHandle>> {
    get(
        (shared(&job), "job"),
        (receipt_out, "receipt_out"),
        |job| match &job.work {
            Work::Export(job) => RecordHandle::of(&job.run()?),
            Work::Sync(job) => RecordHandle::of(&job.run()?),
        },
    )
}

/// Starts a job like talentdata_job_run, without waiting for it.
///
/// @param job the job
/// @param call_out the run of the job, whose result is the receipt
/// Ownership: the caller frees `*call_out` with talentdata_call_free; it outlives job and client.
/// Threads: any. It does not wait.
/// Errors: INVALID_ARGUMENT for NULL, and while the job runs; CANCELLED after talentdata_job_cancel; CLOSED in a forked child
/// for a job of the parent. The result may have the errors of talentdata_job_run.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_job_begin(
    job: Option<NonNull<JobHandle>>,
    call_out: Option<&mut MaybeUninit<Box<CallHandle>>>,
) -> Option<Box<ErrorHandle>> {
    get((shared(&job), "job"), (call_out, "call_out"), |job| {
        let work = match &job.work {
            Work::Export(job) => CallWork::Export(job.begin()?),
            Work::Sync(job) => CallWork::Sync(job.begin()?),
        };
        Ok(CallHandle::new(work))
    })
}

/// Returns the progress of a job, without waiting: the receipt of its scan so far, with `records` and `total_last`. The
/// receipt says "unfinished" until the job is done. Returns NULL if `job` is NULL.
///
/// Ownership: the caller frees the result with talentdata_record_free.
/// Threads: any, also while another thread runs the job.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_job_progress(job: Option<&JobHandle>) -> Option<Box<RecordHandle>> {
    guard_or(None, || {
        let receipt = match &job?.work {
            Work::Export(job) => job.progress(),
            Work::Sync(job) => job.progress(),
        };
        RecordHandle::of(&receipt).ok()
    })
}

/// Cancels a job: the call that runs it and all later calls fail with CANCELLED. An export keeps its records to be
/// resumed. A sync does not modify its mirror. NULL does nothing.
///
/// Ownership: the caller still owns `job` and must free it.
/// Threads: any, also while another thread runs the job, and from a log callback; not from a signal handler.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_job_cancel(job: Option<NonNull<JobHandle>>) {
    guard_or((), || {
        if let Some(job) = shared(&job) {
            job.stop.stop();
        }
    });
}

/// Frees a job. NULL does nothing.
///
/// Ownership: `job` must no longer be used.
/// Threads: any, after every other call with this job has returned. If another thread may be running it,
/// cancel the job and join that thread first.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_job_free(job: Option<Box<JobHandle>>) {
    guard_or((), || drop(job));
}

/// Checks a file against its export receipt, byte for byte. A file that differs is not an error.
///
/// @param file the file
/// @param receipt the JSON of the receipt, or the path of a file with it. From an array of receipts, the receipt of a file
/// with this name is used.
/// @param report_out the report, a JSON object: `matches`, true if the file is what the export wrote; `bytes` and `blake3`
/// of the file; and `written` from the receipt
/// Ownership: the caller frees `*report_out` with talentdata_record_free.
/// Threads: any; reads the whole file.
/// Errors: INVALID_ARGUMENT for NULL, and if `receipt` is not the receipt of a complete export; PATH or IO if a file cannot
/// be read.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_verify(
    file: Text,
    receipt: Text,
    report_out: Option<&mut MaybeUninit<Box<RecordHandle>>>,
) -> Option<Box<ErrorHandle>> {
    get((Some(&()), "file"), (report_out, "report_out"), |()| {
        let file = path(&file, "file")?;
        let json_or_path = text(&receipt, "receipt")?;
        let parsed = if json_or_path.trim_ascii_start().starts_with(['{', '[']) {
            parse_receipt(json_or_path, file)?
        } else {
            read_receipt(path(&receipt, "receipt")?, file)?
        };
        RecordHandle::of(&verify(file, &parsed)?)
    })
}
