//! The values of the settings, and their checks. Errors name the setting and the fix.

use super::base_url::BaseUrl;
use super::not_set;
use super::servers::{Proxy, parse_budget_store};
use super::table::{Bounds, ENVIRONMENT, PROFILE, SETTINGS, Setting, SettingKind};
use crate::budget::BudgetStore;
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use talentdata_types::Secret;

/// Limits the bytes of identifiers and secrets. A longer value is surely something else, for example the content of a
/// file.
const LONGEST_TEXT: usize = 16 * 1024;
/// Limits the bytes of a value that an error quotes.
const LONGEST_QUOTE: usize = 40;

/// One value per setting, as text, from the first source that has one. Any value may be a secret by mistake, so none is
/// shown. `Config` is read from it, setting by setting.
#[derive(Debug)]
pub(crate) struct SettingValues(pub(super) BTreeMap<String, Secret>);

impl SettingValues {
    /// Reads the address of a service, which has no default.
    pub(crate) fn base_url(&self, name: &str) -> Result<BaseUrl> {
        match self.text(name)? {
            Some(url) => BaseUrl::parse(&url, self.boolean("insecure_http")?),
            None => Err(not_set(&self.missing(), self.boolean(ENVIRONMENT)?)),
        }
    }

    /// Returns the names of the settings of a service that are not set.
    pub(super) fn missing(&self) -> Vec<&'static str> {
        let mut names = vec!["base_url", "client_id", "client_secret"];
        names.retain(|name| !self.0.contains_key(*name));
        names
    }

    pub(crate) fn text(&self, name: &str) -> Result<Option<String>> {
        let secret = self.secret(name)?;
        Ok(secret.map(|text| text.expose().to_owned()))
    }

    pub(crate) fn secret(&self, name: &str) -> Result<Option<Secret>> {
        let secret = self.0.get(name);
        secret.map_or(Ok(()), |text| check_text(name, text.expose()))?;
        Ok(secret.cloned())
    }

    /// Reads the path of a file. The current directory may change while a client exists.
    pub(crate) fn file(&self, name: &str) -> Result<Option<PathBuf>> {
        let path = self.text(name)?.map(std::path::absolute).transpose();
        path.map_err(|_| Error::config(format!("{name} must be the path of a file")))
    }

    pub(crate) fn proxy(&self, name: &str) -> Result<Proxy> {
        match self.text(name)? {
            Some(text) => Proxy::parse(&text),
            None if self.boolean(ENVIRONMENT)? => Ok(Proxy::Environment),
            None => Ok(Proxy::None),
        }
    }

    pub(crate) fn budget(&self, name: &str) -> Result<BudgetStore> {
        let text = self.text(name)?;
        text.map_or(Ok(BudgetStore::Host), |text| parse_budget_store(&text))
    }

    /// Reads a setting that is one of a few names.
    pub(crate) fn choice<T: FromStr>(&self, name: &str) -> Result<T> {
        self.text(name)?;
        self.parsed(name)
    }

    pub(crate) fn boolean(&self, name: &str) -> Result<bool> {
        self.parsed(name)
    }

    pub(crate) fn duration(&self, name: &str) -> Result<Duration> {
        self.number(name).map(Duration::from_secs_f64)
    }

    pub(crate) fn integer(&self, name: &str) -> Result<u32> {
        self.number(name).map(|number| number as u32)
    }

    pub(crate) fn number(&self, name: &str) -> Result<f64> {
        let setting = row(name)?;
        let Bounds { min, max, default } = setting.bounds().ok_or_else(|| unknown(name))?;
        if !self.0.contains_key(name) {
            return Ok(default);
        }
        let number: f64 = self.parsed(name)?;
        let is_whole = number.fract() == 0.0 || !number.is_finite();
        if matches!(setting.kind, SettingKind::Integer(_)) && !is_whole {
            return Err(Error::config(
                setting.wrong_type_message(&number.to_string()),
            ));
        }
        if (min..=max).contains(&number) {
            Ok(number)
        } else {
            Err(Error::config(setting.out_of_range_message(number)))
        }
    }

    /// Reads a value, or the default, in the form that the kind of the setting requires.
    fn parsed<T: FromStr>(&self, name: &str) -> Result<T> {
        let setting = row(name)?;
        let text = self.0.get(name).map(|text| text.expose().trim().to_owned());
        let text = text.or_else(|| setting.default()).unwrap_or_default();
        let wrong = |_| Error::config(setting.wrong_type_message(&quoted(&text)));
        text.parse().map_err(wrong)
    }

    /// Returns the values if they do not select a profile.
    pub(super) fn without_profile(self) -> Result<Self> {
        if self.0.contains_key(PROFILE) {
            let message = "profile selects a section of the profile file, but environment is false; leave out one of them";
            return Err(Error::config(message));
        }
        Ok(self)
    }

    /// Checks that each value belongs to a setting.
    pub(super) fn check_known(&self) -> Result<()> {
        let mut names = self.0.keys();
        names.try_for_each(|name| row(name).map(drop))
    }
}

/// Returns the row of a setting.
pub(super) fn row(name: &str) -> Result<&'static Setting> {
    let mut rows = SETTINGS.iter();
    rows.find(|row| row.name == name)
        .ok_or_else(|| unknown(name))
}

/// Returns the error for a name that is not a setting.
pub(super) fn unknown(name: &str) -> Error {
    let known: Vec<&str> = SETTINGS.iter().map(|row| row.name).collect();
    Error::config(format!(
        "there is no setting {}; the settings are {}",
        quoted(name),
        known.join(", ")
    ))
}

/// Checks that a value can be an identifier, a secret or a URL. Errors never show it.
fn check_text(name: &str, value: &str) -> Result<()> {
    let why = if value.is_empty() {
        "not be empty".into()
    } else if value.trim() != value {
        "not begin or end with white space".into()
    } else if value.chars().any(char::is_control) {
        "not contain control characters".into()
    } else if value.len() > LONGEST_TEXT {
        format!("not be longer than {} KiB", LONGEST_TEXT / 1024)
    } else if value.contains(char::REPLACEMENT_CHARACTER) {
        "be valid UTF-8".into()
    } else {
        return Ok(());
    };
    Err(Error::config(format!("{name} must {why}")))
}

fn quoted(text: &str) -> String {
    if text.len() <= LONGEST_QUOTE {
        format!("{text:?}")
    } else {
        format!("{} characters", text.chars().count())
    }
}
