//! The client: one company's credentials, budget and connections, shared by cheap clones.

use crate::arguments::Arguments;
use crate::budget::{BudgetStats, open_budget};
use crate::clock;
use crate::error::{Error, Result};
use crate::generated::checks::{check_body, check_response};
use crate::json::from_json;
use crate::request::queue::AdmissionQueue;
use crate::request::transport::Response;
use crate::request::{Call, Service};
use crate::settings::{Builder, Config};
use bytestring::ByteString;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::time::Duration;
use talentdata_types::Operation;
use tokio::sync::Notify;

/// Limits the wait until a server knows that a client left.
const LEAVE_TIMEOUT: Duration = Duration::from_millis(200);

/// A client of the service. Clones share token, budget and connections. It may be used from any task of a tokio
/// runtime.
///
/// ```
/// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let records = [("contacts".to_owned(), 250)].into();
/// # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
/// # let mut settings = talentdata_core::Client::builder();
/// # settings.base_url(sandbox.base_url()).client_id(sandbox.client_id()).client_secret(sandbox.client_secret());
/// # settings.budget("process");
/// # let client = settings.build()?;
/// let version = client.version().await?;
/// assert!(!version.version.is_empty());
/// let mut contacts = client.contacts().list();
/// assert!(contacts.next().await.is_some());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client(pub(crate) Arc<Service>);

impl Client {
    /// Returns a builder for the settings of a client: `Client::builder().share(0.5).build()?`.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let error = talentdata_core::Client::builder().base_url("ftp://talent.example").build().unwrap_err();
    /// assert_eq!(error.kind(), talentdata_core::ErrorKind::Config);
    /// assert!(error.message().starts_with("base_url"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Creates a client from checked settings. Nothing is sent.
    ///
    /// # Errors
    /// `Config` or `Tls` if the system's certificates or proxy settings cannot be used.
    pub fn new(config: Config) -> Result<Self> {
        let changed = Arc::new(Notify::new());
        let budget = open_budget(&config.budget_options(), &changed);
        if config.insecure_http && config.base_url.is_plain() && !config.base_url.is_loopback() {
            let address = &config.base_url;
            let client = config.client_id.as_deref();
            tracing::warn!(%address, client, "the secret and all data cross the network in clear text");
        }
        let queue = AdmissionQueue::new(budget, changed, config.client_id.as_deref());
        Self::with_queue(config, queue)
    }

    /// Creates a client with other settings that shares the same budget. Nothing is sent.
    ///
    /// If `budget`, `share`, `paced` or `on_unreachable` differs, the new client has a budget of its own.
    ///
    /// # Errors
    /// See [`Client::new`].
    pub fn with_config(&self, config: Config) -> Result<Self> {
        if self.config().budget_options() != config.budget_options() {
            return Self::new(config);
        }
        Self::with_queue(config, Arc::clone(&self.0.queue))
    }

    fn with_queue(config: Config, queue: Arc<AdmissionQueue>) -> Result<Self> {
        Ok(Client(Arc::new(Service::new(config, queue)?)))
    }

    /// Returns the settings.
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// Returns the state of the request budget that this client shares with others.
    pub fn budget(&self) -> BudgetStats {
        self.0.budget()
    }

    /// Completes once this client, its clones and those created by [`with_config`](Self::with_config) are dropped, and
    /// the server of their budget, if there is one, knows that they left. The server is awaited for at most a fifth of
    /// a second.
    ///
    /// Wait for it before the runtime ends. Otherwise the server may count the client for ten seconds more.
    pub fn closed(&self) -> impl Future<Output = ()> + Send + use<> {
        let left = self.0.queue.budget.status().departed();
        async move {
            // A server that cannot be reached notices the end later.
            let _ = clock::in_time(LEAVE_TIMEOUT, left).await;
        }
    }

    /// Calls an operation by its row in [`types::OPERATIONS`](crate::types::OPERATIONS). Returns its response, exactly
    /// as the service sent it, or `None` if the API description shows no body.
    ///
    /// # Errors
    /// `InvalidArgument`, before anything is sent, for an operation that is not callable, and for an argument or a body
    /// that is not as documented; `Decode` or `Schema` for a response that is not as documented; otherwise the errors
    /// of the call.
    pub async fn invoke(
        &self,
        operation: &'static Operation,
        arguments: Arguments,
    ) -> Result<Option<String>> {
        if !operation.callable {
            let message = format!("operation: {} cannot be called like this", operation.name);
            return Err(Error::invalid(message));
        }
        if let Some(body) = arguments.body() {
            check_body(operation, body).map_err(|error| {
                let message = format!("body: {}", error.message());
                Error::invalid(message)
            })?;
        }
        if !operation.answers {
            self.invoke_without(operation, arguments).await?;
            return Ok(None);
        }
        let read = |response: &Response| {
            let text = json_of(operation, response)?;
            check_response(operation, &text)?;
            Ok(Some(text.to_string()))
        };
        let mut call = Call::new(operation, arguments)?;
        self.0.call(&mut call, read).await
    }

    /// Calls an operation, and returns its response as `T`.
    #[allow(dead_code, reason = "a spec may have no responses with a body")]
    pub(crate) async fn invoke_as<T: DeserializeOwned>(
        &self,
        operation: &'static Operation,
        arguments: Arguments,
    ) -> Result<T> {
        let mut call = Call::new(operation, arguments)?;
        let read = |response: &Response| from_json(&json_of(operation, response)?, "");
        self.0.call(&mut call, read).await
    }

    /// Calls an operation, and ignores the body of its response.
    pub(crate) async fn invoke_without(
        &self,
        operation: &'static Operation,
        arguments: Arguments,
    ) -> Result<()> {
        let mut call = Call::new(operation, arguments)?;
        self.0.call(&mut call, |_| Ok(())).await
    }
}

/// Returns the JSON of a response. It is null if a status such as 204 comes without a body and the API description
/// allows null.
pub(crate) fn json_of(operation: &Operation, response: &Response) -> Result<ByteString> {
    let is_empty = response.body.is_empty() && response.status.as_u16() != 200;
    if is_empty && check_response(operation, "null").is_ok() {
        return Ok(ByteString::from_static("null"));
    }
    response.json_text()
}

impl Builder {
    /// Checks the settings and creates a client. Nothing is sent.
    ///
    /// # Errors
    /// `Config`, naming the setting.
    pub fn build(&self) -> Result<Client> {
        Client::new(self.config()?)
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
