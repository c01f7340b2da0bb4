//! Who may use the endpoints below `/__`: programs on this machine, and no web pages.
//!
//! A page of any site can send requests to this machine. Its browser names the site in `Origin`, or, where the site
//! has pointed its own name at this machine, in `Host`.

use http::{HeaderMap, header};

use crate::answer::Answer;

/// What a browser says of a request that no page of another site makes.
const HARMLESS: [&str; 2] = ["none", "same-origin"];

/// The refusal of a request to the sandbox on this port; none where it may go on.
pub(crate) fn refusal(headers: &HeaderMap, port: u16) -> Option<Answer> {
    let text = |name| {
        headers
            .get(name)
            .map(|value: &http::HeaderValue| value.to_str().unwrap_or_default())
    };
    let ours = ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}"));
    let host = text(header::HOST).unwrap_or_default().to_ascii_lowercase();
    let foreign = text(header::HeaderName::from_static("sec-fetch-site"))
        .is_some_and(|site| !HARMLESS.contains(&site));
    let message = if !ours.contains(&host) {
        "the Host header must be a loopback name with the port of this sandbox"
    } else if foreign || headers.contains_key(header::ORIGIN) {
        "web pages must not use this endpoint"
    } else {
        return None;
    };
    Some(Answer::error(403, "forbidden", message))
}
