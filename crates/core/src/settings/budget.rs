//! Where the request budget of a client is kept.

use super::found::config;
use crate::error::Result;
use std::fmt;
use std::net::IpAddr;
use url::Url;

/// The place of the budget, which decides who shares it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum BudgetStore {
    /// The client has a budget of its own.
    Process,
    /// A file, for the processes of this user on this host.
    Host,
    /// A Redis or Valkey server, for every host that reaches it. The URL may contain a user and a password.
    Redis(Url),
}

impl BudgetStore {
    /// Reads `process`, `host` or a URL.
    pub(super) fn parse(text: &str) -> Result<Self> {
        match text {
            "process" => return Ok(BudgetStore::Process),
            "host" => return Ok(BudgetStore::Host),
            _ => {}
        }
        let url = Url::parse(text).ok();
        let usable = url.filter(|url| {
            let database = url.path().trim_start_matches('/');
            matches!(url.scheme(), "redis" | "rediss")
                && url.has_host()
                && (database.is_empty() || database.parse::<u32>().is_ok())
                && url.query().or(url.fragment()).is_none()
        });
        // What was given is not shown, since it may contain a password.
        let wrong = || {
            config(
                "budget must be process, host, or a redis or rediss URL, such as redis://cache.example:6379/0"
                    .into(),
            )
        };
        let url = usable.ok_or_else(wrong)?;
        if url.scheme() == "redis" && url.password().is_some() && !is_loopback(&url) {
            let host = url.host_str().unwrap_or_default();
            return Err(config(format!(
                "budget contains a password, which would be sent to {host} in clear text; use rediss:// (TLS)"
            )));
        }
        Ok(BudgetStore::Redis(url))
    }
}

impl fmt::Display for BudgetStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BudgetStore::Process => formatter.write_str("process"),
            BudgetStore::Host => formatter.write_str("host"),
            // Without user and password.
            BudgetStore::Redis(url) => write!(
                formatter,
                "{}://{}:{}",
                url.scheme(),
                url.host_str().unwrap_or_default(),
                url.port().unwrap_or(6379)
            ),
        }
    }
}

impl fmt::Debug for BudgetStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// Whether the host is this machine. Of a scheme that browsers do not know, it is plain text.
fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_sent_to_other_hosts_in_clear_text() {
        for url in [
            "redis://:CANARY@cache.example",
            "redis://me:CANARY@192.0.2.1:6379/1",
            "redis://:CANARY@[2001:db8::1]",
            "redis://:CANARY@localhost.example",
        ] {
            let error = BudgetStore::parse(url).unwrap_err().to_string();
            assert!(error.contains("use rediss://"), "{error}");
            assert!(!error.contains("CANARY"), "{error}");
        }
        for url in [
            "rediss://:CANARY@cache.example",
            "redis://cache.example",
            "redis://me@cache.example",
            "redis://:CANARY@127.0.0.1:6379",
            "redis://:CANARY@localhost",
            "redis://:CANARY@[::1]:6379",
        ] {
            assert!(BudgetStore::parse(url).is_ok(), "{url}");
        }
    }
}
