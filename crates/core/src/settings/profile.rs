//! Files with settings: the profile file, and a file with only the secret.
//!
//! Both may contain a secret, so both are refused if other users can read them.

use super::lists::LISTS;
use super::table::{ENVIRONMENT, PROFILE, SETTINGS, SettingKind};
use super::values::unknown;
use crate::error::{Error, Result};
use crate::private_file::{read_own, read_private};
use std::collections::BTreeMap;
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::path::{Path, PathBuf};
use talentdata_types::Secret;
use toml::{Table, Value};

/// The section that is read if none is named.
const DEFAULT: &str = "default";

/// The settings of a section.
#[derive(Debug, Default)]
pub(super) struct Section {
    pub(super) values: Vec<(String, Secret)>,
    /// The reason why the file is not used as a whole, for users.
    pub(super) warning: Option<String>,
}

/// Reads a section of the profile file. Returns nothing if there is no file and no section was named. If a file that is
/// not needed cannot be read or could be changed by others, it is not used, with a warning. If only its mode is wrong,
/// its setting `lists` applies nevertheless, because it can only drop more.
pub(super) fn load(
    name: Option<&str>,
    is_needed: bool,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<Section> {
    let Some(path) = path(environment) else {
        return match name {
            None => Ok(Section::default()),
            Some(name) => Err(Error::config(format!(
                "profile {name:?}: neither XDG_CONFIG_HOME nor HOME is set"
            ))),
        };
    };
    let is_missing = || {
        let found = std::fs::metadata(&path);
        found.is_err_and(|error| matches!(error.kind(), NotFound | NotADirectory))
    };
    if name.is_none() && is_missing() {
        return Ok(Section::default());
    }
    match read_private(&path) {
        Err(error) if !is_needed => {
            let lists = read_own(&path)
                .and_then(|text| section(&text, &path, name, |setting| setting == LISTS));
            let values = lists.unwrap_or_default();
            let what = match values[..] {
                [] => "the profile file is not used",
                _ => "the profile file is not used, except its setting lists",
            };
            tracing::warn!(reason = error.message(), "{what}");
            let warning = Some(format!("{what}: {}", error.message()));
            Ok(Section { values, warning })
        }
        text => Ok(Section {
            values: section(&text?, &path, name, |_| true)?,
            warning: None,
        }),
    }
}

/// Returns the wanted settings of a section of the file at `path`, which has this text.
fn section(
    text: &str,
    path: &Path,
    name: Option<&str>,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Vec<(String, Secret)>> {
    let shown = path.display();
    let mut sections: BTreeMap<String, Table> = toml::from_str(text).map_err(|error| {
        // The parser's own message would quote the line, which may contain the secret.
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        Error::config(format!(
            "{shown} line {line}: not a section such as [{DEFAULT}] with settings such as base_url = \"...\""
        ))
    })?;
    let wanted = name.unwrap_or(DEFAULT);
    let Some(section) = sections.remove(wanted) else {
        if name.is_none() {
            return Ok(Vec::new());
        }
        let known: Vec<&str> = sections.keys().map(String::as_str).collect();
        return Err(Error::config(format!(
            "{shown} has no section [{wanted}]; it has: {}",
            known.join(", ")
        )));
    };
    let entries = section.into_iter().filter(|(name, _)| is_wanted(name));
    entries
        .map(|(name, value)| entry(name, value))
        .collect::<Result<_>>()
        .map_err(|error| Error::config(format!("{shown} [{wanted}]: {}", error.message())))
}

/// Returns a setting of a section and its value.
fn entry(name: String, value: Value) -> Result<(String, Secret)> {
    let mut settings = SETTINGS
        .iter()
        .filter(|row| ![PROFILE, ENVIRONMENT].contains(&row.name));
    let Some(setting) = settings.find(|row| row.name == name) else {
        return Err(unknown(&name));
    };
    let is_text = setting.bounds().is_none() && !matches!(setting.kind, SettingKind::Boolean(_));
    let text = match value {
        Value::Table(lists) if matches!(setting.kind, SettingKind::ListPolicies) => {
            serde_json::to_string(&lists).unwrap_or_default()
        }
        Value::String(text) => text,
        Value::Array(_) if matches!(setting.kind, SettingKind::Command) => {
            serde_json::to_string(&value).unwrap_or_default()
        }
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) if !is_text => value.to_string(),
        _ => return Err(Error::config(setting.wrong_type_message(value.type_str()))),
    };
    Ok((name, Secret::new(text)))
}

/// Returns the usual path of the profile file, for messages.
pub(super) fn usual_path(environment: impl Fn(&str) -> Option<String>) -> String {
    path(environment)
        .unwrap_or_else(|| "talentdata/profiles.toml".into())
        .display()
        .to_string()
}

fn path(environment: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let directory = environment("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(environment("HOME")?).join(".config")))?;
    Some(directory.join("talentdata").join("profiles.toml"))
}
