//! The values found for the settings, and what each must be; errors name the setting and how to mend it.

use super::profile::usual_path;
use super::table::{Bounds, Kind, SETTINGS, Setting};
use super::{BaseUrl, BudgetStore, Proxy, Value};
use crate::error::{Error, ErrorKind, Result};
use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;
use talentdata_types::Secret;

/// Longer identifiers and secrets are surely something else, such as a file's content.
const LONGEST_TEXT: usize = 16 * 1024;
/// A longer text is not quoted in an error.
const LONGEST_QUOTE: usize = 40;

/// One value per setting, from whichever source goes first. `Config` is read from it, setting by setting.
#[derive(Debug)]
pub(crate) struct Found(pub(super) BTreeMap<String, Value>);

impl Found {
    /// A setting that has no default.
    pub(crate) fn base_url(&self, name: &str) -> Result<BaseUrl> {
        match self.text(name)? {
            Some(url) => BaseUrl::parse(&url),
            None => Err(not_set(name)),
        }
    }

    pub(crate) fn text(&self, name: &str) -> Result<Option<String>> {
        let secret = self.secret(name)?;
        Ok(secret.map(|text| text.expose().to_owned()))
    }

    pub(crate) fn secret(&self, name: &str) -> Result<Option<Secret>> {
        let setting = row(name)?;
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::Text(text)) => {
                check_text(setting, text.expose()).map(|()| Some(text.clone()))
            }
            Some(other) => Err(wrong_type(setting, other)),
        }
    }

    pub(crate) fn proxy(&self, name: &str) -> Result<Proxy> {
        let text = self.text(name)?;
        text.map_or(Ok(Proxy::Environment), |text| Proxy::parse(&text))
    }

    pub(crate) fn budget(&self, name: &str) -> Result<BudgetStore> {
        let text = self.text(name)?;
        text.map_or(Ok(BudgetStore::Host), |text| BudgetStore::parse(&text))
    }

    /// A setting that is one of a few names.
    pub(crate) fn choice<T: FromStr>(&self, name: &str) -> Result<T> {
        let setting = row(name)?;
        let text = self.text(name)?.or_else(|| setting.default());
        let text = text.unwrap_or_default();
        text.parse()
            .map_err(|_| wrong_type(setting, &text.as_str().into()))
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
        let (value, number) = match self.0.get(name) {
            None => return Ok(default),
            Some(value @ Value::Number(number)) => (value, Some(*number)),
            Some(value @ Value::Text(text)) => (value, text.expose().trim().parse().ok()),
            Some(value @ Value::Boolean(_)) => (value, None),
        };
        let is_whole = |number: f64| number.fract() == 0.0 || !number.is_finite();
        match number {
            Some(number) if matches!(setting.kind, Kind::Integer(_)) && !is_whole(number) => {
                Err(config(setting.wrong_type(&number.to_string())))
            }
            Some(number) if (min..=max).contains(&number) => Ok(number),
            Some(number) => Err(config(setting.out_of_range(number))),
            None => Err(wrong_type(setting, value)),
        }
    }

    pub(crate) fn boolean(&self, name: &str) -> Result<bool> {
        let setting = row(name)?;
        let value = match (self.0.get(name), setting.kind) {
            (None, Kind::Boolean(default)) => return Ok(default),
            (None, _) => return Err(unknown(name)),
            (Some(value), _) => value,
        };
        let read = match value {
            Value::Boolean(value) => Some(*value),
            Value::Text(text) => text.expose().trim().parse().ok(),
            Value::Number(_) => None,
        };
        read.ok_or_else(|| wrong_type(setting, value))
    }

    /// Refuses values for what is no setting.
    pub(super) fn refuse_unknown(&self) -> Result<()> {
        let mut names = self.0.keys();
        names.try_for_each(|name| row(name).map(drop))
    }
}

/// A setting that is needed now was given nowhere.
pub(crate) fn not_set(name: &str) -> Error {
    let variable = row(name).map_or_else(|_| String::new(), Setting::variable);
    let path = usual_path(super::builder::variable);
    config(format!(
        "{name} is not set; pass it, set {variable}, or add it to the profile file {path}"
    ))
}

fn row(name: &str) -> Result<&'static Setting> {
    let mut rows = SETTINGS.iter();
    rows.find(|row| row.name == name)
        .ok_or_else(|| unknown(name))
}

/// There is no setting of this name, and of this kind.
pub(super) fn unknown(name: &str) -> Error {
    let known: Vec<&str> = SETTINGS.iter().map(|row| row.name).collect();
    config(format!(
        "there is no setting {}; the settings are {}",
        quoted(name),
        known.join(", ")
    ))
}

/// What was given for a setting is nothing that it can be.
fn wrong_type(setting: &Setting, value: &Value) -> Error {
    config(setting.wrong_type(&match value {
        Value::Text(text) => quoted(text.expose()),
        // It may be a secret.
        Value::Number(_) => "a number".to_owned(),
        Value::Boolean(value) => value.to_string(),
    }))
}

/// Refuses what could not be an identifier, a secret or a URL, and never shows it.
fn check_text(setting: &Setting, value: &str) -> Result<()> {
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
    Err(config(format!("{} must {why}", setting.name)))
}

fn quoted(text: &str) -> String {
    match text.len() <= LONGEST_QUOTE {
        true => format!("{text:?}"),
        false => format!("{} characters", text.chars().count()),
    }
}

pub(super) fn config(message: String) -> Error {
    Error::new(ErrorKind::Config, message)
}
