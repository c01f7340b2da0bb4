//! One call: waits for the budget, sends, judges the response, and sends again where that can help.

use super::auth::{Refusals, Token, read_token};
use super::memory::{Claim, ScanMetrics};
use super::queue::{HeadOfQueue, Permit, Priority};
use super::retry::Endurance;
use super::transport::{Response, SMALL_BODY};
use crate::arguments::{Arguments, Parts};
use crate::client::Client;
use crate::clock::{self, Time};
use crate::error::{Error, ErrorKind, Result, Scrubber};
use crate::gate::{Endpoint, PriorityClass};
use crate::settings::{self, not_set};
use http::HeaderValue;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use std::sync::Arc;
use talentdata_types::{CREATE_TOKEN, Operation, TokenRequest, TokenUse};

/// What is asked of the service.
pub(crate) struct Call {
    pub(crate) operation: &'static Operation,
    pub(crate) parts: Parts,
    /// The largest response taken, in decompressed bytes.
    pub(crate) most: usize,
    pub(crate) priority: Priority,
    pub(crate) metrics: Option<Arc<ScanMetrics>>,
    /// Until when it waits at most for a service that is down.
    pub(crate) outage_until: Time,
}

impl Call {
    /// A call with these arguments.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the argument that cannot be sent.
    pub(crate) fn new(operation: &'static Operation, arguments: Arguments) -> Result<Self> {
        let parts = arguments.parts(operation)?;
        Ok(Call {
            operation,
            parts,
            most: SMALL_BODY,
            priority: Priority::Single,
            metrics: None,
            outage_until: Time::MAX,
        })
    }

    fn is_for_token(&self) -> bool {
        self.operation.id == CREATE_TOKEN.id
    }
}

/// The turn of a call, which may be sent now.
struct Turn<'a> {
    token: Option<Arc<Token>>,
    permit: Permit,
    /// When the call became the first in the queue.
    begun: Time,
    /// The first place in the queue, where this call tries the token: no other request is sent before the response.
    trial: Option<HeadOfQueue<'a>>,
}

impl Client {
    /// Sends a call until it succeeds, cannot succeed, or its deadline passes; `read` turns the
    /// response into the result.
    pub(crate) async fn call<T>(
        &self,
        call: Call,
        read: impl Fn(&Response) -> Result<T>,
    ) -> Result<T> {
        self.call_within(call, None, read).await
    }

    /// The same for a page, which is only read as far as there is memory for it.
    pub(crate) async fn call_within<T>(
        &self,
        call: Call,
        claim: Option<&mut Claim>,
        read: impl Fn(&Response) -> Result<T>,
    ) -> Result<T> {
        let config = &self.0.config;
        let mut endurance = Endurance::new(config, call.priority, call.outage_until, clock::now());
        let attempts = self.attempts(&call, claim, read, &mut endurance);
        let outcome = match call.priority {
            Priority::Single | Priority::Retry => {
                tokio::time::timeout(config.timeout, attempts).await
            }
            // It waits for the pages before it, which is no fault of the service.
            Priority::Scan => Ok(attempts.await),
        };
        let outcome = outcome.unwrap_or_else(|_| Err(endurance.out_of_time()));
        outcome.map_err(|error| {
            let error = error.with_operation(call.operation.id);
            error.with_attempts(endurance.attempts())
        })
    }

    async fn attempts<T>(
        &self,
        call: &Call,
        mut claim: Option<&mut Claim>,
        read: impl Fn(&Response) -> Result<T>,
        endurance: &mut Endurance<'_>,
    ) -> Result<T> {
        let mut refusals = Refusals::default();
        let mut priority = call.priority;
        loop {
            if let Some(claim) = &mut claim {
                claim.expect().await;
                endurance.waited_for_others(claim.take_waited());
            }
            let refused = refusals.latest.as_ref();
            let turn = self.admit(call, priority, endurance, refused).await?;
            let Some(Turn {
                token,
                permit,
                begun,
                trial,
            }) = turn
            else {
                continue;
            };
            endurance.sends();
            if let Some(metrics) = &call.metrics {
                let mut counts = metrics.counts();
                counts.requests += 1;
                counts.retries += u64::from(endurance.attempts() > 1);
                counts.waited += permit.waited();
            }
            let request = self.request(call, token.as_deref());
            let deadline = endurance.deadline();
            let answered = |status| {
                if let Some(token) = &token {
                    token.answered(status);
                }
                drop(trial);
            };
            let (transport, within) = (&self.0.transport, claim.as_deref_mut());
            let response = transport
                .send(request, permit, call.most, deadline, within, answered)
                .await;
            if let Some(claim) = &mut claim {
                endurance.waited_for_others(claim.take_waited());
            }
            if response.is_err() && clock::now() >= endurance.deadline() {
                return Err(endurance.out_of_time());
            }
            let scrubber = || self.scrubber(token.as_deref());
            let outcome = match response {
                Ok(response) => {
                    tracing::debug!(
                        operation = call.operation.id,
                        status = response.status.as_u16(),
                        bytes = response.body.len(),
                        "received a response"
                    );
                    let judged = judge(&response, call.operation, &read);
                    // Whatever its status, a response of the token endpoint may hold a token.
                    let shows_body = !call.is_for_token();
                    judged.map_err(|error| response.describe(error, &scrubber(), shows_body))
                }
                // What the library says of a connection may quote the other end.
                Err(error) => Err(error.fit(&scrubber())),
            };
            let mut error = match outcome {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            if let (Some(metrics), Some(429)) = (&call.metrics, error.status()) {
                metrics.counts().rate_limited += 1;
            }
            if let (Some(401), Some(token)) = (error.status(), &token) {
                if refusals.is_worth_another(token, begun) && endurance.refused() {
                    tracing::debug!(
                        operation = call.operation.id,
                        "the token was refused; retrying with a newer one"
                    );
                    priority = Priority::Retry;
                    continue;
                }
                let token_cache = self.0.config.token_cache;
                error = error.with_message(self.0.auth.refused(token, token_cache));
            }
            if !call.operation.idempotent && may_have_been_carried_out(&error) {
                return Err(error);
            }
            let (reason, status) = (error.kind(), error.status());
            let failures = self.0.queue.failures();
            let wait = endurance.failed(clock::now(), error, failures, true)?;
            tracing::debug!(
                operation = call.operation.id,
                reason = reason.name(),
                status,
                wait_s = wait.as_secs_f64(),
                "retrying"
            );
            // The gate knows when to send what the rate limit refused; then that goes first. While the service is down, pages
            // line up again, so that single calls get to probe it, too.
            priority = match reason {
                ErrorKind::RateLimited => Priority::Retry,
                _ => call.priority,
            };
            if !wait.is_zero() {
                if let Some(metrics) = &call.metrics {
                    metrics.counts().backed_off += wait;
                }
                tokio::time::sleep(wait).await;
            }
        }
    }

    /// Waits for the budget, with a token that is still valid when the request may go, or is as new as one can be;
    /// `refused` is one that the service no longer takes. None where no token could be had, and the call goes on.
    async fn admit(
        &self,
        call: &Call,
        priority: Priority,
        endurance: &mut Endurance<'_>,
        refused: Option<&Arc<Token>>,
    ) -> Result<Option<Turn<'_>>> {
        let queue = &self.0.queue;
        let asked = clock::now();
        // The call for a token goes in the place of the call that needs it.
        let head = match call.is_for_token() {
            true => None,
            false => Some(queue.head(priority).await),
        };
        let begun = clock::now();
        if priority == Priority::Scan {
            endurance.waited_for_others(begun.saturating_sub(asked));
        }
        let class = match (call.priority, self.0.config.priority) {
            (Priority::Single | Priority::Retry, _) | (_, settings::Priority::Foreground) => {
                PriorityClass::Single
            }
            (Priority::Scan, settings::Priority::Normal) => PriorityClass::Scan,
            (Priority::Scan, settings::Priority::Background) => PriorityClass::Background,
        };
        let endpoint = match call.is_for_token() {
            true => Endpoint::Token,
            false => Endpoint::Api,
        };
        loop {
            let outage_until = endurance.outage_until(clock::now(), queue.failures());
            let token = self.token_for(call.operation, asked, refused, outage_until);
            let token = match token.await {
                Ok(token) => token,
                Err(error) => {
                    endurance.failed(clock::now(), error, queue.failures(), false)?;
                    return Ok(None);
                }
            };
            let permit = queue.pass(class, endpoint, endurance).await?;
            // The response that brought the token may ask for a wait that is longer than its life. Another token
            // would be no better, and each one costs a request with the secret.
            let usable =
                |token: &Arc<Token>| token.is_valid(clock::now()) || token.is_issued_since(begun);
            if token.as_ref().is_none_or(usable) {
                let is_trial = token.as_ref().is_some_and(|token| token.is_to_be_tried());
                return Ok(Some(Turn {
                    token,
                    permit,
                    begun,
                    trial: head.filter(|_| is_trial),
                }));
            }
        }
    }

    /// The token that this operation is to carry, if any.
    async fn token_for(
        &self,
        operation: &Operation,
        asked: Time,
        rejected: Option<&Arc<Token>>,
        outage_until: Time,
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
        let fetch = || Box::pin(self.fetch_token(outage_until));
        self.0.auth.token(asked, rejected, fetch).await.map(Some)
    }

    async fn fetch_token(&self, outage_until: Time) -> Result<Token> {
        let config = &self.0.config;
        let Some(client_id) = config.client_id.clone() else {
            return Err(not_set("client_id"));
        };
        let Some(client_secret) = config.client_secret.clone() else {
            return Err(not_set("client_secret"));
        };
        let request = serde_json::json!(TokenRequest {
            client_id,
            client_secret,
        });
        let arguments = Arguments::default().with_json(request.to_string());
        let call = Call {
            outage_until,
            ..Call::new(CREATE_TOKEN, arguments)?
        };
        self.call(call, |response| read_token(response, clock::now()))
            .await
    }

    /// The request that a call is sent as.
    fn request(&self, call: &Call, token: Option<&Token>) -> reqwest::Request {
        let parts = &call.parts;
        let mut url = self.0.config.base_url.at(&parts.path);
        for (name, value) in &parts.query {
            url.query_pairs_mut().append_pair(name, value);
        }
        let method = call.operation.method.as_str().as_bytes();
        let method = http::Method::from_bytes(method).unwrap_or_default();
        let mut request = reqwest::Request::new(method, url);
        *request.body_mut() = parts.body.clone().map(Into::into);
        let json = HeaderValue::from_static("application/json");
        let headers = request.headers_mut();
        headers.extend(parts.headers.clone());
        if parts.body.is_some() {
            headers.insert(CONTENT_TYPE, json.clone());
        }
        headers.insert(ACCEPT, json);
        if let Some(token) = token {
            headers.insert(AUTHORIZATION, token.header.clone());
        }
        request
    }

    fn scrubber(&self, token: Option<&Token>) -> Scrubber {
        let secret = self.0.config.client_secret.as_ref();
        Scrubber::new(secret.into_iter().chain(token.map(|token| &token.secret)))
    }
}

/// Reads a response of this operation; the token endpoint has its own reading of the statuses.
fn judge<T>(
    response: &Response,
    operation: &Operation,
    read: impl Fn(&Response) -> Result<T>,
) -> Result<T> {
    let fault = response.error_of_status();
    match fault.filter(|_| operation.id != CREATE_TOKEN.id) {
        Some(error) => Err(error),
        None => read(response),
    }
}

/// Whether the service may have done what it was asked, although the call failed: to ask again could do it twice.
fn may_have_been_carried_out(error: &Error) -> bool {
    // Without a connection nothing was sent, and what the rate limit refuses is not carried out.
    let untouched = [ErrorKind::Connect, ErrorKind::Tls, ErrorKind::RateLimited];
    !untouched.contains(&error.kind())
}
