//! The error handle: a failure, and the facts about the failed call.

use crate::boundary::{bytes, guard_or};
use crate::text::Text;
use talentdata_core::{Error, ErrorKind};

/// A number that C passes for a kind; the header says `talentdata_error_kind`.
pub type ErrorKindNumber = u32;

/// A failure and its context. Freed with talentdata_error_free. It contains no secret, token or query string.
pub struct ErrorHandle {
    pub(crate) inner: Error,
    report: String,
}

impl ErrorHandle {
    pub(crate) fn new(inner: Error) -> Self {
        let report = inner.to_string();
        ErrorHandle { inner, report }
    }
}

/// The message for an error that is NULL.
const NONE: &str = "error: must not be NULL";

/// Returns the kind of failure, a talentdata_error_kind; INVALID_ARGUMENT if `error` is NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_error_code(error: Option<&ErrorHandle>) -> ErrorKind {
    error.map_or(ErrorKind::InvalidArgument, |error| error.inner.kind())
}

/// Returns one line for people with everything that is known about the failure.
///
/// Ownership: the text is valid until the error is freed; for NULL it is a constant.
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_error_message(error: Option<&ErrorHandle>) -> Text {
    Text::of(error.map_or(NONE, |error| &error.report))
}

/// Returns the failed operation of the service, such as listContacts; absent if the failure is not of an operation.
///
/// Ownership: the text is a constant.
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_error_operation(error: Option<&ErrorHandle>) -> Text {
    Text::of_option(error.and_then(|error| error.inner.operation()))
}

/// Returns the HTTP status, 100 to 599; 0 if there was no response or `error` is NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_error_status(error: Option<&ErrorHandle>) -> u16 {
    let status = error.and_then(|error| error.inner.status());
    status.unwrap_or(0)
}

/// Returns the number of times that the request was sent; 0 if it was never sent or `error` is NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_error_attempts(error: Option<&ErrorHandle>) -> u32 {
    error.map_or(0, |error| error.inner.attempts())
}

/// Returns the time to wait that the service requested, in milliseconds; -1 if there is none or `error` is NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_error_retry_after_ms(error: Option<&ErrorHandle>) -> i64 {
    let wait = error.and_then(|error| error.inner.retry_after());
    wait.map_or(-1, |wait| {
        i64::try_from(wait.as_millis()).unwrap_or(i64::MAX)
    })
}

/// Returns the offset of the failed page, in records; -1 if there is none or `error` is NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_error_offset(error: Option<&ErrorHandle>) -> i64 {
    let offset = error.and_then(|error| error.inner.offset());
    offset.map_or(-1, |offset| i64::try_from(offset).unwrap_or(i64::MAX))
}

/// Returns the service's identifier of the request; absent if the service sent none.
///
/// Ownership: the text is valid until the error is freed.
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_error_request_id(error: Option<&ErrorHandle>) -> Text {
    Text::of_option(error.and_then(|error| error.inner.request_id()))
}

/// Returns the beginning of the response body with secrets redacted, at most 512 bytes; absent if there is none.
///
/// Ownership: the text is valid until the error is freed.
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_error_body(error: Option<&ErrorHandle>) -> Text {
    Text::of_option(error.and_then(|error| error.inner.body()))
}

/// Returns whether the same call may succeed later without a change; false if `error` is NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_error_is_retryable(error: Option<&ErrorHandle>) -> bool {
    error.is_some_and(|error| error.inner.is_retryable())
}

/// Returns the name of an error kind, such as RateLimited, which is the same in every language; absent for an unknown
/// kind.
///
/// Ownership: the text is a constant.
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_error_kind_name(kind: ErrorKindNumber) -> Text {
    Text::of_option(of_number(kind).map(ErrorKind::name))
}

/// Creates an error, for tests of a program's error handling.
///
/// @param kind the kind, a talentdata_error_kind
/// @param message the message
/// Ownership: the caller frees the result with talentdata_error_free. It is never NULL.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL, an unknown kind, or text that is not UTF-8.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_error_new(
    kind: ErrorKindNumber,
    message: Text,
) -> Option<Box<ErrorHandle>> {
    guard_or(None, || {
        let message = bytes(&message).map(std::str::from_utf8);
        let made = match (message, of_number(kind)) {
            (None, _) => Error::invalid("message: must not be NULL"),
            (Some(Err(why)), _) => Error::invalid(format!("message: {why}")),
            (_, None) => Error::invalid(format!("kind: {kind} is not a kind of error")),
            (Some(Ok(message)), Some(kind)) => Error::new(kind, message),
        };
        Some(Box::new(ErrorHandle::new(made)))
    })
}

/// Returns the kind with this number from C.
fn of_number(kind: ErrorKindNumber) -> Option<ErrorKind> {
    let mut all = ErrorKind::ALL.into_iter();
    all.find(|known| known.number() == kind)
}

/// Frees an error. NULL does nothing.
///
/// Ownership: `error` and every text read from it must no longer be used.
/// Threads: any, one at a time per error.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_error_free(error: Option<Box<ErrorHandle>>) {
    guard_or((), || drop(error));
}
