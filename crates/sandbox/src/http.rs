//! A request as it was received, and a response before it is put on the wire.

use ::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::io::Write as _;

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

/// One request, complete.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Counts the accepted connections from 1.
    pub(crate) connection: u64,
}

/// The largest body that an operation takes.
const MOST_BODY_BYTES: usize = 1 << 20;
/// Scripts of faults carry whole answers, some of them meant to be too large for a client, which takes 64 MiB.
const MOST_SCRIPT_BYTES: usize = 80 << 20;

impl Received {
    /// Reads the body; an error when it does not arrive, or is larger than any use of the sandbox needs, for which
    /// anybody may have sent it. `faults` is whether it may be a script.
    pub(crate) async fn read(
        request: Request<Incoming>,
        connection: u64,
        faults: bool,
    ) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let (head, body) = request.into_parts();
        let most = match faults && head.uri.path() == "/__faults" {
            true => MOST_SCRIPT_BYTES,
            false => MOST_BODY_BYTES,
        };
        let body = Limited::new(body, most).collect().await?;
        Ok(Self {
            method: head.method,
            path: head.uri.path().to_owned(),
            query: head.uri.query().unwrap_or_default().to_owned(),
            headers: head.headers,
            body: body.to_bytes(),
            connection,
        })
    }

    /// The value of a query parameter; of several with that name, the last.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        self.parameters(name).pop()
    }

    /// The values of a query parameter.
    pub(crate) fn parameters(&self, name: &str) -> Vec<String> {
        let named = self.pairs().filter(|(key, _)| key == name);
        named.map(|(_, value)| value).collect()
    }

    /// Names and values of all query parameters.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (String, String)> {
        let pairs = form_urlencoded::parse(self.query.as_bytes());
        pairs.map(|(name, value)| (name.into_owned(), value.into_owned()))
    }

    /// The token of the `Authorization: Bearer` header; `None` without the header, empty when it is something else.
    pub(crate) fn bearer(&self) -> Option<&str> {
        let value = self.headers.get(header::AUTHORIZATION)?;
        let token = value.to_str().ok().and_then(|text| {
            let (scheme, token) = text.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(token)
        });
        Some(token.unwrap_or_default())
    }

    pub(crate) fn says_json(&self) -> bool {
        let value = self.headers.get(header::CONTENT_TYPE);
        let value = value
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let media_type = value.split(';').next().unwrap_or_default().trim();
        let media_type = media_type.to_ascii_lowercase();
        media_type.ends_with("/json") || media_type.ends_with("+json")
    }

    /// A coding with a weight is not looked at: a plain answer is always right.
    pub(crate) fn accepts_gzip(&self) -> bool {
        let values = self.headers.get_all(header::ACCEPT_ENCODING).iter();
        let mut codings = values
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','));
        codings.any(|coding| coding.trim().eq_ignore_ascii_case("gzip"))
    }
}
