//! Failures of an open connection, in our own words. The libraries' messages may quote addresses and queries.

use super::connect::Route;
use crate::error::failure::{CUT, LOST, NOT_ENCODED, NOT_HTTP};
use crate::error::{Error, system_text};
use crate::process::lock;
use crate::tls;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, TRANSFER_ENCODING};
use std::error::Error as StdError;
use std::io;

/// Returns the error if there is no response from the service, or only a part of one.
pub(super) fn of(route: &Route, error: &(dyn StdError + 'static)) -> Error {
    let host = &route.host;
    // If the connection could not be opened, its error already says why.
    if let Some(known) = find::<Error>(error) {
        return known.clone();
    }
    let system = find::<io::Error>(error);
    if let Some(cause) = system.and_then(tls::tls_error) {
        return tls::closed(host, tls::has_identity(&route.tls), cause);
    }
    let http = find::<hyper::Error>(error);
    let is_garbled = system.is_some_and(|error| {
        matches!(
            error.kind(),
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput
        )
    });
    if is_garbled || http.is_some_and(hyper::Error::is_parse) {
        let said = match system {
            Some(error) if is_garbled => error.to_string(),
            _ => http.map_or_else(String::new, ToString::to_string),
        };
        let message = format!(
            "the response of {host} is not valid HTTP{}; check scheme, host and port of base_url, and any proxy before the service",
            part(&said)
        );
        return Error::of(NOT_HTTP, message);
    }
    let reason = match system {
        Some(error) if error.kind() != io::ErrorKind::UnexpectedEof => system_text(error),
        _ => {
            if let Some(cause) = lock(&route.refusal).take() {
                return tls::closed(host, tls::has_identity(&route.tls), &cause);
            }
            "it was closed before the response was complete".into()
        }
    };
    Error::of(LOST, format!("lost the connection to {host}: {reason}"))
}

/// Returns the part of a response that cannot be read, according to the library's message.
fn part(said: &str) -> &'static str {
    [
        ("too large", ", because its headers are too large"),
        ("content-length", ", because of its Content-Length"),
        ("transfer-encoding", ", because of its Transfer-Encoding"),
        ("header", ", because of a header"),
        ("status", ", because of its status"),
        (
            "version",
            ", because it does not begin with an HTTP version",
        ),
        ("chunk", ", because of a chunk"),
    ]
    .into_iter()
    .find_map(|(word, part)| said.to_ascii_lowercase().contains(word).then_some(part))
    .unwrap_or_default()
}

/// Returns the error for a body that cannot be decompressed. Only without a declared length may a body that ends too
/// early have been cut off.
pub(super) fn of_coding(host: &str, headers: &HeaderMap, error: &io::Error) -> Error {
    let coding = headers.get(CONTENT_ENCODING);
    let coding = coding.and_then(|it| it.to_str().ok()).unwrap_or_default();
    let is_delimited =
        headers.contains_key(CONTENT_LENGTH) || headers.contains_key(TRANSFER_ENCODING);
    match error.kind() {
        io::ErrorKind::UnexpectedEof if is_delimited => {
            let message = format!(
                "the response of {host} cannot be decompressed: the service sent all of it, but its {coding} data is incomplete"
            );
            Error::of(NOT_ENCODED, message)
        }
        io::ErrorKind::UnexpectedEof => {
            let message =
                format!("lost the connection to {host}: the compressed response ends too early");
            Error::of(CUT, message)
        }
        _ => {
            let message = format!(
                "the response of {host} cannot be decompressed: it is damaged, or not what its Content-Encoding ({coding}) says"
            );
            Error::of(NOT_ENCODED, message)
        }
    }
}

/// Returns the first cause of this type.
fn find<'a, T: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a T> {
    std::iter::successors(Some(error), |&error| {
        // `source` of an I/O error skips the error inside it, and returns that error's source.
        match error.downcast_ref::<io::Error>().map(io::Error::get_ref) {
            Some(Some(held)) if !held.is::<rustls::Error>() => {
                Some(held as &(dyn StdError + 'static))
            }
            _ => error.source(),
        }
    })
    .find_map(|error| error.downcast_ref())
}
