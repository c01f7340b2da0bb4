//! One call: waits for the budget, sends, judges the answer, and sends again where that can help.

use super::Client;
use crate::auth::Token;
use crate::clock::{self, Time};
use crate::error::{Error, ErrorKind, Result, Scrubber};
use crate::meter::Meter;
use crate::retry::Retry;
use crate::transport::{Answer, SMALL_BODY};
use crate::turnstile::{Lane, Permit};
use http::HeaderValue;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use talentdata_types::{CREATE_TOKEN, Method, Operation};
use tracing::Instrument;

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
    pub(super) fn to(operation: &'static Operation) -> Self {
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
        let attempts = self.attempts(&call, read, &mut progress).instrument(span);
        let outcome = match call.lane {
            Lane::Single => tokio::time::timeout(operation, attempts).await,
            // It waits for the pages before it, which is no fault of the service: see `attempts`.
            Lane::Scan => Ok(attempts.await),
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
        read: impl Fn(&Answer) -> Result<T>,
        progress: &mut Progress,
    ) -> Result<T> {
        let asked = clock::now();
        let operation = self.0.config.timeouts.operation;
        let mut deadline = asked.saturating_add(operation);
        let mut rejected = None;
        loop {
            let came = clock::now();
            let (token, permit) = self.admit(call, asked, rejected.as_ref()).await?;
            if call.lane == Lane::Scan {
                deadline = deadline.saturating_add(clock::now().saturating_sub(came));
            }
            progress.attempts += 1;
            if let Some(meter) = &call.meter {
                meter.sent(permit.waited(), progress.attempts);
            }
            let request = self.request(call, token.as_deref());
            let answer = self.0.transport.send(request, permit, call.most);
            let left = deadline.saturating_sub(clock::now());
            let Ok(answer) = tokio::time::timeout(left, answer).await else {
                return Err(progress.out_of_time(operation));
            };
            let scrubber = || self.scrubber(token.as_deref());
            let outcome = match answer {
                Ok(answer) => {
                    tracing::debug!(
                        status = answer.status.as_u16(),
                        bytes = answer.body.len(),
                        "answered"
                    );
                    let judged = self.judge(&answer, call.operation, &read);
                    judged.map_err(|error| {
                        let error = answer.describe(error, &scrubber());
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
