//! The client: one company's credentials, budget and connections, shared by cheap clones.

use crate::auth::{Auth, Token, read_token};
use crate::clock::{self, Time};
use crate::config::{Builder, Config, REQUESTS_PER_SECOND};
use crate::error::{Error, ErrorKind, Result, Scrubber};
use crate::gate::GateSettings;
use crate::meter::Meter;
use crate::retry::Retry;
use crate::transport::{Answer, SMALL_BODY, Transport};
use crate::turnstile::{Lane, Permit, Turnstile};
use http::HeaderValue;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use talentdata_types::{
    CHECK_VERSION, CREATE_TOKEN, CategoryName, GET_TOKEN_PERMISSIONS, GET_VERSION, Method,
    Operation, TokenPermissions, TokenRequest, TokenUse, VersionCheckRequest, VersionCheckResponse,
    VersionResponse,
};
use tracing::Instrument;

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
}

/// What is asked of the service.
pub(crate) struct Call {
    pub(crate) operation: &'static Operation,
    pub(crate) query: Vec<(&'static str, u64)>,
    pub(crate) body: Option<Vec<u8>>,
    /// The largest answer taken, in decompressed bytes.
    pub(crate) most: usize,
    pub(crate) lane: Lane,
    pub(crate) meter: Option<Arc<Meter>>,
}

impl Call {
    fn to(operation: &'static Operation) -> Self {
        Call {
            operation,
            query: Vec::new(),
            body: None,
            most: SMALL_BODY,
            lane: Lane::Single,
            meter: None,
        }
    }
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
            seed: fastrand::u64(..),
        };
        Ok(Client(Arc::new(Inner {
            transport: Transport::new(&config)?,
            turnstile: Turnstile::new(gate, config.max_wait),
            auth: Auth::default(),
            retry: Mutex::new(Retry::new(config.max_attempts, fastrand::u64(..))),
            config,
        })))
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.0.config
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
            body: Some(to_json(&request)?),
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

    /// Sends a call until it succeeds, cannot succeed, or its deadline passes; `read` turns the
    /// answer into the result.
    pub(crate) async fn call<T>(
        &self,
        call: Call,
        read: impl Fn(&Answer) -> Result<T>,
    ) -> Result<T> {
        let span = tracing::debug_span!("call", operation = call.operation.id);
        let operation = self.0.config.timeouts.operation;
        let mut progress = Progress::default();
        let outcome = tokio::time::timeout(operation, self.attempts(&call, read, &mut progress))
            .instrument(span)
            .await;
        let error = match outcome {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) => error,
            Err(_) => progress.last.unwrap_or_else(|| {
                let message = format!(
                    "not done within the operation's deadline of {} s",
                    operation.as_secs_f64()
                );
                Error::new(ErrorKind::Timeout, message)
            }),
        };
        Err(error
            .with_operation(call.operation.id)
            .with_attempts(progress.attempts))
    }

    async fn attempts<T>(
        &self,
        call: &Call,
        read: impl Fn(&Answer) -> Result<T>,
        progress: &mut Progress,
    ) -> Result<T> {
        let asked = clock::now();
        let deadline = asked + self.0.config.timeouts.operation;
        let mut rejected = None;
        loop {
            let (token, permit) = self.admit(call, asked, rejected.as_ref()).await?;
            progress.attempts += 1;
            if let Some(meter) = &call.meter {
                meter.sent(permit.waited(), progress.attempts);
            }
            let request = self.request(call, token.as_deref());
            let answer = self.0.transport.send(request, permit, call.most).await;
            let outcome = answer.and_then(|answer| {
                tracing::debug!(
                    status = answer.status.as_u16(),
                    bytes = answer.body.len(),
                    "answered"
                );
                self.judge(&answer, call.operation, &read)
                    .map_err(|error| answer.describe(error, &self.scrubber(token.as_deref())))
            });
            let error = match outcome {
                Ok(value) => {
                    self.retry().succeeded(progress.attempts);
                    return Ok(value);
                }
                Err(error) => error,
            };
            if let (Some(meter), Some(429)) = (&call.meter, error.status()) {
                meter.refused();
            }
            if let (Some(401), Some(token), None) = (error.status(), &token, &rejected) {
                tracing::debug!("the token is no longer taken; asking for another");
                rejected = Some(Arc::clone(token));
                continue;
            }
            if error
                .retry_after()
                .is_some_and(|wait| wait > self.0.config.max_wait)
            {
                return Err(error);
            }
            let left = deadline.saturating_sub(clock::now());
            let Some(wait) = self.retry().after(&error, progress.attempts, left) else {
                return Err(error);
            };
            tracing::debug!(
                wait_s = wait.as_secs_f64(),
                reason = error.kind().name(),
                "sending again"
            );
            if let Some(meter) = &call.meter {
                meter.backs_off(wait);
            }
            progress.last = Some(error);
            tokio::time::sleep(wait).await;
        }
    }

    fn judge<T>(
        &self,
        answer: &Answer,
        operation: &Operation,
        read: impl Fn(&Answer) -> Result<T>,
    ) -> Result<T> {
        // The token endpoint has its own reading of the statuses.
        match answer
            .error_of_status()
            .filter(|_| operation.id != CREATE_TOKEN.id)
        {
            Some(error) => Err(error),
            None => read(answer),
        }
    }

    /// Waits for the budget, with a token that is still valid when the request may go.
    async fn admit(
        &self,
        call: &Call,
        asked: Time,
        rejected: Option<&Arc<Token>>,
    ) -> Result<(Option<Arc<Token>>, Permit)> {
        // Whoever fetches the token has the turn already, for the call that needs it.
        let _turn = match call.operation.id == CREATE_TOKEN.id {
            true => None,
            false => Some(self.0.turnstile.turn(call.lane).await),
        };
        loop {
            let token = self.token_for(call.operation, asked, rejected).await?;
            let permit = self.0.turnstile.pass().await?;
            if token
                .as_ref()
                .is_none_or(|token| token.is_valid(clock::now()))
            {
                return Ok((token, permit));
            }
        }
    }

    async fn token_for(
        &self,
        operation: &Operation,
        asked: Time,
        rejected: Option<&Arc<Token>>,
    ) -> Result<Option<Arc<Token>>> {
        let config = &self.0.config;
        let wanted = match operation.token {
            TokenUse::Never => false,
            TokenUse::Always => true,
            TokenUse::WhenThereIsOne => {
                config.client_id.is_some() && config.client_secret.is_some()
            }
        };
        if !wanted {
            return Ok(None);
        }
        // Boxed, because fetching a token is itself a call.
        let fetch = || Box::pin(self.fetch_token());
        self.0.auth.token(asked, rejected, fetch).await.map(Some)
    }

    async fn fetch_token(&self) -> Result<Token> {
        let config = &self.0.config;
        let missing = |name: &str, variable: &str| {
            let message = format!(
                "{name} is not set; give it, set {variable}, or write it in a profile file"
            );
            Error::new(ErrorKind::Config, message)
        };
        let Some(client_id) = config.client_id.clone() else {
            return Err(missing("client_id", "TALENTDATA_CLIENT_ID"));
        };
        let Some(client_secret) = config.client_secret.clone() else {
            return Err(missing("client_secret", "TALENTDATA_CLIENT_SECRET"));
        };
        let body = to_json(&TokenRequest {
            client_id,
            client_secret,
        })?;
        let call = Call {
            body: Some(body),
            ..Call::to(CREATE_TOKEN)
        };
        self.call(call, |answer| read_token(answer, clock::now()))
            .await
    }

    fn request(&self, call: &Call, token: Option<&Token>) -> reqwest::Request {
        let mut url = self.0.config.base_url.at(call.operation.path);
        for (name, value) in &call.query {
            url.query_pairs_mut().append_pair(name, &value.to_string());
        }
        let method = match call.operation.method {
            Method::Get => http::Method::GET,
            Method::Post => http::Method::POST,
        };
        let mut request = reqwest::Request::new(method, url);
        let json = HeaderValue::from_static("application/json");
        if let Some(body) = &call.body {
            request.headers_mut().insert(CONTENT_TYPE, json.clone());
            *request.body_mut() = Some(body.clone().into());
        }
        request.headers_mut().insert(ACCEPT, json);
        if let Some(token) = token {
            request
                .headers_mut()
                .insert(AUTHORIZATION, token.header.clone());
        }
        request
    }

    fn scrubber(&self, token: Option<&Token>) -> Scrubber {
        let secret = self.0.config.client_secret.as_ref();
        Scrubber::new(secret.into_iter().chain(token.map(|token| &token.secret)))
    }

    fn retry(&self) -> std::sync::MutexGuard<'_, Retry> {
        self.0.retry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is known of a call when its deadline cuts it off.
#[derive(Default)]
struct Progress {
    attempts: u32,
    last: Option<Error>,
}

fn to_json(value: &impl serde::Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|_| {
        Error::new(
            ErrorKind::Internal,
            "a request could not be written as JSON",
        )
    })
}

impl std::fmt::Debug for Client {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_tuple("Client")
            .field(&self.0.config)
            .finish()
    }
}
