//! What went wrong on the way, in our own words: those of the libraries may quote addresses and queries.

use super::connect::ConnectTimeout;
use crate::error::{Error, ErrorKind};
use std::error::Error as StdError;
use std::io;

/// Says why there was no response from `host`.
pub(super) fn no_response(host: &str, error: &hyper_util::client::legacy::Error) -> Error {
    let mut causes = causes(error);
    if causes.clone().any(|cause| cause.is::<ConnectTimeout>()) {
        let message = format!("timed out connecting to {host}");
        return Error::new(ErrorKind::Timeout, message);
    }
    let reason = reason(error);
    let (kind, what) = if causes.any(|cause| cause.is::<rustls::Error>()) {
        (ErrorKind::Tls, format!("TLS handshake with {host} failed"))
    } else if error.is_connect() {
        (ErrorKind::Connect, format!("cannot connect to {host}"))
    } else {
        (
            ErrorKind::Transport,
            format!("lost the connection to {host}"),
        )
    };
    Error::new(kind, format!("{what}: {reason}"))
}

/// Says why the body of `host` ended.
pub(super) fn broken_body(host: &str, error: &hyper::Error) -> Error {
    let message = format!("lost the connection to {host}: {}", reason(error));
    Error::new(ErrorKind::Transport, message)
}

/// Says why a body of `host` cannot be decompressed.
pub(super) fn broken_gzip(host: &str, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Error::new(
            ErrorKind::Transport,
            format!("lost the connection to {host}: the compressed response ends too early"),
        ),
        _ => Error::new(
            ErrorKind::Decode,
            format!("the response of {host} cannot be decompressed: {error}"),
        ),
    }
}

/// The last in the chain of causes: the one that says what happened.
fn reason(error: &(dyn StdError + 'static)) -> String {
    let last = causes(error).last();
    last.map_or_else(|| error.to_string(), |cause| cause.to_string())
}

/// The error, what caused it, what caused that, and so on.
fn causes<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> + Clone {
    std::iter::successors(Some(error), |error: &&'a (dyn StdError + 'static)| {
        let error = *error;
        // An I/O error names the cause of what it holds as its own, and so hides what it holds.
        match error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
        {
            Some(held) => Some(held as &(dyn StdError + 'static)),
            None => error.source(),
        }
    })
}
