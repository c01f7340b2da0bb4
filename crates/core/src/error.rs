//! The client's only error type: a kind, a sentence, and the facts about the call that failed.

pub(crate) mod failure;
mod kind;
mod scrub;

use failure::{Course, RequestFailure};
pub use kind::{ErrorKind, Remedy};
use scrub::MAX_FOREIGN_BYTES;
use scrub::OMITTED;
pub(crate) use scrub::Scrubber;
pub use scrub::is_terminal_control;

use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, SystemTime};

/// Limits the length of a service's sentence, in bytes.
const LONGEST_SENTENCE: usize = 256;

/// The result of any operation that can fail here.
pub type Result<T> = std::result::Result<T, Error>;

impl ErrorKind {
    /// Returns the kind of a failure that the system reports for a file or a port.
    pub fn of_io(error: &io::Error) -> Self {
        use io::ErrorKind as System;
        // Rust has no stable name for it.
        #[cfg(unix)]
        if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
            return Self::Path;
        }
        match error.kind() {
            System::StorageFull | System::QuotaExceeded | System::FileTooLarge => Self::StorageFull,
            System::AddrInUse => Self::Busy,
            System::NotFound
            | System::PermissionDenied
            | System::IsADirectory
            | System::NotADirectory
            | System::ReadOnlyFilesystem
            | System::InvalidFilename
            | System::InvalidInput => Self::Path,
            _ => Self::Io,
        }
    }
}

/// The JSON form of an error in the file of a receipt.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ErrorReport {
    /// The kind, by the name that every language uses.
    pub kind: &'static str,
    /// The exit code of a command that ends with this error.
    pub exit_code: u8,
    /// The message, with the remedy.
    pub reason: String,
    /// True if the same call may succeed later without a change.
    pub retryable: bool,
    /// The seconds that the service asked to wait; null if it did not ask.
    pub retry_after: Option<f64>,
}

/// An error, with the facts about the call that failed.
///
/// `Display` is one line for people; `Debug` is the whole report. Neither ever contains a secret, a token or a query
/// string. At most 512 scrubbed bytes of a response body are kept, and a message that quotes the service is no longer
/// than that either.
///
/// ```
/// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let records = [("contacts".to_owned(), 250)].into();
/// # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
/// # let mut settings = talentdata_core::Client::builder();
/// # settings.base_url(sandbox.base_url()).client_id(sandbox.client_id()).client_secret(sandbox.client_secret());
/// # settings.budget("process");
/// # let client = settings.build()?;
/// use talentdata_core::ErrorKind;
///
/// let error = client.contacts().page(Some(0), 0).await.unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::InvalidArgument);
/// assert!(error.message().starts_with("limit"), "{error}");
/// assert!(!error.is_retryable());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    operation: Option<&'static str>,
    status: Option<u16>,
    retry_after: Option<Duration>,
    request_id: Option<String>,
    /// The time in the header `Date` of the response.
    date: Option<SystemTime>,
    attempts: u32,
    offset: Option<u64>,
    body: Option<String>,
    /// The service's own sentence about the failure, as the end of a message.
    service_sentence: String,
    max_attempts: u32,
    is_outage: bool,
    /// The row of the table of failures, by its text.
    failure: Option<&'static str>,
    /// True if the error was already logged.
    is_logged: bool,
}

impl Error {
    /// Returns an error of this kind with this message.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error(Box::new(Inner {
            kind,
            message: message.into(),
            operation: None,
            status: None,
            retry_after: None,
            request_id: None,
            date: None,
            attempts: 0,
            offset: None,
            body: None,
            service_sentence: String::new(),
            max_attempts: if kind.is_retryable() { u32::MAX } else { 1 },
            is_outage: false,
            failure: None,
            is_logged: false,
        }))
    }

    /// Returns the error for a failure of the table in `failure.rs`, with this message.
    pub(crate) fn of(failure: RequestFailure, message: impl Into<String>) -> Self {
        let mut error = Error::new(failure.kind, message);
        error.0.max_attempts = failure.course.max_attempts();
        error.0.is_outage = failure.course == Course::Outage;
        error.0.failure = Some(failure.what);
        error
    }

    /// Returns whether the error was created for this failure.
    pub(crate) fn is(&self, failure: RequestFailure) -> bool {
        self.0.failure == Some(failure.what)
    }

    /// Returns the error for a setting that is missing or wrong. `why` names it.
    pub fn config(why: impl Into<String>) -> Self {
        Error::new(ErrorKind::Config, why)
    }

    /// Returns the error for a wrong argument. `why` names it.
    pub fn invalid(why: impl Into<String>) -> Self {
        Error::new(ErrorKind::InvalidArgument, why)
    }

    /// Returns the error for a file or a port that the system refuses, with the kind that follows from its reason.
    /// The system's number of the error, and the name of a temporary file, are left out of the message.
    pub fn of_io(error: &io::Error, message: impl Into<String>) -> Self {
        let mut message: String = message.into();
        if let Some((text, rest)) = message.split_once(" (os error ")
            && let Some((_, rest)) = rest.split_once(')')
        {
            let rest = match rest.strip_prefix(" at path \"") {
                Some(named) => named.split_once('"').map_or("", |(_, rest)| rest),
                None => rest,
            };
            message = format!("{text}{rest}");
        }
        Error::new(ErrorKind::of_io(error), message)
    }

    /// Returns the error for a response that does not match the documented schema. `why` names the field.
    pub(crate) fn schema(why: impl Into<String>) -> Self {
        Error::new(ErrorKind::Schema, why)
    }

    /// Returns the error for a panic. `what` panicked, for example `a call`.
    #[doc(hidden)]
    pub fn panicked(what: &str) -> Self {
        Error::defect(&format!("{what} panicked"))
    }

    /// Returns the error for a defect of this library. `what` describes it, for example `a call panicked`.
    #[doc(hidden)]
    pub fn defect(what: &str) -> Self {
        let message = format!("internal error; please report it ({what})");
        Error::new(ErrorKind::Internal, message)
    }

    /// Runs `call`, and turns a panic in it into an error with the message of the panic.
    ///
    /// # Errors
    /// The errors of `call`.
    #[doc(hidden)]
    pub fn catch<T>(what: &str, call: impl FnOnce() -> Result<T>) -> Result<T> {
        // State that a panic leaves unfinished is dropped, or is protected by a lock that a panic poisons.
        catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<&str>().copied();
            let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
            let error = match text {
                Some(text) => Error::defect(&format!("{what} panicked: {text}")),
                None => Error::panicked(what),
            };
            // The panic's own value may panic when it is dropped.
            std::mem::forget(panic);
            Err(error)
        })
    }

    /// Returns the kind of failure. The numbers are the same in every language.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the sentence, without the facts that `Display` appends.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the spec's `operationId` of the operation that failed.
    pub fn operation(&self) -> Option<&'static str> {
        self.0.operation
    }

    /// Returns the HTTP status, if there was a response.
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// Returns the time that the service asked the client to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// Returns the service's ID of the request, if it sent one.
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// Returns the number of times that the request was sent.
    pub fn attempts(&self) -> u32 {
        self.0.attempts
    }

    /// Returns the offset of the page that failed, in records.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// Returns the beginning of the response's body, scrubbed, at most 512 bytes.
    pub fn body(&self) -> Option<&str> {
        self.0.body.as_deref()
    }

    /// Returns the maximum number of attempts for a request that fails like this, regardless of the settings.
    pub(crate) fn max_attempts(&self) -> u32 {
        self.0.max_attempts
    }

    /// Returns whether the same call may succeed later without a change: the kind allows it, and this failure may be
    /// temporary.
    pub fn is_retryable(&self) -> bool {
        self.0.kind.is_retryable() && self.0.max_attempts > 1
    }

    /// Returns the JSON form of the error for the file of a receipt.
    pub fn report(&self) -> ErrorReport {
        ErrorReport {
            kind: self.kind().name(),
            exit_code: self.kind().exit_code(),
            reason: self.to_string(),
            retryable: self.is_retryable(),
            retry_after: self.retry_after().map(|wait| wait.as_secs_f64()),
        }
    }

    /// Returns whether several failures like this one in a row are an outage.
    pub(crate) fn is_outage(&self) -> bool {
        self.0.is_outage
    }

    pub(crate) fn with_max_attempts(mut self, most: u32) -> Self {
        self.0.max_attempts = most;
        self
    }

    /// Adds the service's own sentence about the failure.
    pub(crate) fn with_service_sentence(mut self, service_sentence: String) -> Self {
        self.0.service_sentence = service_sentence;
        self
    }

    /// Changes the kind of the error.
    pub(crate) fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    /// Changes the message of the error.
    #[doc(hidden)]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.0.message = message.into();
        self
    }

    /// Changes the message of an error of a response, and keeps the service's sentence.
    pub(crate) fn with_meaning(self, meaning: &str) -> Self {
        let message = format!("{meaning}{}", self.0.service_sentence);
        self.with_message(message)
    }

    pub(crate) fn with_operation(mut self, operation: &'static str) -> Self {
        self.0.operation.get_or_insert(operation);
        self
    }

    /// Adds the facts about the response with the error.
    pub(crate) fn with_response(
        mut self,
        status: u16,
        request_id: Option<String>,
        body: Option<String>,
    ) -> Self {
        let inner = &mut *self.0;
        (inner.status, inner.request_id, inner.body) = (Some(status), request_id, body);
        self
    }

    /// Adds the time in the header `Date` of the response.
    pub(crate) fn with_date(mut self, header: Option<&str>) -> Self {
        self.0.date = header.and_then(|date| httpdate::parse_http_date(date).ok());
        self
    }

    pub(crate) fn date(&self) -> Option<SystemTime> {
        self.0.date
    }

    pub(crate) fn with_retry_after(mut self, wait: Option<Duration>) -> Self {
        self.0.retry_after = wait;
        self
    }

    /// Sets the number of attempts of the operation in the error. If an earlier step failed, for example the request
    /// for a token, its number is kept.
    pub(crate) fn with_attempts(mut self, attempts: u32) -> Self {
        if self.0.attempts == 0 {
            self.0.attempts = attempts;
        }
        self
    }

    /// Adds the offset of the page. A wrong setting is not the fault of a page.
    pub(crate) fn with_offset(mut self, offset: u64) -> Self {
        if self.0.kind != ErrorKind::Config {
            self.0.offset.get_or_insert(offset);
        }
        self
    }

    /// Makes the message and the request ID safe to show, regardless of what the service sent.
    ///
    /// Every error of a call or of a record passes through here. Code that creates an error need not sanitize it, and
    /// must not cut the text, because secrets are found only in a whole text.
    pub(crate) fn sanitize(mut self, scrubber: &Scrubber) -> Self {
        let inner = &mut *self.0;
        let request_id = inner.request_id.take();
        inner.request_id = request_id.and_then(|id| scrubber.request_id(&id));
        if scrubber.has_short_secret() {
            inner.body = None;
            inner.service_sentence.clear();
            if inner.kind.quotes_responses() {
                inner.message = format!("{}; {OMITTED}", inner.kind.summary());
            }
        }
        inner.service_sentence = scrubber.redact(&inner.service_sentence, LONGEST_SENTENCE);
        inner.message = scrubber.redact(&inner.message, MAX_FOREIGN_BYTES);
        if !inner.message.contains(&inner.service_sentence) {
            inner.message += &inner.service_sentence;
        }
        self
    }

    /// Logs the error that ends a call, a scan or a job of this client, but only once. An end that the caller requested
    /// is not a failure.
    #[doc(hidden)]
    #[must_use]
    pub fn logged(mut self, client: Option<&str>, list: Option<&str>) -> Self {
        let was_logged = std::mem::replace(&mut self.0.is_logged, true);
        if !was_logged && self.0.kind != ErrorKind::Cancelled {
            let inner = &*self.0;
            tracing::error!(
                operation = inner.operation,
                list,
                reason = inner.kind.name(),
                status = inner.status,
                offset = inner.offset,
                attempt = (inner.attempts > 0).then_some(inner.attempts),
                request_id = inner.request_id,
                client,
                "{}",
                inner.message
            );
        }
        self
    }

    fn facts(&self) -> String {
        let inner = &*self.0;
        let mut facts = vec![inner.kind.name().to_owned()];
        facts.extend(inner.operation.map(str::to_owned));
        facts.extend(inner.status.map(|status| format!("status {status}")));
        facts.extend(inner.offset.map(|offset| format!("page offset {offset}")));
        facts.extend((inner.attempts > 1).then(|| format!("after {} attempts", inner.attempts)));
        facts.extend(
            inner
                .retry_after
                .map(|wait| format!("retry after {} s", rounded_up(wait))),
        );
        facts.extend(inner.request_id.as_ref().map(|id| format!("request {id}")));
        facts.join(", ")
    }
}

/// Returns a time in seconds for people: rounded up, without needless digits.
pub(crate) fn rounded_up(time: Duration) -> f64 {
    let seconds = time.as_secs_f64();
    if seconds < 10.0 {
        (seconds * 10.0).ceil() / 10.0
    } else {
        seconds.ceil()
    }
}

/// Returns the system's own message about a failure, without its number.
pub fn system_text(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error")
        .next()
        .unwrap_or_default()
        .to_owned()
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.0.message, self.facts())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}\n  {}", self.0.message, self.facts())?;
        match &self.0.body {
            Some(body) => write!(formatter, "\n  the response began: {body}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_shown_without_needless_digits() {
        for (millis, told) in [
            (333, "0.4"),
            (1000, "1"),
            (1001, "1.1"),
            (9_876, "9.9"),
            (29_999, "30"),
        ] {
            let wait = Some(Duration::from_micros(millis * 1000));
            let error = Error::new(ErrorKind::RateLimited, "").with_retry_after(wait);
            let told = format!("retry after {told} s)");
            assert!(error.to_string().ends_with(&told), "{error}");
        }
    }

    #[test]
    fn display_is_one_line_and_debug_a_report() {
        let error = Error::new(ErrorKind::Server, "the service failed")
            .with_operation("listContacts")
            .with_response(503, None, Some("oops".into()))
            .with_offset(200)
            .with_attempts(4);
        assert_eq!(
            error.to_string(),
            "the service failed (Server, listContacts, status 503, page offset 200, after 4 attempts)"
        );
        assert!(format!("{error:?}").ends_with("the response began: oops"));
    }
}
