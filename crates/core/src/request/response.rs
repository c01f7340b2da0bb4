//! Checks a response: the error that its status means, and whether its body is JSON.

use crate::error::failure::{Course, of_status};
use crate::error::{Error, ErrorKind, Result};
use crate::request::sentence::{challenge, sentence};
use crate::request::transport::Response;
use bytestring::ByteString;

impl Response {
    /// Returns the error that the status means.
    pub(crate) fn error_of_status(&self) -> Option<Error> {
        let status = self.status.as_u16();
        let failure = of_status(status)?;
        let limits = &self.limits;
        let wait = match status {
            429 => limits.retry_after.or(limits.reset),
            _ if failure.course != Course::Final => limits.retry_after,
            _ => None,
        };
        Some(Error::of(failure, failure.what).with_retry_after(wait))
    }

    /// Returns the service's own sentence about a failure, as the end of a message. An HTML page comes from a proxy or
    /// gateway in front of the service. A response with records has no such sentence.
    pub(crate) fn service_sentence(&self, error: &Error) -> String {
        let is_page = self.body.trim_ascii_start().starts_with(b"<");
        let reports_failure = matches!(error.kind(), ErrorKind::Api | ErrorKind::TokenResponse);
        if self.status.is_success() && !is_page && !reports_failure {
            return String::new();
        }
        let who = if is_page {
            "the page says"
        } else {
            "the service says"
        };
        let challenge = || challenge(self.header("www-authenticate")?);
        let said = sentence(&self.body).or_else(challenge);
        said.map_or_else(String::new, |said| format!("; {who}: {said}"))
    }

    /// Returns the body as text that may be a JSON object.
    pub(crate) fn object_text(&self) -> Result<ByteString> {
        let text = self.json_text()?;
        if text.trim_start().starts_with('[') {
            let message = "the response is a JSON array; an object was expected";
            return Err(Error::schema(message));
        }
        Ok(text)
    }

    /// Returns the body as text that may be JSON.
    pub(crate) fn json_text(&self) -> Result<ByteString> {
        // One more attempt distinguishes a damaged response from a wrong one.
        let fail = |message: &str| {
            let error = Error::new(ErrorKind::Decode, message);
            Err(error.with_max_attempts(2))
        };
        let text = match ByteString::try_from(self.body.clone()) {
            Ok(text) => text
                .strip_prefix('\u{feff}')
                .map_or(text.clone(), |rest| text.slice_ref(rest)),
            Err(_) => {
                let place = self
                    .body
                    .utf8_chunks()
                    .next()
                    .map_or(0, |chunk| chunk.valid().len());
                let coding = self.header("content-encoding").unwrap_or("none");
                // JSON is UTF-8 (RFC 8259), regardless of the charset that the header names.
                let kind = self.header("content-type").unwrap_or("none");
                return fail(&format!(
                    "the response is not UTF-8 at byte {place} (Content-Encoding: {coding}, Content-Type: {kind}); ask the operator of the service to send JSON in UTF-8"
                ));
            }
        };
        match text.trim_start().as_bytes().first() {
            None => fail("the response is empty; JSON was expected")
                .map_err(|error| error.with_max_attempts(u32::MAX)),
            Some(b'<') => {
                fail("the response is HTML; a proxy or login page may be in front of the service")
            }
            Some(_) => Ok(text),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}
