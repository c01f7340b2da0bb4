//! Checks a response: the error that its status means, and whether its body is JSON.

use crate::error::failure::{Course, of_status};
use crate::error::{Error, ErrorKind, Result};
use crate::request::sentence::sentence;
use crate::request::transport::Response;
use bytestring::ByteString;

/// The names of the supported encodings.
const UTF_8: [&str; 3] = ["utf-8", "utf8", "us-ascii"];

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
    /// gateway in front of the service.
    pub(crate) fn service_sentence(&self) -> String {
        let is_page = self.body.trim_ascii_start().starts_with(b"<");
        if self.status.is_success() && !is_page {
            return String::new();
        }
        let who = if is_page {
            "the page says"
        } else {
            "the service says"
        };
        sentence(&self.body).map_or_else(String::new, |said| format!("; {who}: {said}"))
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
        let fail = |message: &str| Err(Error::new(ErrorKind::Decode, message));
        let kind = self.header("content-type").unwrap_or_default();
        let kind = kind.to_ascii_lowercase().replace([' ', '"'], "");
        let charset = kind.split(';').find_map(|one| one.strip_prefix("charset="));
        if let Some(charset) = charset.filter(|name| !UTF_8.contains(name)) {
            return fail(&format!(
                "the response is encoded as {charset}; only UTF-8 is read"
            ));
        }
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
                let said = format!("not UTF-8 at byte {place} (Content-Encoding: {coding})");
                return fail(&format!("the response is {said}"));
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
