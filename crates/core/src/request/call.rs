//! One call: waits for the budget, sends, judges the response, and sends again where that can help.

use super::auth::{Token, read_token, refusal};
use super::memory::{Claim, Counts};
use super::queue::Permit;
use super::retry::Endurance;
use super::transport::Response;
use crate::arguments::{Arguments, Parts};
use crate::client::Client;
use crate::clock;
use crate::error::{ErrorKind, Result, Scrubber};
use crate::gate::{Endpoint, PriorityClass};
use crate::process::lock;
use crate::settings::Priority;
use http::header::{ACCEPT, CONTENT_TYPE};
use reqwest::RequestBuilder;
use talentdata_types::{CREATE_TOKEN, Operation, TokenRequest, TokenUse};

/// What is sent and taken.
const JSON: &str = "application/json";

/// What is asked of the service.
pub(crate) struct Call {
    operation: &'static Operation,
    pub(crate) parts: Parts,
    /// The memory that a page takes. Other responses are small.
    pub(crate) claim: Option<Claim>,
}

impl Call {
    /// A call with these arguments.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the argument that cannot be sent.
    pub(crate) fn new(operation: &'static Operation, arguments: Arguments) -> Result<Self> {
        Ok(Call {
            operation,
            parts: arguments.parts(operation)?,
            claim: None,
        })
    }

    fn count(&self, change: impl FnOnce(&mut Counts)) {
        let claim = self.claim.as_ref();
        if let Some(metrics) = claim.and_then(|claim| claim.metrics.as_ref()) {
            change(&mut lock(&metrics.counts));
        }
    }
}

impl Client {
    /// Sends a call until it succeeds, cannot succeed, or its deadline passes; `read` turns the
    /// response into the result.
    pub(crate) async fn call<T>(
        &self,
        call: &mut Call,
        read: impl Fn(&Response) -> Result<T>,
    ) -> Result<T> {
        let (config, operation) = (&self.0.config, call.operation.id);
        let claim = call.claim.as_ref();
        let is_scan = claim.is_some_and(|claim| claim.metrics.is_some());
        let mut endurance = Endurance::new(config, is_scan, clock::now());
        let attempts = async {
            loop {
                let error = match self.attempt(call, &read, &mut endurance).await {
                    Ok(value) => return Ok(value),
                    Err(error) => error,
                };
                let (reason, status) = (error.kind().name(), error.status());
                let now = clock::now();
                let wait = endurance.failed(now, error, self.0.queue.failed(now))?;
                let wait_s = wait.as_secs_f64();
                tracing::debug!(operation, reason, status, wait_s, "retrying");
                if !wait.is_zero() {
                    call.count(|counts| counts.backed_off += wait);
                    tokio::time::sleep(wait).await;
                }
            }
        };
        let outcome = match is_scan {
            false => tokio::time::timeout(config.timeout, attempts).await,
            // It waits for the pages before it, which is no fault of the service.
            true => Ok(attempts.await),
        };
        let outcome = outcome.unwrap_or_else(|_| Err(endurance.out_of_time()));
        outcome.map_err(|error| endurance.describe(error).with_operation(operation))
    }

    /// Waits for the turn of the call, and sends it once, after a request for a token if it needs one.
    async fn attempt<T>(
        &self,
        call: &mut Call,
        read: impl Fn(&Response) -> Result<T>,
        endurance: &mut Endurance<'_>,
    ) -> Result<T> {
        let asked = clock::now();
        let was_refused = std::mem::take(&mut endurance.is_refused);
        let lines_up = endurance.is_scan && !was_refused;
        let head = self.0.queue.head(lines_up).await;
        if lines_up {
            endurance.waited_for_others(clock::now().saturating_sub(asked));
        }
        let token = match call.operation.token {
            TokenUse::Never => None,
            TokenUse::WhenThereIsOne if self.0.config.require_credentials().is_err() => None,
            _ => {
                let fetch = self.fetch_token(endurance);
                Some(self.0.auth.token(asked, fetch).await?)
            }
        };
        let token = token.as_deref();
        let class = match self.0.config.priority {
            Priority::Normal if endurance.is_scan => PriorityClass::Scan,
            Priority::Background if endurance.is_scan => PriorityClass::Background,
            _ => PriorityClass::Single,
        };
        let came = clock::now();
        let permit = self.0.queue.pass(class, Endpoint::Api, endurance).await?;
        let waited = clock::now().saturating_sub(came);
        endurance.attempts += 1;
        call.count(|counts| {
            counts.requests += 1;
            counts.retries += u64::from(endurance.attempts > 1);
            counts.waited += waited;
        });
        // While it tries a token, no other request is sent.
        let trial = token.is_some_and(Token::is_to_be_tried).then_some(head);
        let outcome = self.send(call, token, permit, endurance, read).await;
        drop(trial);
        let mut error = match outcome {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        match (error.status(), token) {
            (Some(429), _) => call.count(|counts| counts.rate_limited += 1),
            (Some(401), Some(token)) => {
                if endurance.goes_on_refused(token.is_new()) {
                    return Err(error);
                }
                error = error.with_message(self.0.auth.refused(token, self.0.config.token_cache));
            }
            _ => {}
        }
        // Without a connection nothing was sent, and what the rate limit refuses is not carried out. Anything else may have
        // been, and to ask again could do it twice.
        let untouched = [ErrorKind::Connect, ErrorKind::Tls, ErrorKind::RateLimited];
        endurance.is_over |= !call.operation.idempotent && !untouched.contains(&error.kind());
        Err(error)
    }

    /// Sends one request, and reads its response; an error is fit to be shown.
    async fn send<T>(
        &self,
        call: &mut Call,
        token: Option<&Token>,
        permit: Permit,
        endurance: &mut Endurance<'_>,
        read: impl Fn(&Response) -> Result<T>,
    ) -> Result<T> {
        let request = self.request(call, token);
        let claim = call.claim.as_mut();
        let response = self.0.transport.send(request, permit, endurance, claim);
        let client_secret = self.0.config.client_secret.as_ref();
        let token_secret = token.map(|token| &token.issued.secret);
        let scrubber = Scrubber::new(client_secret.into_iter().chain(token_secret));
        // What the library says of a connection may quote the other end.
        let response = response.await.map_err(|error| error.fit(&scrubber))?;
        let (operation, status) = (call.operation.id, response.status.as_u16());
        let bytes = response.body.len();
        tracing::debug!(operation, status, bytes, "received a response");
        if let Some(token) = token {
            token.answered(response.status);
        }
        let outcome = match response.error_of_status() {
            Some(error) => Err(error),
            None => read(&response),
        };
        outcome.map_err(|error| {
            // Whatever its status, a response of the token endpoint may hold a token.
            let shows_body = operation != CREATE_TOKEN.id;
            let body = shows_body.then(|| scrubber.snippet(&response.body));
            let id = response.header("x-request-id").map(str::to_owned);
            let error = error.with_response(status, id, body.flatten());
            error.fit(&scrubber)
        })
    }

    /// Asks for a token once, in the place of the call that needs it.
    async fn fetch_token(&self, endurance: &mut Endurance<'_>) -> Result<Token> {
        let (client_id, client_secret) = self.0.config.require_credentials()?;
        let request = TokenRequest {
            client_id: client_id.to_owned(),
            client_secret: client_secret.clone(),
        };
        let mut call = Call::new(CREATE_TOKEN, Arguments::default().with_body(request)?)?;
        let (class, queue) = (PriorityClass::Single, &self.0.queue);
        let permit = queue.pass(class, Endpoint::Token, endurance).await?;
        endurance.token_requests += 1;
        let read = |response: &Response| read_token(response, clock::now());
        let token = self.send(&mut call, None, permit, endurance, read).await;
        token.map_err(|error| {
            let error = refusal(error).with_operation(CREATE_TOKEN.id);
            error.with_attempts(endurance.token_requests)
        })
    }

    /// The request that a call is sent as.
    fn request(&self, call: &Call, token: Option<&Token>) -> RequestBuilder {
        let parts = &call.parts;
        let mut url = self.0.config.base_url.at(&parts.path);
        for (name, value) in &parts.query {
            url.query_pairs_mut().append_pair(name, value);
        }
        let method = call.operation.method.as_str().parse().unwrap_or_default();
        let http = &self.0.transport.http;
        let request = http.request(method, url).header(ACCEPT, JSON);
        let mut request = request.headers(parts.headers.clone());
        if let Some(body) = parts.body.clone() {
            request = request.header(CONTENT_TYPE, JSON).body(body);
        }
        match token {
            Some(token) => request.bearer_auth(token.issued.secret.expose()),
            None => request,
        }
    }
}
