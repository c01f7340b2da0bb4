//! Settings that are a word or the URL of a server: the place of the request budget, and the proxy.

use crate::budget::{BudgetStore, write_server};
use crate::error::{Error, Result};
use std::fmt;
use std::net::IpAddr;
use url::{ParseError, Url};

/// The proxy of a client. A service on this machine is never reached through one.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Proxy {
    /// The proxy of the environment: `HTTPS_PROXY`, unless `NO_PROXY` excludes the service.
    Environment,
    /// No proxy, regardless of the environment.
    None,
    /// The proxy at this URL, which may contain a user and a password.
    Url(Url),
}

impl Proxy {
    /// Reads `none` or a URL.
    pub(super) fn parse(text: &str) -> Result<Self> {
        if text == "none" {
            return Ok(Proxy::None);
        }
        let url = proxy_url(text).map_err(|why| wrong_proxy("proxy", why))?;
        Ok(Proxy::Url(url))
    }
}

/// Reads the URL of a proxy. Without a scheme it is http, as in other programs.
pub(crate) fn proxy_url(text: &str) -> std::result::Result<Url, &'static str> {
    let text = text.trim();
    let url = if text.contains("://") {
        Url::parse(text)
    } else {
        Url::parse(&format!("http://{text}"))
    };
    let url = url.map_err(|error| match error {
        ParseError::InvalidPort => "its port is not a number up to 65535",
        ParseError::EmptyHost => "it has no host",
        _ => "it is not a URL",
    })?;
    match url.scheme() {
        "http" | "https" => {}
        scheme if scheme.starts_with("socks") => return Err("SOCKS proxies cannot be used"),
        _ => return Err("its scheme is neither http nor https"),
    }
    if url.port() == Some(0) {
        return Err("its port is 0");
    }
    if url.path() != "/" || url.query().or(url.fragment()).is_some() {
        return Err("there is something after the port");
    }
    Ok(url)
}

/// Returns the error for a proxy that cannot be used. The value is not shown, because it may contain a password.
pub(crate) fn wrong_proxy(setting: &str, why: &str) -> Error {
    let none = if setting == "proxy" {
        ""
    } else {
        "; or set proxy to none"
    };
    Error::config(format!(
        "{setting} must be none or an http or https URL, such as http://proxy.example:3128: {why}{none}"
    ))
}

/// Reads the place of the budget: `process`, `host` or a URL.
pub(super) fn parse_budget_store(text: &str) -> Result<BudgetStore> {
    let url = match text {
        "process" => return Ok(BudgetStore::Process),
        "host" => return Ok(BudgetStore::Host),
        _ => server(text, ["redis", "rediss"], |database| {
            database.is_empty() || database.parse::<u32>().is_ok()
        }),
    };
    let Some(url) = url else {
        // The value is not shown, because it may contain a password.
        let message = "budget must be process, host, or a redis or rediss URL, such as redis://cache.example:6379/0";
        return Err(Error::config(message));
    };
    if cfg!(not(feature = "redis")) {
        let message =
            "budget: this build supports no servers; use host, or build with the feature redis";
        return Err(Error::config(message));
    }
    if url.scheme() == "redis" && url.password().is_some() && !is_loopback(&url) {
        let host = url.host_str().unwrap_or_default();
        return Err(Error::config(format!(
            "budget contains a password, which would be sent to {host} in clear text; use rediss:// (TLS)"
        )));
    }
    Ok(BudgetStore::Redis(url))
}

/// Returns the URL of a server, if the text has one of these schemes and a path like this.
fn server(text: &str, schemes: [&str; 2], path: impl Fn(&str) -> bool) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let is_plain = schemes.contains(&url.scheme())
        && url.has_host()
        && path(url.path().trim_start_matches('/'))
        && url.query().or(url.fragment()).is_none();
    is_plain.then_some(url)
}

/// Returns whether the host is this machine. The name `localhost` always is, because it is never looked up. The URL
/// parser recognizes addresses only in schemes of browsers, so an address may be plain text here.
pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.to_canonical().is_loopback())
}

impl fmt::Debug for Proxy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Proxy::Environment => formatter.write_str("environment"),
            Proxy::None => formatter.write_str("none"),
            Proxy::Url(url) => write_server(formatter, url, 443),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_sent_to_other_hosts_in_clear_text() {
        for (url, is_taken) in [
            ("redis://:CANARY@cache.example", false),
            ("redis://me:CANARY@192.0.2.1:6379/1", false),
            ("redis://:CANARY@[2001:db8::1]", false),
            ("redis://:CANARY@localhost.example", false),
            ("rediss://:CANARY@cache.example", true),
            ("redis://cache.example", true),
            ("redis://me@cache.example", true),
            ("redis://:CANARY@127.0.0.1:6379", true),
            ("redis://:CANARY@localhost", true),
            ("redis://:CANARY@[::1]:6379", true),
        ] {
            let read = parse_budget_store(url);
            let shown = format!("{read:?}");
            assert!(!shown.contains("CANARY"), "{shown}");
            let refused = read.err().map(|error| error.message().to_owned());
            assert_eq!(refused.is_none(), is_taken, "{url}");
            assert!(
                refused.is_none_or(|why| why.contains("use rediss://")),
                "{url}"
            );
        }
    }
}
