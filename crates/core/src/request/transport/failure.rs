//! What went wrong on the way, in our own words: those of the libraries may quote addresses and queries.

use crate::error::{Error, ErrorKind};
use std::error::Error as StdError;
use std::io;

/// Says why there is no response from `host`, or only a part of one.
pub(super) fn of(host: &str, error: reqwest::Error) -> Error {
    let error = error.without_url();
    let lost = format!("lost the connection to {host}");
    if error.is_timeout() {
        let step = if error.is_connect() {
            "connecting to"
        } else {
            "waiting for"
        };
        return Error::new(ErrorKind::Timeout, format!("timed out {step} {host}"));
    }
    if let Some(broken) = broken_coding(&error) {
        return match broken.kind() {
            io::ErrorKind::UnexpectedEof => {
                let message = format!("{lost}: the compressed response ends too early");
                Error::new(ErrorKind::Transport, message)
            }
            _ => {
                let message = format!("the response of {host} cannot be decompressed: {broken}");
                Error::new(ErrorKind::Decode, message)
            }
        };
    }
    let is_tls = causes(&error).any(|cause| cause.is::<rustls::Error>());
    let (kind, what) = match error.is_connect() {
        _ if is_tls && !error.is_decode() => {
            (ErrorKind::Tls, format!("TLS handshake with {host} failed"))
        }
        true => (ErrorKind::Connect, format!("cannot connect to {host}")),
        false => (ErrorKind::Transport, lost),
    };
    // The last of the causes says what happened.
    let reason = causes(&error).last().map(ToString::to_string);
    Error::new(kind, format!("{what}: {}", reason.unwrap_or_default()))
}

/// What the decoder reports. What the connection reports while a body is read comes by way of the HTTP library.
fn broken_coding(error: &reqwest::Error) -> Option<&io::Error> {
    let mut causes = causes(error).filter(|cause| !cause.is::<reqwest::Error>());
    let first = causes.next().filter(|_| error.is_decode())?;
    first.downcast_ref()
}

/// The error, what caused it, what caused that, and so on.
fn causes<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&error: &&'a (dyn StdError + 'static)| {
        // An I/O error names the cause of what it holds as its own, and so hides what it holds.
        match error.downcast_ref::<io::Error>().map(io::Error::get_ref) {
            Some(Some(held)) => Some(held as &(dyn StdError + 'static)),
            _ => error.source(),
        }
    })
}
