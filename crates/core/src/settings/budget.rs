//! Where the request budget of a client is kept.

use super::found::config;
use crate::error::Result;
use std::fmt;
use url::Url;

/// The place of the budget, which decides who shares it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum BudgetHome {
    /// The client has a budget of its own.
    Process,
    /// A file, for the processes of this user on this host.
    Host,
    /// A Redis or Valkey server, for every host that reaches it. The URL may contain a user and a password.
    Redis(Url),
}

impl BudgetHome {
    /// Reads `process`, `host` or a URL.
    pub(super) fn parse(text: &str) -> Result<Self> {
        match text {
            "process" => return Ok(BudgetHome::Process),
            "host" => return Ok(BudgetHome::Host),
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
        usable.map(BudgetHome::Redis).ok_or_else(wrong)
    }
}

impl fmt::Display for BudgetHome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BudgetHome::Process => formatter.write_str("process"),
            BudgetHome::Host => formatter.write_str("host"),
            // Without user and password.
            BudgetHome::Redis(url) => write!(
                formatter,
                "{}://{}:{}",
                url.scheme(),
                url.host_str().unwrap_or_default(),
                url.port().unwrap_or(6379)
            ),
        }
    }
}

impl fmt::Debug for BudgetHome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}
