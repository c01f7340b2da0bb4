//! One call: waits for the budget, sends, judges the response, and sends again where that can help.

use super::admission::{Admitted, Refusals};
use super::auth::Token;
use super::memory::Claim;
use super::metrics::ScanMetrics;
use super::queue::Priority;
use super::retry::Retry;
use super::transport::{Bounds, Response, SMALL_BODY};
use crate::arguments::Arguments;
use crate::client::Client;
use crate::clock;
use crate::error::{Error, ErrorKind, Result, Scrubber};
use http::HeaderMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use talentdata_types::{CREATE_TOKEN, Operation};

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
        }
    }
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
        let operation = self.0.config.timeout;
        let mut progress = Progress::default();
        let attempts = self.attempts(&call, claim, read, &mut progress);
        let outcome = match call.priority {
            Priority::Single | Priority::Retry => tokio::time::timeout(operation, attempts).await,
            // It waits for the pages before it, which is no fault of the service: see `attempts`.
            Priority::Scan => Ok(attempts.await),
        };
        let outcome = outcome.unwrap_or_else(|_| Err(progress.out_of_time(operation)));
        let error = match outcome {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        Err(error
            .with_operation(call.operation.id)
            .with_attempts(progress.attempts))
    }

    async fn attempts<T>(
        &self,
        call: &Call,
        mut claim: Option<&mut Claim>,
        read: impl Fn(&Response) -> Result<T>,
        progress: &mut Progress,
    ) -> Result<T> {
        let asked = clock::now();
        let operation = self.0.config.timeout;
        let mut deadline = asked.saturating_add(operation);
        let mut refusals = Refusals::default();
        let mut priority = call.priority;
        loop {
            let came = clock::now();
            if let Some(claim) = &mut claim {
                claim.expect().await;
            }
            let Admitted {
                token,
                permit,
                begun,
                trial,
            } = self
                .admit(call, priority, asked, refusals.latest.as_ref())
                .await?;
            if call.priority == Priority::Scan {
                deadline = deadline.saturating_add(clock::now().saturating_sub(came));
            }
            progress.attempts += 1;
            if let Some(metrics) = &call.metrics {
                metrics.sent(permit.waited(), progress.attempts);
            }
            let request = self.request(call, token.as_deref())?;
            let bounds = Bounds {
                body: call.most,
                time: deadline.saturating_sub(clock::now()),
                claim: claim.as_deref_mut(),
            };
            let answered = |status| {
                if let Some(token) = &token {
                    token.answered(status);
                }
                drop(trial);
            };
            let send = self.0.transport.send(request, permit, bounds, answered);
            let response = send.await;
            if let (Priority::Scan, Some(claim)) = (call.priority, &mut claim) {
                deadline = deadline.saturating_add(claim.take_waited());
            }
            if response.is_err() && clock::now() >= deadline {
                return Err(progress.out_of_time(operation));
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
                    let judged = self.judge(&response, call.operation, &read);
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
                Ok(value) => {
                    self.retry().succeeded(progress.attempts);
                    return Ok(value);
                }
                Err(error) => error,
            };
            if let (Some(metrics), Some(429)) = (&call.metrics, error.status()) {
                metrics.refused();
            }
            if let (Some(401), Some(token)) = (error.status(), &token) {
                if refusals.is_worth_another(token, begun) {
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
            if error
                .retry_after()
                .is_some_and(|wait| wait > self.0.config.max_wait)
            {
                return Err(error);
            }
            if !call.operation.idempotent && may_have_been_carried_out(&error) {
                return Err(error);
            }
            let left = deadline.saturating_sub(clock::now());
            let faults = progress.attempts.saturating_sub(refusals.count);
            let Some(wait) = self.retry().after(&error, faults, left) else {
                return Err(error);
            };
            tracing::debug!(
                operation = call.operation.id,
                reason = error.kind().name(),
                status = error.status(),
                wait_s = wait.as_secs_f64(),
                "retrying"
            );
            if error.kind() == ErrorKind::RateLimited {
                // The gate knows when; then this call goes first.
                priority = Priority::Retry;
            } else {
                if let Some(metrics) = &call.metrics {
                    metrics.backs_off(wait);
                }
                tokio::time::sleep(wait).await;
            }
            progress.last = Some(error);
        }
    }

    fn judge<T>(
        &self,
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

    fn scrubber(&self, token: Option<&Token>) -> Scrubber {
        let secret = self.0.config.client_secret.as_ref();
        Scrubber::new(secret.into_iter().chain(token.map(|token| &token.secret)))
    }

    fn retry(&self) -> std::sync::MutexGuard<'_, Retry> {
        self.0.retry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the service may have done what it was asked, although the call failed: to ask again could do it twice.
fn may_have_been_carried_out(error: &Error) -> bool {
    // Without a connection nothing was sent, and what the rate limit refuses is not carried out.
    let untouched = [ErrorKind::Connect, ErrorKind::Tls, ErrorKind::RateLimited];
    !untouched.contains(&error.kind())
}

/// What is known of a call when its deadline cuts it off.
#[derive(Default)]
struct Progress {
    attempts: u32,
    last: Option<Error>,
}

impl Progress {
    /// The last failure, which is why there is no time left, or that there is none.
    fn out_of_time(&mut self, operation: Duration) -> Error {
        self.last.take().unwrap_or_else(|| {
            let message = format!(
                "not done within the operation's deadline of {} s",
                operation.as_secs_f64()
            );
            Error::new(ErrorKind::Timeout, message)
        })
    }
}

/// A request body.
pub(super) fn to_json(value: &impl serde::Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|_| {
        Error::new(
            ErrorKind::Internal,
            "a request could not be written as JSON",
        )
    })
}
