//! Collects settings as they are given, and fills the gaps from the environment and the profile file.

use super::table::{PROFILE, SETTINGS};
use super::{Config, Found, profile};
use crate::client::Client;
use crate::error::Result;
use std::collections::BTreeMap;
use talentdata_types::Secret;

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
    pub(super) fn found(&self, environment: impl Fn(&str) -> Option<String>) -> Result<Found> {
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
pub(super) fn variable(name: &str) -> Option<String> {
    let value = std::env::var_os(name)?.to_string_lossy().into_owned();
    Some(value).filter(|value| !value.is_empty())
}
