//! Calls of a client that are about the service and its token, not about a list.

use crate::boundary::{array, get, terminated, text};
use crate::client::Client;
use crate::error::Error;
use crate::generated::models::{TokenPermissions, VersionCheckResponse, VersionResponse};
use crate::text::Text;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use talentdata_core::Result;
use talentdata_core::types::CategoryName;

/// Fetches the version and status of the service and of each category. Needs no credentials.
///
/// @param client the client
/// @param version_out the report
/// Ownership: the caller frees `*version_out` with talentdata_version_response_free.
/// Threads: any; waits for the service.
/// Errors: INVALID_ARGUMENT for NULL; those of a call.
#[must_use]
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

/// Asks whether the service still supports a client of this version that uses these categories. The
/// response holds an entry per category.
///
/// @param client the client
/// @param client_version the API version the application was made for, such as 1.8.2, NUL-terminated
/// @param categories names of the categories it uses, each NUL-terminated; unknown names are allowed
/// @param count the number of categories
/// @param check_out the verdict
/// Ownership: the caller frees `*check_out` with talentdata_version_check_response_free.
/// Threads: any; waits for the service.
/// Errors: INVALID_ARGUMENT for NULL, text that is not UTF-8, or an empty version; those of a call.
#[must_use]
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
        check(client, version, names?)
    })
}

/// Like talentdata_client_check_version, for texts that need not end with a NUL.
///
/// @param client the client
/// @param client_version the API version the application was made for
/// @param length its length in bytes
/// @param categories names of the categories it uses
/// @param count the number of categories
/// @param check_out the verdict
/// Ownership: the caller frees `*check_out` with talentdata_version_check_response_free.
/// Threads: any; waits for the service.
/// Errors: as talentdata_client_check_version.
#[must_use]
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
        check(client, version, names?)
    })
}

/// Fetches the roles and permissions of the client's token.
///
/// @param client the client
/// @param permissions_out what the token may do
/// Ownership: the caller frees `*permissions_out` with talentdata_token_permissions_free.
/// Threads: any; waits for the service.
/// Errors: INVALID_ARGUMENT for NULL; AUTH when the credentials are refused; those of a call.
#[must_use]
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

fn check(client: &Client, version: &str, names: Vec<&str>) -> Result<Box<VersionCheckResponse>> {
    let names = names.into_iter().map(CategoryName::from);
    let check = client.inner.clone().check_version(version, names)?;
    Ok(Box::new(VersionCheckResponse::new(check)?))
}
