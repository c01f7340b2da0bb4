//! A request as it was received, with its body read to the end.

use bytes::Bytes;
use http::{HeaderMap, Method, Request, header};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;

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
