//! Judges a response: which error a status means, and whether a body is the JSON it should be.

use crate::error::ErrorKind::{
    Auth, BadRequest, Conflict, Forbidden, NotFound, RateLimited, Redirect, Server, Timeout,
};
use crate::error::{Error, ErrorKind, Result};
use crate::request::transport::Response;
use url::Url;

/// The names of encodings that are read.
const UTF_8: [&str; 3] = ["utf-8", "utf8", "us-ascii"];

impl Response {
    /// The error that the status means; section 7 shows 429, the rest is common HTTP.
    pub(crate) fn error_of_status(&self) -> Option<Error> {
        let status = self.status.as_u16();
        let (kind, message) = match status {
            200..=299 => return None,
            300..=399 => {
                // The host is all that is said of the target; its path and query are nobody's business.
                let target = self
                    .header("location")
                    .and_then(|text| Url::parse(text).ok());
                let host = target.as_ref().and_then(Url::host_str);
                let target = host.map(|host| format!(" to {host}")).unwrap_or_default();
                let message = format!(
                    "the service redirects{target}; no redirect is followed, set base_url to where the service is"
                );
                return Some(Error::new(Redirect, message));
            }
            401 => (Auth, "the service requires a valid access token"),
            403 => (
                Forbidden,
                "the token may not do this; `talentdata permissions` shows what it may",
            ),
            404 => (
                NotFound,
                "the service knows nothing at this address; check base_url",
            ),
            408 | 425 => (Timeout, "the service gave up waiting for the request"),
            409 => (Conflict, "the service reports a conflict"),
            429 => (RateLimited, "the rate limit is reached"),
            400..=499 => (BadRequest, "the service refused the request"),
            501 | 505 | 511 => (Server, "the service cannot do this"),
            500..=599 => (Server, "the service failed"),
            _ => (Server, "the service answered with an unknown status"),
        };
        let error = Error::new(kind, message);
        let limits = &self.limits;
        Some(match status {
            429 => error.with_retry_after(limits.retry_after.or(limits.reset)),
            501 | 505 | 511 | ..=199 | 600.. => error.with_max_attempts(1),
            500..=599 => error.with_retry_after(limits.retry_after),
            _ => error,
        })
    }

    /// The body as text that may be a JSON object.
    pub(crate) fn object_text(&self) -> Result<&str> {
        let text = self.json_text()?;
        if text.trim_start().starts_with('[') {
            let message = "the response is a JSON array; an object was expected";
            return Err(Error::schema(message));
        }
        Ok(text)
    }

    /// The body as text that may be JSON.
    pub(crate) fn json_text(&self) -> Result<&str> {
        let fail = |message: &str| Err(Error::new(ErrorKind::Decode, message));
        let kind = self.header("content-type").unwrap_or_default();
        let kind = kind.to_ascii_lowercase().replace([' ', '"'], "");
        let charset = kind.split(';').find_map(|one| one.strip_prefix("charset="));
        if let Some(charset) = charset.filter(|name| !UTF_8.contains(name)) {
            return fail(&format!(
                "the response is encoded as {charset}; only UTF-8 is read"
            ));
        }
        let text = match std::str::from_utf8(&self.body) {
            Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
            Err(error) => {
                let place = error.valid_up_to();
                let coding = self.header("content-encoding").unwrap_or("none");
                let said = format!("not UTF-8 at byte {place} (Content-Encoding: {coding})");
                return fail(&format!("the response is {said}"));
            }
        };
        match text.trim_start().as_bytes().first() {
            None => fail("the response is empty; JSON was expected")
                .map_err(|error| error.with_max_attempts(u32::MAX)),
            Some(b'<') => {
                fail("the response is HTML; a proxy or login page may stand before the service")
            }
            Some(_) => Ok(text),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}
