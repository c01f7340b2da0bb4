//! Settings of a client: given explicitly, else from the environment, else from a profile file.

mod base_url;
mod builder;
mod profile;

pub use base_url::BaseUrl;
pub use builder::{Builder, VARIABLES};
pub use profile::read_secret_file;

use std::time::Duration;
use talentdata_types::Secret;

/// The company's limit, in requests per second (section 8).
pub const REQUESTS_PER_SECOND: u32 = 40;

/// Checked settings; a [`Builder`] makes them.
#[derive(Clone, Debug)]
pub struct Config {
    pub(crate) base_url: BaseUrl,
    pub(crate) client_id: Option<String>,
    pub(crate) client_secret: Option<Secret>,
    pub(crate) timeouts: Timeouts,
    pub(crate) max_attempts: u32,
    pub(crate) max_wait: Duration,
    pub(crate) share: f64,
    pub(crate) paced: bool,
}

impl Config {
    /// Where the service is.
    pub fn base_url(&self) -> &BaseUrl {
        &self.base_url
    }

    /// The client's identifier, when one is set.
    pub fn client_id(&self) -> Option<&str> {
        self.client_id.as_deref()
    }
}

/// The four deadlines of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection to be made.
    pub connect: Duration,
    /// Between two pieces of an answer.
    pub idle: Duration,
    /// For one attempt, from sending to the last byte.
    pub attempt: Duration,
    /// For the whole call: waiting for the budget, attempts and back-off together. A page of a scan
    /// waits for the pages before it, which is not counted.
    pub operation: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts {
            connect: Duration::from_secs(5),
            idle: Duration::from_secs(20),
            attempt: Duration::from_secs(60),
            operation: Duration::from_secs(300),
        }
    }
}
