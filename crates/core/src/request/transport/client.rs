//! Builds the HTTP client: the route of its connections, the certificates that it trusts, and its tolerance for faulty
//! HTTP. This is the only place that builds one.

use super::connect::{Connector, Route, TlsRefusal};
use super::proxy::ProxyAddress;
use crate::error::Result;
use crate::settings::Config;
use crate::tls::{self, TlsFiles};
use bytes::Bytes;
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::sync::Arc;
use std::time::Duration;

/// The time after which unused connections are closed.
const IDLE_CONNECTION: Duration = Duration::from_secs(90);
/// Limits the headers of a response. Gateways add many.
const MOST_HEADERS: usize = 256;

/// A client of HTTP/1.1. At 40 requests a second, a second protocol would gain nothing and bring failures of its own.
/// The client follows no redirects and repeats no requests. We do both ourselves, so that each request passes the gate
/// and is counted.
pub(super) type HttpClient = Client<Connector, Full<Bytes>>;

/// Returns the client of these settings, and the route of its connections.
pub(super) fn build(config: &Config) -> Result<(HttpClient, Arc<Route>)> {
    let proxy = ProxyAddress::of(config)?;
    let needs_tls =
        !config.base_url.is_plain() || proxy.as_ref().is_some_and(ProxyAddress::is_https);
    let files = config.tls_files();
    let route = Arc::new(Route {
        host: match &proxy {
            Some(proxy) => format!("{} through the proxy {}", config.base_url, proxy.shown()),
            None => config.base_url.to_string(),
        },
        // Configured files are always read and checked.
        tls: Arc::new(if needs_tls || files != TlsFiles::default() {
            tls::system(&files)?
        } else {
            tls::none()?
        }),
        proxy,
        ca_file: files.ca_file,
        refusal: TlsRefusal::default(),
        limit: config.connect_timeout,
    });
    let client = Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_CONNECTION)
        .http1_max_headers(MOST_HEADERS)
        // Old gateways fold long headers.
        .http1_allow_obsolete_multiline_headers_in_responses(true)
        // Old servers and devices write `Name : value`.
        .http1_allow_spaces_after_header_name_in_responses(true)
        // Gateways add headers with letters that no name may have, or without a colon.
        .http1_ignore_invalid_headers_in_responses(true)
        .build(Connector(Arc::clone(&route)));
    Ok((client, route))
}
