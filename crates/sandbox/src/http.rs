//! A request as it was received, and a response before it is sent.

use ::http::header::{ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE};
use ::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use serde_json::{Value, json};
use std::io::{self, Write as _};

/// A response with its body before any transfer coding.
pub(crate) type Answer = Response<Bytes>;

/// Returns a response without a body.
pub(crate) fn empty(status: u16) -> Answer {
    let mut answer = Answer::default();
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    set(&mut answer, "x-talentdata-sandbox", "sample data");
    answer
}

/// Sets a header, unless the value cannot be one.
pub(crate) fn set(answer: &mut Answer, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        answer.headers_mut().insert(name, value);
    }
}

/// Returns a response with a body that is already serialized.
pub(crate) fn written(status: u16, content_type: &str, body: Vec<u8>) -> Answer {
    let mut answer = empty(status);
    set(&mut answer, CONTENT_TYPE.as_str(), content_type);
    *answer.body_mut() = body.into();
    answer
}

pub(crate) fn in_json(status: u16, body: &Value) -> Answer {
    written(status, "application/json", body.to_string().into_bytes())
}

/// Returns a failure. The format of error bodies is the sandbox's choice (section 7: not shown).
pub(crate) fn failure(status: u16, code: &str, message: &str) -> Answer {
    let body = json!({"error": {"code": code, "message": message}});
    in_json(status, &body)
}

/// Returns the response to a missing, wrong or expired token, or to wrong credentials. The status 401 is the sandbox's
/// choice (section 7).
pub(crate) fn unauthorized(message: &str) -> Answer {
    let mut answer = failure(401, "unauthorized", message);
    set(&mut answer, "www-authenticate", "Bearer");
    answer
}

/// Compresses the body, and sets the header for it.
pub(crate) fn gzip(answer: &mut Answer) -> io::Result<()> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(answer.body())?;
    *answer.body_mut() = encoder.finish()?.into();
    set(answer, CONTENT_ENCODING.as_str(), "gzip");
    Ok(())
}

/// Returns whether a media type is JSON, regardless of its parameters.
pub(crate) fn is_json(media_type: &str) -> bool {
    let name = media_type.split(';').next().unwrap_or_default().trim();
    let name = name.to_ascii_lowercase();
    name.ends_with("/json") || name.ends_with("+json")
}

/// A complete request.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// The number of the connection, counted from 1.
    pub(crate) connection: u64,
}

/// Limits the body of a request. Fault scripts contain whole responses, some of them too large for a client, which
/// accepts 64 MiB.
const MOST_BODY_BYTES: usize = 80 << 20;

impl Received {
    /// Reads a request with its body. It is an error if the body does not arrive, or is larger than any use of the
    /// sandbox needs.
    pub(crate) async fn read(
        request: Request<Incoming>,
        connection: u64,
    ) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let (head, body) = request.into_parts();
        let body = Limited::new(body, MOST_BODY_BYTES).collect().await?;
        Ok(Self {
            method: head.method,
            path: head.uri.path().to_owned(),
            query: head.uri.query().unwrap_or_default().to_owned(),
            headers: head.headers,
            body: body.to_bytes(),
            connection,
        })
    }

    /// Returns the value of a query parameter; the last one if there are several.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        self.parameters(name).pop()
    }

    /// Returns the values of a query parameter.
    pub(crate) fn parameters(&self, name: &str) -> Vec<String> {
        let pairs = form_urlencoded::parse(self.query.as_bytes());
        let named = pairs.filter(|(key, _)| key == name);
        named.map(|(_, value)| value.into_owned()).collect()
    }

    /// Returns the text of a header; empty if it is missing.
    fn header(&self, name: HeaderName) -> &str {
        let value = self.headers.get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default()
    }

    /// Returns the token of the `Authorization: Bearer` header; `None` without the header, empty if it is something
    /// else.
    pub(crate) fn bearer(&self) -> Option<&str> {
        self.headers.get(AUTHORIZATION)?;
        let (scheme, token) = self
            .header(AUTHORIZATION)
            .split_once(' ')
            .unwrap_or_default();
        let is_bearer = scheme.eq_ignore_ascii_case("bearer");
        Some(if is_bearer { token } else { "" })
    }

    pub(crate) fn says_json(&self) -> bool {
        is_json(self.header(CONTENT_TYPE))
    }

    /// Returns whether the request accepts gzip. A coding with a weight is ignored, because a plain response is always
    /// right.
    pub(crate) fn accepts_gzip(&self) -> bool {
        let mut codings = self.header(ACCEPT_ENCODING).split(',');
        codings.any(|coding| coding.trim().eq_ignore_ascii_case("gzip"))
    }
}
