//! A token: how the service issues it and how it is sent, its lifetime, and the service's responses to it.

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
    /// True if another client obtained it.
    pub(super) from_another: bool,
    /// True if it was fetched because the service refused another token.
    pub(super) after_refusal: bool,
    /// The token's type, if that is not `Bearer`.
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
    /// Returns a token that nobody has used yet; `None` if it is too long or cannot be sent in a header.
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

    /// Records the status of the response to a request with this token.
    pub(crate) fn answered(&self, status: StatusCode) {
        if status.is_success() {
            self.accepted.store(true, Ordering::Relaxed);
        } else if status == StatusCode::UNAUTHORIZED {
            self.refused.store(true, Ordering::Relaxed);
        }
    }

    /// Returns whether the service refused the token, which must not be sent again.
    pub(super) fn is_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    /// Returns whether no request with the token is known to have succeeded.
    pub(crate) fn is_new(&self) -> bool {
        !self.from_another && !self.accepted.load(Ordering::Relaxed)
    }

    /// Returns whether one request must try the token before others use it. If a service revokes tokens after a few
    /// requests, many requests that are sent at once may be refused before the first success. The token would then look
    /// like one that the service never accepted.
    pub(crate) fn is_to_be_tried(&self) -> bool {
        self.after_refusal && !self.accepted.load(Ordering::Relaxed)
    }
}

/// The time before its expiry at which a token is renewed. If a tenth of the lifetime is shorter, that time applies.
const RENEWAL_MARGIN: Duration = Duration::from_secs(30);
/// Bounds of lifetimes. A lifetime outside them counts as the bound, which prevents request loops and overflow.
const LIFETIMES: (f64, f64) = (1.0, 86_400.0);
/// The lifetime of a token whose response does not name one.
const USUAL_LIFETIME: f64 = 300.0;
/// Limits the length of a token. A longer one is surely something else.
const LONGEST_TOKEN: usize = 16 * 1024;

/// Returns the meaning of an error in a request for a token.
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
    // One more attempt distinguishes a damaged response from a wrong one.
    let text = response
        .object_text()
        .map_err(|error| error.with_max_attempts(2))?;
    let fields: Fields = from_json(&text, "token response")?;
    let wrong = |message: &str| {
        let message = format!("token response: {message}");
        Error::new(ErrorKind::TokenResponse, message)
    };
    if fields.access_token.is_empty() {
        return Err(wrong("access_token is missing or empty").with_max_attempts(2));
    }
    // Some services put the whole header value here, and some add a line break.
    let secret = fields.access_token.trim();
    let secret = match secret.split_at_checked(7) {
        Some((word, rest)) if word.eq_ignore_ascii_case("bearer ") => rest.trim_start(),
        _ => secret,
    };
    // A number in a string is accepted, too.
    let seconds = match fields.expires_in {
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => text.trim().parse().ok(),
        _ => None,
    };
    // Some services write 0 or -1 if a token does not expire.
    let seconds = seconds.filter(|seconds: &f64| *seconds > 0.0);
    if seconds.is_none() {
        tracing::warn!(
            seconds = USUAL_LIFETIME,
            "the token response has no usable expires_in; the usual lifetime is taken"
        );
    }
    let seconds = seconds.unwrap_or(USUAL_LIFETIME);
    let lifetime = Duration::from_secs_f64(seconds.clamp(LIFETIMES.0, LIFETIMES.1));
    let margin = RENEWAL_MARGIN.min(lifetime / 10);
    let issued = Issued {
        secret: Secret::new(secret),
        issued_at: now,
        renew_at: now + (lifetime - margin),
        expires_at: now + lifetime,
    };
    let message =
        "access_token is longer than 16 KiB or contains other characters than visible ASCII";
    let mut token = Token::new(issued).ok_or_else(|| wrong(message))?;
    // The API description says that the type is typically Bearer, and shows only Bearer in requests. So the token is
    // sent as Bearer regardless of its type.
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
