//! One call: waits for the budget, sends, judges the response, and sends again where that can help.

use super::auth::{Refusals, Token, read_token};
use super::memory::{Claim, ScanMetrics};
use super::queue::{HeadOfQueue, Permit, Priority};
use super::retry::Endurance;
use super::transport::{Bounds, Response, SMALL_BODY};
use crate::arguments::Arguments;
use crate::client::Client;
use crate::clock::{self, Time};
use crate::error::{Error, ErrorKind, Result, Scrubber};
use crate::gate::{Endpoint, PriorityClass};
use crate::settings::{self, not_set};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use std::sync::Arc;
use talentdata_types::{CREATE_TOKEN, Method, Operation, TokenRequest, TokenUse};

/// What is asked of the service.
pub(crate) struct Call {
    pub(crate) operation: &'static Operation,
    /// The segments of the path, decoded.
    pub(crate) path: Vec<String>,
    pub(crate) query: Vec<(&'static str, String)>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Vec<u8>>,
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
            path: parts.path,
            query: parts.query,
            headers: parts.headers,
            body: parts.body,
            ..Call::to(operation)
        })
    }

    /// A call of an operation whose path is fixed, with nothing in query, headers and body.
    pub(crate) fn to(operation: &'static Operation) -> Self {
        let segments = operation.path.trim_start_matches('/').split('/');
        Call {
            operation,
            path: segments.map(str::to_owned).collect(),
            query: Vec::new(),
            headers: HeaderMap::new(),
            body: None,
            most: SMALL_BODY,
            priority: Priority::Single,
            metrics: None,
            outage_until: Time::MAX,
        }
    }
}

/// A call that may be sent now.
struct Admitted<'a> {
    token: Option<Arc<Token>>,
    permit: Permit,
    /// When it became the first in the queue.
    begun: Time,
    /// The first place in the queue, where this call tries the token: nobody else is sent before the response.
    trial: Option<HeadOfQueue<'a>>,
}

/// Why a call could not be sent.
enum NotAdmitted {
    /// It needs a token, and there is none.
    Token(Error),
    Budget(Error),
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
        endurance: &mut Endurance,
    ) -> Result<T> {
        let mut refusals = Refusals::default();
        let mut priority = call.priority;
        loop {
            if let Some(claim) = &mut claim {
                claim.expect().await;
                endurance.waited_for_others(claim.take_waited());
            }
            let refused = refusals.latest.as_ref();
            let Admitted {
                token,
                permit,
                begun,
                trial,
            } = match self.admit(call, priority, endurance, refused).await {
                Ok(admitted) => admitted,
                Err(NotAdmitted::Budget(error)) => return Err(error),
                Err(NotAdmitted::Token(error)) => {
                    let failures = self.0.queue.failures();
                    endurance.failed(clock::now(), error, failures, false)?;
                    continue;
                }
            };
            endurance.sends();
            if let Some(metrics) = &call.metrics {
                let mut counts = metrics.counts();
                counts.requests += 1;
                counts.retries += u64::from(endurance.attempts() > 1);
                counts.waited += permit.waited();
            }
            let request = self.request(call, token.as_deref());
            let bounds = Bounds {
                body: call.most,
                deadline: endurance.deadline(),
                claim: claim.as_deref_mut(),
            };
            let answered = |status| {
                if let Some(token) = &token {
                    token.answered(status);
                }
                drop(trial);
            };
            let response = self.0.transport.send(request, permit, bounds, answered);
            let response = response.await;
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
                    judged.map_err(|error| {
                        let error = response.describe(error, &scrubber());
                        match call.operation.id == CREATE_TOKEN.id {
                            // Whatever its status, its body may hold a token.
                            true => error.with_body(None),
                            false => error,
                        }
                    })
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
    /// `refused` is one that the service no longer takes.
    async fn admit(
        &self,
        call: &Call,
        priority: Priority,
        endurance: &mut Endurance,
        refused: Option<&Arc<Token>>,
    ) -> std::result::Result<Admitted<'_>, NotAdmitted> {
        let asked = clock::now();
        // The call for a token goes in the place of the call that needs it.
        let head = match call.operation.id == CREATE_TOKEN.id {
            true => None,
            false => Some(self.0.queue.head(priority).await),
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
        let endpoint = match call.operation.id == CREATE_TOKEN.id {
            true => Endpoint::Token,
            false => Endpoint::Api,
        };
        loop {
            let outage_until = endurance.outage_until(clock::now(), self.0.queue.failures());
            let token = self.token_for(call.operation, asked, refused, outage_until);
            let token = token.await;
            let token = token.map_err(NotAdmitted::Token)?;
            let permit = self.0.queue.pass(class, endpoint, endurance).await;
            let permit = permit.map_err(NotAdmitted::Budget)?;
            // The response that brought the token may ask for a wait that is longer than its life. Another token
            // would be no better, and each one costs a request with the secret.
            let usable =
                |token: &Arc<Token>| token.is_valid(clock::now()) || token.is_issued_since(begun);
            if token.as_ref().is_none_or(usable) {
                let is_trial = token.as_ref().is_some_and(|token| token.is_to_be_tried());
                return Ok(Admitted {
                    token,
                    permit,
                    begun,
                    trial: head.filter(|_| is_trial),
                });
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
        let body = to_json(&TokenRequest {
            client_id,
            client_secret,
        })?;
        let call = Call {
            body: Some(body),
            outage_until,
            ..Call::to(CREATE_TOKEN)
        };
        self.call(call, |response| read_token(response, clock::now()))
            .await
    }

    /// The request that a call is sent as.
    fn request(&self, call: &Call, token: Option<&Token>) -> reqwest::Request {
        let mut url = self.0.config.base_url.at(&call.path);
        for (name, value) in &call.query {
            url.query_pairs_mut().append_pair(name, value);
        }
        let method = match call.operation.method {
            Method::Get => http::Method::GET,
            Method::Head => http::Method::HEAD,
            Method::Options => http::Method::OPTIONS,
            Method::Put => http::Method::PUT,
            Method::Delete => http::Method::DELETE,
            Method::Post => http::Method::POST,
            Method::Patch => http::Method::PATCH,
            Method::Trace => http::Method::TRACE,
        };
        let mut request = reqwest::Request::new(method, url);
        *request.body_mut() = call.body.clone().map(Into::into);
        let json = HeaderValue::from_static("application/json");
        let headers = request.headers_mut();
        headers.extend(call.headers.clone());
        if call.body.is_some() {
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

fn judge<T>(
    response: &Response,
    operation: &Operation,
    read: impl Fn(&Response) -> Result<T>,
) -> Result<T> {
    // The token endpoint has its own reading of the statuses.
    match response
        .error_of_status()
        .filter(|_| operation.id != CREATE_TOKEN.id)
    {
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

/// A request body.
fn to_json(value: &impl serde::Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|_| {
        Error::new(
            ErrorKind::Internal,
            "a request could not be written as JSON",
        )
    })
}
