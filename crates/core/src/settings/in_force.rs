//! The settings in force, without secrets, and the source of each.

use super::table::{SECRET_SOURCES, SETTINGS, Setting, SettingKind};
use super::values::{Origin, SettingValues};
use super::{Builder, variable};
use serde::Serialize;
use url::Url;

/// A setting in force.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SettingInForce {
    /// The name.
    pub name: &'static str,
    /// The value, or the default; `None` if there is neither. A secret is hidden.
    pub value: Option<String>,
    /// The source: `given`, the variable of the environment, `profile`, `default`, or `not set`.
    pub source: String,
}

/// Replaces a value that may be a secret.
const HIDDEN: &str = "(hidden)";

impl Builder {
    /// Returns every setting. If a source cannot be read, returns those that do not need it.
    pub(crate) fn in_force(&self) -> Vec<SettingInForce> {
        let found = self.found(variable).or_else(|_| self.found(|_| None));
        let found = found.unwrap_or_else(|_| SettingValues::new(None));
        let settings = SETTINGS.iter().map(|setting| {
            let (value, source) = match found.origin(setting.name) {
                Some((origin, text)) => {
                    let source = match origin {
                        Origin::Program => "given".to_owned(),
                        Origin::Environment => setting.variable(),
                        Origin::Profile => "profile".to_owned(),
                    };
                    (Some(shown(setting, text)), source)
                }
                None if setting.name == SECRET_SOURCES[0] && self.function.is_some() => {
                    (Some(HIDDEN.to_owned()), "a function".to_owned())
                }
                None => match setting.default() {
                    Some(default) => (Some(default), "default".to_owned()),
                    None => (None, "not set".to_owned()),
                },
            };
            SettingInForce {
                name: setting.name,
                value,
                source,
            }
        });
        settings.collect()
    }
}

/// Returns a value without the parts that may be secret.
fn shown(setting: &Setting, text: &str) -> String {
    let shown = match setting.kind {
        SettingKind::Secret => HIDDEN.to_owned(),
        // Arguments may be secret.
        SettingKind::Command => super::split(text)
            .and_then(|words| words.into_iter().next())
            .unwrap_or_else(|| HIDDEN.to_owned()),
        SettingKind::BaseUrl | SettingKind::Proxy | SettingKind::Budget => match Url::parse(text) {
            Ok(mut url) => {
                let _ = url.set_username("");
                let _ = url.set_password(None);
                url.set_query(None);
                url.to_string()
            }
            Err(_) if text.contains('@') => HIDDEN.to_owned(),
            Err(_) => text.to_owned(),
        },
        _ => text.to_owned(),
    };
    shown.escape_debug().to_string()
}
