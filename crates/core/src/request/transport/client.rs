//! Builds the HTTP client: which way connections go, and what they trust. No other client is built anywhere.

use crate::error::Result;
use crate::settings::{Config, Proxy};
use crate::tls::{self, unusable};
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::{redirect, retry};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
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
    let tls = if config.base_url.is_plain() {
        tls::none()?
    } else {
        tls::system()?
    };
    let builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        // At 40 requests a second, a second protocol buys nothing and brings failures of its own.
        .http1_only()
        // A redirect would carry the secret of the token request to another origin.
        .redirect(redirect::Policy::none())
        .referer(false)
        // Retries are ours, so that each of them passes the gate and is counted.
        .retry(retry::never())
        .resolve_to_addrs("localhost", &this_machine)
        .user_agent(concat!("talentdata/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(config.connect_timeout)
        .read_timeout(config.idle_timeout)
        .tcp_keepalive(KEEP_ALIVE)
        .pool_idle_timeout(IDLE_CONNECTION);
    let (builder, proxy) = match &config.proxy {
        // It would be shown requests that are meant for this machine, and the secret in clear.
        _ if config.base_url.is_loopback() => (builder.no_proxy(), None),
        Proxy::None => (builder.no_proxy(), None),
        Proxy::Url(url) => {
            let proxy = reqwest::Proxy::all(url.clone());
            let proxy = proxy.map_err(|error| unusable("proxy", &error))?;
            (builder.proxy(proxy), Some(url.clone()))
        }
        // The library finds the same one by itself.
        Proxy::Environment => (builder, proxy_of_environment(config)),
    };
    let client = builder.build();
    let client = client.map_err(|error| unusable("settings", &error))?;
    // Without user and password.
    Ok((client, proxy.map(|url| url.origin().ascii_serialization())))
}

fn proxy_of_environment(config: &Config) -> Option<Url> {
    let service = config.base_url.to_string().parse().ok()?;
    let found = Matcher::from_env().intercept(&service)?;
    Url::parse(&found.uri().to_string()).ok()
}
