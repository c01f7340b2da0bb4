//! The table of failures of a request: the consequence of each, and the reason. Only this table decides whether a
//! failure is an outage.
//!
//! Errors, the budget and the manual (docs/errors.md) all read this table.

use super::ErrorKind;

/// The consequence of a failed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// Several in a row are an outage. Then all requests of the budget wait, except one at a time that probes the
    /// service.
    Outage,
    /// The request is sent again, up to `max_attempts` times. Other requests continue.
    Attempts,
    /// The request is sent once more, because the response may have been damaged in transit.
    Twice,
    /// The call ends.
    Final,
}

impl Course {
    /// Returns the maximum number of attempts for a request that fails like this, regardless of the settings.
    pub const fn max_attempts(self) -> u32 {
        match self {
            Course::Outage | Course::Attempts => u32::MAX,
            Course::Twice => 2,
            Course::Final => 1,
        }
    }

    /// Returns a short description for the manual.
    pub const fn summary(self) -> &'static str {
        match self {
            Course::Outage => "outage",
            Course::Attempts => "attempts",
            Course::Twice => "one more attempt",
            Course::Final => "final",
        }
    }
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct RequestFailure {
    /// The failure, as the beginning of a message and as an entry of the manual.
    pub what: &'static str,
    /// The kind of the error.
    pub kind: ErrorKind,
    /// The consequence for the request.
    pub course: Course,
    /// The reason for the consequence, for the manual.
    pub why: &'static str,
}

/// Defines a constant for each row, and the list of all rows for the manual.
macro_rules! failures {
    ($($name:ident: $kind:ident, $course:ident, $what:literal, $why:literal;)*) => {
        $(pub(crate) const $name: RequestFailure = RequestFailure {
            what: $what, kind: ErrorKind::$kind, course: Course::$course, why: $why,
        };)*

        /// Failures without a response of the service, in the order in which a request can meet them.
        pub const FAILURES: &[RequestFailure] = &[$($name),*];
    };
}

failures! {
    NAME_UNKNOWN: Connect, Attempts, "the name of the host is unknown",
        "a wrong name stays wrong, but some name servers lose names for a moment";
    NAME_UNAVAILABLE: Connect, Outage, "no name server answers",
        "this machine or its name server is without a network";
    NOT_REACHED: Connect, Outage, "the host refuses the connection, or cannot be reached",
        "a service that restarts refuses connections";
    CONNECT_TIMEOUT: Timeout, Outage, "no connection within `connect_timeout`",
        "a service or network that is down says nothing";
    PROXY_REFUSED: Connect, Final, "the proxy refuses to connect",
        "its rules, its password or the address have to be changed first";
    PROXY_NOT_HTTP: Connect, Final, "the server at the proxy's address is not an HTTP proxy",
        "the setting names another port or scheme than the proxy's";
    PROXY_LOST: Connect, Outage, "the proxy ends the connection without an answer",
        "a proxy that restarts does so";
    TLS_REFUSED: Tls, Final, "the TLS handshake fails",
        "a certificate, a protocol version or a port has to be changed first";
    TLS_LOST: Connect, Outage, "the connection ends within the TLS handshake",
        "a service that restarts does so";
    TLS_CLOSED: Tls, Final, "the service ends an encrypted connection with a TLS alert",
        "it refuses the client, such as one without a certificate";
    LOST: Transport, Outage, "the connection is lost before the response is complete",
        "a service that restarts loses connections";
    NOT_HTTP: Decode, Twice, "the response is not HTTP",
        "a repeat gets the same bytes, unless they were damaged on their way";
    NOT_ENCODED: Decode, Twice, "the response cannot be decompressed",
        "a repeat gets the same bytes, unless they were damaged on their way";
    CUT: Transport, Outage, "a compressed response without a declared length ends too early",
        "a service that restarts breaks responses off";
    TOO_LARGE: TooLarge, Final, "the response is larger than the client takes",
        "a repeat is as large; only a page of a list can be requested in smaller parts";
    ATTEMPT_TIMEOUT: Timeout, Outage, "no complete response within `attempt_timeout` or `timeout`",
        "a service that is overloaded or down answers late or never";
    IDLE_TIMEOUT: Timeout, Outage, "the response pauses for longer than `idle_timeout`",
        "a service that is overloaded or down stops sending";
}

/// Returns a row for statuses.
const fn of(
    kind: ErrorKind,
    course: Course,
    what: &'static str,
    why: &'static str,
) -> RequestFailure {
    RequestFailure {
        what,
        kind,
        course,
        why,
    }
}

/// Statuses other than success, by their first and last number. The first matching row applies.
#[rustfmt::skip]
pub const STATUSES: &[(u16, u16, RequestFailure)] = {
    use Course::{Attempts, Final, Outage};
    use ErrorKind::{Auth, BadRequest, Conflict, Forbidden, NotFound, RateLimited, Redirect, Server, Timeout};
    const DOWN: &str = "a service that restarts or is overloaded answers like this";
    const SAME: &str = "a repeat gets the same answer";
    const ALONE: &str = "it concerns this request alone";
    const ORIGIN: &str = "a GET request follows it up to five times within the origin of base_url; nothing else does, so that no credential leaves its origin";
    &[
        (300, 399, of(Redirect, Final, "the service redirects", ORIGIN)),
        (401, 401, of(Auth, Final, "the service requires a valid access token", "it is sent again with a new token first")),
        (403, 403, of(Forbidden, Final, "the token may not do this; its permissions say what it may", SAME)),
        (404, 404, of(NotFound, Final, "the service knows nothing at this address; check base_url", SAME)),
        (407, 407, of(BadRequest, Final, "a proxy before the service requires a user and a password", SAME)),
        (408, 408, of(Timeout, Attempts, "the service gave up waiting for the request", ALONE)),
        (409, 409, of(Conflict, Final, "the service reports a conflict", SAME)),
        (425, 425, of(Timeout, Attempts, "the service asks to send the request again later (Too Early)", ALONE)),
        (429, 429, of(RateLimited, Attempts, "the rate limit is reached", "it is sent again after the wait that the service asks for")),
        (400, 499, of(BadRequest, Final, "the service refused the request", SAME)),
        (501, 501, of(Server, Final, "the service cannot do this", SAME)),
        (500, 504, of(Server, Outage, "the service failed", DOWN)),
        (505, 505, of(Server, Final, "the service cannot do this", SAME)),
        (511, 511, of(Server, Final, "the network requires a login before it lets requests through", SAME)),
        (506, 599, of(Server, Attempts, "the service failed", ALONE)),
        (0, u16::MAX, of(Server, Final, "the service answered with an unknown status", SAME)),
    ]
};

/// Returns the failure that a status means, or `None` for a success. The service documents 429; the rest is common
/// HTTP.
pub(crate) fn of_status(status: u16) -> Option<RequestFailure> {
    let mut rows = STATUSES.iter();
    let row = rows.find(|(first, last, _)| (*first..=*last).contains(&status));
    row.filter(|_| !(200..300).contains(&status))
        .map(|(.., failure)| *failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_retried_is_an_outage() {
        let statuses = STATUSES.iter().map(|(.., failure)| failure);
        for failure in FAILURES.iter().chain(statuses) {
            let waits = matches!(failure.course, Course::Outage | Course::Attempts);
            assert!(
                !waits || failure.kind.is_retryable(),
                "{failure:?} is repeated, but scripts are told not to"
            );
        }
    }

    #[test]
    fn a_status_has_one_row() {
        let course = |status| of_status(status).map(|failure| failure.course);
        for (status, wanted) in [
            (200, None),
            (299, None),
            (199, Some(Course::Final)),
            (307, Some(Course::Final)),
            (408, Some(Course::Attempts)),
            (422, Some(Course::Final)),
            (500, Some(Course::Outage)),
            (501, Some(Course::Final)),
            (504, Some(Course::Outage)),
            (507, Some(Course::Attempts)),
            (511, Some(Course::Final)),
            (700, Some(Course::Final)),
        ] {
            assert_eq!(course(status), wanted, "{status}");
        }
    }
}
