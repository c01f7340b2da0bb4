//! The values of the settings, and their checks. Errors name the setting and the fix.

use super::base_url::BaseUrl;
use super::credential::{Credential, SecretFunction, SecretSource, split};
use super::lists::ListPolicies;
use super::plain_text::check_text;
use super::servers::{Proxy, parse_budget_store};
use super::table::{Bounds, ENVIRONMENT, PROFILE, SECRET_SOURCES, SETTINGS, Setting, SettingKind};
use super::{TRIAL, not_set};
use crate::budget::BudgetStore;
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use talentdata_types::Secret;

/// Limits the bytes of a value that an error quotes.
const LONGEST_QUOTE: usize = 40;

/// One value per setting, as text, from the first source that has one. Any value may be a secret by mistake, so none is
/// shown. `Config` is read from it, setting by setting.
#[derive(Debug)]
pub(crate) struct SettingValues {
    values: BTreeMap<String, (Origin, Secret)>,
    function: Option<SecretFunction>,
    credential: Option<Arc<Credential>>,
    profile_warning: Option<String>,
}

/// The source of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The program, or a flag.
    Program,
    Environment,
    Profile,
}

impl SettingValues {
    /// Returns an empty set of values. `function` may return the secret.
    pub(super) fn new(function: Option<SecretFunction>) -> Self {
        SettingValues {
            values: BTreeMap::new(),
            function,
            credential: None,
            profile_warning: None,
        }
    }

    /// Adds the values of a source. Those of an earlier source take precedence. If several settings for the secret are
    /// set, the earliest source decides which one applies.
    pub(super) fn add(
        &mut self,
        origin: Origin,
        values: impl IntoIterator<Item = (String, Secret)>,
    ) {
        let knows_secret = self.knows_secret();
        for (name, value) in values {
            let is_decided = knows_secret && SECRET_SOURCES.contains(&&*name);
            if !is_decided || origin == Origin::Program {
                self.values.entry(name).or_insert((origin, value));
            }
        }
    }

    /// Adds the settings of the profile file. `warning` is the reason why the file is not used as a whole.
    pub(super) fn add_profile(&mut self, values: Vec<(String, Secret)>, warning: Option<String>) {
        self.add(Origin::Profile, values);
        self.profile_warning = warning;
    }

    /// Returns the reason why the profile file is not used as a whole.
    pub(crate) fn profile_warning(&self) -> Option<String> {
        self.profile_warning.clone()
    }

    /// Returns whether a source has the secret.
    fn knows_secret(&self) -> bool {
        let mut sources = SECRET_SOURCES.iter();
        self.function.is_some() || sources.any(|name| self.has(name))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// Returns a value and its source; `None` if the default applies.
    pub(super) fn origin(&self, name: &str) -> Option<(Origin, &str)> {
        let value = self.values.get(name);
        value.map(|(origin, text)| (*origin, text.expose()))
    }

    /// Reads the secret from its source, if `base_url` is set.
    ///
    /// # Errors
    /// `Config`, naming the setting.
    pub(super) fn with_credential(mut self) -> Result<Self> {
        let [given, file, command] = SECRET_SOURCES;
        let set = SECRET_SOURCES.into_iter().filter(|name| self.has(name));
        let mut set: Vec<&str> = set.collect();
        set.extend(
            self.function
                .as_ref()
                .map(|_| "a function for client_secret"),
        );
        if let [one, other, ..] = set[..] {
            let message = format!("{one} and {other} are both set; leave out one of them");
            return Err(Error::config(message));
        }
        let words = |text: String| {
            let words = split(&text).ok_or_else(|| {
                let message = format!("{command} must be a program with its arguments, with a quote at both ends of an argument with spaces, or a list of strings");
                Error::config(message)
            });
            words.map(SecretSource::Command)
        };
        let source = match (self.secret(given)?, self.file(file)?, self.text(command)?) {
            (Some(secret), ..) => Some(SecretSource::Given(secret)),
            (_, Some(path), _) => Some(SecretSource::File(path)),
            (.., Some(text)) => Some(words(text)?),
            _ => self.function.clone().map(SecretSource::Function),
        };
        if let Some(source) = source.filter(|_| self.has("base_url")) {
            let credential = Credential::open(source, self.text("client_id")?)?;
            self.credential = Some(Arc::new(credential));
        }
        Ok(self)
    }

    /// Returns the client ID from the settings, otherwise the one that the credential command returned.
    pub(crate) fn client_id(&self, name: &str) -> Result<Option<String>> {
        let held = self.credential.as_ref();
        let held = held.and_then(|held| held.client_id().map(str::to_owned));
        Ok(self.text(name)?.or(held))
    }

    /// Returns the secret from the source that the settings name.
    pub(crate) fn credential(&self) -> Option<Arc<Credential>> {
        self.credential.clone()
    }

    /// Reads the address of a service, which has no default.
    pub(crate) fn base_url(&self, name: &str) -> Result<BaseUrl> {
        match self.text(name)? {
            Some(url) => BaseUrl::parse(&url, self.boolean("insecure_http")?),
            None => Err(not_set(&self.missing(), self.boolean(ENVIRONMENT)?, TRIAL)),
        }
    }

    /// Returns the names of the settings of a service that are not set.
    pub(super) fn missing(&self) -> Vec<&'static str> {
        let mut names = vec!["base_url", "client_id", "client_secret"];
        names.retain(|name| match *name {
            "client_secret" => !self.knows_secret(),
            // The credential command may return the ID.
            "client_id" => !self.has(name) && !self.has("credential_command"),
            name => !self.has(name),
        });
        names
    }

    pub(crate) fn text(&self, name: &str) -> Result<Option<String>> {
        let secret = self.secret(name)?;
        Ok(secret.map(|text| text.expose().to_owned()))
    }

    pub(crate) fn secret(&self, name: &str) -> Result<Option<Secret>> {
        let secret = self.values.get(name).map(|(_, secret)| secret);
        secret.map_or(Ok(()), |text| check_text(name, text.expose()))?;
        Ok(secret.cloned())
    }

    /// Reads the path of a file, and makes it absolute, because the current directory may change while a client exists.
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

    pub(crate) fn list_policies(&self, name: &str) -> Result<ListPolicies> {
        match self.text(name)? {
            Some(text) => ListPolicies::parse(name, &row(name)?.values(), &text),
            None => Ok(ListPolicies::default()),
        }
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
        if !self.has(name) {
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
        let text = self.values.get(name);
        let text = text.map(|(_, text)| text.expose().trim().to_owned());
        let text = text.or_else(|| setting.default()).unwrap_or_default();
        let wrong = |_| Error::config(setting.wrong_type_message(&quoted(&text)));
        text.parse().map_err(wrong)
    }

    /// Returns the values if they do not select a profile.
    pub(super) fn without_profile(self) -> Result<Self> {
        if self.has(PROFILE) {
            let message = "profile selects a section of the profile file, but environment is false; leave out one of them";
            return Err(Error::config(message));
        }
        Ok(self)
    }

    /// Checks that each value belongs to a setting.
    pub(super) fn check_known(&self) -> Result<()> {
        let mut names = self.values.keys();
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

fn quoted(text: &str) -> String {
    if text.len() <= LONGEST_QUOTE {
        format!("{text:?}")
    } else {
        format!("{} characters", text.chars().count())
    }
}
