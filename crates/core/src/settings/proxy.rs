//! Which proxy a client connects through.

use super::found::config;
use crate::error::Result;
use std::fmt;
use url::Url;

/// The proxy of a client. A service on this machine is never reached through one.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Proxy {
    /// That of the environment: `HTTPS_PROXY`, unless `NO_PROXY` excludes the service.
    Environment,
    /// None, whatever the environment says.
    None,
    /// This one. It may hold a user and a password.
    Url(Url),
}

impl Proxy {
    /// Reads `none` or a URL.
    pub(super) fn parse(text: &str) -> Result<Self> {
        if text == "none" {
            return Ok(Proxy::None);
        }
        let url = Url::parse(text).ok();
        let usable = url.filter(|url| {
            matches!(url.scheme(), "http" | "https")
                && url.has_host()
                && matches!(url.path(), "" | "/")
                && url.query().or(url.fragment()).is_none()
                && url.as_str().parse::<http::Uri>().is_ok()
        });
        // What was given is not shown, since it may hold a password.
        let wrong = || {
            config(
                "proxy must be none or an http or https URL, such as http://proxy.example:3128"
                    .into(),
            )
        };
        usable.map(Proxy::Url).ok_or_else(wrong)
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Proxy::Environment => formatter.write_str("Environment"),
            Proxy::None => formatter.write_str("None"),
            // Without user and password.
            Proxy::Url(url) => write!(
                formatter,
                "Url({}:{})",
                url.host_str().unwrap_or_default(),
                url.port_or_known_default().unwrap_or_default()
            ),
        }
    }
}
