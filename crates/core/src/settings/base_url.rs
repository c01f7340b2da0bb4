//! The base URL, checked so that credentials only go where the user intended.

use super::servers::is_loopback;
use crate::error::{Error, Result};
use std::fmt;
use url::Url;

/// The address of the service: https, or plain http on this machine.
#[derive(Clone, PartialEq, Eq)]
pub struct BaseUrl(Url);

impl BaseUrl {
    /// Reads and checks a base URL.
    ///
    /// # Errors
    /// `Config` unless it is an absolute https URL (or http on a loopback address, or anywhere if that is allowed)
    /// without user, query and fragment.
    pub fn parse(text: &str, allows_http: bool) -> Result<Self> {
        let refuse = |why: &str| Err(Error::config(format!("base_url must {why}")));
        // URL parsers silently drop some of these characters, and the rest may be another host.
        if text.is_empty() {
            return refuse("not be empty");
        }
        if text
            .chars()
            .any(|letter| letter.is_control() || letter.is_whitespace() || letter == '\\')
        {
            return refuse("not contain spaces, control characters or backslashes");
        }
        let Ok(mut url) = Url::parse(text) else {
            return refuse("be an absolute URL, such as https://talent.example");
        };
        if !url.has_host() {
            return refuse("contain a host name, such as https://talent.example");
        }
        match url.scheme() {
            "https" => {}
            "http" if allows_http || is_loopback(&url) => {}
            "http" => {
                return refuse(
                    "use https: plain http would show the secret to the network; for a mock service, set insecure_http to true",
                );
            }
            _ => return refuse("use https"),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return refuse("not contain a user name or password");
        }
        if url.query().is_some() || url.fragment().is_some() {
            return refuse("not contain a query or a fragment");
        }
        if url.path().contains("//") {
            return refuse("not contain empty path segments");
        }
        let path = url.path().trim_end_matches('/').to_owned();
        if path.ends_with("/v1") {
            return refuse("not end with /v1, which is added to it");
        }
        url.set_path(&path);
        Ok(BaseUrl(url))
    }

    /// Returns whether the service is on this machine.
    pub(crate) fn is_loopback(&self) -> bool {
        is_loopback(&self.0)
    }

    /// Returns whether the service is reached without TLS.
    pub(crate) fn is_plain(&self) -> bool {
        self.0.scheme() == "http"
    }

    /// Returns the URL of a path below this one.
    pub(crate) fn at(&self, path: &[String]) -> Url {
        let mut url = self.0.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

impl fmt::Debug for BaseUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn https_and_plain_http_to_this_machine_are_accepted() {
        let elsewhere = "https://talent.example https://talent.example:8443/api/ https://localhost. \
            https://localhost.example https://10.0.0.1";
        let here = "http://127.0.0.1:8080 http://localhost http://[::1]:9 http://[::ffff:127.0.0.1] \
            https://127.0.0.1 https://127.1.2.3:8443 https://localhost https://LOCALHOST/x https://[::1]";
        for (texts, is_loopback) in [(elsewhere, false), (here, true)] {
            for text in texts.split_whitespace() {
                let url = BaseUrl::parse(text, false).unwrap();
                assert_eq!(url.is_loopback(), is_loopback, "{text}");
                assert_eq!(url.is_plain(), text.starts_with("http:"), "{text}");
            }
        }
    }

    #[test]
    fn any_other_url_is_refused_with_the_reason() {
        let texts = "talent.example /v1 ftp://talent.example http://talent.example \
            http://localhost.evil.example http://127.0.0.1.nip.example http://192.168.0.1 \
            https://user@talent.example https://user:pass@talent.example https://talent.example?x=1 \
            https://talent.example/#x https://talent.example\\@evil.example \
            https://talent.example//evil.example https://talent.example/v1 https://";
        let spaced = [
            "",
            " https://talent.example",
            "https://talent.example\r\nHost: evil",
        ];
        for text in texts.split_whitespace().chain(spaced) {
            let error = BaseUrl::parse(text, false).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config, "{text}");
            assert!(error.message().starts_with("base_url must "), "{text}");
            assert!(!error.message().contains("pass@"), "{text}");
        }
    }

    #[test]
    fn plain_http_to_another_machine_is_accepted_if_it_is_allowed() {
        let url = BaseUrl::parse("http://mock.example:8080", true).unwrap();
        assert!(url.is_plain() && !url.is_loopback());
        assert!(BaseUrl::parse("ftp://mock.example", true).is_err());
    }

    #[test]
    fn paths_are_appended_to_the_prefix() {
        for (base, wanted) in [
            ("https://talent.example/api/", "https://talent.example/api"),
            ("http://localhost:1", "http://localhost:1"),
        ] {
            let base = BaseUrl::parse(base, false).unwrap();
            assert_eq!(base.to_string(), wanted);
            let path = ["v1", "ja", "skills"].map(str::to_owned);
            assert_eq!(base.at(&path).as_str(), format!("{wanted}/v1/ja/skills"));
        }
    }
}
