//! The proxy for connections to the service: from the settings, otherwise from the environment.

use crate::error::Result;
use crate::settings::{BaseUrl, Config, Proxy, proxy_url, variable, wrong_proxy};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use percent_encoding::percent_decode_str;
use talentdata_types::Secret;

/// The variables that name a proxy for https. As in other programs, the first one that is set counts.
const VARIABLES: [&str; 4] = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
/// The variables that exclude hosts from the proxy.
const EXCLUDING: [&str; 2] = ["no_proxy", "NO_PROXY"];

/// The proxy for connections to a service.
pub(super) struct ProxyAddress {
    /// The address, without user and password.
    pub(super) uri: Uri,
    /// User and password, encoded for Basic authentication.
    pub(super) credentials: Option<Secret>,
    /// The setting or the variable that names the proxy.
    pub(super) setting: &'static str,
}

impl ProxyAddress {
    /// Returns the proxy of these settings; `None` if connections go straight to the service.
    ///
    /// # Errors
    /// `Config` if a variable is not the address of a proxy. The client never ignores such a value and connects without
    /// a proxy.
    pub(super) fn of(config: &Config) -> Result<Option<Self>> {
        // A proxy would see requests that are meant for this machine, and the secret in clear text.
        if config.base_url.is_loopback() {
            return Ok(None);
        }
        let (url, setting) = match &config.proxy {
            Proxy::None => return Ok(None),
            Proxy::Url(url) => (url.clone(), "proxy"),
            // The variables are only for https.
            Proxy::Environment if config.base_url.is_plain() => return Ok(None),
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

    /// Returns the setting or the variable as errors name it.
    pub(super) fn named(&self) -> String {
        let what = if self.setting == "proxy" {
            "setting"
        } else {
            "variable"
        };
        format!("the {what} {}", self.setting)
    }

    /// Returns whether connections to the proxy use TLS.
    pub(super) fn is_https(&self) -> bool {
        self.uri.scheme_str() == Some("https")
    }

    /// Returns the address as errors name it.
    pub(super) fn shown(&self) -> String {
        self.uri.to_string().trim_end_matches('/').to_owned()
    }
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
            // With more colons it is an IPv6 address, which may be in brackets before a port.
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
