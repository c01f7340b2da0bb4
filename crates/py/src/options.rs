//! The settings of a client, from what Python gives by name; their values are checked by the core.

use crate::arguments::Arguments;
use crate::errors::error;
use pyo3::prelude::*;
use talentdata_core::{Builder, ErrorKind, Timeouts};

/// Settings that another client can be made from.
#[derive(Clone, Default)]
pub(crate) struct Settings {
    pub(crate) builder: Builder,
    timeouts: Timeouts,
}

impl Settings {
    /// The settings with these changes; what is absent or `None` stays as it is.
    pub(crate) fn with(mut self, py: Python<'_>, given: &mut Arguments<'_>) -> PyResult<Self> {
        let mut builder = self.builder;
        if let Some(url) = given.take::<String>("base_url", "a URL as a string")? {
            builder = builder.base_url(url);
        }
        if let Some(id) = given.take::<String>("client_id", "a string")? {
            builder = builder.client_id(id);
        }
        if let Some(secret) = given.take::<String>("client_secret", "a string")? {
            builder = builder.client_secret(secret);
        }
        if let Some(name) = given.take::<String>("profile", "a section's name as a string")? {
            builder = builder.profile(name);
        }
        let timeouts = &mut self.timeouts;
        for (name, slot) in [
            ("timeout", &mut timeouts.operation),
            ("attempt_timeout", &mut timeouts.attempt),
            ("connect_timeout", &mut timeouts.connect),
            ("idle_timeout", &mut timeouts.idle),
        ] {
            if let Some(time) = given.seconds(name)? {
                if time.is_zero() {
                    // The core would say the same, by its own name of the setting.
                    let message = format!("{name}: it is zero; give a positive time in seconds");
                    return Err(error(py, ErrorKind::Config, message));
                }
                *slot = time;
            }
        }
        builder = builder.timeouts(self.timeouts);
        if let Some(attempts) = given.take("max_attempts", "a whole number from 1 to 20")? {
            builder = builder.max_attempts(attempts);
        }
        if let Some(wait) = given.seconds("max_wait")? {
            builder = builder.max_wait(wait);
        }
        if let Some(share) = given.take("share", "a number above 0, 1 at most")? {
            builder = builder.share(share);
        }
        if let Some(paced) = given.take("paced", "True or False")? {
            builder = builder.paced(paced);
        }
        Ok(Settings {
            builder,
            timeouts: self.timeouts,
        })
    }
}
