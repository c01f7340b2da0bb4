//! Builds the HTTP client: which way connections go, and what they trust. No other client is built anywhere.

use crate::error::{Error, ErrorKind, Result};
use crate::settings::{Config, Proxy};
use reqwest::{NoProxy, redirect, retry};
use rustls_platform_verifier::BuilderVerifierExt;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// Idle connections are asked after this long whether the other end is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Connections that are not used are closed after this long.
const IDLE_CONNECTION: Duration = Duration::from_secs(90);

/// The client of these settings, and the address of the proxy that it connects through, if any.
pub(super) fn build(config: &Config) -> Result<(reqwest::Client, Option<String>)> {
    // Plain http is spoken to this machine, so its name is never looked up.
    let this_machine = [
        SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        SocketAddr::from((Ipv6Addr::LOCALHOST, 0)),
    ];
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls(config)?)
        // At 40 requests a second, a second protocol buys nothing and brings failures of its own.
        .http1_only()
        // A redirect would carry the secret of the token request to another origin.
        .redirect(redirect::Policy::none())
        .referer(false)
        // Retries are ours, so that each of them passes the gate and is counted.
        .retry(retry::never())
        .no_proxy()
        .resolve_to_addrs("localhost", &this_machine)
        .user_agent(concat!("talentdata/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(config.connect_timeout)
        .tcp_keepalive(KEEP_ALIVE)
        .pool_idle_timeout(IDLE_CONNECTION);
    let mut shown = None;
    if let Some(url) = proxy(config) {
        shown = Some(url.origin().ascii_serialization());
        let proxy = reqwest::Proxy::all(url).map_err(|error| unusable("proxy", &error))?;
        let excluded = match &config.proxy {
            Proxy::Environment => NoProxy::from_env(),
            Proxy::None | Proxy::Url(_) => None,
        };
        builder = builder.proxy(proxy.no_proxy(excluded));
    }
    let client = builder
        .build()
        .map_err(|error| unusable("settings", &error))?;
    Ok((client, shown))
}

/// The proxy on the way to the service, if any. It would be shown requests that are meant for this machine, and the secret
/// in clear.
fn proxy(config: &Config) -> Option<Url> {
    let variable = |names: [&str; 2]| {
        let found = names.into_iter().find_map(|name| std::env::var(name).ok());
        found.filter(|text| !text.is_empty())
    };
    match &config.proxy {
        _ if config.base_url.is_loopback() => None,
        Proxy::None => None,
        Proxy::Url(url) => Some(url.clone()),
        Proxy::Environment => {
            let named = variable(["HTTPS_PROXY", "https_proxy"])
                .or_else(|| variable(["ALL_PROXY", "all_proxy"]))?;
            let excluded = variable(["NO_PROXY", "no_proxy"]).unwrap_or_default();
            let host = config.base_url.host();
            let is_excluded = excluded.split(',').map(str::trim).any(|entry| {
                let name = entry.trim_start_matches('.');
                let rest = host.strip_suffix(name).filter(|_| !name.is_empty());
                entry == "*" || rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            });
            let url = Url::parse(&named).ok().filter(Url::has_host);
            let url = url.or_else(|| Url::parse(&format!("http://{named}")).ok());
            url.filter(|_| !is_excluded)
        }
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
    let builder = builder.map_err(|error| unusable("certificates", &error))?;
    Ok(builder.with_no_client_auth())
}

fn tls_builder() -> Result<rustls::ConfigBuilder<rustls::ClientConfig, rustls::WantsVerifier>> {
    // Named here, since with several in one program none is the default.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable("TLS versions", &error))
}

fn unusable(what: &str, error: &dyn std::error::Error) -> Error {
    let message = format!("the system's {what} cannot be used: {error}");
    Error::new(ErrorKind::Tls, message)
}
