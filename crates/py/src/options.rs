//! The options of a client as Python gives them: times in seconds, checked by the core.

use crate::errors::error;
use pyo3::prelude::*;
use std::time::Duration;
use talentdata_core::{Builder, ErrorKind, Timeouts};

/// Settings that another client can be made from.
#[derive(Clone, Default)]
pub(crate) struct Settings {
    pub(crate) builder: Builder,
    pub(crate) timeouts: Timeouts,
}

/// What may be set after the fact, too; `None` keeps what is set.
pub(crate) struct Options {
    pub(crate) timeout: Option<f64>,
    pub(crate) attempt_timeout: Option<f64>,
    pub(crate) connect_timeout: Option<f64>,
    pub(crate) idle_timeout: Option<f64>,
    pub(crate) max_attempts: Option<u32>,
    pub(crate) max_wait: Option<f64>,
    pub(crate) share: Option<f64>,
    pub(crate) paced: Option<bool>,
}

impl Settings {
    /// The settings with these changes.
    pub(crate) fn with(mut self, py: Python<'_>, options: &Options) -> PyResult<Self> {
        let timeouts = &mut self.timeouts;
        for (name, seconds, slot) in [
            ("timeout", options.timeout, &mut timeouts.operation),
            (
                "attempt_timeout",
                options.attempt_timeout,
                &mut timeouts.attempt,
            ),
            (
                "connect_timeout",
                options.connect_timeout,
                &mut timeouts.connect,
            ),
            ("idle_timeout", options.idle_timeout, &mut timeouts.idle),
        ] {
            if let Some(seconds) = seconds {
                *slot = duration(py, name, seconds)?;
                if slot.is_zero() {
                    // The core would say the same, by its own name of the setting.
                    let message = format!("{name}: it is zero; give a positive time in seconds");
                    return Err(error(py, ErrorKind::Config, message));
                }
            }
        }
        let mut builder = self.builder.timeouts(self.timeouts);
        if let Some(attempts) = options.max_attempts {
            builder = builder.max_attempts(attempts);
        }
        if let Some(seconds) = options.max_wait {
            builder = builder.max_wait(duration(py, "max_wait", seconds)?);
        }
        if let Some(share) = options.share {
            builder = builder.share(share);
        }
        if let Some(paced) = options.paced {
            builder = builder.paced(paced);
        }
        Ok(Settings {
            builder,
            timeouts: self.timeouts,
        })
    }
}

/// A time in seconds.
pub(crate) fn duration(py: Python<'_>, name: &str, seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(|_| {
        let message = format!("{name}: {seconds} is no time in seconds; give a number from 0");
        error(py, ErrorKind::Config, message)
    })
}

/// A number of records.
pub(crate) fn count(name: &str, number: &Bound<'_, PyAny>) -> PyResult<u64> {
    number.extract().map_err(|_| {
        let message = format!("{name}: it is not a whole number from 0");
        error(number.py(), ErrorKind::InvalidArgument, message)
    })
}
