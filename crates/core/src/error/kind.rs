//! The kinds of error, declared once for every language: number, name, exit code, retry.

use ErrorKind::*;

/// The kind of an error.
///
/// The numbers are part of the interface: the C header, Python's classes and the exit codes of the command line are
/// generated from them. They never change; new kinds are added at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(C)]
pub enum ErrorKind {
    /// A setting is missing or wrong; nothing was sent.
    Config = 1,
    /// An argument is wrong; nothing was sent.
    InvalidArgument = 2,
    /// The connection to the service failed.
    Connect = 3,
    /// The service's certificate or the TLS handshake was refused.
    Tls = 4,
    /// The connection was lost.
    Transport = 5,
    /// A deadline passed.
    Timeout = 6,
    /// The service answered with a redirect that is not followed: it leads to another origin, or does not answer a GET
    /// request.
    Redirect = 7,
    /// The response is larger than the client takes.
    TooLarge = 8,
    /// The response cannot be read: it is not the JSON that it should be, or not HTTP.
    Decode = 9,
    /// The response is JSON that does not match the documented schema.
    Schema = 10,
    /// The credentials or the token were refused.
    Auth = 11,
    /// The service issued a token that cannot be used.
    TokenResponse = 12,
    /// The token may not do this (status 403).
    Forbidden = 13,
    /// The address does not exist (status 404).
    NotFound = 14,
    /// The request conflicts with the state of the service (status 409).
    Conflict = 15,
    /// The service refused the request as wrong (other statuses of 400 to 499).
    BadRequest = 16,
    /// The rate limit is reached, and the wait asked for is longer than allowed (status 429).
    RateLimited = 17,
    /// The service failed (status 500 and above).
    Server = 18,
    /// The service answered 200 and said `success: false`.
    Api = 19,
    /// The pages of a list contradict each other, or make no progress.
    Paging = 20,
    /// Everything was read, but there are doubts whether that was all; the receipt names them.
    Incomplete = 21,
    /// A file could not be read or written.
    Io = 22,
    /// The caller stopped the operation.
    Cancelled = 23,
    /// The client, scan or handle is closed.
    Closed = 24,
    /// A defect of this library.
    Internal = 25,
    /// A file is not what it is taken for: not the one of its receipt, a mirror of another service, client or history.
    Mismatch = 26,
    /// The disk is full, or a quota or the allowed size of a file is reached.
    StorageFull = 27,
    /// Another process is using the file, the mirror or the port.
    Busy = 28,
    /// A path does not lead to a usable file: nothing is there, it is not a file of this kind, or access is denied.
    Path = 29,
}

impl ErrorKind {
    /// Every kind, in the order of the numbers.
    ///
    /// cbindgen:ignore
    pub const ALL: [ErrorKind; FACTS.len()] = {
        let mut all = [Self::Config; FACTS.len()];
        let mut index = 0;
        while index < FACTS.len() {
            all[index] = FACTS[index].0;
            index += 1;
        }
        all
    };

    /// Returns the number that every language uses.
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// Returns the name that every language uses.
    pub const fn name(self) -> &'static str {
        self.facts().1
    }

    /// Returns a short description for help texts.
    pub const fn summary(self) -> &'static str {
        self.facts().2
    }

    /// Returns whether the same call may succeed later without a change. For a single error, `Error::is_retryable` is
    /// more precise.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use talentdata_core::ErrorKind;
    ///
    /// assert!(ErrorKind::Timeout.is_retryable());
    /// assert!(!ErrorKind::Auth.is_retryable());
    /// assert_eq!(ErrorKind::Timeout.name(), "Timeout");
    /// # Ok(())
    /// # }
    /// ```
    pub const fn is_retryable(self) -> bool {
        matches!(self.remedy(), Remedy::Retry)
    }

    /// Returns what a script should do about the error.
    pub const fn remedy(self) -> Remedy {
        self.facts().3
    }

    /// Returns the exit code of the command line: 2 for usage, 130 if stopped, otherwise 10 plus the number.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Config | Self::InvalidArgument => 2,
            Self::Cancelled => 130,
            other => 10 + other.number() as u8,
        }
    }

    /// Returns the status code of ADBC.
    pub const fn adbc_status(self) -> u8 {
        match self {
            Self::NotFound => 3,
            Self::Config | Self::InvalidArgument | Self::BadRequest | Self::Path => 5,
            Self::Closed | Self::Busy => 6,
            Self::Decode | Self::Schema | Self::Api | Self::TooLarge => 7,
            Self::Paging | Self::Incomplete | Self::Mismatch => 8,
            Self::Internal => 9,
            Self::Cancelled => 11,
            Self::Timeout => 12,
            Self::Auth | Self::TokenResponse => 13,
            Self::Forbidden => 14,
            _ => 10,
        }
    }

    /// Returns whether messages of this kind may quote the service.
    pub(super) const fn quotes_responses(self) -> bool {
        matches!(
            self,
            Self::Redirect
                | Self::Decode
                | Self::Schema
                | Self::TokenResponse
                | Self::Api
                | Self::Paging
        )
    }

    const fn facts(self) -> (ErrorKind, &'static str, &'static str, Remedy) {
        FACTS[self as usize - 1]
    }
}

/// The action that a script should take after an error. The manual, docs/errors.md, lists it for each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Repeat the call later: after the wait that the error names, otherwise after a minute.
    Retry,
    /// Correct a setting, an argument or the program first.
    Correct,
    /// Free disk space first.
    MakeRoom,
    /// Skip this list, record or call. A repeat gets the same answer.
    Skip,
    /// Continue with the data that was received.
    Continue,
    /// Alert somebody, who must look at the service, the network or the machine.
    WakeSomebody,
}

impl Remedy {
    /// Returns the sentence for the manual.
    pub const fn advice(self) -> &'static str {
        match self {
            Self::Retry => "Retry: after the wait that the error names, otherwise after a minute.",
            Self::Correct => "Correct what the message names. A repeat gets the same error.",
            Self::MakeRoom => "Free disk space or raise the limit. Then make the same call again.",
            Self::Skip => "Skip this list, record or call, and continue with the next.",
            Self::Continue => "Continue with the data that was received.",
            Self::WakeSomebody => "Wake somebody. A repeat gets the same error.",
        }
    }
}

/// Each kind with its name, a short description and the remedy, in the order of the numbers.
#[rustfmt::skip]
const FACTS: &[(ErrorKind, &str, &str, Remedy)] = &[
    (Config, "Config", "a setting is missing or wrong", Remedy::Correct),
    (InvalidArgument, "InvalidArgument", "an argument is wrong", Remedy::Correct),
    (Connect, "Connect", "no connection", Remedy::Retry),
    (Tls, "Tls", "TLS handshake failed", Remedy::WakeSomebody),
    (Transport, "Transport", "connection lost", Remedy::Retry),
    (Timeout, "Timeout", "a deadline passed", Remedy::Retry),
    (Redirect, "Redirect", "the service redirects elsewhere", Remedy::WakeSomebody),
    (TooLarge, "TooLarge", "the response is too large", Remedy::WakeSomebody),
    (Decode, "Decode", "the response cannot be read", Remedy::WakeSomebody),
    (Schema, "Schema", "the response does not match the documented schema", Remedy::WakeSomebody),
    (Auth, "Auth", "credentials or token refused", Remedy::WakeSomebody),
    (TokenResponse, "TokenResponse", "the issued token cannot be used", Remedy::WakeSomebody),
    (Forbidden, "Forbidden", "not permitted (403)", Remedy::Skip),
    (NotFound, "NotFound", "not found (404)", Remedy::Skip),
    (Conflict, "Conflict", "conflict (409)", Remedy::Skip),
    (BadRequest, "BadRequest", "request refused (other 4xx)", Remedy::Correct),
    (RateLimited, "RateLimited", "rate limit reached (429)", Remedy::Retry),
    (Server, "Server", "the service failed (5xx)", Remedy::Retry),
    (Api, "Api", "the service said success: false", Remedy::WakeSomebody),
    (Paging, "Paging", "the pages contradict each other", Remedy::WakeSomebody),
    (Incomplete, "Incomplete", "completeness is not proven", Remedy::Continue),
    (Io, "Io", "a file could not be read or written", Remedy::WakeSomebody),
    (Cancelled, "Cancelled", "stopped by the caller", Remedy::Continue),
    (Closed, "Closed", "used after it was closed", Remedy::Correct),
    (Internal, "Internal", "internal error; please report it", Remedy::WakeSomebody),
    (Mismatch, "Mismatch", "a file is not what it is taken for", Remedy::WakeSomebody),
    (StorageFull, "StorageFull", "no space left for a file", Remedy::MakeRoom),
    (Busy, "Busy", "in use by another process", Remedy::Retry),
    (Path, "Path", "a path leads to no file that can be used", Remedy::Correct),
];

#[cfg(test)]
mod tests {
    use super::ErrorKind;

    #[test]
    fn every_kind_is_listed_at_its_number() {
        for (index, kind) in ErrorKind::ALL.into_iter().enumerate() {
            assert_eq!(kind.number() as usize, index + 1, "{}", kind.name());
            assert_eq!(kind.name(), format!("{kind:?}"));
        }
    }

    #[test]
    fn exit_codes_distinguish_kinds() {
        let codes: std::collections::BTreeSet<u8> =
            ErrorKind::ALL.iter().map(|kind| kind.exit_code()).collect();
        assert_eq!(codes.len(), ErrorKind::ALL.len() - 1);
        assert!(!codes.contains(&0) && !codes.contains(&1));
    }
}
