//! The options of the driver, by the names that they have everywhere: settings, options of scans, and the mirror.

use adbc_core::constants::{ADBC_OPTION_PASSWORD, ADBC_OPTION_URI, ADBC_OPTION_USERNAME};
use adbc_core::options::OptionValue;
use std::path::PathBuf;
use talentdata_core::blocking::Client;
use talentdata_core::internal::settings::SETTINGS;
use talentdata_core::{Builder, Error, Result};
use talentdata_mirror::internal::{JobKind, JobOption, JobOptions};

/// The option that names the file of a mirror, which is read in place of the service.
const MIRROR: &str = "mirror";

/// The options of a database. The options of scans have the same names in connections and statements.
#[derive(Clone, Debug, Default)]
pub(crate) struct DriverOptions {
    settings: Builder,
    pub(crate) mirror: Option<PathBuf>,
    scan: ScanSettings,
}

/// The options of the scans of a statement.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScanSettings {
    pub(crate) job: JobOptions,
    /// The names of the options that were set.
    names: Vec<&'static str>,
}

impl DriverOptions {
    /// Sets an option of a database that no connection uses yet.
    ///
    /// # Errors
    /// `InvalidArgument` for an unknown name or a wrong value. Values of settings are checked by
    /// [`client`](Self::client).
    pub(crate) fn set(&mut self, name: &str, value: &OptionValue) -> Result<()> {
        let name = match name {
            ADBC_OPTION_USERNAME => "client_id",
            ADBC_OPTION_PASSWORD => "client_secret",
            other => other,
        };
        if name == ADBC_OPTION_URI {
            if let Some(url) = base_url(&text(name, value)?) {
                self.settings.set("base_url", url);
            }
        } else if name == MIRROR {
            self.mirror = Some(text(name, value)?.into());
        } else if let Some(setting) = SETTINGS.iter().find(|setting| setting.name == name) {
            self.settings.set(setting.name, text(name, value)?);
        } else {
            self.scan.set(name, value)?;
        }
        Ok(())
    }

    /// Creates the client, without sending a request.
    ///
    /// # Errors
    /// `Config`, naming the setting.
    pub(crate) fn client(&self) -> Result<Client> {
        self.settings.config()?.require_credentials()?;
        Client::new(&self.settings)
    }

    /// Returns the options of scans.
    pub(crate) fn scan(&mut self) -> &mut ScanSettings {
        &mut self.scan
    }
}

impl ScanSettings {
    /// Sets an option of scans.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the option.
    pub(crate) fn set(&mut self, name: &str, value: &OptionValue) -> Result<()> {
        let option = JobKind::Scan.options().find(|option| option.name == name);
        let option: &JobOption = option.ok_or_else(|| unknown(name))?;
        self.job.set(option, &text(name, value)?)?;
        self.names.push(option.name);
        Ok(())
    }

    /// Checks that a mirror takes the options that were set.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the option.
    pub(crate) fn check_mirror(&self) -> Result<()> {
        let takes =
            |name: &str| name == "limit" || JobKind::Mirror.options().any(|one| one.name == name);
        match self.names.iter().find(|name| !takes(name)) {
            Some(name) => Err(Error::invalid(format!(
                "{name}: a mirror has no such option; its sync decides what it holds"
            ))),
            None => Ok(()),
        }
    }
}

/// Returns the error for an unknown option.
fn unknown(name: &str) -> Error {
    let settings: Vec<&str> = SETTINGS.iter().map(|setting| setting.name).collect();
    Error::invalid(format!(
        "there is no option {name:?}; a database takes {}, {MIRROR}; databases, connections and statements take {}",
        settings.join(", "),
        JobKind::Scan.names()
    ))
}

/// Returns the address of the service in a URI; `None` for the bare scheme that only selects the driver.
fn base_url(uri: &str) -> Option<String> {
    match uri.strip_prefix("talentdata://") {
        Some("") => None,
        Some(place) => Some(format!("https://{place}")),
        None => Some(uri.to_owned()),
    }
}

/// Returns a value as text. A wrong value may be a secret, and is not shown.
fn text(name: &str, value: &OptionValue) -> Result<String> {
    match value {
        OptionValue::String(text) => Ok(text.clone()),
        OptionValue::Int(number) => Ok(number.to_string()),
        OptionValue::Double(number) => Ok(number.to_string()),
        _ => Err(Error::invalid(format!("{name}: must be text or a number"))),
    }
}
