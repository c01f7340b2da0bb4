//! Collects settings, fills the gaps from environment and profile, and checks the whole.

use super::{BaseUrl, Config, REQUESTS_PER_SECOND, Timeouts, profile};
use crate::client::Client;
use crate::error::{Error, ErrorKind, Result, SHORTEST_SECRET};
use std::time::Duration;
use talentdata_types::Secret;

/// What the environment may set, one name per setting.
const BASE_URL: &str = "TALENTDATA_BASE_URL";
const CLIENT_ID: &str = "TALENTDATA_CLIENT_ID";
const CLIENT_SECRET: &str = "TALENTDATA_CLIENT_SECRET";
/// The variables of the environment for base_url, client_id and client_secret, in this order.
pub const VARIABLES: [&str; 3] = [BASE_URL, CLIENT_ID, CLIENT_SECRET];

/// Longer identifiers and secrets are surely something else, such as a file's content.
const LONGEST_CREDENTIAL: usize = 16 * 1024;
/// The longest deadline: a day, beyond any use, and far from where times overflow.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(86_400);

/// Settings in the making. An explicit value wins over the environment, that over the profile file.
#[derive(Clone, Debug)]
pub struct Builder {
    base_url: Option<String>,
    client_id: Option<String>,
    client_secret: Option<Secret>,
    profile: Option<String>,
    timeouts: Timeouts,
    max_attempts: u32,
    max_wait: Duration,
    share: f64,
    paced: bool,
}

impl Default for Builder {
    fn default() -> Self {
        Builder {
            base_url: None,
            client_id: None,
            client_secret: None,
            profile: None,
            timeouts: Timeouts::default(),
            max_attempts: 4,
            max_wait: Duration::from_secs(60),
            share: 1.0,
            paced: true,
        }
    }
}

impl Builder {
    /// Where the service is; else `TALENTDATA_BASE_URL`. There is no default.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// The client's identifier; else `TALENTDATA_CLIENT_ID`.
    pub fn client_id(mut self, id: impl Into<String>) -> Self {
        self.client_id = Some(id.into());
        self
    }

    /// The client's secret; else `TALENTDATA_CLIENT_SECRET`.
    pub fn client_secret(mut self, secret: impl Into<String>) -> Self {
        self.client_secret = Some(Secret::new(secret));
        self
    }

    /// The section of the profile file to read; it must exist. Without one, the section `default`
    /// is read when there is a file.
    pub fn profile(mut self, name: impl Into<String>) -> Self {
        self.profile = Some(name.into());
        self
    }

    /// The four deadlines of a call, each above zero and at most a day.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// How often a request is sent at most, 1 to 20; 4 by default.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.max_attempts = attempts;
        self
    }

    /// The longest wait that the service may ask for before the call fails with `RateLimited`
    /// instead; 60 seconds by default.
    pub fn max_wait(mut self, wait: Duration) -> Self {
        self.max_wait = wait;
        self
    }

    /// The part of the company's budget that this client may use, from one request a second (0.025) up to 1.
    pub fn share(mut self, share: f64) -> Self {
        self.share = share;
        self
    }

    /// Whether to keep to the documented 40 requests per second; true by default. Without, requests
    /// go as fast as they are answered, for a service that counts none, and only the documented
    /// client rule is kept.
    pub fn paced(mut self, paced: bool) -> Self {
        self.paced = paced;
        self
    }

    /// Checks the settings, without sending anything.
    ///
    /// # Errors
    /// `Config`, naming the setting.
    pub fn config(self) -> Result<Config> {
        self.resolve(|name| {
            std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
        })
    }

    /// Checks the settings and makes a client, without sending anything.
    ///
    /// # Errors
    /// `Config`, naming the setting.
    pub fn build(self) -> Result<Client> {
        Client::new(self.config()?)
    }

    fn resolve(self, environment: impl Fn(&str) -> Option<String>) -> Result<Config> {
        // An empty variable is how shells and CI systems say "not set".
        let environment = |name: &str| environment(name).filter(|value| !value.is_empty());
        let mut base_url = self.base_url.or_else(|| environment(BASE_URL));
        let mut client_id = self.client_id.or_else(|| environment(CLIENT_ID));
        let mut client_secret = self
            .client_secret
            .or_else(|| environment(CLIENT_SECRET).map(Secret::new));
        let complete = base_url.is_some() && client_id.is_some() && client_secret.is_some();
        if self.profile.is_some() || !complete {
            let profile = profile::load(self.profile.as_deref(), environment)?;
            base_url = base_url.or(profile.base_url);
            client_id = client_id.or(profile.client_id);
            client_secret = client_secret.or(profile.client_secret);
        }
        let Some(base_url) = base_url else {
            return Err(config(format!(
                "base_url is not set; give it, set {BASE_URL}, or write it in {}",
                profile::usual_path(environment)
            )));
        };
        check_credential("client_id", 1, client_id.as_deref())?;
        let secret = client_secret.as_ref().map(Secret::expose);
        check_credential("client_secret", SHORTEST_SECRET, secret)?;
        if !(1..=20).contains(&self.max_attempts) {
            return Err(config(format!(
                "max_attempts: {} is not between 1 and 20",
                self.max_attempts
            )));
        }
        if !(self.share > 0.0
            && self.share <= 1.0
            && self.share * f64::from(REQUESTS_PER_SECOND) >= 1.0)
        {
            return Err(config(format!(
                "share: {} is not a part of the budget; give a number from {} to 1",
                self.share,
                1.0 / f64::from(REQUESTS_PER_SECOND)
            )));
        }
        let Timeouts {
            connect,
            idle,
            attempt,
            operation,
        } = self.timeouts;
        for (name, value) in [
            ("connect", connect),
            ("idle", idle),
            ("attempt", attempt),
            ("operation", operation),
        ] {
            if value.is_zero() || value > LONGEST_TIMEOUT {
                return Err(config(format!(
                    "timeouts.{name}: {} s is not possible; give more than 0 and at most {} s",
                    value.as_secs_f64(),
                    LONGEST_TIMEOUT.as_secs()
                )));
            }
        }
        Ok(Config {
            base_url: BaseUrl::parse(&base_url)?,
            client_id,
            client_secret,
            timeouts: self.timeouts,
            max_attempts: self.max_attempts,
            max_wait: self.max_wait,
            share: self.share,
            paced: self.paced,
        })
    }
}

/// Refuses what could not be a credential, naming the setting and never the value.
fn check_credential(name: &str, shortest: usize, value: Option<&str>) -> Result<()> {
    let Some(value) = value else { return Ok(()) };
    let why = if value.is_empty() {
        "it is empty"
    } else if value.len() < shortest {
        "it is shorter than 8 characters, too short to be kept out of messages"
    } else if value.trim() != value {
        "it begins or ends with white space"
    } else if value.chars().any(char::is_control) {
        "it holds a control character"
    } else if value.len() > LONGEST_CREDENTIAL {
        "it is longer than 16 KiB"
    } else if value.contains(char::REPLACEMENT_CHARACTER) {
        "it is not valid UTF-8"
    } else {
        return Ok(());
    };
    Err(config(format!("{name}: {why}")))
}

fn config(message: String) -> Error {
    Error::new(ErrorKind::Config, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(builder: Builder, variables: &[(&str, &str)]) -> Result<Config> {
        builder.resolve(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found
                .map(|(_, value)| (*value).to_owned())
                .or((name == "HOME").then(|| "/nonexistent".into()))
        })
    }

    #[test]
    fn an_explicit_value_wins_over_the_environment() {
        let variables = [
            (BASE_URL, "https://env.example"),
            (CLIENT_ID, "env"),
            (CLIENT_SECRET, "CANARY-1234"),
        ];
        let config = resolve(Builder::default().client_id("mine"), &variables).unwrap();
        assert_eq!(config.base_url.to_string(), "https://env.example");
        assert_eq!(config.client_id.as_deref(), Some("mine"));
        assert_eq!(
            config.client_secret.as_ref().unwrap().expose(),
            "CANARY-1234"
        );
        assert!(!format!("{config:?}").contains("CANARY"));
    }

    #[test]
    fn a_missing_base_url_says_how_to_give_it() {
        let error = resolve(Builder::default(), &[(BASE_URL, "")]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.message().contains(BASE_URL) && error.message().contains("profiles.toml"));
    }

    #[test]
    fn wrong_settings_are_named_and_secrets_are_not_shown() {
        let good = || Builder::default().base_url("https://a.example");
        for (builder, field) in [
            (good().client_secret("CANARY\r\nx"), "client_secret: "),
            (good().client_secret(""), "client_secret: "),
            (good().client_secret("s"), "client_secret: "),
            (good().client_secret("CANARY1"), "client_secret: "),
            (good().client_secret(" CANARY"), "client_secret: "),
            (good().client_id("a\0b"), "client_id: "),
            (good().client_id("x".repeat(20_000)), "client_id: "),
            (good().max_attempts(0), "max_attempts: "),
            (good().share(f64::NAN), "share: "),
            (good().share(1.5), "share: "),
            (
                good().timeouts(Timeouts {
                    idle: Duration::ZERO,
                    ..Timeouts::default()
                }),
                "timeouts.idle: ",
            ),
            (
                good().timeouts(Timeouts {
                    operation: Duration::MAX,
                    ..Timeouts::default()
                }),
                "timeouts.operation: ",
            ),
        ] {
            let error = resolve(builder, &[]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config, "{field}");
            assert!(error.message().starts_with(field), "{field} {error}");
            assert!(!format!("{error:?}").contains("CANARY"));
        }
    }
}
