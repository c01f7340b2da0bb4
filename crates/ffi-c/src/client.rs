//! The client handle: made, closed and freed, and its lists.

use crate::boundary::{
    MayBeFreed, block_signals, get, guard, guard_or, invalid, lent, shared, slot,
};
use crate::config::Config;
use crate::error::Error;
use crate::generated::models::Resource;
use crate::options::ScanOptions;
use crate::page::Page;
use crate::parameters::Parameters;
use crate::scan::Scan;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use talentdata_columns::blocking::Scan as BlockingScan;
use talentdata_core::blocking::Client as Blocking;
use talentdata_core::types::Resource as CoreResource;
use talentdata_core::{Arguments, Result};

/// Passed as a limit, lets the service decide how many records a page holds.
pub const TALENTDATA_LIMIT_OF_SERVICE: u64 = u64::MAX;

/// A client of the service: one company's credentials, request budget and connections. Any number of
/// threads may use it at once. Freed with talentdata_client_free.
pub struct Client {
    pub(crate) inner: Blocking,
    _lent: MayBeFreed,
}

/// Creates a client without sending anything. It runs two threads of its own, which receive no signals.
///
/// After a fork the client also works in the child, which gets its own threads and connections.
///
/// @param config its settings
/// @param client_out the client
/// Ownership: the caller frees `*client_out` with talentdata_client_free.
/// Threads: any; no other may change `config` meanwhile.
/// Errors: CONFIG, naming the setting that is missing or wrong; TLS when the system's certificates
/// cannot be used; INTERNAL when the system refuses to start threads; INVALID_ARGUMENT.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_new(
    config: Option<&Config>,
    client_out: Option<&mut MaybeUninit<Box<Client>>>,
) -> Option<Box<Error>> {
    get((config, "config"), (client_out, "client_out"), Client::new)
}

/// Creates a client from the environment (TALENTDATA_BASE_URL, TALENTDATA_CLIENT_ID and
/// TALENTDATA_CLIENT_SECRET) and the profile file alone.
///
/// @param client_out the client
/// Ownership: the caller frees `*client_out` with talentdata_client_free.
/// Threads: any; no other may change the environment meanwhile.
/// Errors: as talentdata_client_new.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_from_environment(
    client_out: Option<&mut MaybeUninit<Box<Client>>>,
) -> Option<Box<Error>> {
    guard(|| {
        let out = slot(client_out, "client_out")?;
        out.write(Client::new(&Config::default())?);
        Ok(())
    })
}

/// Closes a client: calls that other threads have in progress end with CLOSED, and so does every later
/// one. Scans and exports go on; talentdata_scan_cancel and talentdata_exporter_cancel end them. Closing twice
/// is allowed.
///
/// To end a client that several threads use, close it (and cancel its scans and exports), join the threads,
/// then free it.
///
/// @param client the client
/// Ownership: the caller still owns `client` and has to free it.
/// Threads: any, also while others are in calls, and from a log callback.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_close(client: Option<NonNull<Client>>) -> Option<Box<Error>> {
    guard(|| {
        lent(shared(&client), "client")?.inner.clone().close();
        Ok(())
    })
}

/// Closes and frees a client; does nothing when it is NULL. Its scans, exporters, pages and records stay valid.
///
/// Where the budget is on a server, whichever of the client, its scans and its exporters is freed last waits until the
/// server knows that the client has left, 0.2 s at most.
///
/// Ownership: `client` must not be used any more.
/// Threads: any, once every other call with this client has returned. A call that is about to begin
/// or has just begun would read freed memory, so close the client and join its threads first.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_free(client: Option<Box<Client>>) {
    guard_or((), || {
        if let Some(client) = &client {
            client.inner.close();
        }
        drop(client);
    });
}

/// Creates a scan of a whole list. Requests begin with the first wait, and pages are fetched ahead while records
/// are taken.
///
/// @param client the client
/// @param resource the list, a talentdata_resource
/// @param scan_out the scan
/// Ownership: the caller frees `*scan_out` with talentdata_scan_free.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL or an unknown list; CLOSED. Nothing is sent yet.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_list(
    client: Option<&Client>,
    resource: u32,
    scan_out: Option<&mut MaybeUninit<Box<Scan>>>,
) -> Option<Box<Error>> {
    get((client, "client"), (scan_out, "scan_out"), |client| {
        client.scan(resource, &ScanOptions::default())
    })
}

/// Like talentdata_client_list, with options.
///
/// @param client the client
/// @param resource the list, a talentdata_resource
/// @param options the options of the scan
/// @param scan_out the scan
/// Ownership: the caller frees `*scan_out` with talentdata_scan_free.
/// Threads: any; no other may change `options` meanwhile.
/// Errors: as talentdata_client_list.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_list_with(
    client: Option<&Client>,
    resource: u32,
    options: Option<&ScanOptions>,
    scan_out: Option<&mut MaybeUninit<Box<Scan>>>,
) -> Option<Box<Error>> {
    get((client, "client"), (scan_out, "scan_out"), |client| {
        client.scan(resource, lent(options, "options")?)
    })
}

/// Fetches one page of a list.
///
/// @param client the client
/// @param resource the list, a talentdata_resource
/// @param limit the largest number of records, 1 to 100, or TALENTDATA_LIMIT_OF_SERVICE
/// @param offset how many records to skip
/// @param page_out the page
/// Ownership: the caller frees `*page_out` with talentdata_page_free.
/// Threads: any; waits for the service.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list, or another limit; those of a call.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_page(
    client: Option<&Client>,
    resource: u32,
    limit: u64,
    offset: u64,
    page_out: Option<&mut MaybeUninit<Box<Page>>>,
) -> Option<Box<Error>> {
    get((client, "client"), (page_out, "page_out"), |client| {
        client.page(resource, Arguments::default(), limit, offset)
    })
}

/// Like talentdata_client_page, with values of the list's parameters, such as filters.
///
/// @param client the client
/// @param resource the list, a talentdata_resource
/// @param limit the largest number of records, 1 to 100, or TALENTDATA_LIMIT_OF_SERVICE
/// @param offset how many records to skip
/// @param parameters the parameters
/// @param page_out the page
/// Ownership: the caller frees `*page_out` with talentdata_page_free.
/// Threads: any; no other may change `parameters` meanwhile; waits for the service.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list, another limit, or parameters that the list does not take; those
/// of a call.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_page_with(
    client: Option<&Client>,
    resource: u32,
    limit: u64,
    offset: u64,
    parameters: Option<&Parameters>,
    page_out: Option<&mut MaybeUninit<Box<Page>>>,
) -> Option<Box<Error>> {
    get((client, "client"), (page_out, "page_out"), |client| {
        let arguments = lent(parameters, "parameters")?.arguments();
        client.page(resource, arguments, limit, offset)
    })
}

// Each call works on a clone, which shares everything and outlives the handle.
impl Client {
    fn new(config: &Config) -> Result<Box<Self>> {
        let sink = config.sink.clone();
        let start = move || {
            block_signals();
            if let Some(sink) = &sink {
                sink.attach();
            }
        };
        Ok(Box::new(Client {
            inner: Blocking::with_thread_start(&config.builder, start)?,
            _lent: MayBeFreed::default(),
        }))
    }

    fn page(
        &self,
        resource: u32,
        arguments: Arguments,
        limit: u64,
        offset: u64,
    ) -> Result<Box<Page>> {
        let resource = list(resource)?;
        let limit = (limit != TALENTDATA_LIMIT_OF_SERVICE).then_some(limit);
        let client = self.inner.clone();
        let page = client.page_with(resource, arguments, limit, offset)?;
        Ok(Box::new(Page::new(page, resource)?))
    }

    fn scan(&self, resource: u32, options: &ScanOptions) -> Result<Box<Scan>> {
        let resource = list(resource)?;
        let (options, table) = (options.scan.clone(), options.table.clone());
        let scan = BlockingScan::new(&self.inner.clone(), resource, options, table)?;
        Ok(Box::new(Scan::new(scan, resource)))
    }
}

/// The list of a number.
pub(crate) fn list(number: u32) -> Result<CoreResource> {
    let mut all = Resource::ALL.into_iter();
    let found = all.find(|(known, _)| *known as u32 == number);
    let found = found.map(|(_, list)| list);
    found.ok_or_else(|| invalid("resource", format_args!("{number} is not a known list")))
}
