//! The client: one company's credentials, budget and connections, shared by cheap clones.

mod admission;
mod call;
mod token;

pub(crate) use call::Call;

use crate::auth::Auth;
use crate::config::{Builder, Config, REQUESTS_PER_SECOND};
use crate::error::{Error, ErrorKind, Result};
use crate::gate::{GateSettings, LONGEST_GAP};
use crate::memory::{Memory, PAGES};
use crate::meter::Meter;
use crate::retry::Retry;
use crate::transport::{Answer, Transport};
use crate::turnstile::Turnstile;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use talentdata_types::{
    CHECK_VERSION, CategoryName, GET_TOKEN_PERMISSIONS, GET_VERSION, TokenPermissions,
    VersionCheckRequest, VersionCheckResponse, VersionResponse,
};

/// A client of the service. Clones share token, budget and connections; it may be used from any task
/// of a tokio runtime.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    config: Config,
    transport: Transport,
    turnstile: Arc<Turnstile>,
    auth: Auth,
    retry: Mutex<Retry>,
    memory: Arc<Memory>,
}

impl Client {
    /// Settings to make a client from.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A client from checked settings; nothing is sent.
    ///
    /// # Errors
    /// `Config` or `Tls` when the system's certificates or proxy settings cannot be used.
    pub fn new(config: Config) -> Result<Self> {
        let gate = GateSettings {
            limit: REQUESTS_PER_SECOND,
            window: Duration::from_secs(1),
            share: config.share,
            paced: config.paced,
            // A gap of our own is no reason to fail a call.
            longest_gap: LONGEST_GAP.min(config.max_wait),
            seed: fastrand::u64(..),
        };
        let turnstile = Turnstile::new(gate, config.max_wait);
        Self::with_turnstile(config, turnstile)
    }

    /// A client with other settings that spends the same budget; nothing is sent.
    ///
    /// Another `share`, `max_wait` or `paced` is a budget of its own.
    ///
    /// # Errors
    /// As [`Client::new`].
    pub fn with_config(&self, config: Config) -> Result<Self> {
        let present = self.config();
        let budget = |config: &Config| (config.share, config.max_wait, config.paced);
        if budget(&config) != budget(present) {
            return Self::new(config);
        }
        Self::with_turnstile(config, Arc::clone(&self.0.turnstile))
    }

    fn with_turnstile(config: Config, turnstile: Arc<Turnstile>) -> Result<Self> {
        Ok(Client(Arc::new(Inner {
            transport: Transport::new(&config)?,
            turnstile,
            auth: Auth::default(),
            retry: Mutex::new(Retry::new(config.max_attempts, fastrand::u64(..))),
            memory: Memory::new(PAGES),
            config,
        })))
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// The memory of the pages of all clones.
    pub(crate) fn memory(&self) -> &Arc<Memory> {
        &self.0.memory
    }

    /// A scan cannot go on without the page at this offset, which therefore gets memory before its other pages.
    pub(crate) fn needs_page(&self, meter: &Meter, offset: u64) {
        meter.needs(offset);
        self.0.memory.look_again();
    }

    /// The answer that came last, of whichever call; none before the first.
    pub fn last_response(&self) -> Option<crate::transport::LastResponse> {
        self.0.transport.last()
    }

    /// API version, overall status and status per category (`GET /v1/version`, sections 2 and 9).
    /// Needs no credentials.
    ///
    /// # Errors
    /// Those of the connection, and `Decode` or `Schema` for an answer that is not a version report.
    pub async fn version(&self) -> Result<VersionResponse> {
        self.call(Call::to(GET_VERSION), Answer::json).await
    }

    /// Whether the service still supports a client of version `client_version` that uses these
    /// categories (`POST /v1/version/check`, sections 2 and 9). The answer holds an entry per category.
    ///
    /// The document leaves open whether this needs a token: it is sent when there are credentials.
    ///
    /// # Errors
    /// `InvalidArgument` for an empty version; those of the connection; `Decode` or `Schema`.
    pub async fn check_version(
        &self,
        client_version: &str,
        categories: impl IntoIterator<Item = CategoryName>,
    ) -> Result<VersionCheckResponse> {
        if client_version.trim().is_empty() {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "client_version: it is empty; give one such as 1.8.2",
            ));
        }
        let request = VersionCheckRequest {
            client_version: client_version.to_owned(),
            endpoints: categories.into_iter().collect(),
        };
        let call = Call {
            body: Some(call::to_json(&request)?),
            ..Call::to(CHECK_VERSION)
        };
        self.call(call, Answer::json).await
    }

    /// Roles and permissions of the token (`GET /v1/oauth/token/permissions`, section 2).
    ///
    /// # Errors
    /// `Auth` when the credentials are refused; those of the connection; `Decode` or `Schema`.
    pub async fn permissions(&self) -> Result<TokenPermissions> {
        self.call(Call::to(GET_TOKEN_PERMISSIONS), Answer::json)
            .await
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_tuple("Client")
            .field(&self.0.config)
            .finish()
    }
}
