//! The token: one POST however many callers wait, kept until shortly before it expires (section 5).

use crate::answer::json_error;
use crate::clock::{self, Time};
use crate::error::{Again, Error, ErrorKind, Result};
use crate::transport::Answer;
use http::HeaderValue;
use serde::Deserialize;
use serde_json::Value;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use talentdata_types::Secret;

/// A token is renewed this long before it expires, or at nine tenths of a shorter life.
const MARGIN: Duration = Duration::from_secs(30);
/// Lifetimes outside these bounds are taken as the bound: no loop of requests, no overflow.
const LIFETIMES: (f64, f64) = (1.0, 86_400.0);
/// The lifetime of a token that does not say it.
const USUAL_LIFETIME: f64 = 300.0;
/// Refused credentials are not tried again for so long; repeating them could lock the account.
const REFUSED_FOR: Duration = Duration::from_secs(10);
/// While a token still lasts whose renewal failed, the next attempt waits so long: each holds up all calls.
const RENEWED_AGAIN_AFTER: Duration = Duration::from_secs(1);
/// A longer token is surely something else.
const LONGEST_TOKEN: usize = 16 * 1024;

/// A token in use.
#[derive(Debug)]
pub(crate) struct Token {
    pub(crate) secret: Secret,
    pub(crate) header: HeaderValue,
    renew_at: Time,
    expires_at: Time,
}

impl Token {
    /// Whether a request may still be sent with it.
    pub(crate) fn is_valid(&self, now: Time) -> bool {
        now < self.expires_at
    }

    fn is_fresh(&self, now: Time) -> bool {
        now < self.renew_at
    }
}

/// The token cache of one client.
#[derive(Default)]
pub(crate) struct Auth {
    /// Locked while a token is fetched, so that everyone else waits for that one.
    state: tokio::sync::Mutex<State>,
}

#[derive(Default)]
struct State {
    token: Option<Arc<Token>>,
    failure: Option<(Time, Error)>,
}

impl Auth {
    /// The present token, or the one that `fetch` obtains.
    ///
    /// `asked` is when the caller began to wait; `rejected` a token that the service no longer takes.
    pub(crate) async fn token<F: Future<Output = Result<Token>>>(
        &self,
        asked: Time,
        rejected: Option<&Arc<Token>>,
        fetch: impl FnOnce() -> F,
    ) -> Result<Arc<Token>> {
        let mut state = self.state.lock().await;
        let now = clock::now();
        if let (Some(token), Some(rejected)) = (&state.token, rejected)
            && Arc::ptr_eq(token, rejected)
        {
            state.token = None;
        }
        if let Some(token) = state.token.as_ref().filter(|token| token.is_fresh(now)) {
            return Ok(Arc::clone(token));
        }
        let valid = state.token.as_ref().filter(|token| token.is_valid(now));
        if let Some((at, error)) = &state.failure {
            // Whoever was already waiting when the fetch failed gets its outcome, not a fetch each.
            let waited = *at >= asked;
            let refused = error.kind() == ErrorKind::Auth && now < *at + REFUSED_FOR;
            match valid {
                Some(token) if waited || refused || now < *at + RENEWED_AGAIN_AFTER => {
                    return Ok(Arc::clone(token));
                }
                None if waited || refused => return Err(error.clone()),
                _ => {}
            }
        }
        match fetch().await {
            Ok(token) => {
                let token = Arc::new(token);
                state.token = Some(Arc::clone(&token));
                state.failure = None;
                Ok(token)
            }
            Err(error) => {
                let now = clock::now();
                state.failure = Some((now, error.clone()));
                // The old token outlives the renewal that failed.
                match state.token.as_ref().filter(|token| token.is_valid(now)) {
                    Some(token) => Ok(Arc::clone(token)),
                    None => Err(error),
                }
            }
        }
    }
}

/// Reads the answer of the token endpoint (section 4), received at `now`.
pub(crate) fn read_token(answer: &Answer, now: Time) -> Result<Token> {
    if let Some(error) = answer.error_of_status() {
        return Err(match answer.status.as_u16() {
            400 | 401 | 403 => Error::new(
                ErrorKind::Auth,
                "the service refused client_id and client_secret; check both, and that they belong to this base_url",
            )
            .with_status(answer.status.as_u16()),
            404 | 405 => error.with_kind(ErrorKind::Config).with_message("there is no token endpoint below base_url; check base_url"),
            _ => error,
        });
    }
    let token = parse(answer).and_then(|fields| fields.check(now));
    token.map_err(|error| {
        error
            .with_kind(ErrorKind::TokenResponse)
            .with_status(answer.status.as_u16())
    })
}

fn parse(answer: &Answer) -> Result<Fields> {
    let text = answer
        .object_text()
        .map_err(|error| error.with_again(Again::Once))?;
    serde_json::from_str(text).map_err(|error| json_error(&error, "token response"))
}

/// The token response, read leniently where services are known to differ.
#[derive(Deserialize)]
struct Fields {
    access_token: Option<Value>,
    token_type: Option<Value>,
    expires_in: Option<Value>,
}

impl Fields {
    fn check(self, now: Time) -> Result<Token> {
        let wrong = |message: &str| {
            Error::new(
                ErrorKind::TokenResponse,
                format!("token response: {message}"),
            )
        };
        let secret = match self.access_token {
            Some(Value::String(text)) if !text.is_empty() => Secret::new(text),
            None | Some(Value::Null | Value::String(_)) => {
                return Err(wrong("access_token is missing or empty").with_again(Again::Once));
            }
            Some(_) => return Err(wrong("access_token is not a string")),
        };
        if secret.expose().len() > LONGEST_TOKEN
            || !secret.expose().bytes().all(|byte| byte.is_ascii_graphic())
        {
            return Err(wrong(
                "access_token is longer than 16 KiB or holds other than visible ASCII",
            ));
        }
        match self.token_type {
            None | Some(Value::Null) => {}
            Some(Value::String(kind)) if kind.eq_ignore_ascii_case("bearer") => {}
            Some(_) => {
                return Err(wrong(
                    "token_type is not Bearer, the only type this client can use",
                ));
            }
        }
        let mut header = HeaderValue::from_str(&format!("Bearer {}", secret.expose()))
            .map_err(|_| wrong("access_token cannot be sent in a header"))?;
        header.set_sensitive(true);
        let lifetime = Duration::from_secs_f64(lifetime(self.expires_in.as_ref()));
        let margin = MARGIN.min(lifetime / 10);
        Ok(Token {
            secret,
            header,
            renew_at: now + (lifetime - margin),
            expires_at: now + lifetime,
        })
    }
}

/// The lifetime in seconds; a number in a string is taken, too.
fn lifetime(value: Option<&Value>) -> f64 {
    let seconds = match value {
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => text.trim().parse().ok(),
        _ => None,
    };
    match seconds.filter(|seconds| !seconds.is_nan()) {
        Some(seconds) => seconds.clamp(LIFETIMES.0, LIFETIMES.1),
        None => {
            tracing::warn!(
                "the token response has no usable expires_in; taking {USUAL_LIFETIME} s"
            );
            USUAL_LIFETIME
        }
    }
}

#[cfg(test)]
mod tests;
