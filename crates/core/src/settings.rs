//! Settings of a client: explicit values, otherwise from the environment, otherwise from a profile file.

mod base_url;
#[rustfmt::skip]
mod config;
mod credential;
mod in_force;
mod lists;
mod plain_text;
pub(crate) mod profile;
mod servers;
pub(crate) mod table;
#[cfg(all(test, unix))]
mod tests;
mod values;

pub use base_url::BaseUrl;
pub use config::Config;
pub(crate) use credential::{Credential, split};
pub use in_force::SettingInForce;
pub use lists::ListFields;
pub(crate) use lists::{LISTS, ListPolicies};
pub(crate) use servers::{Proxy, proxy_url, wrong_proxy};
pub(crate) use table::{ENVIRONMENT, PROFILE, SETTINGS, Setting};
pub(crate) use values::{Origin, SettingValues};

pub use crate::budget::{OnUnreachable, REQUESTS_PER_SECOND};

use crate::budget::{BudgetOptions, BudgetState, Unread, read_budget};
use crate::choice;
use crate::error::{Error, ErrorKind, Result};
use crate::hash::{HASH_KEY, HashKey};
use crate::tls::TlsFiles;
use credential::SecretFunction;
use std::collections::BTreeMap;
use std::sync::Arc;
use talentdata_types::{ListName, Operation, Secret, TokenUse};

/// Settings from which clients are created. A setting without an explicit value comes from the environment, otherwise
/// from the profile file, otherwise its default applies. With `environment(false)`, only explicit values count. Values
/// are checked when a client is created.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut settings = talentdata_core::Client::builder();
/// settings.base_url("https://talent.example").client_id("me").client_secret("a secret");
/// settings.share(0.5);
/// let config = settings.config()?;
/// assert_eq!(config.client_id(), Some("me"));
/// assert!(!format!("{config:?}").contains("a secret"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Builder {
    values: BTreeMap<String, Secret>,
    /// A function that returns the client secret.
    function: Option<SecretFunction>,
}

impl Builder {
    /// Sets a setting by its name in [`SETTINGS`]. A time is a number of seconds.
    pub fn set(&mut self, name: &str, value: impl ToString) -> &mut Self {
        let value = Secret::new(value.to_string());
        self.values.insert(name.to_owned(), value);
        self
    }

    /// Sets a function that returns the client secret, in place of `client_secret`. It is called on the same thread
    /// when the settings are checked. When the service refuses the secret, it is called again on a thread of its own,
    /// and then has ten seconds. An error of the function is shown to users.
    pub fn client_secret_from(
        &mut self,
        function: impl Fn() -> std::result::Result<String, String> + Send + Sync + 'static,
    ) -> &mut Self {
        self.function = Some(SecretFunction(Arc::new(function)));
        self
    }

    /// Checks the settings, and reads the secret if it comes from a file, a command or a function. Nothing is sent.
    ///
    /// # Errors
    /// `Config`, naming the setting.
    pub fn config(&self) -> Result<Config> {
        Config::read(&self.found(variable)?.with_credential()?)
    }

    /// Returns the key of digests, if it is set. Other settings are neither required nor checked.
    ///
    /// # Errors
    /// `Config` if the key is too short, or if the sources of settings cannot be read.
    pub fn read_hash_key(&self) -> Result<Option<HashKey>> {
        let key = self.found(variable)?.secret(HASH_KEY)?;
        key.as_ref().map(HashKey::new).transpose()
    }

    /// Returns the setting `lists`: the fields that scans of each list keep, drop or hash. Other settings are neither
    /// required nor checked.
    ///
    /// # Errors
    /// `Config` if the setting is wrong, or if the sources of settings cannot be read.
    pub fn read_lists(&self) -> Result<BTreeMap<ListName, ListFields>> {
        Ok(self.found(variable)?.list_policies(LISTS)?.0)
    }

    /// Returns the values from all sources. An explicit value precedes the environment, and that precedes the profile.
    fn found(&self, environment: impl Fn(&str) -> Option<String>) -> Result<SettingValues> {
        let mut found = SettingValues::new(self.function.clone());
        let values = self.values.iter();
        let given = values.map(|(name, value)| (name.clone(), value.clone()));
        found.add(Origin::Program, given);
        found.check_known()?;
        if !found.boolean(ENVIRONMENT)? {
            return found.without_profile();
        }
        let variables = SETTINGS.iter().filter_map(|setting| {
            let text = environment(&setting.variable())?;
            Some((setting.name.to_owned(), Secret::new(text)))
        });
        found.add(Origin::Environment, variables);
        if !found.boolean(ENVIRONMENT)? {
            let variable = values::row(ENVIRONMENT)?.variable();
            return Err(Error::config(format!(
                "{variable} is false, but only an explicit value can exclude the environment"
            )));
        }
        let section = found.text(PROFILE)?;
        let is_needed = section.is_some() || !found.missing().is_empty();
        let section = profile::load(section.as_deref(), is_needed, environment)?;
        found.add_profile(section.values, section.warning);
        Ok(found)
    }
}

/// Returns a variable of the environment. An empty one counts as not set, as in shells and CI systems.
pub(crate) fn variable(name: &str) -> Option<String> {
    let value = std::env::var_os(name)?.to_string_lossy().into_owned();
    Some(value).filter(|value| !value.is_empty())
}

/// Advice for users who have no credentials.
#[doc(hidden)]
pub const TRIAL: &str = "; to try this without an account, use the sandbox";

/// The end of the message about a missing key.
#[doc(hidden)]
pub const NEEDS_HASH_KEY: &str = "; the option hash needs it";

/// Returns the error for required settings that are not set. `reads_environment` is the setting `environment`, and
/// `end` the end of the message.
fn not_set(names: &[&str], reads_environment: bool, end: &str) -> Error {
    let rows = names.iter().filter_map(|name| values::row(name).ok());
    let variables = rows.map(Setting::variable).collect::<Vec<_>>().join(", ");
    let path = profile::usual_path(self::variable);
    let (are, them) = if names.len() == 1 {
        ("is", "it")
    } else {
        ("are", "them")
    };
    let names = names.join(", ");
    if !reads_environment {
        let message = format!("{names} {are} not set, and environment is false; set {them}{end}");
        return Error::config(message);
    }
    Error::config(format!(
        "{names} {are} not set; set {them}, or {variables} in the environment, or add {them} to the profile file {path}{end}"
    ))
}

impl Config {
    /// Checks that there are credentials. Every call needs them, except those for the version.
    ///
    /// # Errors
    /// `Config`, naming the settings that are missing.
    pub fn require_credentials(&self) -> Result<()> {
        self.credentials().map(drop)
    }

    /// Returns the credentials.
    ///
    /// # Errors
    /// `Config`, naming the settings that are missing.
    pub(crate) fn credentials(&self) -> Result<(&str, &Arc<Credential>)> {
        let missing: &[&str] = match (&self.client_id, &self.client_secret) {
            (None, None) => &["client_id", "client_secret"],
            (None, _) => &["client_id"],
            (_, None) => &["client_secret"],
            (Some(id), Some(secret)) => return Ok((id, secret)),
        };
        Err(not_set(missing, self.environment, TRIAL))
    }

    /// Returns the key of the digests that replace values with the option `hash`.
    ///
    /// # Errors
    /// `Config` if it is not set or too short.
    pub fn require_hash_key(&self) -> Result<HashKey> {
        match &self.hash_key {
            Some(secret) => HashKey::new(secret),
            None => Err(not_set(&[HASH_KEY], self.environment, NEEDS_HASH_KEY)),
        }
    }

    /// Checks that there are credentials, if the operation needs them.
    ///
    /// # Errors
    /// `Config`, naming the settings that are missing.
    pub fn require_credentials_for(&self, operation: &Operation) -> Result<()> {
        if operation.token == TokenUse::Always {
            self.require_credentials()?;
        }
        Ok(())
    }

    /// Returns the address of the service.
    pub fn base_url(&self) -> &BaseUrl {
        &self.base_url
    }

    /// Returns the strings that identify the client. Each client has tokens of its own.
    pub(crate) fn client(&self) -> [String; 2] {
        let client_id = self.client_id.clone().unwrap_or_default();
        [self.base_url.to_string(), client_id]
    }

    /// Returns the strings that identify the company. Each company has one budget.
    fn company(&self) -> [String; 2] {
        let [base_url, client_id] = self.client();
        [base_url, self.company.clone().unwrap_or(client_id)]
    }

    /// Returns the files with certificates and keys.
    pub(crate) fn tls_files(&self) -> TlsFiles {
        TlsFiles {
            ca_file: self.ca_file.clone(),
            client_cert: self.client_cert.clone(),
            client_key: self.client_key.clone(),
        }
    }

    /// Returns the budget that these settings select.
    pub(crate) fn budget_options(&self) -> BudgetOptions {
        BudgetOptions {
            company: self.company(),
            store: self.budget.clone(),
            share: self.share,
            paced: self.paced,
            on_unreachable: self.on_unreachable,
            tls: self.tls_files(),
        }
    }

    /// Returns the state of the budget that these settings name. Reading changes nothing and delays nobody.
    ///
    /// # Errors
    /// `Config` if the budget is not shared, or cannot be inspected; `Io` if its file cannot be read; `Connect` if its
    /// server cannot be reached.
    pub fn budget_state(&self) -> Result<BudgetState> {
        read_budget(&self.budget_options()).map_err(|unread| match unread {
            Unread::NotShared(why) => Error::config(format!("budget: {why}")),
            Unread::File(why) => Error::new(
                ErrorKind::Io,
                format!("the file of the shared budget cannot be read: {why}"),
            ),
            Unread::Server(why) => Error::new(
                ErrorKind::Connect,
                format!("the shared budget cannot be read: {why}"),
            ),
        })
    }

    /// Returns the fields that scans of a list keep, drop or hash; `None` if the setting `lists` names none of
    /// it.
    pub fn fields_of(&self, list: ListName) -> Option<&ListFields> {
        self.lists.of(list)
    }

    /// Returns the reason why the profile file is not used, or only its setting `lists`, for users; `None` if it is
    /// used, or if there is none.
    pub fn profile_warning(&self) -> Option<&str> {
        self.profile_warning.as_deref()
    }

    /// Returns the client ID, if one is set.
    pub fn client_id(&self) -> Option<&str> {
        self.client_id.as_deref()
    }
}

choice!(OnUnreachable, "on_unreachable", { Share => "share", Wait => "wait" });

/// The priority of scans among all clients that share the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// Scans go after single calls.
    Normal,
    /// Scans have the priority of single calls.
    Foreground,
    /// Scans go after all other requests.
    Background,
}

choice!(Priority, "priority", { Normal => "normal", Foreground => "foreground", Background => "background" });

/// The text of responses in errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorBodies {
    /// An excerpt of at most 512 bytes.
    Excerpt,
    /// None.
    None,
}

choice!(ErrorBodies, "error_bodies", { Excerpt => "excerpt", None => "none" });

/// The place that stores the access token of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenCache {
    /// Each client has a token of its own.
    Process,
    /// The processes of this user on this host share one, in a file.
    Host,
}

choice!(TokenCache, "token_cache", { Process => "process", Host => "host" });
