//! Settings of a client: given explicitly, else from the environment, else from a profile file.

mod base_url;
mod found;
mod profile;
mod servers;
mod table;
#[cfg(all(test, unix))]
mod tests;

pub use crate::generated::settings::Config;
pub use base_url::BaseUrl;
pub(crate) use found::Found;
use found::not_set;
pub use profile::read_secret_file;
pub(crate) use servers::{BudgetStore, Proxy};
pub use table::{Bounds, Kind, PROFILE, SETTINGS, Scope, Setting};

use crate::choice;
use crate::client::Client;
use crate::error::Result;
use std::collections::BTreeMap;
use talentdata_types::Secret;

/// The company's limit, in requests per second.
pub const REQUESTS_PER_SECOND: u32 = 40;

/// Settings to make clients from. What is not set comes from the environment, else from the profile file,
/// else it has its default. Values are checked when a client is made.
#[derive(Clone, Debug, Default)]
pub struct Builder(BTreeMap<String, Secret>);

impl Builder {
    /// Sets a setting by its name in [`SETTINGS`]; a time is a number of seconds.
    pub fn set(&mut self, name: &str, value: impl ToString) -> &mut Self {
        let value = Secret::new(value.to_string());
        self.0.insert(name.to_owned(), value);
        self
    }

    /// Checks the settings, without sending anything.
    ///
    /// # Errors
    /// `Config`, naming the setting.
    pub fn config(&self) -> Result<Config> {
        Config::read(&self.found(variable)?)
    }

    /// Checks the settings and makes a client, without sending anything.
    ///
    /// # Errors
    /// `Config`, naming the setting.
    pub fn build(&self) -> Result<Client> {
        Client::new(self.config()?)
    }

    /// The values from all sources. An explicit value goes before the environment, and that before the profile.
    fn found(&self, environment: impl Fn(&str) -> Option<String>) -> Result<Found> {
        let mut values = BTreeMap::new();
        for setting in SETTINGS {
            if let Some(text) = environment(&setting.variable()) {
                values.insert(setting.name.to_owned(), Secret::new(text));
            }
        }
        values.extend(self.0.clone());
        let mut found = Found(values);
        found.refuse_unknown()?;
        let section = found.text(PROFILE)?;
        for (name, value) in profile::load(section.as_deref(), environment)? {
            found.0.entry(name).or_insert(value);
        }
        Ok(found)
    }
}

/// A variable of the environment. An empty one is how shells and CI systems say "not set".
fn variable(name: &str) -> Option<String> {
    let value = std::env::var_os(name)?.to_string_lossy().into_owned();
    Some(value).filter(|value| !value.is_empty())
}

impl Config {
    /// The credentials, which every call but those for the version needs.
    ///
    /// # Errors
    /// `Config`, naming the setting that is missing.
    pub fn require_credentials(&self) -> Result<(&str, &Secret)> {
        match (&self.client_id, &self.client_secret) {
            (None, _) => Err(not_set("client_id")),
            (_, None) => Err(not_set("client_secret")),
            (Some(id), Some(secret)) => Ok((id, secret)),
        }
    }

    /// Where the service is.
    pub fn base_url(&self) -> &BaseUrl {
        &self.base_url
    }

    /// The client's identifier, when one is set.
    pub fn client_id(&self) -> Option<&str> {
        self.client_id.as_deref()
    }
}

/// What a client does while the shared budget cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnUnreachable {
    /// It spends an equal share of the budget.
    Share,
    /// It waits, as long as the time limit of each call allows.
    Wait,
}

choice!(OnUnreachable, "on_unreachable", { Share => "share", Wait => "wait" });

/// How scans rank among all that share the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// After single calls.
    Normal,
    /// Like single calls.
    Foreground,
    /// After all others.
    Background,
}

choice!(Priority, "priority", { Normal => "normal", Foreground => "foreground", Background => "background" });

/// Where the access token of a client is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenCache {
    /// Each client has a token of its own.
    Process,
    /// The processes of this user on this host share one, in a file.
    Host,
}

choice!(TokenCache, "token_cache", { Process => "process", Host => "host" });
