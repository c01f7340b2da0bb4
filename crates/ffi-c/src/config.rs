//! Settings of clients: created and freed. Their setters are generated from the table of settings.

use crate::boundary::{guard, guard_or, lent, slot};
use crate::error::Error;
use crate::log::Sink;
use std::mem::MaybeUninit;
use talentdata_core::settings::Value;
use talentdata_core::{Builder, Result};

/// Settings of clients. What is not set comes from the environment, then from the profile file.
/// Freed with talentdata_config_free.
#[derive(Default)]
pub struct Config {
    pub(crate) builder: Builder,
    pub(crate) sink: Option<Sink>,
}

/// Creates settings in which nothing is set.
///
/// @param config_out the settings
/// Ownership: the caller frees `*config_out` with talentdata_config_free.
/// Threads: any.
/// Errors: INVALID_ARGUMENT.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_config_new(
    config_out: Option<&mut MaybeUninit<Box<Config>>>,
) -> Option<Box<Error>> {
    guard(|| {
        slot(config_out, "config_out")?.write(Box::default());
        Ok(())
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

/// Sets a setting by its name in the table.
pub(crate) fn set(config: Option<&mut Config>, name: &str, value: impl Into<Value>) -> Result<()> {
    lent(config, "config")?.builder.set(name, value);
    Ok(())
}
