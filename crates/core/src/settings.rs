//! Settings of a client: given explicitly, else from the environment, else from a profile file.

mod base_url;
mod builder;
mod found;
mod profile;
mod servers;
mod table;
#[cfg(all(test, unix))]
mod tests;

pub use crate::generated::settings::Config;
pub use base_url::BaseUrl;
pub use builder::Builder;
pub(crate) use found::Found;
use found::not_set;
pub use profile::read_secret_file;
pub(crate) use servers::{BudgetStore, Proxy};
pub use table::{Bounds, Kind, PROFILE, SETTINGS, Scope, Setting};

use crate::choice;
use talentdata_types::Secret;

/// The company's limit, in requests per second.
pub const REQUESTS_PER_SECOND: u32 = 40;

impl Config {
    /// The credentials, which every call but those for the version needs.
    ///
    /// # Errors
    /// `Config`, naming the setting that is missing.
    pub fn require_credentials(&self) -> crate::Result<(&str, &Secret)> {
        match (&self.client_id, &self.client_secret) {
            (None, _) => Err(not_set("client_id")),
            (_, None) => Err(not_set("client_secret")),
            (Some(id), Some(secret)) => Ok((id, secret)),
        }
    }

    /// Where the service is.
    pub fn base_url(&self) -> &BaseUrl {
        &self.base_url
    }

    /// The client's identifier, when one is set.
    pub fn client_id(&self) -> Option<&str> {
        self.client_id.as_deref()
    }
}

/// What a client does while the shared budget cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnUnreachable {
    /// It spends an equal share of the budget.
    Share,
    /// It waits, as long as the time limit of each call allows.
    Wait,
}

choice!(OnUnreachable, "on_unreachable", { Share => "share", Wait => "wait" });

/// How scans rank among all that share the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// After single calls.
    Normal,
    /// Like single calls.
    Foreground,
    /// After all others.
    Background,
}

choice!(Priority, "priority", { Normal => "normal", Foreground => "foreground", Background => "background" });

/// Where the access token of a client is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenCache {
    /// Each client has a token of its own.
    Process,
    /// The processes of this user on this host share one, in a file.
    Host,
}

choice!(TokenCache, "token_cache", { Process => "process", Host => "host" });
