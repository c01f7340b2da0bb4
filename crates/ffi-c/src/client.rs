//! The client handle and its calls.

use crate::boundary::{
    MayBeFreed, array, block_signals, get, guard, guard_or, invalid, lent, slot, terminated, text,
};
use crate::config::Config;
use crate::error::Error;
use crate::generated::models::{Resource, TokenPermissions, VersionCheckResponse, VersionResponse};
use crate::options::ScanOptions;
use crate::page::Page;
use crate::scan::Scan;
use crate::text::Text;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use talentdata_core::blocking::Client as Blocking;
use talentdata_core::types::{CategoryName, Resource as CoreResource};
use talentdata_core::{Result, ScanOptions as CoreOptions};

/// In place of a limit: the service decides how many records a page holds.
pub const TALENTDATA_LIMIT_OF_SERVICE: u64 = u64::MAX;

/// A client of the service: one company's credentials, budget and connections. Any number of
/// threads may use it at once. Freed by talentdata_client_free.
pub struct Client {
    inner: Blocking,
    _lent: MayBeFreed,
}

/// Makes a client, without sending anything. It has two threads of its own, which see no signals.
///
/// After a fork the client works on in the child, with threads and connections of the child's own.
///
/// @param config its settings
/// @param client_out the client
/// Ownership: lends `config`; gives `*client_out`, free it by talentdata_client_free.
/// Threads: any; no other may change `config` meanwhile.
/// Errors: CONFIG, naming the setting that is missing or wrong; TLS when the system's certificates
/// cannot be used; INTERNAL when the system grants no threads; INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_new(
    config: Option<&Config>,
    client_out: Option<&mut MaybeUninit<Box<Client>>>,
) -> Option<Box<Error>> {
    get((config, "config"), (client_out, "client_out"), Client::new)
}

/// Makes a client from the environment and the profile file alone: TALENTDATA_BASE_URL,
/// TALENTDATA_CLIENT_ID and TALENTDATA_CLIENT_SECRET.
///
/// @param client_out the client
/// Ownership: gives `*client_out`; free it by talentdata_client_free.
/// Threads: any; no other may change the environment meanwhile.
/// Errors: as talentdata_client_new.
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

/// Frees a client; nothing happens when it is NULL. Calls of it that other threads have under way end with
/// CLOSED; its scans, pages and records stay valid.
///
/// Ownership: takes `client`.
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_free(client: Option<Box<Client>>) {
    guard_or((), || {
        if let Some(client) = &client {
            client.inner.close();
        }
        drop(client);
    });
}

/// Begins to read a list from its beginning to its end. Pages are fetched ahead while records are taken.
///
/// @param client the client
/// @param resource the list, a talentdata_resource
/// @param scan_out the scan
/// Ownership: lends `client`; gives `*scan_out`, free it by talentdata_scan_free.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL or a number that is no list; CLOSED. Nothing is sent yet.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_list(
    client: Option<&Client>,
    resource: u32,
    scan_out: Option<&mut MaybeUninit<Box<Scan>>>,
) -> Option<Box<Error>> {
    get((client, "client"), (scan_out, "scan_out"), |client| {
        client.scan(resource, CoreOptions::default())
    })
}

/// The same with options.
///
/// @param client the client
/// @param resource the list, a talentdata_resource
/// @param options what the scan is asked to do
/// @param scan_out the scan
/// Ownership: lends `client` and `options`; gives `*scan_out`, free it by talentdata_scan_free.
/// Threads: any; no other may change `options` meanwhile.
/// Errors: as talentdata_client_list.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_list_with(
    client: Option<&Client>,
    resource: u32,
    options: Option<&ScanOptions>,
    scan_out: Option<&mut MaybeUninit<Box<Scan>>>,
) -> Option<Box<Error>> {
    get((client, "client"), (scan_out, "scan_out"), |client| {
        client.scan(resource, lent(options, "options")?.inner.clone())
    })
}

/// One page of a list, as the service sent it (section 8 of the service document).
///
/// @param client the client
/// @param resource the list, a talentdata_resource
/// @param limit how many records at most, 1 to 100, or TALENTDATA_LIMIT_OF_SERVICE
/// @param offset how many records to skip
/// @param page_out the page
/// Ownership: lends `client`; gives `*page_out`, free it by talentdata_page_free.
/// Threads: any; blocks.
/// Errors: INVALID_ARGUMENT for NULL, a number that is no list, or another limit; those of a call.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_page(
    client: Option<&Client>,
    resource: u32,
    limit: u64,
    offset: u64,
    page_out: Option<&mut MaybeUninit<Box<Page>>>,
) -> Option<Box<Error>> {
    get((client, "client"), (page_out, "page_out"), |client| {
        let resource = list(resource)?;
        let limit = (limit != TALENTDATA_LIMIT_OF_SERVICE).then_some(limit);
        let page = client.inner.clone().page(resource, limit, offset)?;
        Ok(Box::new(Page::new(page, resource)?))
    })
}

/// Version and status of the service and of each category (section 9). Needs no credentials.
///
/// @param client the client
/// @param version_out the report
/// Ownership: lends `client`; gives `*version_out`, free it by talentdata_version_response_free.
/// Threads: any; blocks.
/// Errors: INVALID_ARGUMENT for NULL; those of a call.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_version(
    client: Option<&Client>,
    version_out: Option<&mut MaybeUninit<Box<VersionResponse>>>,
) -> Option<Box<Error>> {
    get((client, "client"), (version_out, "version_out"), |client| {
        let version = client.inner.clone().version()?;
        Ok(Box::new(VersionResponse::new(version)?))
    })
}

/// Whether the service still supports a client of this version that uses these categories
/// (section 9). The answer holds an entry per category.
///
/// @param client the client
/// @param client_version the API version the application was made for, such as 1.8.2, ended by a NUL
/// @param categories names of the categories it uses, each ended by a NUL; other names are legal
/// @param count how many categories
/// @param check_out the verdict
/// Ownership: lends all inputs; gives `*check_out`, free it by talentdata_version_check_response_free.
/// Threads: any; blocks.
/// Errors: INVALID_ARGUMENT for NULL, text that is not UTF-8, or an empty version; those of a call.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_check_version(
    client: Option<&Client>,
    client_version: *const c_char,
    categories: *const *const c_char,
    count: usize,
    check_out: Option<&mut MaybeUninit<Box<VersionCheckResponse>>>,
) -> Option<Box<Error>> {
    get((client, "client"), (check_out, "check_out"), |client| {
        let version = terminated(&client_version, "client_version")?;
        let names = array(&categories, count, "categories")?.iter();
        let names: Result<Vec<&str>> = names.map(|name| terminated(name, "categories")).collect();
        client.check(version, names?)
    })
}

/// The same for texts that no NUL ends.
///
/// @param client the client
/// @param client_version the API version the application was made for
/// @param length its length in bytes
/// @param categories names of the categories it uses
/// @param count how many categories
/// @param check_out the verdict
/// Ownership: lends all inputs; gives `*check_out`, free it by talentdata_version_check_response_free.
/// Threads: any; blocks.
/// Errors: as talentdata_client_check_version.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_check_version_n(
    client: Option<&Client>,
    client_version: *const c_char,
    length: usize,
    categories: *const Text,
    count: usize,
    check_out: Option<&mut MaybeUninit<Box<VersionCheckResponse>>>,
) -> Option<Box<Error>> {
    get((client, "client"), (check_out, "check_out"), |client| {
        let version = text(&client_version, length, "client_version")?;
        let names = array(&categories, count, "categories")?.iter();
        let names: Result<Vec<&str>> = names
            .map(|name| text(&name.data, name.length, "categories"))
            .collect();
        client.check(version, names?)
    })
}

/// Roles and permissions of the client's token (section 5).
///
/// @param client the client
/// @param permissions_out what the token may do
/// Ownership: lends `client`; gives `*permissions_out`, free it by talentdata_token_permissions_free.
/// Threads: any; blocks.
/// Errors: INVALID_ARGUMENT for NULL; AUTH when the credentials are refused; those of a call.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_permissions(
    client: Option<&Client>,
    permissions_out: Option<&mut MaybeUninit<Box<TokenPermissions>>>,
) -> Option<Box<Error>> {
    get(
        (client, "client"),
        (permissions_out, "permissions_out"),
        |client| {
            let permissions = client.inner.clone().permissions()?;
            Ok(Box::new(TokenPermissions::new(permissions)?))
        },
    )
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
            inner: Blocking::with_thread_start(config.builder.clone(), start)?,
            _lent: MayBeFreed::default(),
        }))
    }

    fn scan(&self, resource: u32, options: CoreOptions) -> Result<Box<Scan>> {
        let resource = list(resource)?;
        let scan = self.inner.clone().scan(resource, options)?;
        Ok(Box::new(Scan::new(scan, resource)))
    }

    fn check(&self, version: &str, names: Vec<&str>) -> Result<Box<VersionCheckResponse>> {
        let names = names.into_iter().map(CategoryName::from);
        let check = self.inner.clone().check_version(version, names)?;
        Ok(Box::new(VersionCheckResponse::new(check)?))
    }
}

/// The list of a number.
fn list(number: u32) -> Result<CoreResource> {
    let mut all = Resource::ALL.into_iter();
    let found = all.find(|(known, _)| *known as u32 == number);
    let found = found.map(|(_, list)| list);
    found.ok_or_else(|| invalid("resource", format_args!("{number} is no list")))
}
