//! The client handle. A client reads pages, starts scans, and calls the operations of the service.

use crate::boundary::{block_signals, guard_or, shared};
use crate::config::ConfigHandle;
use crate::error::ErrorHandle;
use crate::export::{get, guard, invalid, optional_text, slot, text};
use crate::log::LogSink;
use crate::options::OptionsHandle;
use crate::record::RecordHandle;
use crate::scan::ScanHandle;
use crate::text::Text;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use talentdata_columns::blocking::{self, BlockingScan};
use talentdata_core::blocking::Client as Blocking;
use talentdata_core::types::{ListName, OPERATIONS, Operation};
use talentdata_core::{Arguments, Client, Result};
use talentdata_mirror::internal::JobKind;

/// The limit for a page whose size the service decides.
pub const TALENTDATA_LIMIT_OF_SERVICE: u64 = u64::MAX;

/// A client of the service, with the credentials, the request budget and the connections of one company. Any number of
/// threads may use it at the same time. Freed with talentdata_client_free.
pub struct ClientHandle {
    pub(crate) inner: Blocking,
}

/// The version of the library that is running, such as 0.1.0; compare it with TALENTDATA_VERSION,
/// the version of the header.
///
/// Ownership: the text is a constant.
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_library_version() -> Text {
    Text::of(env!("CARGO_PKG_VERSION"))
}

/// Creates a client, without sending a request. The client starts two threads, which receive no signals.
///
/// After a fork the client also works in the child, which gets its own threads and connections.
///
/// @param config the settings of the client, or NULL for the settings of the environment (TALENTDATA_BASE_URL,
/// TALENTDATA_CLIENT_ID and TALENTDATA_CLIENT_SECRET) and the profile file
/// @param client_out the client
/// Ownership: the caller frees `*client_out` with talentdata_client_free. `config` may be freed after the call.
/// Threads: any; no other thread may change `config` or the environment during the call.
/// Errors: CONFIG, with the name of the setting, if a setting or a credential is missing or wrong; TLS if the system's
/// certificates cannot be used; INTERNAL if the system refuses to start threads; INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_new(
    config: Option<&ConfigHandle>,
    client_out: Option<&mut MaybeUninit<Box<ClientHandle>>>,
) -> Option<Box<ErrorHandle>> {
    guard(|| {
        let out = slot(client_out, "client_out")?;
        let builder = ConfigHandle::or_default(config)?;
        let settings = builder.config()?;
        settings.require_credentials()?;
        let sink = config.and_then(|config| config.sink.as_ref());
        let log = sink.map(LogSink::of_threads);
        let start = move || {
            block_signals();
            if let Some(log) = &log {
                log.attach();
            }
        };
        out.write(Box::new(ClientHandle {
            inner: Blocking::with_thread_start(settings, start)?,
        }));
        Ok(())
    })
}

/// Calls an operation of the service that is not a list, by its name in the OpenAPI file. The functions of
/// talentdata/service.h do the same with the parameters of each operation. All arguments are checked before the request is
/// sent. A call that is not idempotent is repeated only if it is certain that the service did not execute it.
///
/// @param client the client
/// @param operation the operationId, such as checkVersion
/// @param options the parameters of the operation, added with talentdata_options_add, or NULL
/// @param body the request body as JSON; absent if the operation takes none
/// @param response_out the response, byte for byte as the service sent it; NULL if it is empty
/// Ownership: the caller frees `*response_out` with talentdata_record_free. The arguments are borrowed during the call.
/// Threads: any; no other thread may change `options` during the call; waits for the service.
/// Errors: INVALID_ARGUMENT for NULL, an unknown operation, or an argument that cannot be sent, with its name; the errors of
/// a call.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_call(
    client: Option<&ClientHandle>,
    operation: Text,
    options: Option<&OptionsHandle>,
    body: Text,
    response_out: Option<&mut MaybeUninit<Option<Box<RecordHandle>>>>,
) -> Option<Box<ErrorHandle>> {
    get(
        (client, "client"),
        (response_out, "response_out"),
        |client| {
            let (operation, arguments) = call_arguments(&operation, options, &body)?;
            let json = client.inner.invoke(operation, arguments)?;
            json.map(|json| RecordHandle::parse(&json, None))
                .transpose()
        },
    )
}

/// Creates a scan of a whole list. Nothing is sent yet. The first wait starts the requests, and pages are read ahead while
/// the caller takes records.
///
/// @param client the client
/// @param list the name of the list, such as TALENTDATA_LIST_CONTACTS
/// @param options the options, or NULL for the defaults
/// @param scan_out the scan
/// Ownership: the caller frees `*scan_out` with talentdata_scan_free; it outlives the client. The arguments are copied.
/// Threads: any; no other thread may change `options` during the call.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list or an option that scans do not take; CLOSED.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_list(
    client: Option<&ClientHandle>,
    list: Text,
    options: Option<&OptionsHandle>,
    scan_out: Option<&mut MaybeUninit<Box<ScanHandle>>>,
) -> Option<Box<ErrorHandle>> {
    get((client, "client"), (scan_out, "scan_out"), |client| {
        Ok(Box::new(client.scan(&list, options)?))
    })
}

/// Reads a whole list as a stream of the Arrow C data interface: talentdata_client_list and talentdata_scan_arrow_stream in
/// one call. Waits for the first pages, which determine the columns. Each call reads the list again.
///
/// @param client the client
/// @param list the name of the list, such as TALENTDATA_LIST_CONTACTS
/// @param options the options, or NULL for the defaults
/// @param stream_out the stream; its previous content is overwritten
/// Ownership: the caller, or the consumer that receives the stream, calls its release function, which stops its requests.
/// Batches stay valid after stream and client are freed.
/// Threads: any; no other thread may change `options` during the call; waits for the service.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list or an option that scans do not take; CLOSED; the errors of
/// talentdata_scan_next. The stream has the errors of talentdata_scan_arrow_stream, as texts.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_arrow_stream(
    client: Option<&ClientHandle>,
    list: Text,
    options: Option<&OptionsHandle>,
    stream_out: Option<&mut MaybeUninit<FFI_ArrowArrayStream>>,
) -> Option<Box<ErrorHandle>> {
    get((client, "client"), (stream_out, "stream_out"), |client| {
        client.scan(&list, options)?.stream()
    })
}

/// Fetches one page of a list.
///
/// @param client the client
/// @param list the name of the list, such as TALENTDATA_LIST_CONTACTS
/// @param limit the maximum number of records, 1 to 100, or TALENTDATA_LIMIT_OF_SERVICE
/// @param offset the number of records to skip
/// @param options parameters of the list, added with talentdata_options_add, or NULL
/// @param page_out the page: an object with `records`, an array, and `pagination`
/// Ownership: the caller frees `*page_out` with talentdata_record_free; its records belong to it.
/// Threads: any; no other thread may change `options` during the call; waits for the service.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list, another limit, or parameters that the list does not take; the errors
/// of a call.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_page(
    client: Option<&ClientHandle>,
    list: Text,
    limit: u64,
    offset: u64,
    options: Option<&OptionsHandle>,
    page_out: Option<&mut MaybeUninit<Box<RecordHandle>>>,
) -> Option<Box<ErrorHandle>> {
    get((client, "client"), (page_out, "page_out"), |client| {
        let list = list_name(&list)?;
        let arguments = OptionsHandle::arguments(options, list.shape().operation, "a page")?;
        let fetch = move |client| page(client, list, limit, offset, arguments);
        let json = client.inner.run(fetch)?;
        RecordHandle::parse(&json, Some(offset))
    })
}

/// Estimates the records, pages and time of a scan or an export of a whole list. Fetches one page.
///
/// @param client the client
/// @param list the name of the list, such as TALENTDATA_LIST_CONTACTS
/// @param options parameters of the list, added with talentdata_options_add, or NULL
/// @param plan_out the estimate: an object with `records`, `pages`, `seconds`, `members` (the number of clients that share
/// the budget), and the sizes `bytes` of all records, and `disk_bytes` and `memory_bytes` of an export
/// Ownership: the caller frees `*plan_out` with talentdata_record_free.
/// Threads: any; no other thread may change `options` during the call; waits for the service.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list, or parameters that the list does not take; the errors of a call.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_plan(
    client: Option<&ClientHandle>,
    list: Text,
    options: Option<&OptionsHandle>,
    plan_out: Option<&mut MaybeUninit<Box<RecordHandle>>>,
) -> Option<Box<ErrorHandle>> {
    get((client, "client"), (plan_out, "plan_out"), |client| {
        let list = list_name(&list)?;
        let arguments = OptionsHandle::arguments(options, list.shape().operation, "a plan")?;
        let plan = async move |client: Client| client.resource(list).with(arguments).plan().await;
        RecordHandle::of(&client.inner.run(plan)?)
    })
}

/// Determines the columns that an Arrow stream of a list would have, from the first 1,000 records. With the result as the
/// option schema, every later stream or file has the same columns.
///
/// @param client the client
/// @param list the name of the list, such as TALENTDATA_LIST_CONTACTS
/// @param options the option columns and parameters of the list, or NULL
/// @param schema_out the schema, a JSON object
/// Ownership: the caller frees `*schema_out` with talentdata_record_free.
/// Threads: any; no other thread may change `options` during the call; waits for the service.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list, or an option that schemas do not take; the errors of
/// talentdata_scan_next.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_schema(
    client: Option<&ClientHandle>,
    list: Text,
    options: Option<&OptionsHandle>,
    schema_out: Option<&mut MaybeUninit<Box<RecordHandle>>>,
) -> Option<Box<ErrorHandle>> {
    get((client, "client"), (schema_out, "schema_out"), |client| {
        let list = list_name(&list)?;
        let operation = list.shape().operation;
        let options = OptionsHandle::of_job(options, Some(JobKind::Schema), operation, "a schema")?;
        let schema = blocking::schema(&client.inner, list, options.scan, options.table.columns)?;
        RecordHandle::parse(&schema.to_json(), None)
    })
}

/// Closes a client: running calls of other threads and all later calls fail with CLOSED. Scans and jobs continue;
/// talentdata_scan_cancel and talentdata_job_cancel end them. A client may be closed twice. NULL does nothing.
///
/// To end a client that several threads use, close it, cancel its scans and jobs, join the threads, and then free it.
///
/// Ownership: the caller still owns `client` and must free it.
/// Threads: any, also during calls of other threads, and from a log callback. It does not wait.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_close(client: Option<NonNull<ClientHandle>>) {
    guard_or((), || {
        if let Some(client) = shared(&client) {
            client.inner.close();
        }
    });
}

/// Closes and frees a client. NULL does nothing. Its scans, jobs and records stay valid.
///
/// The client, its scans and its jobs share two threads, which end when the last of them is freed. That call waits for at
/// most 2 s while a log callback or a name lookup of the system is still running. If the budget is on a server, it waits for
/// another 0.2 s at most, to report that the client leaves the budget.
///
/// Ownership: `client` must no longer be used.
/// Threads: any, after every other call with this client has returned. A call that is about to begin
/// or has just begun would read freed memory, so close the client and join its threads first.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_free(client: Option<Box<ClientHandle>>) {
    guard_or((), || {
        if let Some(client) = &client {
            client.inner.close();
        }
        drop(client);
    });
}

impl ClientHandle {
    /// Returns a scan that has sent nothing yet.
    fn scan(&self, list: &Text, options: Option<&OptionsHandle>) -> Result<ScanHandle> {
        let list = list_name(list)?;
        let operation = list.shape().operation;
        let options = OptionsHandle::of_job(options, Some(JobKind::Scan), operation, "a scan")?;
        let scan = BlockingScan::new(&self.inner, list, options.scan, options.table)?;
        Ok(ScanHandle::new(scan))
    }
}

/// Returns the list with this name.
pub(crate) fn list_name(list: &Text) -> Result<ListName> {
    let name = text(list, "list")?;
    name.parse().map_err(|error| invalid("list", error))
}

/// Returns an operation with its arguments: its parameters and its body.
pub(crate) fn call_arguments(
    operation: &Text,
    options: Option<&OptionsHandle>,
    body: &Text,
) -> Result<(&'static Operation, Arguments)> {
    let operation = operation_of(text(operation, "operation")?)?;
    let mut arguments = OptionsHandle::arguments(options, operation, operation.id)?;
    if let Some(json) = optional_text(body, "body")? {
        serde_json::from_str::<serde::de::IgnoredAny>(json)
            .map_err(|error| invalid("body", format_args!("is not JSON: {error}")))?;
        arguments = arguments.with_json(json.to_owned());
    }
    Ok((operation, arguments))
}

/// Fetches one page, as JSON.
pub(crate) async fn page(
    client: Client,
    list: ListName,
    limit: u64,
    offset: u64,
    arguments: Arguments,
) -> Result<String> {
    let limit = (limit != TALENTDATA_LIMIT_OF_SERVICE).then_some(limit);
    let list = client.resource(list).with(arguments);
    list.page(limit, offset).await?.to_json()
}

/// Returns the operation with this ID.
fn operation_of(id: &str) -> Result<&'static Operation> {
    let callable = || OPERATIONS.iter().filter(|one| one.callable);
    let found = callable().find(|one| one.id == id);
    found.copied().ok_or_else(|| {
        let ids: Vec<&str> = callable().map(|one| one.id).collect();
        let ids = ids.join(", ");
        let why = format_args!("there is no operation {id:?}; the operations are {ids}");
        invalid("operation", why)
    })
}
