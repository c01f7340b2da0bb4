//! A token: how the service issues it, how it is sent, how long it lasts, and what the service has made of it.

use crate::clock::Time;
use crate::error::{Error, ErrorKind, Result};
use crate::json::from_json;
use crate::request::transport::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use talentdata_types::Secret;

/// A token in use.
#[derive(Debug)]
pub(crate) struct Token {
    pub(crate) issued: Issued,
    /// Whether another client obtained it.
    pub(super) from_another: bool,
    /// Whether it was fetched because the service had refused another.
    pub(super) after_refusal: bool,
    /// Its type, if that is not the usual one.
    pub(super) unusual_type: Option<String>,
    accepted: AtomicBool,
    refused: AtomicBool,
}

/// A token as the service issued it.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Issued {
    pub(crate) secret: Secret,
    pub(super) issued_at: Time,
    pub(super) renew_at: Time,
    pub(super) expires_at: Time,
}

impl Token {
    /// A token that nobody has used yet; none where it is too long or cannot be sent in a header.
    pub(super) fn new(issued: Issued) -> Option<Self> {
        let text = issued.secret.expose();
        if text.len() > LONGEST_TOKEN || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return None;
        }
        Some(Token {
            issued,
            from_another: false,
            after_refusal: false,
            unusual_type: None,
            accepted: AtomicBool::new(false),
            refused: AtomicBool::new(false),
        })
    }

    /// The service has responded to a request that carried it.
    pub(crate) fn answered(&self, status: StatusCode) {
        if status.is_success() {
            self.accepted.store(true, Ordering::Relaxed);
        } else if status == StatusCode::UNAUTHORIZED {
            self.refused.store(true, Ordering::Relaxed);
        }
    }

    /// Returns whether the service has refused it, so that nobody is to send it any more.
    pub(super) fn is_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    /// Returns whether the service has never accepted it, as far as is known.
    pub(crate) fn is_new(&self) -> bool {
        !self.from_another && !self.accepted.load(Ordering::Relaxed)
    }

    /// Whether one request is to try it before others carry it. Where a service revokes tokens after a few requests,
    /// the refusals of many that were sent at once may come before the first success, and the token would look like one
    /// that the service never accepted.
    pub(crate) fn is_to_be_tried(&self) -> bool {
        self.after_refusal && !self.accepted.load(Ordering::Relaxed)
    }
}

/// A token is renewed this long before it expires, or at nine tenths of a shorter life.
const MARGIN: Duration = Duration::from_secs(30);
/// Lifetimes outside these bounds are taken as the bound: no loop of requests, no overflow.
const LIFETIMES: (f64, f64) = (1.0, 86_400.0);
/// The lifetime of a token that does not say it.
const USUAL_LIFETIME: f64 = 300.0;
/// A longer token is surely something else.
const LONGEST_TOKEN: usize = 16 * 1024;

/// What an error means in a request for a token.
pub(crate) fn refusal(error: Error) -> Error {
    let (kind, message) = match error.status() {
        Some(200..=299) => return error.with_kind(ErrorKind::TokenResponse),
        Some(400 | 401 | 403) => (
            ErrorKind::Auth,
            "the service refused client_id and client_secret; check both, and that they belong to this base_url",
        ),
        Some(404 | 405) => (
            ErrorKind::Config,
            "there is no token endpoint below base_url; check base_url",
        ),
        _ => return error,
    };
    error.with_kind(kind).with_meaning(message)
}

/// Reads the response of the token endpoint (section 4), received at `now`.
pub(crate) fn read_token(response: &Response, now: Time) -> Result<Token> {
    // One more try tells a damaged response from a wrong one.
    let text = response
        .object_text()
        .map_err(|error| error.with_max_attempts(2))?;
    let fields: Fields = from_json(text, "token response")?;
    let wrong = |message: &str| {
        let message = format!("token response: {message}");
        Error::new(ErrorKind::TokenResponse, message)
    };
    if fields.access_token.is_empty() {
        return Err(wrong("access_token is missing or empty").with_max_attempts(2));
    }
    // Some services put the whole header value here, and some a line break behind it.
    let secret = fields.access_token.trim();
    let secret = match secret.split_at_checked(7) {
        Some((word, rest)) if word.eq_ignore_ascii_case("bearer ") => rest.trim_start(),
        _ => secret,
    };
    // A number in a string is taken, too.
    let seconds = match fields.expires_in {
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => text.trim().parse().ok(),
        _ => None,
    };
    // Services write 0 or -1 where a token does not expire.
    let seconds = seconds.filter(|seconds: &f64| *seconds > 0.0);
    if seconds.is_none() {
        tracing::warn!("the token response has no usable expires_in; taking {USUAL_LIFETIME} s");
    }
    let seconds = seconds.unwrap_or(USUAL_LIFETIME);
    let lifetime = Duration::from_secs_f64(seconds.clamp(LIFETIMES.0, LIFETIMES.1));
    let margin = MARGIN.min(lifetime / 10);
    let issued = Issued {
        secret: Secret::new(secret),
        issued_at: now,
        renew_at: now + (lifetime - margin),
        expires_at: now + lifetime,
    };
    let message = "access_token is longer than 16 KiB or holds other than visible ASCII";
    let mut token = Token::new(issued).ok_or_else(|| wrong(message))?;
    // The document says that it is typically Bearer. Whatever it is called, Bearer is what the document shows to send.
    let kind = fields.token_type.filter(|kind| !is_bearer(kind));
    token.unusual_type = kind.map(|kind| kind.to_string());
    Ok(token)
}

fn is_bearer(kind: &Value) -> bool {
    kind.is_null()
        || kind
            .as_str()
            .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("bearer"))
}

/// The token response, read leniently where services are known to differ.
#[derive(Deserialize)]
struct Fields {
    #[serde(default)]
    access_token: String,
    token_type: Option<Value>,
    expires_in: Option<Value>,
}
