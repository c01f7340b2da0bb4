//! Settings that are a word or the URL of a server: where the request budget is kept, and the proxy.

use super::{BaseUrl, Config, variable};
use crate::budget::{BudgetStore, write_server};
use crate::error::{Error, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use percent_encoding::percent_decode_str;
use std::fmt;
use std::net::IpAddr;
use talentdata_types::Secret;
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

/// The variables that name a proxy for https, as other programs read them, the first that is set.
const VARIABLES: [&str; 4] = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
/// The variables that exclude hosts from it.
const EXCLUDING: [&str; 2] = ["no_proxy", "NO_PROXY"];

/// The proxy that connections to a service go through.
pub(crate) struct ProxyAddress {
    /// Its address, without user and password.
    pub(crate) uri: Uri,
    /// User and password, encoded for Basic authentication.
    pub(crate) credentials: Option<Secret>,
    /// The setting or the variable that names it.
    pub(crate) setting: &'static str,
}

impl ProxyAddress {
    /// Returns the proxy of these settings; none where connections go straight to the service.
    ///
    /// # Errors
    /// `Config` for a variable that is no address of a proxy. What was meant for one never goes without.
    pub(crate) fn of(config: &Config) -> Result<Option<Self>> {
        // It would be shown requests that are meant for this machine, and the secret in clear.
        if config.base_url.is_loopback() {
            return Ok(None);
        }
        let (url, setting) = match &config.proxy {
            Proxy::None => return Ok(None),
            Proxy::Url(url) => (url.clone(), "proxy"),
            Proxy::Environment => {
                let set = VARIABLES
                    .into_iter()
                    .find_map(|name| Some((name, variable(name)?)));
                let Some((name, text)) = set else {
                    return Ok(None);
                };
                let excluded = EXCLUDING.into_iter().find_map(variable);
                if excluded.is_some_and(|hosts| is_excluded(&hosts, &config.base_url)) {
                    return Ok(None);
                }
                (
                    proxy_url(&text).map_err(|why| wrong_proxy(name, why))?,
                    name,
                )
            }
        };
        let decoded = |text| percent_decode_str(text).collect::<Vec<u8>>();
        let is_named = !url.username().is_empty() || url.password().is_some();
        let credentials = is_named.then(|| {
            let mut both = decoded(url.username());
            both.push(b':');
            both.extend(decoded(url.password().unwrap_or_default()));
            Secret::new(STANDARD.encode(both))
        });
        let uri = url.origin().ascii_serialization().parse();
        let uri = uri.map_err(|_| wrong_proxy(setting, "its host cannot be used"))?;
        Ok(Some(ProxyAddress {
            uri,
            credentials,
            setting,
        }))
    }

    /// Returns what names it, as errors say it.
    pub(crate) fn named(&self) -> String {
        let what = if self.setting == "proxy" {
            "setting"
        } else {
            "variable"
        };
        format!("the {what} {}", self.setting)
    }

    /// Returns the address as errors name it.
    pub(crate) fn shown(&self) -> String {
        self.uri.to_string().trim_end_matches('/').to_owned()
    }
}

/// Reads the URL of a proxy. Without a scheme it is one of http, as other programs have it.
fn proxy_url(text: &str) -> std::result::Result<Url, &'static str> {
    let text = text.trim();
    let url = if text.contains("://") {
        Url::parse(text)
    } else {
        Url::parse(&format!("http://{text}"))
    };
    let url = url.map_err(|error| match error {
        ParseError::InvalidPort => "its port is no number up to 65535",
        ParseError::EmptyHost => "it names no host",
        _ => "it is no URL",
    })?;
    match url.scheme() {
        "http" | "https" => {}
        scheme if scheme.starts_with("socks") => return Err("SOCKS proxies cannot be used"),
        _ => return Err("its scheme is another one"),
    }
    if url.port() == Some(0) {
        return Err("its port is 0");
    }
    if url.path() != "/" || url.query().or(url.fragment()).is_some() {
        return Err("there is something behind the port");
    }
    Ok(url)
}

/// The error of a proxy that is set, but cannot be used. What was given is not shown, since it may contain a password.
fn wrong_proxy(setting: &str, why: &str) -> Error {
    let none = if setting == "proxy" {
        ""
    } else {
        "; or set proxy to none"
    };
    Error::config(format!(
        "{setting} must be none or an http or https URL, such as http://proxy.example:3128: {why}{none}"
    ))
}

/// Returns whether a list such as `.example, 10.0.0.0/8` excludes the service. Other programs also read blanks between
/// entries, `*.example`, a port and brackets.
fn is_excluded(hosts: &str, base_url: &BaseUrl) -> bool {
    let Ok(service) = base_url.to_string().parse::<Uri>() else {
        return false;
    };
    let port = service.port_u16().unwrap_or(443).to_string();
    let entries = hosts.split([',', ' ', '\t']).filter_map(|entry| {
        let (host, of_port) = match entry.rsplit_once(':') {
            // With more colons it is an address, which may stand in brackets before a port.
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
            _ => (entry, None),
        };
        let host = host.trim_matches(['[', ']']).trim_end_matches('.');
        of_port.is_none_or(|it| it == port).then_some(host)
    });
    let entries: Vec<&str> = entries.collect();
    if entries.contains(&"*") {
        return true;
    }
    let entries: Vec<&str> = entries
        .iter()
        .map(|it| it.trim_start_matches('*'))
        .collect();
    let matcher = Matcher::builder()
        .https("http://proxy.invalid")
        .no(entries.join(","))
        .build();
    matcher.intercept(&service).is_none()
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
        // What was given is not shown, since it may contain a password.
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

/// Returns whether the host is this machine. The name `localhost` is never looked up, so it always is. With a scheme that
/// browsers do not know, an address is plain text.
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
