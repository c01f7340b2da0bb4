//! Connections: direct, or through a proxy; never through a proxy to this machine.

use crate::error::{Error, ErrorKind, Result};
use crate::settings::{Config, Proxy};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioIo;
use rustls_platform_verifier::BuilderVerifierExt;
use std::error::Error as StdError;
use std::fmt;
use std::future::{Future, ready};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::TcpStream;
use tower_service::Service;

/// Idle connections are asked after this long whether the other end is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

type Failure = Box<dyn StdError + Send + Sync>;
type Direct = HttpConnector<Resolver>;
type Pending<T, E> = Pin<Box<dyn Future<Output = std::result::Result<T, E>> + Send>>;

/// Makes connections, each within the connect timeout.
#[derive(Clone)]
pub(super) struct Connector {
    direct: HttpsConnector<Direct>,
    tls: Arc<rustls::ClientConfig>,
    proxies: Option<Arc<Matcher>>,
    timeout: Duration,
}

/// No connection was made in time.
#[derive(Debug)]
pub(super) struct ConnectTimeout;

impl fmt::Display for ConnectTimeout {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("timed out")
    }
}

impl StdError for ConnectTimeout {}

impl Connector {
    pub(super) fn new(config: &Config) -> Result<Self> {
        let mut direct = HttpConnector::new_with_resolver(Resolver(GaiResolver::new()));
        direct.enforce_http(false);
        direct.set_nodelay(true);
        direct.set_keepalive(Some(KEEP_ALIVE));
        let tls = Arc::new(tls(config)?);
        Ok(Connector {
            direct: HttpsConnector::from((direct, Arc::clone(&tls))),
            tls,
            proxies: proxies(config).map(Arc::new),
            timeout: config.connect_timeout,
        })
    }

    /// The address of the proxy on the way to this one, without user and password; none where there is no proxy.
    pub(super) fn proxy(&self, uri: &http::Uri) -> Option<String> {
        let proxy = self.proxies.as_ref()?.intercept(uri)?;
        Some(proxy.uri().to_string().trim_end_matches('/').to_owned())
    }
}

impl Service<http::Uri> for Connector {
    type Response = MaybeHttpsStream<MaybeHttpsStream<TokioIo<TcpStream>>>;
    type Error = Failure;
    type Future = Pending<Self::Response, Failure>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<std::result::Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: http::Uri) -> Self::Future {
        let mut direct = self.direct.clone();
        let proxy = self.proxies.as_ref().and_then(|all| all.intercept(&uri));
        let tls = Arc::clone(&self.tls);
        let connecting = async move {
            let Some(proxy) = proxy else {
                return direct.call(uri).await.map(MaybeHttpsStream::Http);
            };
            let mut tunnel = Tunnel::new(proxy.uri().clone(), direct);
            if let Some(auth) = proxy.basic_auth() {
                tunnel = tunnel.with_auth(auth.clone());
            }
            HttpsConnector::from((tunnel, tls)).call(uri).await
        };
        let limited = tokio::time::timeout(self.timeout, connecting);
        Box::pin(async { limited.await.unwrap_or_else(|_| Err(ConnectTimeout.into())) })
    }
}

/// Finds addresses as the system does, except that `localhost` is this machine whatever the system says: plain http is
/// spoken to it.
#[derive(Clone)]
struct Resolver(GaiResolver);

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pending<Self::Response, io::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        if name.as_str().eq_ignore_ascii_case("localhost") {
            let both = vec![
                SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
                SocketAddr::from((Ipv6Addr::LOCALHOST, 0)),
            ];
            return Box::pin(ready(Ok(both.into_iter())));
        }
        let found = self.0.call(name);
        Box::pin(async { Ok(found.await?.collect::<Vec<_>>().into_iter()) })
    }
}

/// The proxies to choose from, if any. One would be shown what is meant for this machine, and the secret in clear.
fn proxies(config: &Config) -> Option<Matcher> {
    match &config.proxy {
        _ if config.base_url.is_loopback() => None,
        Proxy::None => None,
        Proxy::Environment => Some(Matcher::from_system()),
        Proxy::Url(url) => Some(Matcher::builder().all(url.as_str()).build()),
    }
}

/// TLS for a service. Plain http needs none, not even certificates.
fn tls(config: &Config) -> Result<rustls::ClientConfig> {
    if config.base_url.is_plain() {
        let none = rustls::RootCertStore::empty();
        let builder = tls_builder()?;
        return Ok(builder.with_root_certificates(none).with_no_client_auth());
    }
    system_tls()
}

/// TLS as the operating system trusts it.
pub(crate) fn system_tls() -> Result<rustls::ClientConfig> {
    let builder = tls_builder()?.with_platform_verifier();
    Ok(builder.map_err(unusable)?.with_no_client_auth())
}

fn tls_builder() -> Result<rustls::ConfigBuilder<rustls::ClientConfig, rustls::WantsVerifier>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(unusable)
}

fn unusable(error: rustls::Error) -> Error {
    let message = format!("the system's certificates cannot be used: {error}");
    Error::new(ErrorKind::Tls, message)
}
