//! The response of the token endpoint (section 4): read leniently where services are known to differ.

use super::token::{Life, Token};
use crate::clock::Time;
use crate::error::{Error, ErrorKind, Result, Retryability};
use crate::request::response::json_error;
use crate::request::transport::Response;
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;
use talentdata_types::Secret;

/// A token is renewed this long before it expires, or at nine tenths of a shorter life.
const MARGIN: Duration = Duration::from_secs(30);
/// Lifetimes outside these bounds are taken as the bound: no loop of requests, no overflow.
const LIFETIMES: (f64, f64) = (1.0, 86_400.0);
/// The lifetime of a token that does not say it.
const USUAL_LIFETIME: f64 = 300.0;
/// A longer token is surely something else.
const LONGEST_TOKEN: usize = 16 * 1024;

/// Reads the response of the token endpoint (section 4), received at `now`.
pub(crate) fn read_token(response: &Response, now: Time) -> Result<Token> {
    if let Some(error) = response.error_of_status() {
        return Err(match response.status.as_u16() {
            400 | 401 | 403 => Error::new(
                ErrorKind::Auth,
                "the service refused client_id and client_secret; check both, and that they belong to this base_url",
            )
            .with_status(response.status.as_u16()),
            404 | 405 => error.with_kind(ErrorKind::Config).with_message("there is no token endpoint below base_url; check base_url"),
            _ => error,
        });
    }
    let token = parse(response).and_then(|fields| fields.check(now));
    token.map_err(|error| {
        error
            .with_kind(ErrorKind::TokenResponse)
            .with_status(response.status.as_u16())
    })
}

fn parse(response: &Response) -> Result<Fields> {
    let text = response
        .object_text()
        .map_err(|error| error.with_retryability(Retryability::Once))?;
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
                return Err(
                    wrong("access_token is missing or empty").with_retryability(Retryability::Once)
                );
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
        let lifetime = Duration::from_secs_f64(lifetime(self.expires_in.as_ref()));
        let margin = MARGIN.min(lifetime / 10);
        let life = Life {
            issued_at: now,
            renew_at: now + (lifetime - margin),
            expires_at: now + lifetime,
        };
        Token::new(secret, life).ok_or_else(|| wrong("access_token cannot be sent in a header"))
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
