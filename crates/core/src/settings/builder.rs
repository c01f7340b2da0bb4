//! Collects settings as they are given, and fills the gaps from the environment and the profile file.

use super::table::{PROFILE, SETTINGS};
use super::{Config, Found, profile};
use crate::client::Client;
use crate::error::Result;
use std::collections::BTreeMap;
use std::time::Duration;
use talentdata_types::Secret;

/// Settings to make clients from. What is not set comes from the environment, else from the profile file,
/// else it has its default. Values are checked when a client is made.
#[derive(Clone, Debug, Default)]
pub struct Builder(BTreeMap<String, Value>);

impl Builder {
    /// Sets a setting by its name in [`SETTINGS`].
    pub fn set(&mut self, name: &str, value: impl Into<Value>) -> &mut Self {
        self.0.insert(name.to_owned(), value.into());
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
                values.insert(setting.name.to_owned(), text.into());
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

/// The value of a setting as it was given. What comes as text, from the environment or the command line,
/// is read as the kind of the setting demands.
#[derive(Clone, Debug)]
pub enum Value {
    /// A text. It may hold a secret, whichever setting it was meant for, so it is never shown.
    Text(Secret),
    /// A number; a time is one of seconds.
    Number(f64),
    /// True or false.
    Boolean(bool),
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(Secret::new(text))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(Secret::new(text))
    }
}

impl From<Duration> for Value {
    fn from(time: Duration) -> Self {
        Value::Number(time.as_secs_f64())
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Value::Number(number.into())
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Value::Number(number)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Boolean(value)
    }
}
