//! Settings of clients, by their names.

use crate::boundary::{get, guard, guard_or, invalid, lent, text};
use crate::error::Error;
use crate::log::Sink;
use crate::record::Record;
use crate::text::Text;
use std::mem::MaybeUninit;
use talentdata_core::settings::SETTINGS;
use talentdata_core::{Builder, Result};

/// Settings of clients. What is not set comes from the environment, then from the profile file.
/// Freed with talentdata_config_free.
#[derive(Default)]
pub struct Config {
    pub(crate) builder: Builder,
    pub(crate) sink: Option<Sink>,
}

impl Config {
    /// The settings given, or none.
    pub(crate) fn or_default(config: Option<&Config>) -> Result<Builder> {
        Ok(config.map_or_else(Builder::default, |config| config.builder.clone()))
    }
}

/// Creates settings in which nothing is set.
///
/// Ownership: the caller frees the result with talentdata_config_free.
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_new() -> Option<Box<Config>> {
    guard_or(None, || Some(Box::default()))
}

/// Sets a setting, such as base_url, client_id, client_secret, max_attempts or timeout. The manual lists all of them.
/// What is not set comes from the environment variable, such as TALENTDATA_BASE_URL, then from the profile file.
///
/// @param config the settings to change
/// @param name the name of the setting
/// @param value the value as text, such as 8, true, or 2.5 for seconds
/// Ownership: the texts are copied. No error and no log message contains the secret, but copies of it stay in the memory
/// of the process.
/// Threads: one at a time per config.
/// Errors: INVALID_ARGUMENT for NULL, a name that is not a setting, text that is not UTF-8, or more than 8 MiB;
/// talentdata_client_new checks the value.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_set(
    config: Option<&mut Config>,
    name: Text,
    value: Text,
) -> Option<Box<Error>> {
    guard(|| {
        let config = lent(config, "config")?;
        let name = text(&name, "name")?;
        if !SETTINGS.iter().any(|setting| setting.name == name) {
            let names: Vec<&str> = SETTINGS.iter().map(|setting| setting.name).collect();
            let names = names.join(", ");
            let why = format_args!("there is no setting {name:?}; the settings are {names}");
            return Err(invalid("name", why));
        }
        config.builder.set(name, text(&value, name)?);
        Ok(())
    })
}

/// Who shares the request budget that these settings name, and how it is spent. Sends nothing to the service.
///
/// @param config the settings, or NULL for those of the environment
/// @param state_out the state, a JSON object
/// Ownership: the caller frees `*state_out` with talentdata_record_free.
/// Threads: any; no other may change `config` meanwhile.
/// Errors: CONFIG where the budget is not shared or a setting is missing or wrong; IO, CONNECT where it cannot be read.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_budget(
    config: Option<&Config>,
    state_out: Option<&mut MaybeUninit<Box<Record>>>,
) -> Option<Box<Error>> {
    get((Some(&()), "config"), (state_out, "state_out"), |()| {
        let settings = Config::or_default(config)?.config()?;
        Record::of(&settings.budget_state()?)
    })
}

/// Frees settings; does nothing when they are NULL. Clients made from them keep working.
///
/// Ownership: `config` must not be used any more.
/// Threads: one at a time per config.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_free(config: Option<Box<Config>>) {
    guard_or((), || drop(config));
}
