//! What the sandbox answers, before it is put on the wire.

use std::borrow::Cow;
use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderName, HeaderValue, Response, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};

/// A status, headers in the order they are sent, and the body before any transfer coding.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(Cow<'static, str>, Cow<'static, str>)>,
    pub(crate) body: Bytes,
}

impl Answer {
    /// Without a body.
    pub(crate) fn empty(status: u16) -> Self {
        Self {
            status,
            headers: vec![("x-talentdata-sandbox".into(), "sample data".into())],
            body: Bytes::new(),
        }
    }

    /// A JSON body, already written out.
    pub(crate) fn written(status: u16, content_type: &str, body: Vec<u8>) -> Self {
        let mut answer = Self::empty(status);
        let content_type = content_type.to_owned().into();
        answer
            .headers
            .insert(0, ("content-type".into(), content_type));
        answer.body = body.into();
        answer
    }

    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::written(status, "application/json", body.to_string().into_bytes())
    }

    /// A failure. The format of error bodies is the sandbox's choice (section 7: not shown).
    pub(crate) fn error(status: u16, code: &str, message: &str) -> Self {
        let body = json!({"error": {"code": code, "message": message}});
        Self::json(status, &body)
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Compresses the body, and says so.
    pub(crate) fn gzip(&mut self) -> std::io::Result<()> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&self.body)?;
        self.body = encoder.finish()?.into();
        self.headers
            .push(("content-encoding".into(), "gzip".into()));
        Ok(())
    }

    /// As the HTTP library sends it; an error when it would be no valid HTTP.
    pub(crate) fn response(&self) -> Result<Response<Full<Bytes>>, http::Error> {
        let mut response = Response::new(Full::new(self.body.clone()));
        *response.status_mut() = StatusCode::from_u16(self.status)?;
        for (name, value) in &self.headers {
            let name = HeaderName::from_bytes(name.as_bytes())?;
            let value = HeaderValue::from_bytes(value.as_bytes())?;
            response.headers_mut().append(name, value);
        }
        Ok(response)
    }
}
