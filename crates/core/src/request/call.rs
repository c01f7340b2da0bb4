//! One call: waits for the budget, sends, judges the response, and sends again where that can help.

use super::auth::{Token, read_token};
use super::memory::{Claim, Counts, ScanMetrics};
use super::queue::{HeadOfQueue, Permit, Priority};
use super::retry::Endurance;
use super::transport::Response;
use crate::arguments::{Arguments, Parts};
use crate::client::Client;
use crate::clock::{self, Time};
use crate::error::{Error, ErrorKind, Result, Scrubber};
use crate::gate::{Endpoint, PriorityClass};
use crate::settings;
use http::HeaderValue;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use std::sync::Arc;
use talentdata_types::{CREATE_TOKEN, Operation, TokenRequest, TokenUse};

/// So many tokens that were refused as soon as they were issued end a call: a service may revoke tokens that worked, as
/// often as it likes, but these will be followed by more of the kind.
const MOST_NEW_REFUSED: u32 = 2;

/// What is asked of the service.
pub(crate) struct Call {
    operation: &'static Operation,
    pub(crate) parts: Parts,
    /// The memory that a page takes. Other responses are small.
    pub(crate) claim: Option<Claim>,
    /// Until when it waits at most for a service that is down.
    outage_until: Time,
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
            outage_until: Time::MAX,
        })
    }

    /// What the scan counts that it belongs to.
    fn metrics(&self) -> Option<&Arc<ScanMetrics>> {
        self.claim.as_ref()?.metrics()
    }

    fn count(&self, change: impl FnOnce(&mut Counts)) {
        if let Some(metrics) = self.metrics() {
            change(&mut metrics.counts());
        }
    }

    fn is_for_token(&self) -> bool {
        self.operation.id == CREATE_TOKEN.id
    }
}

/// What a call needs to be sent: its token, the permit, and the first place in the queue where it tries the token. Then no
/// other request is sent before the response.
type Admission<'a> = (Option<Arc<Token>>, Permit, Option<HeadOfQueue<'a>>);

impl Client {
    /// Sends a call until it succeeds, cannot succeed, or its deadline passes; `read` turns the
    /// response into the result.
    pub(crate) async fn call<T>(
        &self,
        call: &mut Call,
        read: impl Fn(&Response) -> Result<T>,
    ) -> Result<T> {
        let (config, operation) = (&self.0.config, call.operation.id);
        let is_scan = call.metrics().is_some();
        let mut endurance = Endurance::new(config, is_scan, call.outage_until, clock::now());
        let attempts = self.attempts(call, read, &mut endurance);
        let outcome = match is_scan {
            false => tokio::time::timeout(config.timeout, attempts).await,
            // It waits for the pages before it, which is no fault of the service.
            true => Ok(attempts.await),
        };
        let outcome = outcome.unwrap_or_else(|_| Err(endurance.out_of_time()));
        outcome.map_err(|error| {
            let error = error.with_operation(operation);
            error.with_attempts(endurance.attempts)
        })
    }

    async fn attempts<T>(
        &self,
        call: &mut Call,
        read: impl Fn(&Response) -> Result<T>,
        endurance: &mut Endurance<'_>,
    ) -> Result<T> {
        let queue = &self.0.queue;
        let own = match call.metrics() {
            Some(_) => Priority::Scan,
            None => Priority::Single,
        };
        let mut priority = own;
        // How many tokens were refused, and how many of them as soon as they were issued.
        let (mut refused, mut refused_new) = (0, 0);
        loop {
            if let Some(claim) = &mut call.claim {
                claim.expect().await;
                endurance.waited_for_others(claim.take_waited());
            }
            let Some((token, permit, trial)) = self.admit(call, priority, endurance).await? else {
                continue;
            };
            endurance.attempts += 1;
            call.count(|counts| {
                counts.requests += 1;
                counts.retries += u64::from(endurance.attempts > 1);
                counts.waited += permit.waited();
            });
            let request = self.request(call, token.as_deref());
            let answered = |status| {
                if let Some(token) = &token {
                    token.answered(status);
                }
                drop(trial);
            };
            let (claim, deadline) = (call.claim.as_mut(), endurance.deadline);
            let transport = &self.0.transport;
            let response = transport.send(request, permit, deadline, claim, answered);
            let response = response.await;
            if let Some(claim) = &mut call.claim {
                endurance.waited_for_others(claim.take_waited());
            }
            if response.is_err() && clock::now() >= endurance.deadline {
                return Err(endurance.out_of_time());
            }
            let outcome = response.and_then(|response| {
                tracing::debug!(
                    operation = call.operation.id,
                    status = response.status.as_u16(),
                    bytes = response.body.len(),
                    "received a response"
                );
                let outcome = match response.error_of_status() {
                    // The token endpoint has its own reading of the statuses.
                    Some(error) if !call.is_for_token() => Err(error),
                    _ => read(&response),
                };
                // Whatever its status, a response of the token endpoint may hold a token.
                let shows_body = !call.is_for_token();
                outcome.map_err(|error| {
                    response.describe(error, &self.scrubber(token.as_deref()), shows_body)
                })
            });
            // What the library says of a connection may quote the other end.
            let mut error = match outcome {
                Ok(value) => return Ok(value),
                Err(error) => error.fit(&self.scrubber(token.as_deref())),
            };
            if error.status() == Some(429) {
                call.count(|counts| counts.rate_limited += 1);
            }
            if let (Some(401), Some(token)) = (error.status(), &token) {
                refused += 1;
                // The first may be one that another client obtained, and that was refused long ago.
                let is_old = token.from_another && refused == 1;
                refused_new += u32::from(!token.is_accepted() && !is_old);
                if refused_new < MOST_NEW_REFUSED && endurance.goes_on_refused() {
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
            let wait = endurance.failed(clock::now(), error, queue.failures(), true)?;
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
                _ => own,
            };
            if !wait.is_zero() {
                call.count(|counts| counts.backed_off += wait);
                tokio::time::sleep(wait).await;
            }
        }
    }

    /// Waits for the budget, with a token that is still valid when the request may go, or is as new as one can be. None where
    /// there is no such token, and the call goes on.
    async fn admit(
        &self,
        call: &Call,
        priority: Priority,
        endurance: &mut Endurance<'_>,
    ) -> Result<Option<Admission<'_>>> {
        let queue = &self.0.queue;
        let asked = clock::now();
        // The call for a token goes in the place of the call that needs it.
        let (head, endpoint) = match call.is_for_token() {
            true => (None, Endpoint::Token),
            false => (Some(queue.head(priority).await), Endpoint::Api),
        };
        let begun = clock::now();
        if priority == Priority::Scan {
            endurance.waited_for_others(begun.saturating_sub(asked));
        }
        let class = match (call.metrics(), self.0.config.priority) {
            (None, _) | (_, settings::Priority::Foreground) => PriorityClass::Single,
            (_, settings::Priority::Normal) => PriorityClass::Scan,
            (_, settings::Priority::Background) => PriorityClass::Background,
        };
        let outage_until = endurance.outage_ends(begun, queue.failures());
        let token = match self.token_for(call.operation, asked, outage_until).await {
            Ok(token) => token,
            Err(error) => {
                endurance.failed(clock::now(), error, queue.failures(), false)?;
                return Ok(None);
            }
        };
        let permit = queue.pass(class, endpoint, endurance).await?;
        let is_to_be_tried = token.as_ref().is_some_and(|token| token.is_to_be_tried());
        // The response that brought the token may ask for a wait that is longer than its life. Another token would be no
        // better, and each one costs a request with the secret.
        let is_usable = token
            .as_ref()
            .is_none_or(|token| token.is_valid(clock::now()) || token.is_issued_since(begun));
        Ok(is_usable.then(|| (token, permit, head.filter(|_| is_to_be_tried))))
    }

    /// The token that this operation is to carry, if any.
    async fn token_for(
        &self,
        operation: &Operation,
        asked: Time,
        outage_until: Time,
    ) -> Result<Option<Arc<Token>>> {
        let has_credentials = self.0.config.require_credentials().is_ok();
        match operation.token {
            TokenUse::Never => return Ok(None),
            TokenUse::WhenThereIsOne if !has_credentials => return Ok(None),
            TokenUse::WhenThereIsOne | TokenUse::Always => {}
        }
        // Boxed, because fetching a token is itself a call.
        let fetch = || Box::pin(self.fetch_token(outage_until));
        self.0.auth.token(asked, fetch).await.map(Some)
    }

    async fn fetch_token(&self, outage_until: Time) -> Result<Token> {
        let (client_id, client_secret) = self.0.config.require_credentials()?;
        let request = TokenRequest {
            client_id: client_id.to_owned(),
            client_secret: client_secret.clone(),
        };
        let mut call = Call {
            outage_until,
            ..Call::new(CREATE_TOKEN, Arguments::default().with_body(request)?)?
        };
        let read = |response: &Response| read_token(response, clock::now());
        self.call(&mut call, read).await
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

/// Whether the service may have done what it was asked, although the call failed: to ask again could do it twice.
fn may_have_been_carried_out(error: &Error) -> bool {
    // Without a connection nothing was sent, and what the rate limit refuses is not carried out.
    let untouched = [ErrorKind::Connect, ErrorKind::Tls, ErrorKind::RateLimited];
    !untouched.contains(&error.kind())
}
